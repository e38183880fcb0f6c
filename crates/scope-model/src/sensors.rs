//! Fields from sensors, wherever they are.

use scope_data::{Channel, Constants, Fields, observation::UserContext};
use scope_engine::{Cpu, EngineError, FitPoint, Params};
use scope_pde::Pde;

use crate::network::Fits;

/// Recovers the fields of sensors with a method that reads contexts \[n, 4, S, S\]. Where sensors lie between pixels,
/// their values are carried to the pixels by what was recovered first, and all is recovered again; `contexts` are then
/// as they were seen last.
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
        *context = context.carried(pde, constants, fields.each_ref().map(Vec::as_slice));
    }
    recover(&read(contexts))
}

/// The local fits \[n, fit channels, S, S\] that a network has, normalised, of sensors where they are: they are the
/// same before and after values are carried to pixels.
pub(crate) fn fit_sensors(
    cpu: &Cpu,
    params: &Params,
    fits: &Fits,
    constants: &Constants,
    contexts: &[UserContext],
) -> Result<Vec<f32>, EngineError> {
    let divisors = params.values_of(fits.normaliser)?;
    let mut fitted = Vec::new();
    for context in contexts {
        let points = Channel::BOTH.map(|channel| {
            let seen = context.seen(constants, channel).into_iter();
            seen.map(|seen| FitPoint { at: seen.spot.at, value: seen.value.into(), weight: seen.trust })
                .collect()
        });
        let coefficients =
            fits.local_fit.of_points(cpu, context.masks.shape().lengths(), &points, Some(&divisors))?;
        fitted.extend(coefficients.into_iter().map(|x| x as f32));
    }
    Ok(fitted)
}
