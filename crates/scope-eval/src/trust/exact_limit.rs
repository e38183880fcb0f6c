//! What the exact posterior has where a network is used and it exists: measured figures.

use scope_data::{PerChannel, observation::Condition};
use scope_pde::Pde;
use serde::Serialize;

/// Mean relative L2 errors of the exact posterior on fresh records under one condition, exact readings on 128 x 128 points.
///
/// By `cargo run --release -p scope-exact --example limits -- PDE RECORDS CONDITION --errors-only`; docs/exact.md has the first
/// of them with standard errors.
const MEASURED: [(Pde, &str, usize, [f64; 2]); 0] = [];

/// What the exact posterior has under a condition like that of a network's sensors.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ExactLimit {
    /// Under which condition.
    pub condition: Condition,
    /// On how many fresh records.
    pub records: usize,
    /// Mean relative L2 errors of a and u, in percent.
    pub error_percent: PerChannel<f64>,
}

impl ExactLimit {
    /// The measured condition nearest in number of sensors, of the same task; none for a problem without exact posterior.
    ///
    /// Which of them is nearest hangs on the number of sensors alone: the table's layouts are uniform.
    pub fn nearest(pde: Pde, task: &str, sensors: f64) -> Option<Self> {
        let apart = |limit: &Self| (limit.condition.budget() as f64 / sensors.max(1.0)).ln().abs();
        let of_task = |limit: &Self| limit.condition.task().name() == task;
        let all = MEASURED.iter().filter(|(of, ..)| *of == pde).filter_map(|(_, condition, records, [a, u])| {
            let condition = condition.parse().ok()?;
            Some(Self { condition, records: *records, error_percent: PerChannel { a: *a, u: *u } })
        });
        all.filter(of_task).min_by(|one, other| apart(one).total_cmp(&apart(other)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_has_a_condition_and_the_nearest_number_is_taken() {
        for (pde, condition, ..) in MEASURED {
            assert!(matches!(pde, Pde::Poisson | Pde::Helmholtz), "{pde}");
            condition.parse::<Condition>().unwrap();
        }
        let nearest = |task: &str, sensors: f64| ExactLimit::nearest(Pde::Poisson, task, sensors).unwrap();
        assert_eq!(nearest("inverse", 480.0).condition.to_string(), "inverse/uniform/500");
        assert_eq!(nearest("inverse", 480.0).error_percent, PerChannel { a: 5.56, u: 0.098 });
        assert_eq!(nearest("forward", 3.0).condition.to_string(), "forward/uniform/5");
        assert_eq!(ExactLimit::nearest(Pde::Darcy, "inverse", 500.0), None);
    }
}
