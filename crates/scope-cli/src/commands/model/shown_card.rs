//! The card of a model, for people.

use scope_data::observation::Family;
use scope_model::{Card, CardTraining};

use crate::commands::{Outcome, models};
use crate::terminal::{Table, grouped, print_json, say, significant};

/// Shows the card of a model by name, run folder or weight file.
pub(super) fn show(name: &str, json: bool) -> anyhow::Result<Outcome> {
    let found = models::find(name)?;
    let Some(card) = &found.card else {
        anyhow::bail!("{} has no card: write one with `scope model card`", found.shown());
    };
    if json {
        print_json(card)?;
        return Ok(Outcome::Success);
    }
    say(&format!("{}: a model for {} on {} points", card.name, card.pde, card.resolution));
    say(&format!(
        "{}, {} parameters, {} of {} bytes with BLAKE3 {} ({})",
        card.size,
        grouped(card.parameters),
        card.weights.kind.name(),
        grouped(card.weights.bytes as usize),
        card.weights.blake3,
        found.shown()
    ));
    say(&training(card));
    say(&format!("data: {} records, {}", grouped(card.data.records), card.data.origin));
    let present = card.pde.present();
    let ranges = [("a", present.a, card.range.a), ("u", present.u, card.range.u)];
    let ranges = ranges.into_iter().filter(|(_, present, _)| *present).map(|(name, _, [low, high])| {
        format!("{name} from {} to {}", significant(low, 5), significant(high, 5))
    });
    say(&format!("values of its training data: {}", ranges.collect::<Vec<_>>().join(", ")));
    say(&match &card.bands {
        Some(bands) => {
            format!("error bands: measured on {} records, {}", grouped(bands.records), bands.origin)
        }
        None => "error bands: none".to_owned(),
    });
    say(&format!("\n{}", errors(card)));
    Ok(Outcome::Success)
}

fn training(card: &Card) -> String {
    let training = &card.training;
    let CardTraining { recipe, draws, planned, tasks, sensors, noise, .. } = training;
    let [fewest, most] = sensors.map(|budget| Family::UNIFORM.points(budget, card.resolution));
    let [draws, planned] = [draws, planned].map(|count| grouped(*count as usize));
    let minutes = training.minutes.map_or(String::new(), |minutes| format!(" in {minutes:.0} minutes"));
    let device = training.device.as_ref().map_or(String::new(), |device| format!(" on {device}"));
    let noise = match noise {
        Some([low, high]) => {
            format!("noise of {:.1}% to {:.1}% of the field's standard deviation", 100.0 * low, 100.0 * high)
        }
        None => "exact readings".to_owned(),
    };
    format!(
        "training: recipe {recipe}, {draws} of {planned} draws{minutes}{device}; {}; {} to {} sensors of a field, {noise}",
        tasks.iter().map(|task| task.name()).collect::<Vec<_>>().join(", "),
        grouped(fewest),
        grouped(most)
    )
}

/// The errors on held-out records, a row for each condition.
fn errors(card: &Card) -> String {
    let held_out = &card.held_out;
    let wrong_pixels = held_out.conditions.values().any(|errors| errors.ber.is_some());
    let heads = ["condition", "a %", "u %", "wrong pixels of a %"];
    let columns = if wrong_pixels { 4 } else { 3 };
    let mut table = Table::new(&heads[..columns]);
    for (condition, errors) in &held_out.conditions {
        let percent = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.2}"));
        let cells = [condition.to_string(), percent(errors.a), percent(errors.u), percent(errors.ber)];
        table.row(cells.into_iter().take(columns));
    }
    format!(
        "{table}\n(mean relative L2 errors on {} held-out records of {2} points, {1}; budgets are those of 128 x 128 points)",
        grouped(held_out.records),
        held_out.origin,
        card.resolution
    )
}
