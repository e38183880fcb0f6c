//! What `scope evaluate --method` says of a posterior.

use scope_data::{Dataset, observation::Condition};
use scope_eval::{PosteriorMethod, RecoveryMethod};
use scope_exact::{DENSE_LIMIT, PosteriorError};
use scope_pde::{Pde, descriptor::GaussianPrior};

use crate::{
    commands::{Misuse, method::ChosenMethod},
    terminal::{grouped, warn},
};

/// The method for a set's records.
pub(super) fn method(chosen: ChosenMethod, data: &Dataset) -> anyhow::Result<PosteriorMethod> {
    let pde = match chosen {
        ChosenMethod::Linear(prior) => return Ok(PosteriorMethod::linear(*prior)),
        ChosenMethod::Exact(pde) => pde,
    };
    let meta = data.meta();
    // Problems that have a posterior are on square grids; any other is refused for having none.
    let method =
        PosteriorMethod::exact(pde, meta.constants(), meta.resolution.rows).map_err(|error| match error {
            PosteriorError::NoPosterior { .. } => Misuse::of(error).into(),
            other => anyhow::Error::from(other),
        })?;
    let folder = data.folder().display();
    anyhow::ensure!(
        pde == meta.pde,
        "{folder} holds {}, and --pde is {pde}: they must be the same",
        meta.pde
    );
    Ok(method)
}

/// Those of some conditions that have an exact posterior; `name` is what they are called together.
pub(super) fn conditions(
    method: &PosteriorMethod,
    all: &[Condition],
    name: &str,
) -> anyhow::Result<Vec<Condition>> {
    let pde = method.pde();
    let with: Vec<Condition> = all.iter().copied().filter(|condition| method.supports(*condition)).collect();
    let without = all.len() - with.len();
    if without > 0 {
        anyhow::ensure!(
            !with.is_empty(),
            "no condition of {name} has an exact posterior for {pde}: take uniform500 or all"
        );
        warn(&format!(
            "{without} of {} conditions observe u, which is not linear in a for {pde}: they have no exact posterior and are left out",
            all.len()
        ));
    }
    Ok(with)
}

/// Tells of recoveries that fall short of the limit.
pub(super) fn warn_of_approximations(method: &PosteriorMethod) {
    if method.approximate() > 0 {
        warn(&format!(
            "{} recoveries from more than {} sensors are approximations: their errors lie above the limit",
            grouped(method.approximate()),
            grouped(DENSE_LIMIT)
        ));
    }
}

/// What its figures mean.
pub(super) fn meaning(pde: Pde) -> String {
    let meaning = match pde.descriptor().prior {
        GaussianPrior::InitialState(_) => {
            "of a no method does better in mean square; u is the solver's answer to it, not a limit"
        }
        GaussianPrior::Linear { .. } => "no method does better in mean square",
        GaussianPrior::None(why) => {
            return format!("method: the exact posterior's mean, which {pde} has not: {why}");
        }
    };
    format!("method: the exact posterior's mean: {meaning}")
}
