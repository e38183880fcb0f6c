//! The paper's tables of settings, from the constants that this program works with.

use scope_data::observation::Family;
use scope_engine::AdamW;
use scope_model::{Operator, parts};
use scope_pde::{Channel, Pde, descriptor::Released};
use scope_train::{Component, MAX_NORM, Recipe, StageRecipe};
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
        let parameters = parts(&architecture).map_err(refuse)?.iter().map(|part| part.parameters).sum();
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

/// The recipes, a column each.
pub(super) fn training() -> Result<Table, EvalError> {
    let named = |name: &str| Recipe::resolve(name, &[]).map_err(refuse);
    let recipes = [
        ("Full", named("full")?),
        ("FJV", named("fjv")?),
        ("FO", named("fo")?),
        ("SP and DP decoders", named("fo")?.for_head()),
        ("operators", named("operator")?),
    ];
    let adamw = AdamW::default();
    let row = |name: &str, value: &dyn Fn(&Recipe) -> String| -> Vec<Cell> {
        let cells = recipes.iter().map(|(_, recipe)| Cell::text(value(recipe)));
        std::iter::once(Cell::text(name)).chain(cells).collect()
    };
    let rows = vec![
        row("pretraining, epochs", &|recipe| {
            recipe.pretrain.map_or("none".to_owned(), |stage| stage.epochs.to_string())
        }),
        row("its objective", &|recipe| recipe.pretrain.map_or("none".to_owned(), objective)),
        row("main stage, epochs", &|recipe| recipe.main.epochs.to_string()),
        row("its objective", &|recipe| objective(recipe.main)),
        row("gradient cap", &|recipe| {
            let others =
                Component::ALL[1..].iter().any(|component| recipe.main.objective.weight(*component) > 0.0);
            if others && recipe.main.objective.capped { "yes" } else { "no" }.to_owned()
        }),
        row("batch", &|recipe| recipe.batch.to_string()),
        row("optimiser", &|_| {
            format!("AdamW, betas {} and {}, epsilon {:e}", adamw.betas[0], adamw.betas[1], adamw.epsilon)
        }),
        row("weight decay", &|recipe| recipe.weight_decay.to_string()),
        row("learning rate, peak", &|recipe| format!("{:e}", recipe.peak_rate)),
        row("learning rate, end", &|recipe| format!("{:e}", recipe.floor_rate)),
        row("warm-up, epochs a stage", &|recipe| recipe.warmup_epochs.to_string()),
        row("gradient clipping, norm", &|_| MAX_NORM.to_string()),
        row("EMA momentum of the teacher", &|recipe| {
            if recipe.main.objective.latent > 0.0 {
                format!("{} to {}", recipe.momentum[0], recipe.momentum[1])
            } else {
                "no teacher".to_owned()
            }
        }),
    ];
    let columns: Vec<&str> =
        std::iter::once("setting").chain(recipes.iter().map(|(name, _)| *name)).collect();
    Ok(table(
        TableName::Training,
        "Training settings",
        &columns,
        rows,
        "F is the field loss on both fields, J the latent, G the grounding and V the variance term. Decoders are fitted to alternating forward \
         and inverse contexts of 500 uniform points (SP) or to complete views (DP).",
    ))
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
    fn trainings_are_those_of_the_papers_table() {
        let training = training().unwrap();
        for (setting, values) in [
            ("pretraining, epochs", ["10", "10", "none", "none", "none"]),
            ("main stage, epochs", ["500", "500", "500", "100", "100"]),
            ("gradient cap", ["yes", "yes", "no", "no", "no"]),
            ("batch", ["32", "32", "32", "32", "125"]),
            ("weight decay", ["0.05"; 5]),
            ("learning rate, peak", ["1.25e-4"; 5]),
            ("learning rate, end", ["1e-6"; 5]),
            ("warm-up, epochs a stage", ["5"; 5]),
            ("gradient clipping, norm", ["1"; 5]),
        ] {
            let columns = ["Full", "FJV", "FO", "SP and DP decoders", "operators"];
            assert_eq!(columns.map(|column| text(&training, setting, column)), values, "{setting}");
        }
        assert_eq!(objective(Recipe::resolve("full", &[]).unwrap().main), "F + J + 0.25 G + 0.01 V");
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
