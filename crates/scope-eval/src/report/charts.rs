//! Figures from evaluations: methods side by side, and errors against sensors.

use scope_pde::Pde;

use super::runs::{Run, by_label, title};
use crate::figure::{AxisLabel, Bars, Curve, Drawing, Scale, bar_chart, curve_chart};

/// Mean errors with their deviations over records, a group of bars a problem; forward u, or inverse a (Darcy: bit errors).
pub fn comparison_chart(runs: &[Run], forward: bool) -> Drawing {
    let problems: Vec<_> = Pde::ALL.into_iter().filter(|pde| runs.iter().any(|run| run.is(*pde))).collect();
    let value = |run: &Run| {
        let channels = run.channels("uniform/500");
        let summary = if forward { channels.forward_u } else { channels.inverse_a }?;
        Some((summary.mean?, summary.sd.unwrap_or(0.0)))
    };
    let bars: Vec<Bars> = (by_label(runs.iter()).into_iter())
        .map(|(name, members)| {
            let of = |pde: &Pde| members.iter().find(|run| run.is(*pde)).and_then(|run| value(run));
            Bars { name, values: problems.iter().map(of).collect() }
        })
        .collect();
    let groups: Vec<String> = problems.into_iter().map(|pde| title(pde).to_owned()).collect();
    let (name, axis) = if forward {
        ("Forward: u from 500 points of a", "relative L2 error, %")
    } else {
        ("Inverse: a from 500 points of u", "relative L2 error (Darcy: bit errors), %")
    };
    bar_chart(name, axis, &groups, &bars)
}

/// The error of a task's own field against the number of sensors, a curve a family, if the run was evaluated under all conditions.
/// `task` is `forward`, `inverse` or `joint`, `measure` the error.
pub fn budget_chart(run: &Run, task: &str, measure: &str) -> Option<Drawing> {
    let mut curves = Vec::new();
    for family in scope_data::observation::Family::ALL {
        let of = |budget: &usize| {
            let condition = format!("{task}/{}/{budget}", family.name());
            Some((*budget as f64, run.summary(&condition, measure)?.mean?))
        };
        let points: Vec<(f64, f64)> = family.budgets().iter().filter_map(of).collect();
        if points.len() > 1 {
            curves.push(Curve { name: family.name().to_owned(), points });
        }
    }
    let name = format!("{}, {}: {task} {measure}", run.pde(), run.label());
    let sensors = AxisLabel { name: "sensors", scale: Scale::Log };
    let error = AxisLabel { name: "mean error, %", scale: Scale::Log };
    (!curves.is_empty()).then(|| curve_chart(&name, sensors, error, &curves, &[]))
}
