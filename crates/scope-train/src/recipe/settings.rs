//! Settings of the form `key=value` on top of a recipe.

use scope_data::schedule::SensorMix;
use toml::{Table, Value};

use super::{FitRecipe, OptimizerKind, Recipe};
use crate::error::TrainError;

/// A recipe with some of its values replaced. A key must be one that the recipe has, written with dots:
/// `main.objective.grounding`; every recipe can be given `parts`, and `sensors` and `fits`, whose other values are then
/// the usual ones.
pub(super) fn apply_settings(recipe: &Recipe, settings: &[String]) -> Result<Recipe, TrainError> {
    let unusable = |error: &dyn std::fmt::Display| TrainError::Recipe(format!("the recipe: {error}"));
    let mut table = Table::try_from(recipe).map_err(|error| unusable(&error))?;
    let any_of = |key: &str| settings.iter().any(|setting| setting.trim_start().starts_with(key));
    if any_of("sensors.") {
        let usual = Value::try_from(SensorMix::default()).map_err(|error| unusable(&error))?;
        table.entry("sensors").or_insert(usual);
    }
    if any_of("fits.") {
        let usual = Value::try_from(FitRecipe::usual()?).map_err(|error| unusable(&error))?;
        table.entry("fits").or_insert(usual);
    }
    if any_of("parts=") {
        table.entry("parts").or_insert(Value::Integer(1));
    }
    for setting in settings {
        let (key, value) = setting
            .split_once('=')
            .ok_or_else(|| TrainError::Recipe(format!("\"{setting}\" is not of the form key=value")))?;
        replace(&mut table, key.trim(), value.trim())?;
    }
    let changed: Recipe = table.try_into().map_err(|error| unusable(&error))?;
    if any_of("muon.") && changed.optimizer != OptimizerKind::Muon {
        return Err(TrainError::Recipe(format!(
            "muon.rate is of Muon, and the recipe \"{}\" trains with AdamW: set optimizer=muon too, or leave it out",
            changed.name
        )));
    }
    Ok(changed)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn set(recipe: &str, settings: &[&str]) -> Result<Recipe, TrainError> {
        let settings: Vec<String> = settings.iter().map(|setting| (*setting).to_owned()).collect();
        Recipe::resolve(recipe, &settings)
    }

    #[test]
    fn sensors_are_a_setting_of_every_recipe_and_none_has_them_by_itself() {
        for name in Recipe::names() {
            assert_eq!(set(name, &[]).unwrap().sensors, None, "{name}");
            let own = set(name, &["sensors.noise_share=0.25", "sensors.few=[8, 64]"]).unwrap().sensors;
            let expected = SensorMix { noise_share: 0.25, few: [8, 64], ..SensorMix::default() };
            assert_eq!(own, Some(expected), "{name}");
        }
    }

    #[test]
    fn fits_are_a_setting_of_every_recipe_and_are_otherwise_those_of_muon_fits() {
        let usual = set("muon-fits", &["fits.scales=[2.0, 5.0]"]).unwrap().fits;
        for name in ["fo", "full", "muon"] {
            assert_eq!(set(name, &[]).unwrap().fits, None, "{name}");
            assert_eq!(set(name, &["fits.scales=[2.0, 5.0]"]).unwrap().fits, usual, "{name}");
        }
        let misspelt = set("fo", &["fits.scale=[2.0]"]).unwrap_err().to_string();
        assert!(misspelt.contains("did you mean \"fits.scales\"?"), "{misspelt}");
    }

    #[test]
    fn a_rate_of_muon_is_refused_where_muon_does_not_train() {
        let refused = set("fo", &["muon.rate=2e-3"]).unwrap_err().to_string();
        assert!(refused.contains("optimizer=muon"), "{refused}");
        assert!(set("fo", &["muon.rate=2e-3", "optimizer=muon"]).is_ok());
        assert!(set("muon", &["optimizer=adamw", "muon.rate=2e-3"]).is_err());
    }

    #[test]
    fn a_table_may_leave_values_out_and_is_written_whole() {
        let text = Recipe::text("fo").unwrap().replace("[main]", "[sensors]\nfew_share = 0.5\n\n[main]");
        let recipe: Recipe = toml::from_str(&text).unwrap();
        let expected = SensorMix { few_share: 0.5, ..SensorMix::default() };
        assert_eq!(recipe.sensors, Some(expected));
        let written = toml::to_string(&recipe).unwrap();
        assert_eq!(toml::from_str::<Recipe>(&written).unwrap(), recipe);
        assert!(written.contains("few = [5, 100]") || written.contains("few = [\n"), "{written}");
        assert!(!toml::to_string(&set("fo", &[]).unwrap()).unwrap().contains("sensors"));
    }

    #[test]
    fn sensors_that_cannot_be_drawn_are_refused() {
        let refused = |setting: &str| set("fo", &[setting]).unwrap_err().to_string();
        for value in ["-0.1", "1.5", "nan", "inf"] {
            for share in ["noise_share", "few_share"] {
                let said = refused(&format!("sensors.{share}={value}"));
                assert!(said.contains(&format!("sensors.{share} = ")), "{said}");
                assert!(said.contains("between 0 and 1"), "{said}");
            }
        }
        for value in ["[0.0, 0.1]", "[0.2, 0.1]", "[0.1, 11.0]", "[nan, 0.1]", "[0.1, inf]"] {
            assert!(refused(&format!("sensors.noise={value}")).contains("sensors.noise = ["), "{value}");
        }
        for value in ["[0, 5]", "[9, 5]", "[5, 16385]"] {
            assert!(refused(&format!("sensors.few={value}")).contains("sensors.few = ["), "{value}");
        }
        let misspelt = refused("sensors.noise_shore=0.1");
        assert!(misspelt.contains("did you mean \"sensors.noise_share\"?"), "{misspelt}");
        assert!(refused("sensors.few=[5]").contains("few"));
    }
}
