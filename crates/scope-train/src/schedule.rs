//! The learning-rate schedule and the schedule of the EMA momentum, as pure functions of the draws taken.

use std::f64::consts::PI;

use serde::{Deserialize, Serialize};

/// The name of a [`LearningRateSchedule`] in a recipe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScheduleKind {
    /// Cosine decay after the warm-up.
    #[default]
    Cosine,
    /// A constant learning rate, then linear decay.
    ConstantThenDecay,
}

/// How the learning rate decays from its peak, which it has after the warm-up, to the floor, which the last step has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LearningRateSchedule {
    /// Cosine decay from the warm-up to the end.
    Cosine,
    /// The learning rate stays at the peak, and decays linearly over the last share of the stage. A run with a share of
    /// zero can be continued with its learning rate for as long as one likes.
    ConstantThenDecay {
        /// Share of the stage that decays: 0 is never, 1 begins at the end of the warm-up.
        decay_share: f64,
    },
}

/// Learning rate and EMA momentum of one step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// Learning rate of AdamW; Muon's is a multiple of it.
    pub learning_rate: f64,
    /// Momentum of the EMA teacher: what it keeps of itself in one step.
    pub ema_momentum: f64,
}

/// How the learning rate and the EMA momentum change over one stage of training. Everything is counted in draws:
/// examples seen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StageSchedule {
    /// Number of draws in the stage.
    pub total: u64,
    /// Number of draws in its warm-up.
    pub warmup: u64,
    /// Number of draws in one step.
    pub batch: u64,
    /// Learning rate after the warm-up.
    pub peak: f64,
    /// Learning rate at both ends.
    pub floor: f64,
    /// Decay of the learning rate after the warm-up.
    pub schedule: LearningRateSchedule,
    /// EMA momentum at both ends.
    pub momentum: [f64; 2],
}

/// Half a cosine from 0 to 1.
fn ease(share: f64) -> f64 {
    (1.0 - (PI * share.clamp(0.0, 1.0)).cos()) / 2.0
}

impl StageSchedule {
    /// Learning rate and EMA momentum of the step that begins after `draws` draws.
    pub fn at(&self, draws: u64) -> Rates {
        Rates { learning_rate: self.learning_rate(draws), ema_momentum: self.ema_momentum(draws) }
    }

    /// Learning rate of the step that begins after `draws` draws: linear from the floor to the peak over the
    /// warm-up, then back to the floor by the schedule.
    fn learning_rate(&self, draws: u64) -> f64 {
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
            LearningRateSchedule::Cosine => ease(behind(self.warmup)),
            LearningRateSchedule::ConstantThenDecay { decay_share } => {
                let constant = ((1.0 - decay_share) * self.total as f64) as u64;
                behind(constant.max(self.warmup)).min(1.0)
            }
        };
        self.peak - span * down
    }

    /// EMA momentum of the step that begins after `draws` draws: along a cosine from the first to the last.
    fn ema_momentum(&self, draws: u64) -> f64 {
        let [first, last] = self.momentum;
        first + (last - first) * ease(draws as f64 / self.total.max(1) as f64)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cosine(total: u64, warmup: u64) -> StageSchedule {
        StageSchedule {
            total,
            warmup,
            batch: 32,
            peak: 1.25e-4,
            floor: 1e-6,
            schedule: LearningRateSchedule::Cosine,
            momentum: [0.996, 0.9999],
        }
    }

    fn constant(total: u64, warmup: u64, decay_share: f64) -> StageSchedule {
        StageSchedule {
            schedule: LearningRateSchedule::ConstantThenDecay { decay_share },
            ..cosine(total, warmup)
        }
    }

    #[test]
    fn a_constant_rate_comes_down_at_the_end_or_never() {
        let usual = constant(320_000, 3_200, 0.2);
        assert_eq!(usual.learning_rate(0), 1e-6);
        assert_eq!([3_200, 100_000, 256_000].map(|draws| usual.learning_rate(draws)), [1.25e-4; 3]);
        assert!((usual.learning_rate(288_000 - 16) - 6.3e-5).abs() < 1e-12);
        assert!((usual.learning_rate(320_000 - 32) - 1e-6).abs() < 1e-18);
        let never = constant(320_000, 0, 0.0);
        assert_eq!([0, 100_000, 320_000 - 32].map(|draws| never.learning_rate(draws)), [1.25e-4; 3]);
    }

    #[test]
    fn the_papers_schedule_has_its_ends_and_its_peak() {
        let schedule = cosine(500 * 50_000, 5 * 50_000);
        assert_eq!(schedule.learning_rate(0), 1e-6);
        assert!((schedule.learning_rate(250_000) - 1.25e-4).abs() < 1e-18);
        assert!((schedule.learning_rate(125_000) - 6.3e-5).abs() < 1e-12);
        assert!((schedule.learning_rate(schedule.total - 32) - 1e-6).abs() < 1e-18);
        assert_eq!((schedule.ema_momentum(0), schedule.ema_momentum(schedule.total)), (0.996, 0.9999));
    }

    proptest! {
        #[test]
        fn rates_stay_between_floor_and_peak_and_fall_after_the_warmup(
            steps in 1_u64..10_000,
            share in 0.0..0.5_f64,
            at in 0.0..1.0_f64,
            decay in proptest::option::of(0.0..=1.0_f64),
        ) {
            let total = 32 * steps;
            let warmup = (share * 32.0 * steps as f64) as u64;
            let schedule = decay.map_or(cosine(total, warmup), |decay| constant(total, warmup, decay));
            let step = 32 * (at * steps as f64) as u64;
            let rate = schedule.learning_rate(step);
            prop_assert!((schedule.floor - 1e-18..=schedule.peak + 1e-18).contains(&rate));
            if step >= schedule.warmup {
                prop_assert!(schedule.learning_rate(step + 32) <= rate + 1e-18);
            }
            let momentum = schedule.ema_momentum(step);
            prop_assert!((0.996..=0.9999).contains(&momentum) && schedule.ema_momentum(step + 32) >= momentum);
        }
    }
}
