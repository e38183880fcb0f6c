//! Fields from sensors, wherever they are.

use scope_data::{Constants, observation::UserContext};
use scope_pde::Pde;

use crate::reconstruct::Fields;

/// Recovers the fields of sensors with a method that reads contexts \[n, 4, S, S\]. Where sensors lie between pixels, their values are
/// carried to the pixels by what was recovered first, and all is recovered again; `contexts` are then as they were seen last.
pub fn recover_sensors<E>(
    pde: Pde,
    constants: &Constants,
    contexts: &mut [UserContext],
    mut recover: impl FnMut(&[f32]) -> Result<Vec<Fields>, E>,
) -> Result<Vec<Fields>, E> {
    let read =
        |contexts: &[UserContext]| -> Vec<f32> { contexts.iter().flat_map(UserContext::context).collect() };
    let first = recover(&read(contexts))?;
    if contexts.iter().all(|context| context.between_pixels() == 0) {
        return Ok(first);
    }
    for (context, fields) in contexts.iter_mut().zip(&first) {
        *context = context.carried(pde, constants, [&fields.a, &fields.u]);
    }
    recover(&read(contexts))
}
