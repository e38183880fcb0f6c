//! `scope model list`: the models that `--model` and `--run` know by name.

use clap::Args;
use scope_data::observation::Task;
use scope_model::{Card, Found, Listing};
use scope_pde::Pde;
use serde_json::json;

use crate::commands::{Outcome, models};
use crate::terminal::{Table, grouped, print_json, say, significant, warn};

/// What `--help` ends with.
const EXAMPLES: &str = "\
Examples:
  scope model list
  scope model list --json
  SCOPE_MODELS=/srv/models scope model list

Models are looked for in $SCOPE_MODELS, in models/ here, beside the program or above it, and inside the program.";

/// Letters of a hash that tell models apart.
const HASH_LETTERS: usize = 12;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ModelList {
    /// Print the cards as JSON
    #[arg(long)]
    json: bool,
}

/// The columns of the table.
const COLUMNS: [&str; 10] =
    ["name", "pde", "size", "grid", "parameters", "draws", "forward u %", "inverse a %", "BLAKE3", "where"];

/// What the table says of a model.
fn row(found: &Found, card: &Card) -> [String; COLUMNS.len()] {
    let [forward, inverse] = [Task::Forward, Task::Inverse].map(|task| card.held_out.primary(task));
    let error = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.2}"));
    // Of a field of two values the share of wrong pixels says more than a distance.
    let of_a = inverse.ber.map_or(error(inverse.a), |wrong| format!("{wrong:.2} of pixels"));
    [
        card.name.clone(),
        card.pde.name().to_owned(),
        format!("{}, {}", card.size, card.weights.kind.name()),
        card.resolution.to_string(),
        grouped(card.parameters),
        significant(card.training.draws as f64, 3),
        error(forward.u),
        of_a,
        card.weights.blake3.chars().take(HASH_LETTERS).collect(),
        found.shown(),
    ]
}

impl ModelList {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let Listing { models: all, unreadable } = models::catalogue().list()?;
        for error in unreadable {
            warn(&format!("a model is left out: {}", error.to_string().trim_end()));
        }
        let cards = || all.iter().filter_map(|found| found.card.as_ref().map(|card| (found, card)));
        if self.json {
            let entry = |(found, card): (&Found, &Card)| json!({ "place": found.shown(), "card": card });
            print_json(&cards().map(entry).collect::<Vec<_>>())?;
            return Ok(Outcome::Success);
        }
        if all.is_empty() {
            say("No model was found. Train one with `scope train`, and name its run folder with --model.");
            return Ok(Outcome::Success);
        }
        let mut table = Table::new(&COLUMNS);
        cards().for_each(|(found, card)| table.row(row(found, card)));
        say(&format!(
            "{table}\nErrors are means over held-out records with 500 uniform sensors of 128 x 128 points (other grids: the same share); \
             `scope model info NAME` shows a card."
        ));
        let missing: Vec<&str> = Pde::ALL
            .into_iter()
            .map(Pde::name)
            .filter(|name| !cards().any(|(_, card)| card.name == *name))
            .collect();
        if !missing.is_empty() {
            say(&format!("Not here: {}. {}", missing.join(", "), models::WHERE_TO_GET));
        }
        Ok(Outcome::Success)
    }
}
