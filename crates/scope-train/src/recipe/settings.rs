//! Settings of the form `key=value` on top of a recipe.

use toml::{Table, Value};

use super::{Recipe, SensorRecipe};
use crate::error::TrainError;

/// A recipe with some of its values replaced. A key must be one that the recipe has, written with dots:
/// `main.objective.grounding`; every recipe can be given `sensors`, whose other values are then the usual ones.
pub(super) fn apply_settings(recipe: &Recipe, settings: &[String]) -> Result<Recipe, TrainError> {
    let unusable = |error: &dyn std::fmt::Display| TrainError::Recipe(format!("the recipe: {error}"));
    let mut table = Table::try_from(recipe).map_err(|error| unusable(&error))?;
    if settings.iter().any(|setting| setting.trim_start().starts_with("sensors.")) {
        let usual = Value::try_from(SensorRecipe::default()).map_err(|error| unusable(&error))?;
        table.entry("sensors").or_insert(usual);
    }
    for setting in settings {
        let (key, value) = setting
            .split_once('=')
            .ok_or_else(|| TrainError::Recipe(format!("\"{setting}\" is not of the form key=value")))?;
        replace(&mut table, key.trim(), value.trim())?;
    }
    table.try_into().map_err(|error| unusable(&error))
}

fn replace(table: &mut Table, key: &str, text: &str) -> Result<(), TrainError> {
    let known = keys(table, "");
    let Some(place) = find(table, key) else {
        let closest = known.iter().min_by_key(|known| strsim::damerau_levenshtein(known, key));
        let hint = closest.map(|closest| format!("; did you mean \"{closest}\"?")).unwrap_or_default();
        return Err(TrainError::Recipe(format!("the recipe has no key \"{key}\"{hint}")));
    };
    let bare = || Value::String(text.to_owned());
    let parsed = toml::from_str::<Table>(&format!("x = {text}")).ok().and_then(|mut table| table.remove("x"));
    let value = match (&*place, parsed) {
        // A whole number is a fine value for a key that holds fractions.
        (Value::Float(_), Some(Value::Integer(whole))) => Value::Float(whole as f64),
        (_, parsed) => parsed.unwrap_or_else(bare),
    };
    if !value.same_type(place) {
        let expected = place.type_str();
        let got = value.type_str();
        return Err(TrainError::Recipe(format!("{key} = {text}: expected {expected}, got {got}")));
    }
    *place = value;
    Ok(())
}

/// The place of a key written with dots.
fn find<'a>(table: &'a mut Table, key: &str) -> Option<&'a mut Value> {
    match key.split_once('.') {
        None => table.get_mut(key).filter(|value| !value.is_table()),
        Some((first, rest)) => find(table.get_mut(first)?.as_table_mut()?, rest),
    }
}

/// All keys, written with dots.
fn keys(table: &Table, prefix: &str) -> Vec<String> {
    table
        .iter()
        .flat_map(|(key, value)| match value {
            Value::Table(inner) => keys(inner, &format!("{prefix}{key}.")),
            _ => vec![format!("{prefix}{key}")],
        })
        .collect()
}
