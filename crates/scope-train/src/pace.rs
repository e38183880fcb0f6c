//! Learning rate and teacher momentum, as pure functions of the draws taken.

use std::f64::consts::PI;

use serde::{Deserialize, Serialize};

/// The name of a [`Schedule`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScheduleKind {
    /// Along a cosine.
    #[default]
    Cosine,
    /// Not at all, and in the end along a line.
    ConstantThenDecay,
}

/// How the learning rate comes down from its peak, which it has after the warm-up, to the floor, which the last step has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Schedule {
    /// Along half a cosine, from the warm-up to the end.
    Cosine,
    /// It stays at the peak, and comes down along a line over the last share of the stage. A run with a share of zero can be
    /// gone on from, with its rate, for as long as one likes.
    ConstantThenDecay {
        /// From 0, never, to 1, from the end of the warm-up on.
        decay_share: f64,
    },
}

/// How the learning rate and the teacher's momentum run over one stage of training. Everything is counted in
/// draws: examples seen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StagePace {
    /// Draws of the stage.
    pub total: u64,
    /// Draws of its warm-up.
    pub warmup: u64,
    /// Draws of one step.
    pub batch: u64,
    /// The learning rate after the warm-up.
    pub peak: f64,
    /// The learning rate at both ends.
    pub floor: f64,
    /// How it comes down.
    pub schedule: Schedule,
    /// The teacher's momentum at both ends.
    pub momentum: [f64; 2],
}

/// From 0 to 1 along half a cosine.
fn ease(share: f64) -> f64 {
    (1.0 - (PI * share.clamp(0.0, 1.0)).cos()) / 2.0
}

impl StagePace {
    /// The learning rate of the step that begins after `draws` draws: linear from the floor to the peak over the
    /// warm-up, then back to the floor by the schedule.
    pub fn rate(&self, draws: u64) -> f64 {
        let span = self.peak - self.floor;
        if draws < self.warmup {
            return self.floor + span * draws as f64 / self.warmup as f64;
        }
        // The share of the way down that this step has behind it, where the way begins after so many draws.
        let behind = |begin: u64| {
            let all = self.total.saturating_sub(begin + self.batch).max(1);
            draws.saturating_sub(begin) as f64 / all as f64
        };
        let down = match self.schedule {
            Schedule::Cosine => ease(behind(self.warmup)),
            Schedule::ConstantThenDecay { decay_share } => {
                let constant = ((1.0 - decay_share) * self.total as f64) as u64;
                behind(constant.max(self.warmup)).min(1.0)
            }
        };
        self.peak - span * down
    }

    /// The momentum of the step that begins after `draws` draws: along a cosine from the first to the last.
    pub fn momentum(&self, draws: u64) -> f64 {
        let [first, last] = self.momentum;
        first + (last - first) * ease(draws as f64 / self.total.max(1) as f64)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pace(total: u64, warmup: u64) -> StagePace {
        let (schedule, momentum) = (Schedule::Cosine, [0.996, 0.9999]);
        StagePace { total, warmup, batch: 32, peak: 1.25e-4, floor: 1e-6, schedule, momentum }
    }

    fn constant(total: u64, warmup: u64, decay_share: f64) -> StagePace {
        StagePace { schedule: Schedule::ConstantThenDecay { decay_share }, ..pace(total, warmup) }
    }

    #[test]
    fn a_constant_rate_comes_down_at_the_end_or_never() {
        let usual = constant(320_000, 3_200, 0.2);
        assert_eq!(usual.rate(0), 1e-6);
        assert_eq!([3_200, 100_000, 256_000].map(|draws| usual.rate(draws)), [1.25e-4; 3]);
        assert!((usual.rate(288_000 - 16) - 6.3e-5).abs() < 1e-12);
        assert!((usual.rate(320_000 - 32) - 1e-6).abs() < 1e-18);
        let never = constant(320_000, 0, 0.0);
        assert_eq!([0, 100_000, 320_000 - 32].map(|draws| never.rate(draws)), [1.25e-4; 3]);
    }

    #[test]
    fn the_papers_schedule_has_its_ends_and_its_peak() {
        let pace = pace(500 * 50_000, 5 * 50_000);
        assert_eq!(pace.rate(0), 1e-6);
        assert!((pace.rate(250_000) - 1.25e-4).abs() < 1e-18);
        assert!((pace.rate(125_000) - 6.3e-5).abs() < 1e-12);
        assert!((pace.rate(pace.total - 32) - 1e-6).abs() < 1e-18);
        assert_eq!((pace.momentum(0), pace.momentum(pace.total)), (0.996, 0.9999));
    }

    proptest! {
        #[test]
        fn rates_stay_between_floor_and_peak_and_fall_after_the_warmup(
            steps in 1_u64..10_000,
            share in 0.0..0.5_f64,
            at in 0.0..1.0_f64,
            decay in proptest::option::of(0.0..=1.0_f64),
        ) {
            let (total, warmup) = (32 * steps, (share * 32.0 * steps as f64) as u64);
            let pace = decay.map_or(pace(total, warmup), |decay| constant(total, warmup, decay));
            let step = 32 * (at * steps as f64) as u64;
            let rate = pace.rate(step);
            prop_assert!((pace.floor - 1e-18..=pace.peak + 1e-18).contains(&rate));
            if step >= pace.warmup {
                prop_assert!(pace.rate(step + 32) <= rate + 1e-18);
            }
            let momentum = pace.momentum(step);
            prop_assert!((0.996..=0.9999).contains(&momentum) && pace.momentum(step + 32) >= momentum);
        }
    }
}
