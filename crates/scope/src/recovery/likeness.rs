//! Whether a network's readings are like those of its problem's own fields, where their distribution is known exactly.
//!
//! Errors and bands of a network were measured on such fields. Others may be recovered much better (smoother ones) or
//! worse, and nothing in the recovery tells: it fits its readings all the same.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use scope_data::{
    Constants, PerChannel,
    observation::{Placed, UserContext},
};
use scope_eval::trust::Warning;
use scope_exact::{Innovations, NO_NOISE, Prior, Reading, with_rounding};

use super::{posterior::readings_of, summary::MethodSummary};

/// The distribution of a problem's fields, and the order in which the last sensors are judged.
#[derive(Default)]
pub(super) struct Likeness {
    prior: OnceLock<Option<Prior>>,
    /// Problems in a row mostly have the same sensors.
    last: Mutex<Option<Planned>>,
}

/// What is planned for some sensors, whatever they say.
struct Planned {
    sensors: Vec<Placed>,
    innovations: Arc<Innovations>,
}

impl Likeness {
    /// A warning if readings, off by a noise in our units, are not like those of the problem's own fields. None where
    /// their distribution is not known.
    pub(super) fn warning(
        &self,
        method: &MethodSummary,
        context: &UserContext,
        noise: Option<PerChannel<f64>>,
    ) -> Option<Warning> {
        let prior = self.prior.get_or_init(|| prior_of(method)).as_ref()?;
        let mut readings = readings_of(context);
        readings.retain(|reading| method.pde.descriptor().prior.covers(reading.channel));
        let noise_stated = noise.is_some_and(|noise| noise != NO_NOISE);
        let noise = with_rounding(noise.unwrap_or(NO_NOISE), &method.constants);
        let plan = self.plan(prior, method, (context, &readings), noise)?;
        let check = plan.least_alike(&readings)?;
        let ratio = (check.statistic / check.degrees as f64).sqrt();
        let noise_percent = match ratio > 1.0 && !noise_stated {
            true => explaining_noise(prior, &plan.looked_at(&readings), method),
            false => None,
        };
        Some(Warning::Unlike { ratio, readings: check.degrees, noise_stated, noise_percent })
    }

    fn plan(
        &self,
        prior: &Prior,
        method: &MethodSummary,
        (context, readings): (&UserContext, &[Reading]),
        noise: PerChannel<f64>,
    ) -> Option<Arc<Innovations>> {
        let deviations = method.constants.map(|scaling| scaling.sigma);
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let planned = match last.take().filter(|planned| context.has_places_of(&planned.sensors)) {
            Some(planned) => planned,
            // What cannot be planned for is not judged; why it cannot was said when it was placed.
            None => Planned {
                sensors: context.sensors.clone(),
                innovations: Arc::new(Innovations::plan(prior, readings, noise, deviations).ok()?),
            },
        };
        Some(Arc::clone(&last.insert(planned).innovations))
    }
}

/// The noise with which readings would be like a prior's, in percent of their field's standard deviation: one that is
/// smaller than the field.
fn explaining_noise(prior: &Prior, readings: &[Reading], method: &MethodSummary) -> Option<f64> {
    let posterior = prior.given(readings, with_rounding(NO_NOISE, &method.constants)).ok()?;
    let share = posterior.consistent_noise(method.constants.map(|scaling| scaling.sigma))?;
    (share < 1.0).then_some(100.0 * share)
}

/// The distribution of the fields that a method was trained on: none if they have other constants than the solver's.
fn prior_of(method: &MethodSummary) -> Option<Prior> {
    let side = method.resolution.side()?;
    method.pde.descriptor().solver?;
    (method.constants == Constants::generated(method.pde)).then(|| Prior::new(method.pde, side).ok())?
}
