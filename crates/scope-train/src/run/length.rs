//! From "half an hour" to stages in draws.

use super::config::{Length, Stage};
use crate::{error::TrainError, recipe::Recipe};

/// The most draws of a run.
const MOST_DRAWS: f64 = 1e15;

/// The stages of a run: each has its recipe's share of the whole length. `seconds` are the measured seconds a
/// draw of each stage takes, wanted only for a length in minutes.
pub fn stages(
    recipe: &Recipe,
    names: &[(&'static str, crate::recipe::StageRecipe)],
    length: Length,
    records: usize,
    seconds: &[f64],
) -> Result<Vec<Stage>, TrainError> {
    let epochs: Vec<f64> = names.iter().map(|(_, stage)| stage.epochs).collect();
    let all: f64 = epochs.iter().sum();
    let main = epochs.last().copied().unwrap_or(all);
    let total = match length {
        Length::Epochs(epochs) => epochs * records as f64 * all / main,
        Length::Draws(draws) => draws as f64,
        Length::Minutes(minutes) => {
            let share = |k: usize| epochs[k] / all;
            let per_draw: f64 = seconds.iter().enumerate().map(|(k, seconds)| share(k) * seconds).sum();
            minutes * 60.0 / per_draw
        }
    };
    let batch = recipe.batch as u64;
    let least = (recipe.batch * names.len()) as f64;
    if total < least
        && let Length::Minutes(minutes) = length
    {
        let left = 60.0 * minutes;
        let wanted: f64 = seconds.iter().map(|seconds| seconds * recipe.batch as f64).sum();
        return Err(TrainError::Request(format!(
            "measuring steps has taken the minutes: {left:.1} s are left, and one batch of {batch} a stage takes \
             {wanted:.2} s; allow more minutes, or set a smaller batch"
        )));
    }
    if total < least {
        return Err(TrainError::Request(format!(
            "a run of {total:.0} draws is shorter than one batch of {batch} a stage: make it longer, or set a smaller \
             batch"
        )));
    }
    if total.is_nan() || total > MOST_DRAWS {
        return Err(TrainError::Request(format!("a run of {total:.1e} draws would never end")));
    }
    let stage = |(name, stage): &(&'static str, crate::recipe::StageRecipe)| {
        let draws = ((total * stage.epochs / all / batch as f64).round() as u64).max(1) * batch;
        let warmup = warmup(recipe, stage, draws, records);
        Stage { name: (*name).to_owned(), draws, warmup, objective: stage.objective }
    };
    Ok(names.iter().map(stage).collect())
}

/// The draws of a stage's warm-up: the recipe's epochs of it. A stage shortened below its own epochs keeps the share
/// that the warm-up has of them; one that was lengthened keeps the epochs.
fn warmup(recipe: &Recipe, stage: &crate::recipe::StageRecipe, draws: u64, records: usize) -> u64 {
    let share = (recipe.warmup_epochs / stage.epochs).min(1.0);
    (recipe.warmup_epochs * records as f64).min(share * draws as f64).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_schedule_is_the_default_length() {
        let recipe = Recipe::resolve("full", &[]).unwrap();
        let made = stages(&recipe, &recipe.stages(), Length::Epochs(500.0), 50_000, &[]).unwrap();
        let draws: Vec<u64> = made.iter().map(|stage| stage.draws).collect();
        assert_eq!(draws, [500_000, 25_000_000]);
        // Five epochs in each stage.
        assert_eq!(warmups(&made), [250_000, 250_000]);
    }

    fn warmups(stages: &[Stage]) -> Vec<u64> {
        stages.iter().map(|stage| stage.warmup).collect()
    }

    #[test]
    fn a_shortened_stage_keeps_its_share_of_warmup() {
        let made = |name: &str, settings: &[&str], length: Length| {
            let settings: Vec<String> = settings.iter().map(|setting| (*setting).to_owned()).collect();
            let recipe = Recipe::resolve(name, &settings).unwrap();
            warmups(&stages(&recipe, &recipe.stages(), length, 50_000, &[]).unwrap())
        };
        // 64,000 and 3,200,000 draws: still half of the first stage and a hundredth of the second.
        assert_eq!(made("full", &[], Length::Epochs(64.0)), [32_000, 32_000]);
        assert_eq!(made("fo", &[], Length::Draws(1_600_000)), [16_000]);
        assert_eq!(made("operator", &[], Length::Draws(1_000_000)), [50_000]);
        // Twice the length: the same epochs.
        assert_eq!(made("fo", &[], Length::Epochs(1000.0)), [250_000]);
        // What the recipe says otherwise counts, up to the whole stage.
        assert_eq!(made("fo", &["warmup_epochs=20"], Length::Draws(1_600_000)), [64_000]);
        assert_eq!(made("fo", &["main.epochs=1"], Length::Draws(32_000)), [32_000]);
        assert_eq!(made("fo", &["warmup_epochs=0"], Length::Draws(32_000)), [0]);
    }

    #[test]
    fn draws_and_minutes_cover_all_stages() {
        let recipe = Recipe::resolve("full", &[]).unwrap();
        let made = stages(&recipe, &recipe.stages(), Length::Draws(51_000 * 32), 50_000, &[]).unwrap();
        assert_eq!(made.iter().map(|stage| stage.draws).collect::<Vec<_>>(), [32_000, 1_600_000]);
        // Ten draws a second in the first stage, one in the second.
        let made = stages(&recipe, &recipe.stages(), Length::Minutes(100.0), 50_000, &[0.1, 1.0]).unwrap();
        let time = made[0].draws as f64 * 0.1 + made[1].draws as f64;
        assert!((time - 6000.0).abs() < 32.0, "{time}");
        let refused =
            stages(&recipe, &recipe.stages(), Length::Minutes(0.0), 50_000, &[0.1, 1.0]).unwrap_err();
        assert!(
            refused.to_string().contains("0.0 s are left") && refused.to_string().contains("takes 35.20 s")
        );
        assert!(stages(&recipe, &recipe.stages(), Length::Draws(63), 50_000, &[]).is_err());
    }

    #[test]
    fn lengths_that_never_end_are_refused_as_such() {
        let recipe = Recipe::resolve("full", &[]).unwrap();
        for length in [Length::Epochs(1e308), Length::Epochs(f64::NAN), Length::Draws(u64::MAX)] {
            let refused = stages(&recipe, &recipe.stages(), length, 50_000, &[]).unwrap_err().to_string();
            assert!(refused.ends_with("draws would never end"), "{refused}");
        }
    }
}
