//! Tables problem by problem: both channels, head sizes, deviations, bit errors, the cylinder's own condition.

use scope_pde::Pde;

use super::{
    choice::TableName,
    endpoint::Endpoint,
    published::{Channels, Published},
    runs::{Measured, Run, auxiliary_by_label, by_label, classified, problems},
    table::{Cell, Section, Table},
};
use crate::protocol::Protocol;

fn names(columns: &[&str]) -> Vec<String> {
    columns.iter().map(ToString::to_string).collect()
}

/// Both channels of both tasks, Darcy's continuous error and the records scored.
fn row(label: String, figures: &Channels, counts: String) -> Vec<Cell> {
    let values =
        [figures.forward_a, figures.forward_u, figures.inverse_a, figures.inverse_u, figures.inverse_a_l2];
    let mut cells = vec![Cell::text(label)];
    cells.extend(values.map(|value| Cell::number(value, 4)));
    cells.push(Cell::text(counts));
    cells
}

/// Errors in the columns of their own fields: the endpoints of a problem of one field are both that one's.
fn of_present_fields(pde: Pde, means: Channels) -> Channels {
    let present = pde.present();
    Channels {
        forward_a: means.forward_a.filter(|_| present.a),
        inverse_a: means.inverse_a.filter(|_| present.a),
        forward_u: means.forward_u.filter(|_| present.u),
        inverse_u: means.inverse_u.filter(|_| present.u),
        ..means
    }
}

/// Both channels problem by problem: a section each, the paper's rows first, then those of our runs that belong there.
fn by_problem(
    name: TableName,
    heading: &str,
    published: &Published,
    methods: &[&str],
    runs: &[&Run],
) -> Table {
    let mut sections = Vec::new();
    let mut has_ours = false;
    for pde in problems(runs.iter().copied()) {
        let measured: Vec<(&Run, Measured<'_>)> = (runs.iter().filter(|run| run.is(pde)))
            .map(|run| (*run, run.channels(Protocol::Uniform500)))
            .filter(|(_, measured)| measured.any())
            .collect();
        has_ours |= !measured.is_empty();
        let paper = methods.iter().filter_map(|method| published.of(pde, method));
        let mut rows: Vec<Vec<Cell>> = paper
            .map(|figures| row(format!("the paper: {}", figures.method), figures, "—".to_owned()))
            .collect();
        rows.extend(measured.iter().map(|(run, measured)| {
            row(
                format!("ours: {}", run.label()),
                &of_present_fields(pde, measured.means()),
                measured.counts(),
            )
        }));
        sections.push(Section { title: pde.title().to_owned(), rows });
    }
    let two_valued = classified(&problems(runs.iter().copied()));
    let mut columns = names(&CHANNELS);
    match &two_valued {
        Some(titles) => columns[BIT_ERRORS] = format!("{titles} inverse a (L2)"),
        None => {
            columns[3] = "inverse a".to_owned();
            columns.remove(BIT_ERRORS);
            for row in sections.iter_mut().flat_map(|section: &mut Section| &mut section.rows) {
                row.remove(BIT_ERRORS);
            }
        }
    }
    let notes = vec![channel_note(two_valued.as_deref())];
    Table { name, title: heading.to_owned(), columns, has_ours, sections, notes }
}

const CHANNELS: [&str; 7] =
    ["model", "forward a", "forward u", "inverse a*", "inverse u", "Darcy inverse a (L2)", "scored"];
/// The column of continuous errors beside bit error rates.
const BIT_ERRORS: usize = 5;

/// What stands below such a table, where these problems have bit errors.
fn channel_note(two_valued: Option<&str>) -> String {
    let undefined =
        "Zero targets have no relative error: they are counted as undefined and left out of the means.";
    match two_valued {
        Some(titles) => format!(
            "Percent at uniform/500. Inverse a* is a bit error rate for {titles} and a relative L2 error elsewhere; {titles}'s \
             relative error is auxiliary. {undefined}"
        ),
        None => format!("Percent at uniform/500, relative L2 errors. {undefined}"),
    }
}

/// The table of the errors of both reconstructed channels.
pub(super) fn channels(published: &Published, runs: &[Run]) -> Table {
    let methods = ["FO", "FJV", "Full", "SP-5M", "SP-10M"];
    let ours: Vec<&Run> = runs.iter().collect();
    by_problem(TableName::Channels, "Both reconstructed channels", published, &methods, &ours)
}

/// Head sizes and training views.
pub(super) fn capacity(published: &Published, runs: &[Run]) -> Table {
    let heads = ["DP-5M", "DP-10M", "DP-15M", "SP-5M", "SP-10M", "SP-15M"];
    let adapted = |run: &Run| run.identity().method.replaced_decoder().is_some();
    let ours: Vec<&Run> = runs.iter().filter(|run| adapted(run)).collect();
    by_problem(TableName::Capacity, "Decoder size and training view", published, &heads, &ours)
}

/// The cylinder's known disk with 1% of the fluid.
pub(super) fn cylinder(published: &Published, runs: &[Run]) -> Table {
    let cells = |label: String, figures: &Channels, counts: String| {
        let mut cells = row(label, figures, counts);
        cells.remove(BIT_ERRORS);
        cells
    };
    let paper =
        published.benchmark.iter().map(|row| cells(format!("Full / {}", row.method), row, "—".to_owned()));
    let measured = runs.iter().map(|run| (run, run.channels(Protocol::Benchmark)));
    let ours: Vec<Vec<Cell>> = measured
        .filter(|(_, measured)| measured.any())
        .map(|(run, measured)| cells(run.label(), &measured.means(), measured.counts()))
        .collect();
    Table {
        name: TableName::Cylinder,
        title: "A separate condition of the cylinder: known disk and 1% of the fluid".to_owned(),
        columns: names(&["model", "forward a", "forward u", "inverse a", "inverse u", "scored"]),
        has_ours: !ours.is_empty(),
        sections: vec![
            Section { title: "The paper".to_owned(), rows: paper.collect() },
            Section { title: "Ours, on our own flow".to_owned(), rows: ours },
        ],
        notes: vec!["Relative L2 errors in percent.".to_owned()],
    }
}

/// Means and deviations over records of the hidden field.
pub(super) fn dispersion(published: &Published, runs: &[Run], endpoint: Endpoint) -> Table {
    let problems = problems(runs.iter());
    let figure = |row: &Channels| match endpoint {
        Endpoint::Forward => (row.forward_u, row.forward_u_sd),
        Endpoint::Inverse => (row.inverse_a, row.inverse_a_sd),
    };
    let cell = |row: Option<&Channels>| {
        let (mean, sd) = row.map_or((None, None), figure);
        Cell::with_sd(mean, sd, 4)
    };
    let line = |label: &str, rows: &[Channels]| -> Vec<Cell> {
        let of = |pde: Pde| cell(rows.iter().find(|row| row.pde == Some(pde) && row.method == label));
        std::iter::once(Cell::text(label)).chain(problems.iter().copied().map(of)).collect()
    };
    let lines = |labels: &[&str], rows: &[Channels]| labels.iter().map(|label| line(label, rows)).collect();
    type MeansOf = fn(&Run) -> Channels;
    let rows = |groups: Vec<(String, Vec<&Run>)>, means: MeansOf| -> Vec<Vec<Cell>> {
        let row = |(label, members): &(String, Vec<&Run>)| {
            let of = |pde: Pde| cell(members.iter().find(|run| run.is(pde)).map(|run| means(run)).as_ref());
            std::iter::once(Cell::text(label)).chain(problems.iter().copied().map(of)).collect()
        };
        groups.iter().map(row).collect()
    };
    let ours = Ours {
        rows: rows(by_label(runs.iter()), |run| run.channels(Protocol::Uniform500).means()),
        auxiliary: rows(auxiliary_by_label(runs.iter()), |run| run.auxiliary().means()),
    };
    let mut columns = vec!["method".to_owned()];
    columns.extend(problems.iter().map(|&pde| format!("{}{}", pde.title(), endpoint.mark(pde))));
    let (name, title) = match endpoint {
        Endpoint::Forward => (TableName::ForwardSd, "Forward recovery of u: mean and deviation over records"),
        Endpoint::Inverse => (TableName::InverseSd, "Inverse recovery of a: mean and deviation over records"),
    };
    Table {
        name,
        title: title.to_owned(),
        columns,
        has_ours: !ours.rows.is_empty() || !ours.auxiliary.is_empty(),
        sections: sections(published, lines, ours),
        notes: vec![
            "Percent, uniform/500 but for the auxiliary operators. Deviations are over records, not over trainings.".to_owned(),
        ],
    }
}

/// Our rows of a table: at 500 uniform points, and under the auxiliary study.
struct Ours {
    rows: Vec<Vec<Cell>>,
    auxiliary: Vec<Vec<Cell>>,
}

/// The paper's rows by kind of method, then ours; `lines` makes a table's rows of the methods that are named.
fn sections(
    published: &Published,
    lines: impl Fn(&[&str], &[Channels]) -> Vec<Vec<Cell>>,
    ours: Ours,
) -> Vec<Section> {
    let section = |title: &str, rows| Section { title: title.to_owned(), rows };
    let operators = "The paper: auxiliary operators, 3% Bernoulli masks, their own units";
    let mut sections = vec![
        section(operators, lines(&AUXILIARY, &published.auxiliary)),
        section("The paper: backbone recipes", lines(&["FO", "FJV", "Full"], &published.channels)),
        section("The paper: heads on Full", lines(&["SP-5M", "SP-10M", "SP-15M"], &published.channels)),
        section("Ours", ours.rows),
    ];
    if !ours.auxiliary.is_empty() {
        sections.push(section("Ours: the auxiliary study, its masks and units", ours.auxiliary));
    }
    sections
}

/// The auxiliary operators of the paper: other networks under other masks.
pub(super) const AUXILIARY: [&str; 4] = ["DeepONet + G", "DeepONet", "FNO + G", "FNO"];

/// Darcy's inverse as a classification.
pub(super) fn darcy(published: &Published, runs: &[Run]) -> Table {
    let cells = |label: &str, mean: Option<f64>, sd: Option<f64>| {
        vec![Cell::text(label), Cell::with_sd(mean, sd, 4), Cell::number(mean.map(|rate| 100.0 - rate), 4)]
    };
    let lines = |methods: &[&str], rows: &[Channels]| -> Vec<Vec<Cell>> {
        let row =
            |method: &&str| rows.iter().find(|row| row.pde == Some(Pde::DARCY) && row.method == *method);
        methods
            .iter()
            .filter_map(row)
            .map(|row| cells(&row.method, row.inverse_a, row.inverse_a_sd))
            .collect()
    };
    type MeasuredOf = fn(&Run) -> Measured<'_>;
    let rows = |measured: MeasuredOf| -> Vec<Vec<Cell>> {
        (runs.iter().filter(|run| run.is(Pde::DARCY)))
            .filter_map(|run| Some((run, measured(run).inverse_a?)))
            .map(|(run, summary)| cells(&run.label(), summary.mean, summary.sd))
            .collect()
    };
    let ours = Ours { rows: rows(|run| run.channels(Protocol::Uniform500)), auxiliary: rows(Run::auxiliary) };
    Table {
        name: TableName::DarcyBer,
        title: "Darcy's inverse as a classification".to_owned(),
        columns: names(&["method", "bit error rate, %", "pixel accuracy, %"]),
        has_ours: !ours.rows.is_empty() || !ours.auxiliary.is_empty(),
        sections: sections(published, lines, ours),
        notes: vec!["The threshold is 7.5; accuracy is what is missing to 100.".to_owned()],
    }
}
