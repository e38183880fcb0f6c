//! Signs that a run goes wrong while every number is still finite.

use crate::step::{MAX_NORM, Measured};

/// Latents are all but the same when their spread is below this share of the objective's floor.
const NARROW: f64 = 0.1;
/// Gradients run away when they are this many times longer than a step takes them. Those of sound runs are up to five times as long.
const RUNAWAY: f64 = 100.0;
/// A sign has to last for so many steps.
const PATIENCE: u64 = 50;

/// For how many steps in a row each sign has been seen.
#[derive(Debug, Default)]
pub(super) struct Watch {
    narrow: u64,
    long: u64,
}

impl Watch {
    /// Takes note of a step, and says what has now been wrong for long enough. `floor` is the objective's floor of the spread.
    pub(super) fn see(&mut self, floor: f64, measured: &Measured) -> Vec<String> {
        let mut alarms = Vec::new();
        let spread = measured.spread.unwrap_or(f64::INFINITY);
        if lasts(&mut self.narrow, spread < NARROW * floor) {
            alarms.push(format!(
                "the latents have nearly the same value for every record (standard deviation {spread:.1e} for {PATIENCE} steps): \
                 the representation may have collapsed"
            ));
        }
        if lasts(&mut self.long, measured.norm > RUNAWAY * MAX_NORM) {
            alarms.push(format!(
                "gradients have been more than {RUNAWAY} times longer than steps take them (now {:.1e}) for {PATIENCE} steps: training \
                 runs away, and a lower peak_rate may keep it",
                measured.norm
            ));
        }
        alarms
    }
}

/// Counts a sign; true at the step where it has been seen for long enough.
fn lasts(steps: &mut u64, seen: bool) -> bool {
    *steps = if seen { *steps + 1 } else { 0 };
    *steps == PATIENCE
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(norm: f64, spread: f64) -> Measured {
        Measured { losses: Vec::new(), norms: Vec::new(), alpha: 1.0, norm, spread: Some(spread) }
    }

    #[test]
    fn a_sign_that_lasts_is_told_once() {
        let mut watch = Watch::default();
        let told = |watch: &mut Watch, norm, spread, steps| -> usize {
            (0..steps).map(|_| watch.see(0.1, &step(norm, spread)).len()).sum()
        };
        assert_eq!(told(&mut watch, 4.0, 0.2, 200), 0);
        assert_eq!(told(&mut watch, 101.0, 0.2, 49), 0);
        assert_eq!(told(&mut watch, 101.0, 0.2, 100), 1);
        assert_eq!(told(&mut watch, 4.0, 0.009, 100), 1);
        assert_eq!(told(&mut watch, 1e9, 0.009, 49), 0);
        assert_eq!(told(&mut watch, 4.0, 0.2, 1), 0);
        assert_eq!(told(&mut watch, 1e9, 0.009, 50), 2);
    }
}
