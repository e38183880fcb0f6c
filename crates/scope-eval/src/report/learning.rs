//! Learning curves: held-out errors against the draws and the minutes of training.

use std::collections::BTreeSet;

use scope_model::{Budget, Provenance};
use scope_pde::Pde;

use super::{
    endpoint::Endpoint,
    published::Published,
    runs::{Run, Runs, grouped, millions, problems},
};
use crate::{
    evaluate::PerRecord,
    figure::{AxisLabel, Curve, CurveChart, Level, Scale},
    summary::Summary,
};

/// With fewer numbers of draws there is no curve.
const LEAST_POINTS: usize = 3;

/// What a curve's errors are drawn against.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cost {
    /// Examples seen.
    Draws,
    /// The time that a run was given, if its length was a time.
    Minutes,
}

impl Cost {
    const ALL: [Cost; 2] = [Cost::Draws, Cost::Minutes];

    /// What files of charts begin with.
    fn name(self) -> &'static str {
        match self {
            Cost::Draws => "draws",
            Cost::Minutes => "minutes",
        }
    }

    fn axis(self) -> AxisLabel {
        let name = match self {
            Cost::Draws => "draws of training",
            Cost::Minutes => "minutes of training",
        };
        AxisLabel::new(name, Scale::Log)
    }

    fn of(self, budget: &Budget) -> Option<f64> {
        match self {
            Cost::Draws => Some(budget.taken() as f64),
            Cost::Minutes => budget.minutes,
        }
    }
}

/// A model that was measured after so many draws.
#[derive(Clone, Copy)]
struct Point<'a> {
    run: &'a Run,
    budget: &'a Budget,
    /// The errors of the first records of its set.
    errors: &'a PerRecord,
}

/// Points of one curve, by draws.
struct Strand<'a> {
    points: Vec<Point<'a>>,
    /// The fewest records that any of them has: errors are means over these.
    records: usize,
    /// Whether they are runs that were each planned for their draws, and not moments of one run.
    finished: bool,
}

impl Strand<'_> {
    /// Whether its points can be drawn against a cost. The minutes of a run are those of its end and say nothing of its
    /// moments, and runs of equal minutes have no order.
    fn has(&self, cost: Cost) -> bool {
        let costs: Option<Vec<f64>> = self.points.iter().map(|point| cost.of(point.budget)).collect();
        cost == Cost::Draws
            || self.finished && costs.is_some_and(|costs| costs.is_sorted_by(|one, next| one < next))
    }

    /// Costs and errors.
    fn means(&self, cost: Cost) -> Vec<(f64, f64)> {
        let of = |point: &Point<'_>| {
            Some((cost.of(point.budget)?, Summary::of(&point.errors[..self.records]).mean?))
        };
        self.points.iter().filter_map(of).collect()
    }
}

/// Charts for each problem and endpoint that has curves, with the names of their files: against draws and, for finished
/// runs whose lengths were times, against minutes. Errors are those at uniform/500. A curve goes through moments of one
/// training, or through finished runs of one kind and seed.
pub fn learning_charts(published: &Published, runs: &Runs) -> Vec<(String, CurveChart)> {
    let measured = problems(runs.latest.iter().chain(&runs.earlier));
    let all = measured.into_iter().flat_map(|pde| Endpoint::ALL.map(|endpoint| (pde, endpoint)));
    let charts = |(pde, endpoint): (Pde, Endpoint)| {
        let points: Vec<Point<'_>> = (runs.latest.iter().chain(&runs.earlier))
            .filter(|run| run.is(pde))
            .filter_map(|run| point(run, pde, endpoint))
            .collect();
        Cost::ALL.map(|cost| {
            let strands: Vec<Strand<'_>> =
                strands(&points).into_iter().filter(|strand| strand.has(cost)).collect();
            let name = format!("{}-{pde}-{}-{}", cost.name(), endpoint.task().name(), endpoint.measure(pde));
            (!strands.is_empty()).then(|| (name, chart(published, pde, endpoint, &strands, cost)))
        })
    };
    all.flat_map(charts).flatten().collect()
}

fn point(run: &Run, pde: Pde, endpoint: Endpoint) -> Option<Point<'_>> {
    let errors = run.values(endpoint.condition(pde)?, endpoint.measure(pde))?;
    Some(Point { run, budget: run.identity().method.training.as_ref()?, errors })
}

/// The curves of all points that have enough of them.
fn strands<'a>(points: &[Point<'a>]) -> Vec<Strand<'a>> {
    let method = |point: &Point<'a>| &point.run.identity().method;
    let moments = gather(points.iter(), |a, b| method(a).is_same_training(method(b)));
    let whole = points.iter().filter(|point| !point.budget.cut_short);
    let runs = gather(whole, |a, b| method(a).is_same_kind(method(b)) && a.budget.seed == b.budget.seed);
    let strand = |finished: bool| {
        move |points: Vec<Point<'a>>| {
            let records = points.iter().map(|point| point.errors.len()).min().unwrap_or(0);
            Strand { points, records, finished }
        }
    };
    moments.into_iter().map(strand(false)).chain(runs.into_iter().map(strand(true))).collect()
}

/// Points that belong together and were measured on records and masks of the same set, by draws. A second one with the
/// same draws begins another curve, in the order they come.
fn gather<'a: 'b, 'b>(
    points: impl Iterator<Item = &'b Point<'a>>,
    together: impl Fn(&Point<'a>, &Point<'a>) -> bool,
) -> Vec<Vec<Point<'a>>> {
    let tested = |point: &Point<'a>| {
        let Provenance { data, masks, .. } = point.run.identity();
        (data.blake3.clone(), masks.seed, masks.noise)
    };
    let mut strands: Vec<Vec<Point<'a>>> = Vec::new();
    for point in points {
        let free = |strand: &&mut Vec<Point<'a>>| {
            tested(&strand[0]) == tested(point)
                && together(&strand[0], point)
                && strand.iter().all(|other| other.budget.taken() != point.budget.taken())
        };
        match strands.iter_mut().find(free) {
            Some(strand) => strand.push(*point),
            None => strands.push(vec![*point]),
        }
    }
    strands.retain(|strand| strand.len() >= LEAST_POINTS);
    strands.iter_mut().for_each(|strand| strand.sort_by_key(|point| point.budget.taken()));
    strands
}

fn chart(
    published: &Published,
    pde: Pde,
    endpoint: Endpoint,
    strands: &[Strand<'_>],
    cost: Cost,
) -> CurveChart {
    let curves: Vec<Curve> = (strands.iter().zip(names(strands)))
        .map(|(strand, name)| Curve { name, points: strand.means(cost) })
        .collect();
    let task = endpoint.task().name();
    let measure = endpoint.measure(pde);
    let records = strands.iter().map(|strand| strand.records).collect::<BTreeSet<_>>();
    let records = records.into_iter().map(grouped).collect::<Vec<_>>().join(" or ");
    let heading = format!("{}, uniform/500: {task} {measure}, {records} records", pde.title());
    let error = if endpoint.is_classification(pde) {
        "bit errors on held-out records, %"
    } else {
        "mean error on held-out records, %"
    };
    let y = AxisLabel::new(error, Scale::Log);
    CurveChart { title: heading, x: cost.axis(), y, curves, levels: levels(published, pde, endpoint) }
}

/// What the paper's recipes came to.
fn levels(published: &Published, pde: Pde, endpoint: Endpoint) -> Vec<Level> {
    let own = pde.descriptor().distribution.own();
    let source = own.map_or("the paper".to_owned(), |own| format!("the paper, its own {}", own.what));
    let level = |method: &str| {
        let row = published.of(pde, method)?;
        let value = match endpoint {
            Endpoint::Forward => row.forward_u,
            Endpoint::Inverse => row.inverse_a,
        }?;
        Some(Level { name: format!("{source}: {method}, {value:.2}"), value })
    };
    ["Full", "FO"].into_iter().filter_map(level).collect()
}

/// Names that tell curves apart: by seed and length too where labels do not.
fn names(strands: &[Strand<'_>]) -> Vec<String> {
    let plain = |strand: &Strand<'_>| {
        let label = strand.points[0].run.label();
        if strand.finished { format!("{label}, finished runs") } else { label }
    };
    let full = |strand: &Strand<'_>| {
        let budget = strand.points[0].budget;
        let seed = budget.seed.map_or(String::new(), |seed| format!(", seed {seed}"));
        let planned = budget.planned.filter(|_| !strand.finished);
        let planned = planned.map_or(String::new(), |draws| format!(", of {}", millions(draws)));
        format!("{}{seed}{planned}", plain(strand))
    };
    let unique =
        |strand: &Strand<'_>| strands.iter().filter(|other| plain(other) == plain(strand)).count() == 1;
    let mut names: Vec<String> = Vec::new();
    for strand in strands {
        let name = if unique(strand) { plain(strand) } else { full(strand) };
        let same = strands[..names.len()].iter().filter(|other| full(other) == full(strand)).count();
        names.push(if same == 0 { name } else { format!("{name} ({})", same + 1) });
    }
    names
}
