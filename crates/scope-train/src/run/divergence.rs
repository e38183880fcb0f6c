//! Signs that a run goes wrong while every number is still finite.

use scope_data::significant;

use crate::trainer::{MAX_NORM, StepReport};

/// Latents have collapsed when their standard deviation is below this share of the objective's floor.
const COLLAPSED: f64 = 0.1;
/// Training diverges when the gradient norm is this many times `max_norm`. Sound runs reach up to five times.
const DIVERGING: f64 = 100.0;
/// Number of steps in a row that a sign has to last.
const PATIENCE: u64 = 50;

/// Number of steps in a row that each sign has been seen.
#[derive(Debug, Default)]
pub(super) struct DivergenceMonitor {
    collapsed: u64,
    diverging: u64,
}

impl DivergenceMonitor {
    /// Takes note of a step, and says what has now been wrong for long enough. `std_floor` is the objective's floor
    /// under the standard deviation of latents.
    pub(super) fn observe(&mut self, std_floor: f64, report: &StepReport) -> Vec<String> {
        let mut warnings = Vec::new();
        let std = report.latent_std.unwrap_or(f64::INFINITY);
        if lasts(&mut self.collapsed, std < COLLAPSED * std_floor) {
            warnings.push(format!(
                "the latents have nearly the same value for every record (standard deviation {std:.1e} for {PATIENCE} \
                 steps): the representation may have collapsed"
            ));
        }
        if lasts(&mut self.diverging, report.norm > DIVERGING * MAX_NORM) {
            warnings.push(format!(
                "the gradient norm has been more than {DIVERGING} times max_norm, to which gradients are clipped (now \
                 {}), for {PATIENCE} steps: training diverges, and a lower peak_rate may help",
                significant(report.norm, 2)
            ));
        }
        warnings
    }
}

/// Counts a sign; true at the step where it has been seen for long enough.
fn lasts(steps: &mut u64, seen: bool) -> bool {
    *steps = if seen { *steps + 1 } else { 0 };
    *steps == PATIENCE
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn step(norm: f64, latent_std: f64) -> StepReport {
        StepReport {
            learning_rate: 1e-4,
            ema_momentum: 0.996,
            losses: BTreeMap::new(),
            norms: BTreeMap::new(),
            alpha: 1.0,
            norm,
            latent_std: Some(latent_std),
        }
    }

    #[test]
    fn a_sign_that_lasts_is_told_once() {
        let mut monitor = DivergenceMonitor::default();
        let told = |monitor: &mut DivergenceMonitor, norm, std, steps| -> usize {
            (0..steps).map(|_| monitor.observe(0.1, &step(norm, std)).len()).sum()
        };
        assert_eq!(told(&mut monitor, 4.0, 0.2, 200), 0);
        assert_eq!(told(&mut monitor, 101.0, 0.2, 49), 0);
        assert_eq!(told(&mut monitor, 101.0, 0.2, 100), 1);
        assert_eq!(told(&mut monitor, 4.0, 0.009, 100), 1);
        assert_eq!(told(&mut monitor, 1e9, 0.009, 49), 0);
        assert_eq!(told(&mut monitor, 4.0, 0.2, 1), 0);
        assert_eq!(told(&mut monitor, 1e9, 0.009, 50), 2);
    }
}
