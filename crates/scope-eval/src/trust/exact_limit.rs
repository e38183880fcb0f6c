//! What the exact posterior has where a network is used and it exists: measured figures.

use scope_data::{PerChannel, observation::Condition};
use scope_pde::Pde;
use serde::Serialize;

/// Mean relative L2 errors of the exact posterior on fresh records under one condition, exact readings on 128 x 128 points.
///
/// Those of 500 sensors are from docs/exact.md; the others by `scope evaluate --method exact --pde PDE --protocol few` on 100 records of
/// `scope data generate PDE --split test --seed 20261118`.
const MEASURED: [(Pde, &str, usize, [f64; 2]); 34] = [
    (Pde::POISSON, "forward/uniform/5", 100, [67.3, 57.8]),
    (Pde::POISSON, "forward/uniform/10", 100, [53.5, 41.43]),
    (Pde::POISSON, "forward/uniform/20", 100, [40.4, 26.66]),
    (Pde::POISSON, "forward/uniform/50", 100, [25.2, 12.62]),
    (Pde::POISSON, "forward/uniform/100", 100, [17.4, 6.81]),
    (Pde::POISSON, "forward/uniform/500", 1000, [7.65, 1.5]),
    (Pde::POISSON, "inverse/uniform/5", 100, [59.3, 38.99]),
    (Pde::POISSON, "inverse/uniform/10", 100, [43.8, 18.51]),
    (Pde::POISSON, "inverse/uniform/20", 100, [30.4, 8.13]),
    (Pde::POISSON, "inverse/uniform/50", 100, [18.9, 2.63]),
    (Pde::POISSON, "inverse/uniform/100", 100, [12.7, 0.97]),
    (Pde::POISSON, "inverse/uniform/500", 1000, [5.56, 0.098]),
    (Pde::POISSON, "joint/uniform/5", 100, [46.1, 26.17]),
    (Pde::POISSON, "joint/uniform/10", 100, [33.8, 12.7]),
    (Pde::POISSON, "joint/uniform/20", 100, [23.2, 5.26]),
    (Pde::POISSON, "joint/uniform/50", 100, [13.9, 1.48]),
    (Pde::POISSON, "joint/uniform/100", 100, [9.7, 0.57]),
    (Pde::HELMHOLTZ, "forward/uniform/5", 100, [70.2, 65.56]),
    (Pde::HELMHOLTZ, "forward/uniform/10", 100, [56.8, 49.83]),
    (Pde::HELMHOLTZ, "forward/uniform/20", 100, [42.0, 28.34]),
    (Pde::HELMHOLTZ, "forward/uniform/50", 100, [26.8, 12.77]),
    (Pde::HELMHOLTZ, "forward/uniform/100", 100, [18.6, 6.9]),
    (Pde::HELMHOLTZ, "forward/uniform/500", 1000, [7.65, 1.5]),
    (Pde::HELMHOLTZ, "inverse/uniform/5", 100, [62.4, 43.96]),
    (Pde::HELMHOLTZ, "inverse/uniform/10", 100, [43.8, 21.33]),
    (Pde::HELMHOLTZ, "inverse/uniform/20", 100, [31.8, 9.57]),
    (Pde::HELMHOLTZ, "inverse/uniform/50", 100, [19.2, 2.75]),
    (Pde::HELMHOLTZ, "inverse/uniform/100", 100, [13.0, 0.99]),
    (Pde::HELMHOLTZ, "inverse/uniform/500", 1000, [5.3, 0.094]),
    (Pde::HELMHOLTZ, "joint/uniform/5", 100, [48.8, 28.86]),
    (Pde::HELMHOLTZ, "joint/uniform/10", 100, [34.8, 14.35]),
    (Pde::HELMHOLTZ, "joint/uniform/20", 100, [24.2, 5.89]),
    (Pde::HELMHOLTZ, "joint/uniform/50", 100, [14.8, 1.64]),
    (Pde::HELMHOLTZ, "joint/uniform/100", 100, [10.1, 0.62]),
];

/// Numbers of sensors are near each other within this factor.
const NEAR: f64 = 2.5;

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
    /// The measured condition nearest in number of sensors of a field, of the same task; none for a problem without exact posterior, nor
    /// for numbers far from all that were measured. The table's layouts are uniform.
    pub fn nearest(pde: Pde, task: &str, sensors: f64) -> Option<Self> {
        let apart = |limit: &Self| (limit.condition.budget() as f64 / sensors.max(1.0)).ln().abs();
        let of_task = |limit: &Self| limit.condition.task().name() == task;
        let all =
            MEASURED.iter().filter(|(of, ..)| *of == pde).filter_map(|(_, condition, records, [a, u])| {
                let condition = condition.parse().ok()?;
                Some(Self { condition, records: *records, error_percent: PerChannel { a: *a, u: *u } })
            });
        let near = |limit: &Self| apart(limit) <= NEAR.ln();
        all.filter(of_task).filter(near).min_by(|one, other| apart(one).total_cmp(&apart(other)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_has_a_condition_and_the_nearest_number_is_taken() {
        for (pde, condition, ..) in MEASURED {
            assert!([Pde::POISSON, Pde::HELMHOLTZ].contains(&pde), "{pde}");
            condition.parse::<Condition>().unwrap();
        }
        let nearest = |task: &str, sensors: f64| ExactLimit::nearest(Pde::POISSON, task, sensors).unwrap();
        assert_eq!(nearest("inverse", 480.0).condition.to_string(), "inverse/uniform/500");
        assert_eq!(nearest("inverse", 480.0).error_percent, PerChannel { a: 5.56, u: 0.098 });
        assert_eq!(nearest("forward", 3.0).condition.to_string(), "forward/uniform/5");
        assert_eq!(ExactLimit::nearest(Pde::POISSON, "inverse", 4000.0), None);
        assert_eq!(ExactLimit::nearest(Pde::DARCY, "inverse", 500.0), None);
    }
}
