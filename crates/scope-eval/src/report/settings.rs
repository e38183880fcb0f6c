//! The paper's tables of settings, from the constants that this program works with.

use scope_data::{
    observation::{BERNOULLI_EPOCHS, Condition, Family, Task},
    schedule::TASK_CYCLE,
};
use scope_engine::AdamW;
use scope_model::{Auxiliary, Operator, parameter_counts, parameter_elements};
use scope_pde::{Channel, Pde, descriptor::Released};
use scope_train::{Component, FieldMeasure, LearningRateSchedule, MAX_NORM, Recipe, StageRecipe};
use serde_json::Value;

use super::{
    choice::TableName,
    runs::grouped,
    table::{Cell, Section, Table},
};
use crate::error::EvalError;

/// A table of one section.
fn table(name: TableName, title: &str, columns: &[&str], rows: Vec<Vec<Cell>>, note: &str) -> Table {
    Table {
        name,
        title: title.to_owned(),
        columns: columns.iter().map(ToString::to_string).collect(),
        sections: vec![Section { title: String::new(), rows }],
        notes: vec![note.to_owned()],
        has_ours: false,
    }
}

/// The paper's problems, each with what was released of it.
fn released() -> impl Iterator<Item = (Pde, &'static Released)> {
    Pde::ALL.into_iter().filter_map(|pde| Some((pde, pde.descriptor().distribution.released()?)))
}

fn refuse(error: impl std::fmt::Display) -> EvalError {
    EvalError::Mismatch(error.to_string())
}

/// Records and draws.
pub(super) fn data() -> Result<Table, EvalError> {
    let full = Recipe::resolve("full", &[]).map_err(refuse)?;
    let [main, head] = [&full, &full.for_head()].map(|recipe| recipe.main.epochs);
    let draws = |records: usize, epochs: f64| Cell::text(grouped((records as f64 * epochs) as usize));
    let row = |(pde, released): (Pde, &Released)| {
        let Released { records, test_records, .. } = *released;
        let counts = [records, test_records].map(|count| Cell::text(grouped(count)));
        [vec![Cell::text(pde.title())], counts.to_vec(), vec![draws(records, main), draws(records, head)]]
            .concat()
    };
    Ok(table(
        TableName::Data,
        "Data and training exposure",
        &["problem", "training pairs", "test pairs", "draws of the main stage", "draws of a new decoder"],
        released().map(row).collect(),
        "An epoch is as many draws as there are training pairs. Full and FJV have complete-view pretraining besides.",
    ))
}

/// Means and scales of stored coordinates.
pub(super) fn normalisation() -> Table {
    let row = |(pde, released): (Pde, &Released)| {
        let [a, u] = Channel::BOTH.map(|channel| released.constants[channel]);
        let numbers = [a.mean, u.mean, a.sigma, u.sigma].map(|value| Cell::text(value.to_string()));
        [vec![Cell::text(pde.title())], numbers.to_vec()].concat()
    };
    table(
        TableName::Normalisation,
        "Normalisation constants",
        &["problem", "mean of a", "mean of u", "sigma of a", "sigma of u"],
        released().map(row).collect(),
        "Physical values are x = 2 sigma x~ + mean of stored values x~.",
    )
}

/// Families of observations.
pub(super) fn masks() -> Table {
    let list =
        |budgets: &[usize]| budgets.iter().map(|budget| grouped(*budget)).collect::<Vec<_>>().join(" ");
    let row = |family: Family| {
        let family = family.descriptor();
        let cells = [
            family.name.to_owned(),
            (family.construction)(),
            list(family.budgets),
            list(family.training_budgets),
        ];
        cells.map(Cell::text).to_vec()
    };
    table(
        TableName::Masks,
        "Families of observations",
        &["family", "construction", "budgets", "slots of training"],
        Family::ALL.into_iter().map(row).collect(),
        "Budgets are points of a 128 x 128 grid, before a known disk is added. Every five batches have each family once; a family's tasks \
         are forward, inverse and joint in the proportions 40, 40 and 20.",
    )
}

/// The operators of the main comparison.
pub(super) fn operators() -> Result<Table, EvalError> {
    let row = |operator: Operator| -> Result<Vec<Cell>, EvalError> {
        let architecture = operator.architecture(128);
        let parameters =
            parameter_counts(&architecture).map_err(refuse)?.iter().map(|part| part.parameters).sum();
        let sizes = serde_json::to_value(&architecture).map_err(refuse)?;
        Ok([operator.label().to_owned(), grouped(parameters), sizes_in_words(&sizes)]
            .map(Cell::text)
            .to_vec())
    };
    Ok(table(
        TableName::Operators,
        "Operators of the main comparison",
        &["model", "parameters", "sizes"],
        Operator::ALL.into_iter().map(row).collect::<Result<_, _>>()?,
        "Real numbers that are trained: a Fourier weight has two.",
    ))
}

/// The operators of the auxiliary study; its PINO is the FNO with another objective.
pub(super) fn auxiliary_parameters() -> Result<Table, EvalError> {
    let row = |operator: Auxiliary| -> Result<Vec<Cell>, EvalError> {
        let architecture = operator.architecture(128);
        let elements = parameter_elements(&architecture).map_err(refuse)?;
        let reals = parameter_counts(&architecture).map_err(refuse)?.iter().map(|part| part.parameters).sum();
        let name = match operator {
            Auxiliary::Fno => format!("{} / PINO", operator.label()),
            _ => operator.label().to_owned(),
        };
        Ok([name, grouped(elements), grouped(reals)].map(Cell::text).to_vec())
    };
    Ok(table(
        TableName::AuxiliaryParameters,
        "Auxiliary operator parameter accounting",
        &["architecture", "parameter elements", "real numbers"],
        Auxiliary::ALL.into_iter().map(row).collect::<Result<_, _>>()?,
        "A complex Fourier weight is one element and two real numbers. These operators are not those of the main comparison.",
    ))
}

/// `width 40; modes 14; ...` of a network's sizes, without the grid.
fn sizes_in_words(sizes: &Value) -> String {
    let Value::Object(sizes) = sizes else { return String::new() };
    let shown = sizes.iter().filter(|(key, _)| !["architecture", "resolution"].contains(&key.as_str()));
    let words = |(key, value): (&String, &Value)| {
        let value = value.to_string().replace(['[', ']'], "").replace(',', "/");
        format!("{} {value}", key.replace('_', " "))
    };
    shown.map(words).collect::<Vec<_>>().join("; ")
}

/// Who is trained with a recipe: what it says itself does not tell what it is trained on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Group {
    Backbone,
    Decoder,
    Operator,
    Auxiliary,
}

/// The recipes, a column each.
pub(super) fn training() -> Result<Table, EvalError> {
    let named = |name: &str| Recipe::resolve(name, &[]).map_err(refuse);
    let recipes = [
        ("Full", Group::Backbone, named("full")?),
        ("FJV", Group::Backbone, named("fjv")?),
        ("FO", Group::Backbone, named("fo")?),
        ("SP and DP decoders", Group::Decoder, named("fo")?.for_head()),
        ("operators", Group::Operator, named("operator")?),
        ("auxiliary operators", Group::Auxiliary, named("auxiliary")?),
        ("auxiliary operators + G", Group::Auxiliary, named("auxiliary-g")?),
    ];
    let row = |(name, value): (&str, Setting)| -> Vec<Cell> {
        let cells = recipes.iter().map(|(_, group, recipe)| Cell::text(value(*group, recipe)));
        std::iter::once(Cell::text(name)).chain(cells).collect()
    };
    let columns: Vec<&str> =
        std::iter::once("setting").chain(recipes.iter().map(|(name, ..)| *name)).collect();
    Ok(table(
        TableName::Training,
        "Training settings",
        &columns,
        exposure().into_iter().chain(optimisation()).map(row).collect(),
        "F is the field loss, J the latent, G the grounding and V the variance term. Forward observes a, inverse u, joint both. The DP \
         control has the settings of SP and is fitted to complete views. Processors train in f32.",
    ))
}

/// What a setting is, of a group's recipe.
type Setting = fn(Group, &Recipe) -> String;

/// What is seen, and for how long.
fn exposure() -> [(&'static str, Setting); 6] {
    [
        ("pretraining, epochs", |_, recipe| {
            recipe.pretrain.map_or("none".to_owned(), |stage| stage.epochs.to_string())
        }),
        ("its objective", |_, recipe| recipe.pretrain.map_or("none".to_owned(), objective)),
        ("main stage, epochs", |_, recipe| recipe.main.epochs.to_string()),
        ("batch", |_, recipe| recipe.batch.to_string()),
        ("tasks", |group, _| tasks(group)),
        ("observation", |group, _| observation(group)),
    ]
}

/// What is minimised, and how.
fn optimisation() -> [(&'static str, Setting); 12] {
    [
        ("field objective", |_, recipe| {
            match recipe.main.objective.measure {
                FieldMeasure::Relative => "both fields, relative L2 in physical units",
                FieldMeasure::HiddenL1 => "the hidden field, L1 in units of its channel",
            }
            .to_owned()
        }),
        ("objective", |_, recipe| objective(recipe.main)),
        ("gradient cap", |_, recipe| {
            let others =
                Component::ALL[1..].iter().any(|component| recipe.main.objective.weight(*component) > 0.0);
            if others && recipe.main.objective.capped { "yes" } else { "no" }.to_owned()
        }),
        ("optimiser", |_, _| {
            let AdamW { betas, epsilon, .. } = AdamW::default();
            format!("AdamW, betas {} and {}, epsilon {epsilon:e}", betas[0], betas[1])
        }),
        ("weight decay", |_, recipe| recipe.weight_decay.to_string()),
        ("learning rate, peak", |_, recipe| format!("{:e}", recipe.peak_rate)),
        ("learning rate, end", |_, recipe| format!("{:e}", recipe.floor_rate)),
        ("schedule", |_, recipe| match recipe.schedule() {
            LearningRateSchedule::Cosine => "cosine".to_owned(),
            LearningRateSchedule::ConstantThenDecay { decay_share: 0.0 } => "constant".to_owned(),
            LearningRateSchedule::ConstantThenDecay { decay_share } => {
                format!("constant, then down over the last {decay_share}")
            }
        }),
        ("warm-up, epochs a stage", |_, recipe| recipe.warmup_epochs.to_string()),
        ("gradient clipping, norm", |_, _| MAX_NORM.to_string()),
        ("EMA momentum of the teacher", |_, recipe| {
            if recipe.main.objective.latent > 0.0 {
                format!("{} to {}", recipe.momentum[0], recipe.momentum[1])
            } else {
                "no teacher".to_owned()
            }
        }),
        ("precision of the forward pass", |_, recipe| {
            recipe.precision.map_or("bf16, losses f32".to_owned(), |precision| precision.name().to_owned())
        }),
    ]
}

/// The tasks of a group's batches, in percent.
fn tasks(group: Group) -> String {
    let share = |task: Task| {
        let count = TASK_CYCLE.iter().filter(|other| **other == task).count();
        (100 * count / TASK_CYCLE.len()).to_string()
    };
    match group {
        Group::Backbone | Group::Operator => {
            format!("forward, inverse, joint: {}", Task::ALL.map(share).join("/"))
        }
        Group::Decoder | Group::Auxiliary => "forward and inverse in turn".to_owned(),
    }
}

/// What a group's batches show.
fn observation(group: Group) -> String {
    match group {
        Group::Backbone | Group::Operator => format!("{} families in turn", Family::ALL.len()),
        Group::Decoder => "uniform/500 (SP)".to_owned(),
        Group::Auxiliary => {
            // A condition's budget is in basis points here.
            let percent = Condition::bernoulli(Task::Forward).map_or(0, |condition| condition.budget() / 100);
            format!("each pixel with {percent}%, anew every {BERNOULLI_EPOCHS} epochs")
        }
    }
}

/// `F + 1 J + 0.25 G`, by the weights of a stage.
fn objective(stage: StageRecipe) -> String {
    let terms = Component::ALL.map(|component| (stage.objective.weight(component), component.letter()));
    let term = |(weight, letter): (f64, &str)| match weight {
        1.0 => letter.to_owned(),
        _ => format!("{weight} {letter}"),
    };
    terms.into_iter().filter(|(weight, _)| *weight > 0.0).map(term).collect::<Vec<_>>().join(" + ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(table: &Table, row: &str, column: &str) -> String {
        let place = table.columns.iter().position(|name| name == column).unwrap();
        let row = table.sections[0].rows.iter().find(|cells| cells[0] == Cell::text(row)).unwrap();
        match &row[place] {
            Cell::Text(text) => text.clone(),
            other => panic!("{other:?}"),
        }
    }

    /// The paper's figures, typed from its tables.
    #[test]
    fn the_constants_are_those_of_the_papers_tables() {
        let data = data().unwrap();
        for (pde, train, test, main, head) in [
            ("Darcy", "50,000", "10,000", "25,000,000", "5,000,000"),
            ("Poisson", "50,000", "1,024", "25,000,000", "5,000,000"),
            ("Helmholtz", "50,000", "10,000", "25,000,000", "5,000,000"),
            ("NS", "50,000", "1,000", "25,000,000", "5,000,000"),
            ("Cylinder", "14,000", "1,000", "7,000,000", "1,400,000"),
        ] {
            let columns =
                ["training pairs", "test pairs", "draws of the main stage", "draws of a new decoder"];
            assert_eq!(columns.map(|column| text(&data, pde, column)), [train, test, main, head], "{pde}");
        }
        let normalisation = normalisation();
        for (pde, numbers) in [
            ("Darcy", ["7.5", "0.00569201936", "4.5", "0.00379030361"]),
            ("Poisson", ["0", "0.00000967226952", "0.2919494", "0.00417478"]),
            ("Helmholtz", ["0", "0.0000105050595", "0.2844538", "0.00428004"]),
            ("NS", ["0", "0", "0.26211293", "0.2561266"]),
            ("Cylinder", ["1.80715032", "2.87310427", "1.00997056", "1.72194188"]),
        ] {
            let columns = ["mean of a", "mean of u", "sigma of a", "sigma of u"];
            assert_eq!(columns.map(|column| text(&normalisation, pde, column)), numbers, "{pde}");
        }
        let operators = operators().unwrap();
        for (model, parameters) in [
            ("FNO", "5,029,946"),
            ("DeepONet", "4,977,354"),
            ("CNO", "4,774,776"),
            ("Transolver", "4,792,482"),
        ] {
            assert_eq!(text(&operators, model, "parameters"), parameters);
        }
    }

    #[test]
    fn auxiliary_operators_are_as_large_as_the_papers() {
        let table = auxiliary_parameters().unwrap();
        for (name, elements, reals) in [
            ("FNO / PINO", "4,803,521", "9,522,113"),
            ("DeepONet", "13,239,987", "13,239,987"),
            ("U-Net", "4,740,101", "4,740,101"),
            ("CNO", "5,281,721", "5,281,721"),
        ] {
            let columns = ["parameter elements", "real numbers"];
            assert_eq!(columns.map(|column| text(&table, name, column)), [elements, reals], "{name}");
        }
    }

    #[test]
    fn trainings_are_those_of_the_papers_table() {
        let training = training().unwrap();
        for (setting, values) in [
            ("pretraining, epochs", ["10", "10", "none", "none", "none", "none"]),
            ("main stage, epochs", ["500", "500", "500", "100", "100", "100"]),
            ("gradient cap", ["yes", "yes", "no", "no", "no", "no"]),
            ("batch", ["32", "32", "32", "32", "125", "32"]),
            ("weight decay", ["0.05", "0.05", "0.05", "0.05", "0.05", "0.00001"]),
            ("learning rate, peak", ["1.25e-4", "1.25e-4", "1.25e-4", "1.25e-4", "1.25e-4", "1e-4"]),
            ("learning rate, end", ["1e-6", "1e-6", "1e-6", "1e-6", "1e-6", "1e-4"]),
            ("schedule", ["cosine", "cosine", "cosine", "cosine", "cosine", "constant"]),
            ("warm-up, epochs a stage", ["5", "5", "5", "5", "5", "0"]),
            ("gradient clipping, norm", ["1"; 6]),
            ("objective", ["F + J + 0.25 G + 0.01 V", "F + J + 0.01 V", "F", "F", "F", "F + 0.25 G"]),
        ] {
            let columns = ["Full", "FJV", "FO", "SP and DP decoders", "operators", "auxiliary operators + G"];
            assert_eq!(columns.map(|column| text(&training, setting, column)), values, "{setting}");
        }
        let of = |setting: &str, column: &str| text(&training, setting, column);
        assert_eq!(of("tasks", "FO"), "forward, inverse, joint: 40/40/20");
        assert_eq!(of("observation", "operators"), "5 families in turn");
        assert_eq!(of("observation", "auxiliary operators"), "each pixel with 3%, anew every 5 epochs");
        assert_eq!(of("objective", "auxiliary operators"), "F");
        assert_eq!(
            of("field objective", "auxiliary operators"),
            "the hidden field, L1 in units of its channel"
        );
        assert_eq!(
            ["Full", "auxiliary operators"].map(|column| of("precision of the forward pass", column)),
            ["bf16, losses f32", "f32"]
        );
        let masks = masks();
        assert_eq!(
            text(&masks, "uniform", "slots of training"),
            "500 500 1,024 2,048 4,096 8,192 12,288 16,384"
        );
        assert_eq!(text(&masks, "block", "budgets"), "4,915 9,830");
        assert!(
            text(&masks, "grid", "construction")
                .ends_with("20 x 25, 32 x 32, 32 x 64, 64 x 64, 64 x 128, 96 x 128, 128 x 128")
        );
    }
}
