//! Tables with a forward and an inverse error for each problem.

use scope_data::observation::Condition;
use scope_model::MethodKind;
use scope_pde::Pde;

use super::{
    choice::TableName,
    endpoint::Endpoint,
    published::{Errors, Group, Published},
    runs::{Run, are_all_own, by_label, classified, problems},
    table::{Cell, Section, Table, rank},
};
use crate::protocol::Protocol;

/// The label of a row, its two errors for each problem, and what its training was.
struct Row {
    label: String,
    errors: Vec<Errors>,
    training: String,
}

impl Row {
    fn cells(&self, decimals: usize) -> Vec<Cell> {
        let errors = self.errors.iter().flat_map(|errors| [errors.forward, errors.inverse]);
        let mut cells = vec![Cell::text(&self.label)];
        cells.extend(errors.map(|error| Cell::number(error, decimals)));
        cells.push(Cell::text(&self.training));
        cells
    }
}

/// The columns: two a problem, and the training.
fn columns(problems: &[Pde]) -> Vec<String> {
    let mut columns = vec!["method".to_owned()];
    for &pde in problems {
        let of = |endpoint: Endpoint, name| format!("{} {name}{}", pde.title(), endpoint.mark(pde));
        columns.extend([of(Endpoint::Forward, "fwd"), of(Endpoint::Inverse, "inv")]);
    }
    columns.push("training".to_owned());
    columns
}

/// SCOPE's row of the paper.
fn scope_row(published: &Published, problems: &[Pde], method: &str, label: &str, training: &str) -> Row {
    let errors = problems.iter().map(|pde| {
        let row = published.of(*pde, method);
        Errors { forward: row.and_then(|row| row.forward_u), inverse: row.and_then(|row| row.inverse_a) }
    });
    Row { label: label.to_owned(), errors: errors.collect(), training: training.to_owned() }
}

/// Our runs, those of one label in one row.
fn our_rows<'a>(problems: &[Pde], runs: impl Iterator<Item = &'a Run>) -> Vec<(Row, Vec<&'a Run>)> {
    let finished = |(label, members): (String, Vec<&'a Run>)| {
        let errors = problems.iter().map(|pde| {
            let means =
                members.iter().find(|run| run.is(*pde)).map(|run| run.channels(Protocol::Uniform500).means());
            let means = means.unwrap_or_default();
            Errors { forward: means.forward_u, inverse: means.inverse_a }
        });
        let row = Row { label, errors: errors.collect(), training: training(&members) };
        (row, members)
    };
    by_label(runs).into_iter().map(finished).collect()
}

/// What the trainings of a row cost: once if all cost the same, and else under each problem's name.
fn training(members: &[&Run]) -> String {
    let costs: Vec<String> = members.iter().map(|run| run.training()).collect();
    match costs.first() {
        Some(first) if costs.iter().all(|cost| cost == first) => first.clone(),
        _ => {
            let named =
                members.iter().zip(&costs).map(|(run, cost)| format!("{}: {cost}", run.pde().title()));
            named.collect::<Vec<_>>().join("; ")
        }
    }
}

/// What every such table says below.
fn notes(runs: &[Run]) -> Vec<String> {
    let bit_errors = classified(&problems(runs.iter()))
        .map_or(String::new(), |titles| format!("; {titles}'s inverse is a bit error rate"));
    let mut notes =
        vec![format!("Percent, uniform/500: forward evaluates u, inverse evaluates a{bit_errors}.")];
    if runs.iter().any(|run| run.identity().data.generated) {
        notes.push(
            "Our rows: generated data, fresh draws and not the released records; the cylinder is our own flow, so the paper's \
             figures for it are no comparison."
                .to_owned(),
        );
    }
    notes
}

/// Sparse recovery across problems: the literature, the paper's operators, the paper's SCOPE, and ours.
pub(super) fn main(published: &Published, runs: &[Run]) -> Table {
    let problems = problems(runs.iter());
    let compared = |group: Group| -> Vec<Vec<Cell>> {
        let rows = published.compared.iter().filter(|row| row.group == group);
        let of = |row: &super::published::Compared| Row {
            label: row.method.clone(),
            errors: problems.iter().map(|pde| row.errors.get(pde).copied().unwrap_or_default()).collect(),
            training: row.source.clone(),
        };
        rows.map(|row| of(row).cells(2)).collect()
    };
    let mut operators = compared(Group::Operators);
    let mut scope = vec![
        scope_row(published, &problems, "Full", "SCOPE-Full", "the paper, 500 epochs").cells(2),
        scope_row(published, &problems, "SP-10M", "SCOPE-SP-10M", "the paper, 500 + 100 epochs").cells(2),
    ];
    rank(&mut operators.iter_mut().chain(&mut scope).collect::<Vec<_>>());
    let ours = our_rows(&problems, runs.iter());
    let mut cells: Vec<Vec<Cell>> = ours.iter().map(|(row, _)| row.cells(2)).collect();
    let ranked = |members: &[&Run]| members.iter().all(|run| run.ranked());
    if ours.iter().any(|(_, members)| ranked(members)) && comparable(&ours) {
        let rows = cells.iter_mut().zip(&ours).filter(|(_, (_, members))| ranked(members));
        rank(&mut rows.map(|(cells, _)| cells).collect::<Vec<_>>());
    }
    let section = |title: &str, rows| Section { title: title.to_owned(), rows };
    let mut notes = notes(runs);
    let ranking = if are_all_own(&problems.iter().copied().collect()) {
        "Bold and italic: best and second best by unrounded values, on the same records."
    } else {
        "Bold and italic: best and second best by unrounded values, among the paper's rows under the common observations, and among ours \
         on the same records, apart. Literature rows keep their own protocols and are not ranked; nor are backbone ablations and the \
         exact posterior."
    };
    notes.push(ranking.to_owned());
    Table {
        name: TableName::Main,
        title: "Sparse recovery across problems".to_owned(),
        columns: columns(&problems),
        has_ours: !cells.is_empty(),
        sections: vec![
            section("Literature: deterministic methods", compared(Group::LiteratureDeterministic)),
            section("The paper: mask-aware operators", operators),
            section("Literature: generative and sampling methods", compared(Group::LiteratureGenerative)),
            section("The paper: SCOPE", scope),
            section("Ours", cells),
        ],
        notes,
    }
}

/// Whether all rows were measured on the same records of each problem, those of each task that they have.
fn comparable(rows: &[(Row, Vec<&Run>)]) -> bool {
    let runs = || rows.iter().flat_map(|(_, members)| members.iter());
    let of = |run: &Run| (run.identity().data.blake3.clone(), run.identity().masks.seed);
    let same = |a: &Run, b: &Run, condition: Condition| match (a.tested(condition), b.tested(condition)) {
        (Some(first), Some(second)) => first == second,
        _ => true,
    };
    let together = |a: &Run, b: &Run| {
        let conditions = Protocol::Uniform500.conditions(a.pde());
        of(a) == of(b) && conditions.into_iter().all(|condition| same(a, b, condition))
    };
    runs().all(|a| runs().filter(|b| a.pde() == b.pde()).all(|b| together(a, b)))
}

/// The paper's rows and ours, to four decimals, without places.
fn plain(name: TableName, title: &str, paper: Vec<Row>, runs: &[Run], ours: &dyn Fn(&Run) -> bool) -> Table {
    let problems = problems(runs.iter());
    let cells: Vec<Vec<Cell>> = our_rows(&problems, runs.iter().filter(|run| ours(run)))
        .iter()
        .map(|(row, _)| row.cells(4))
        .collect();
    Table {
        name,
        title: title.to_owned(),
        columns: columns(&problems),
        has_ours: !cells.is_empty(),
        sections: vec![
            Section { title: "The paper".to_owned(), rows: paper.iter().map(|row| row.cells(4)).collect() },
            Section { title: "Ours".to_owned(), rows: cells },
        ],
        notes: notes(runs),
    }
}

fn decoder_is(run: &Run, native: bool) -> bool {
    let method = &run.identity().method;
    method.kind == MethodKind::Scope && method.has_native_decoder() == native
}

/// Backbone recipes with their native decoders.
pub(super) fn recipes(published: &Published, runs: &[Run]) -> Table {
    let paper =
        [("FO", "500 epochs, not pretrained"), ("FJV", "10 + 500 epochs"), ("Full", "10 + 500 epochs")];
    let problems = problems(runs.iter());
    let paper = paper.map(|(method, training)| scope_row(published, &problems, method, method, training));
    plain(TableName::Recipes, "Backbone recipes before decoder adaptation", paper.into(), runs, &|run| {
        decoder_is(run, true)
    })
}

/// Replacement decoders on the Full backbone.
pub(super) fn adaptation(published: &Published, runs: &[Run]) -> Table {
    let problems = problems(runs.iter());
    let row =
        |method: &str, label: &str, training: &str| scope_row(published, &problems, method, label, training);
    let heads = ["DP-5M", "SP-5M", "SP-10M"];
    let head = |method: &str| row(method, &format!("Full / {method}"), "100 more epochs of the head");
    let mut paper = vec![row("Full", "Full / original head", "10 + 500 epochs")];
    paper.extend(heads.map(head));
    let ours = |run: &Run| decoder_is(run, false) || run.identity().method.is_full();
    let mut table =
        plain(TableName::Adaptation, "Decoder adaptation on a fixed backbone", paper, runs, &ours);
    table.has_ours = runs.iter().any(|run| decoder_is(run, false));
    table.notes.push(
        "DP fits the head on complete-view latents, SP on the latents predicted from sparse contexts; all are tested on sparse \
         contexts."
            .to_owned(),
    );
    table
}
