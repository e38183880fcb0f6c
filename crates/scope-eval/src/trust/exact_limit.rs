//! What the exact posterior has where a network is used and it exists: measured figures.

use scope_data::{
    PerChannel,
    observation::{Condition, Coverage},
};
use scope_pde::{Pde, descriptor::ExactErrors};
use serde::Serialize;

/// Errors go with the number of sensors to a power of 1.4 at most: within this factor of numbers they are within one of
/// 1.5.
const NEAR: f64 = 1.3;

/// The mean gap of n sensors that are scattered evenly is 1 / (2 sqrt(n)), give or take what chance does to a few of
/// them. Those of a grid have 0.77 times as much, those in a part of the square or on lines far more.
const GAP: f64 = 0.5;
const NARROWEST: f64 = 0.82;
const WIDEST: f64 = 1.2;
const CHANCE: f64 = 0.6;

/// What the exact posterior has under a condition like that of a network's sensors.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ExactLimit {
    /// The condition that it was measured under.
    pub condition: Condition,
    /// The number of fresh records that it was measured on.
    pub records: usize,
    /// Mean relative L2 errors of a and u, in percent.
    pub error_percent: PerChannel<f64>,
}

impl ExactLimit {
    /// The measured condition of a task that sensors with exact readings are like: about as many of every measured
    /// field, as evenly scattered. None for a problem without exact posterior, nor for sensors unlike all that were
    /// measured.
    pub fn nearest(pde: Pde, task: &str, coverage: &PerChannel<Option<Coverage>>) -> Option<Self> {
        let measured: Vec<Coverage> = coverage.iter().flatten().copied().collect();
        if measured.is_empty() || !measured.iter().all(is_scattered) {
            return None;
        }
        let apart = |limit: &Self| {
            let budget = limit.condition.budget() as f64;
            let of_channel = |coverage: &Coverage| (budget / coverage.sensors as f64).ln().abs();
            measured.iter().map(of_channel).fold(0.0, f64::max)
        };
        let all = pde.descriptor().prior.errors().iter().filter_map(Self::of);
        let near = all.filter(|limit| limit.condition.task().name() == task && apart(limit) <= NEAR.ln());
        near.min_by(|one, other| apart(one).total_cmp(&apart(other)))
    }

    fn of(errors: &ExactErrors) -> Option<Self> {
        let condition = errors.condition.parse().ok()?;
        Some(Self { condition, records: errors.records, error_percent: errors.percent })
    }
}

/// Whether sensors are scattered over the whole square, as those of the conditions are.
fn is_scattered(coverage: &Coverage) -> bool {
    let root = (coverage.sensors as f64).sqrt();
    (NARROWEST - CHANCE / root..=WIDEST + CHANCE / root).contains(&(coverage.mean_gap * root / GAP))
}

#[cfg(test)]
mod tests {
    use scope_data::observation::{Mask, MaskSampler, Namespace};

    use super::*;

    fn coverage(condition: &str) -> PerChannel<Option<Coverage>> {
        coverage_of(condition, 1)
    }

    fn coverage_of(condition: &str, record: u64) -> PerChannel<Option<Coverage>> {
        let sampler = MaskSampler::new(Pde::POISSON, 7, 128);
        let masks = sampler.masks(Namespace::Test, record, condition.parse().unwrap(), None);
        PerChannel::from_fn(|channel| Coverage::of(&masks.sensors(channel)))
    }

    #[test]
    fn every_figure_is_found_by_most_sensors_of_its_condition() {
        for pde in [Pde::POISSON, Pde::HELMHOLTZ] {
            for errors in pde.descriptor().prior.errors() {
                let condition: Condition = errors.condition.parse().unwrap();
                let found = |record: &u64| {
                    let coverage = coverage_of(errors.condition, *record);
                    let found = ExactLimit::nearest(pde, condition.task().name(), &coverage);
                    found.is_some_and(|limit| limit.condition == condition)
                };
                let count = (0..20).filter(found).count();
                assert!(count >= 17, "{pde} {condition}: {count} of 20");
            }
        }
    }

    #[test]
    fn sensors_unlike_all_conditions_have_no_figure() {
        let nearest = |of: &PerChannel<Option<Coverage>>| ExactLimit::nearest(Pde::POISSON, "inverse", of);
        for condition in ["inverse/grid/500", "inverse/cluster/500", "inverse/uniform/2048"] {
            assert_eq!(nearest(&coverage(condition)), None, "{condition}");
        }
        let mut quadrant = Mask::empty(128);
        for k in 0..500 {
            quadrant.insert(k * 37 % 64 * 128 + k * 11 % 64);
        }
        assert_eq!(nearest(&PerChannel { a: None, u: Coverage::of(&quadrant) }), None);
        assert_eq!(ExactLimit::nearest(Pde::DARCY, "inverse", &coverage("inverse/uniform/500")), None);
        // One field as the condition has it and the other not is no such condition.
        let unequal =
            PerChannel { a: coverage("forward/uniform/500").a, u: coverage("inverse/uniform/20").u };
        assert_eq!(ExactLimit::nearest(Pde::POISSON, "joint", &unequal), None);
    }
}
