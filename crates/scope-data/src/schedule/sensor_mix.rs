//! Few, sparse and noisy sensors among those of the protocol.

use scope_pde::random::{Coordinates, Stream};
use serde::{Deserialize, Serialize};

use crate::{
    PerChannel,
    draw::Draw,
    observation::{Condition, Layout, MaskSampler, NAMED_POINTS, Namespace, ReadingNoise},
};

/// The greatest noise of a range: beyond it a reading says nothing.
const MOST_NOISE: f64 = 10.0;

/// How many draws have noisy sensors, how many batches few or sparse ones, and within which ranges; with all shares
/// zero there are none. Recipes and weight files hold it as a table.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SensorMix {
    /// The share of draws whose readings are noisy.
    pub noise_share: f64,
    /// The least and the greatest noise in units of the field's standard deviation; levels are uniform in their
    /// logarithm.
    pub noise: [f64; 2],
    /// The share of batches of families that take any number of points (`uniform` and `cluster`) whose budget is a
    /// small one.
    pub few_share: f64,
    /// The least and the greatest small budget, uniform in their logarithm.
    pub few: [usize; 2],
    /// The share of batches that see 500 uniform points of one field, each field in turn: what the paper adapts its
    /// decoders to.
    pub sparse_share: f64,
}

impl Default for SensorMix {
    fn default() -> Self {
        Self { noise_share: 0.0, noise: [0.001, 0.2], few_share: 0.0, few: [5, 100], sparse_share: 0.0 }
    }
}

impl SensorMix {
    /// Whether such sensors can be drawn, and if not, what is wrong: the key, what it is and what it must be.
    pub fn check(&self) -> Result<(), String> {
        let shares = [
            ("noise_share", self.noise_share),
            ("few_share", self.few_share),
            ("sparse_share", self.sparse_share),
        ];
        for (name, share) in shares {
            if !(0.0..=1.0).contains(&share) {
                return Err(format!("sensors.{name} = {share} must lie between 0 and 1"));
            }
        }
        let [least, greatest] = self.noise;
        if !(least > 0.0 && least <= greatest && greatest <= MOST_NOISE) {
            return Err(format!(
                "sensors.noise = {:?} must be two positive numbers, the lesser first, {MOST_NOISE} at most",
                self.noise
            ));
        }
        let [least, greatest] = self.few;
        if !(1 <= least && least <= greatest && greatest <= NAMED_POINTS) {
            return Err(format!(
                "sensors.few = {:?} must be two budgets from 1 to {NAMED_POINTS}, the lesser first",
                self.few
            ));
        }
        Ok(())
    }

    /// Whether any readings are noisy.
    pub fn is_noisy(&self) -> bool {
        self.noise_share > 0.0
    }

    /// Whether a batch is one of those that see 500 uniform points.
    pub(super) fn is_sparse(&self, seed: u64, number: u64) -> bool {
        Coordinates::new("sparse").number(seed).number(number).stream().unit() < self.sparse_share
    }

    /// A batch's condition, or the same with few sensors. Task and family stay, so their shares are the protocol's.
    pub(super) fn thin_out(&self, condition: Condition, seed: u64, number: u64) -> Condition {
        let Layout::Family(family, _) = condition.layout() else { return condition };
        let mut stream = Coordinates::new("few").number(seed).number(number).stream();
        if !family.takes_few() || stream.unit() >= self.few_share {
            return condition;
        }
        Condition::of_family(condition.task(), family, self.small_budget(&mut stream))
    }

    fn small_budget(&self, stream: &mut Stream) -> usize {
        let [least, greatest] = self.few;
        // A budget stands for all numbers from itself up to the next.
        let drawn = stream.log_between(least as f64, greatest as f64 + 1.0);
        (drawn as usize).clamp(least, greatest)
    }

    /// The noise of a and of u in one draw of a record: both noisy, each with a level of its own, or both exact.
    pub(super) fn noise_of(
        &self,
        sampler: &MaskSampler,
        namespace: Namespace,
        record: u64,
        condition: Condition,
    ) -> PerChannel<ReadingNoise> {
        let mut stream = sampler.noise_stream(namespace, record, condition);
        let noisy = stream.unit() < self.noise_share;
        let [least, greatest] = self.noise;
        sampler.noise_keys(namespace, record, condition).map(|key| {
            let level = stream.log_between(least, greatest).clamp(least, greatest);
            ReadingNoise { level: if noisy { level } else { 0.0 }, key }
        })
    }
}
