//! Few and noisy sensors as a setting of a recipe.

use scope_data::{observation::NAMED_POINTS, schedule::SensorMix};
use serde::{Deserialize, Serialize};

use crate::error::TrainError;

/// The greatest noise of a range: beyond it a reading says nothing.
const MOST_NOISE: f64 = 10.0;

/// Few and noisy sensors among those of the protocol; with both shares zero there are none.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SensorRecipe {
    /// The share of draws whose readings are noisy.
    pub noise_share: f64,
    /// The least and the greatest noise, as a standard deviation in units of the field's own.
    pub noise: [f64; 2],
    /// The share of batches of scattered sensors (families `uniform` and `cluster`) that have few of them.
    pub few_share: f64,
    /// The least and the greatest budget of few sensors.
    pub few: [usize; 2],
}

impl Default for SensorRecipe {
    fn default() -> Self {
        Self { noise_share: 0.0, noise: [0.001, 0.2], few_share: 0.0, few: [5, 100] }
    }
}

impl SensorRecipe {
    /// As the schedule takes it.
    pub fn mix(&self) -> SensorMix {
        let Self { noise_share, noise, few_share, few } = *self;
        SensorMix { noise_share, noise, few_share, few }
    }

    /// Whether such sensors can be drawn, and if not, why.
    pub(super) fn validate(&self) -> Result<(), TrainError> {
        let refuse = |problem: String| Err(TrainError::Recipe(problem));
        for (name, share) in [("noise_share", self.noise_share), ("few_share", self.few_share)] {
            if !(0.0..=1.0).contains(&share) {
                return refuse(format!("sensors.{name} = {share} must lie between 0 and 1"));
            }
        }
        let [least, greatest] = self.noise;
        if !(least > 0.0 && least <= greatest && greatest <= MOST_NOISE) {
            return refuse(format!(
                "sensors.noise = {:?} must be two positive numbers, the lesser first, {MOST_NOISE} at most",
                self.noise
            ));
        }
        let [least, greatest] = self.few;
        if !(1 <= least && least <= greatest && greatest <= NAMED_POINTS) {
            return refuse(format!(
                "sensors.few = {:?} must be two budgets from 1 to {NAMED_POINTS}, the lesser first",
                self.few
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::recipe::Recipe;

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
            let expected = SensorRecipe { noise_share: 0.25, few: [8, 64], ..SensorRecipe::default() };
            assert_eq!(own, Some(expected), "{name}");
        }
    }

    #[test]
    fn a_table_may_leave_values_out_and_is_written_whole() {
        let text = Recipe::text("fo").unwrap().replace("[main]", "[sensors]\nfew_share = 0.5\n\n[main]");
        let recipe: Recipe = toml::from_str(&text).unwrap();
        let expected = SensorRecipe { few_share: 0.5, ..SensorRecipe::default() };
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
