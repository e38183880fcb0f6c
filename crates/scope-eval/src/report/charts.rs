//! Figures from evaluations: methods side by side, and errors against sensors.

use std::collections::BTreeSet;

use scope_data::observation::{Condition, Family, Task};
use scope_model::{Card, Measure};
use scope_pde::Pde;

use super::endpoint::Endpoint;
use super::figures::AUXILIARY;
use super::published::{Channels, Published};
use super::runs::{Measured, Run, are_all_own, auxiliary_by_label, by_label, classified};
use crate::figure::{AxisLabel, Bars, Curve, CurveChart, Drawing, Scale, bar_chart};
use crate::protocol::Protocol;

/// The errors that are drawn against numbers of sensors.
const BUDGET_CHARTS: [(Task, Measure); 4] = [
    (Task::Forward, Measure::U),
    (Task::Inverse, Measure::A),
    (Task::Joint, Measure::A),
    (Task::Joint, Measure::U),
];

/// Mean errors with their deviations over records, a group of bars a problem; forward u, or inverse a (Darcy: bit
/// errors). As in the paper's figure, the auxiliary operators come first, observed and scored in ways of their own.
pub fn comparison_chart(runs: &[Run], endpoint: Endpoint) -> Drawing {
    let problems: BTreeSet<Pde> = runs.iter().map(Run::pde).collect();
    type MeasuredOf = fn(&Run) -> Measured<'_>;
    let bars = |groups: Vec<(String, Vec<&Run>)>, measured: MeasuredOf| -> Vec<Bars> {
        let value = |run: &Run| {
            let measured = measured(run);
            let summary = match endpoint {
                Endpoint::Forward => measured.forward_u,
                Endpoint::Inverse => measured.inverse_a,
            }?;
            Some((summary.mean?, summary.sd.unwrap_or(0.0)))
        };
        let row = |(name, members): (String, Vec<&Run>)| {
            let of = |pde: &Pde| members.iter().find(|run| run.is(*pde)).and_then(|run| value(run));
            Bars { name, values: problems.iter().map(of).collect() }
        };
        groups.into_iter().map(row).collect()
    };
    let auxiliary = bars(auxiliary_by_label(runs.iter()), Run::auxiliary);
    let has_auxiliary = !auxiliary.is_empty();
    let uniform = bars(by_label(runs.iter()), |run| run.channels(Protocol::Uniform500));
    let bars = [auxiliary, uniform].concat();
    let groups: Vec<String> = problems.iter().map(|pde| pde.title().to_owned()).collect();
    let name = match endpoint {
        Endpoint::Forward => "Forward: u from 500 of 128 x 128 points of a",
        Endpoint::Inverse => "Inverse: a from 500 of 128 x 128 points of u",
    };
    // Grids of one's own have another number of points, and the same share of them is seen.
    let name =
        if are_all_own(&problems) { name.replace("500 of 128 x 128", "3% of the") } else { name.to_owned() };
    let name = if has_auxiliary { format!("{name} (auxiliary: 3%)") } else { name };
    let two_valued = classified(&problems.into_iter().collect::<Vec<_>>());
    let axis = match (endpoint, two_valued) {
        (Endpoint::Inverse, Some(titles)) => format!("relative L2 error ({titles}: bit errors), %"),
        _ => "relative L2 error, %".to_owned(),
    };
    bar_chart(&name, &axis, &groups, &bars)
}

/// The paper's figure of grounding and readout, from its own figures: auxiliary operators, recipes and decoders. The
/// operators were observed and scored in ways of their own, so they compare among themselves only.
pub fn published_chart(published: &Published, endpoint: Endpoint) -> Drawing {
    let figure = |row: &Channels| match endpoint {
        Endpoint::Forward => Some((row.forward_u?, row.forward_u_sd?)),
        Endpoint::Inverse => Some((row.inverse_a?, row.inverse_a_sd?)),
    };
    let bars = |name: &str, of: &str, rows: &[Channels]| {
        let row = |pde: Pde| rows.iter().find(|row| row.pde == Some(pde) && row.method == of);
        Bars { name: name.to_owned(), values: Pde::ALL.map(|pde| row(pde).and_then(figure)).into() }
    };
    let operators =
        AUXILIARY.map(|method| bars(&format!("{method} (auxiliary)"), method, &published.auxiliary));
    let ours = ["FO", "FJV", "Full", "SP-5M", "SP-10M", "SP-15M"];
    let scope = ours.map(|method| bars(method, method, &published.channels));
    let groups: Vec<String> = Pde::ALL.map(|pde| pde.title().to_owned()).into();
    let name = match endpoint {
        Endpoint::Forward => "The paper, forward: u",
        Endpoint::Inverse => "The paper, inverse: a",
    };
    let bars: Vec<Bars> = operators.into_iter().chain(scope).collect();
    bar_chart(name, "error, % (Darcy's a: bit errors)", &groups, &bars)
}

/// An error under a task against the number of sensors, a curve a family, of what was evaluated under all conditions;
/// `mean` is the mean error under one.
fn budget_chart(
    of: &str,
    task: Task,
    measure: Measure,
    mean: impl Fn(Condition) -> Option<f64>,
) -> Option<CurveChart> {
    let mut curves = Vec::new();
    for family in Family::ALL {
        let of = |budget: &usize| {
            let condition = Condition::new(task, family, *budget).ok()?;
            Some((*budget as f64, mean(condition)?))
        };
        let points: Vec<(f64, f64)> = family.budgets().iter().filter_map(of).collect();
        if points.len() > 1 {
            curves.push(Curve { name: family.name().to_owned(), points });
        }
    }
    let title = format!("{of}: {} {measure}", task.name());
    let x = AxisLabel::new("sensors", Scale::Log);
    let y = AxisLabel::new("mean error, %", Scale::Log);
    (!curves.is_empty()).then(|| CurveChart { title, x, y, curves, levels: Vec::new() })
}

/// Errors of a run against numbers of sensors, with what each chart's file is called after the run's name.
pub fn run_budget_charts(run: &Run) -> Vec<(String, CurveChart)> {
    let of = format!("{}, {}", run.pde(), run.label());
    budget_charts(&of, |condition, measure| run.summary(condition, measure)?.mean)
}

/// The same from the card of a model.
pub fn card_budget_charts(card: &Card) -> Vec<(String, CurveChart)> {
    let of = format!("{}, {} ({})", card.pde, card.training.recipe.to_uppercase(), card.size);
    let mean = |condition: Condition, measure: Measure| {
        let errors = card.held_out.conditions.get(&condition)?;
        match measure {
            Measure::Relative(channel) => errors.of(channel),
            Measure::BitErrorRate => errors.ber,
            _ => None,
        }
    };
    budget_charts(&of, mean)
}

fn budget_charts(of: &str, mean: impl Fn(Condition, Measure) -> Option<f64>) -> Vec<(String, CurveChart)> {
    let chart = |(task, measure): (Task, Measure)| {
        let chart = budget_chart(of, task, measure, |condition| mean(condition, measure))?;
        Some((format!("{}-{measure}", task.name()), chart))
    };
    BUDGET_CHARTS.into_iter().filter_map(chart).collect()
}
