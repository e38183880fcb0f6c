//! How a model came to be, for whoever reads its figures.

use scope_data::schedule::SensorMix;
use scope_pde::Pde;
use serde::{Deserialize, Serialize};

/// The most draws that a training may have seen, with all that it went on from: a thousand times those of any run so
/// far, and far from where sums of draws overflow.
pub const MOST_DRAWS: u64 = 1 << 60;

/// The training of a model, as its weight file tells it. It holds nothing that differs between two equal runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Training {
    /// The recipe's name.
    pub recipe: String,
    /// Examples seen, by what it went on from too.
    pub draws: u64,
    /// Examples that were planned: with fewer seen, training was cut short.
    pub planned: u64,
    /// Whether its data were made by our own solvers: fresh draws, not the released records.
    pub generated: bool,
    /// The seed of initial parameters, batches and masks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// The time it was given, if its length was a time; with the time of what it went on from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minutes: Option<f64>,
    /// Few and noisy sensors among those that it was trained on, if there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sensors: Option<SensorMix>,
    /// The problem of a training that another went on from, if that is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Pde>,
    /// If only a replacement decoder was trained: on what.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adapted: Option<Box<Adapted>>,
    /// If it went on from trained weights: how they were trained.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Box<Training>>,
}

impl Training {
    /// Examples seen by any part of the model: those of a replacement decoder, and those of its backbone before it.
    pub fn taken(&self) -> u64 {
        self.draws.saturating_add(self.backbone().map_or(0, Self::taken))
    }

    /// The time that all parts of the model were given, if the length of each training was a time.
    pub(crate) fn minutes_taken(&self) -> Option<f64> {
        match self.backbone() {
            Some(backbone) => backbone.minutes_taken().zip(self.minutes).map(|(before, own)| before + own),
            None => self.minutes,
        }
    }

    /// Whether fresh records of a problem are like those that a model was trained on, as far as is stated: its solver
    /// can make them, and made those of training too. Records that were imported under a built-in name may be of
    /// another equation.
    pub fn is_of_fresh_records(training: Option<&Self>, pde: Pde) -> bool {
        pde.makes_fresh_records() && training.is_none_or(|training| training.generated)
    }

    /// The training of the backbone, if only a replacement decoder was trained.
    fn backbone(&self) -> Option<&Self> {
        self.adapted.as_deref().and_then(|adapted| adapted.base.as_ref())
    }

    /// What is impossible about it, expected and got; with all that it went on from.
    pub fn check(&self) -> Result<(), String> {
        let most = self.taken().max(self.planned);
        if most > MOST_DRAWS {
            return Err(format!("{most} draws are more than any training has ({MOST_DRAWS})"));
        }
        if let Some(minutes) = self.minutes.filter(|minutes| !(minutes.is_finite() && *minutes >= 0.0)) {
            return Err(format!("{minutes} minutes are no time"));
        }
        self.sensors.map_or(Ok(()), |sensors| sensors.check())?;
        let before = [self.from.as_deref(), self.backbone()];
        before.into_iter().flatten().try_for_each(Self::check)
    }

    /// The same training where it went on from weights that another had left: draws and minutes are those of both.
    #[must_use]
    pub fn after(self, earlier: &Training) -> Self {
        let before = earlier.taken();
        Self {
            draws: before.saturating_add(self.draws),
            planned: before.saturating_add(self.planned),
            minutes: earlier.minutes_taken().zip(self.minutes).map(|(before, own)| before + own),
            from: Some(Box::new(earlier.clone())),
            ..self
        }
    }
}

/// What a replacement decoder was put on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Adapted {
    /// What the decoder saw in training.
    pub view: View,
    /// Whether the decoder began as the backbone's own, trained one, and not as a new one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub continued: bool,
    /// The training of the frozen backbone, if it was trained.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<Training>,
}

/// What a replacement decoder sees of a record in training.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum View {
    /// z_M, the predicted latents of a sparse context: SP, what it will see when it is used.
    Sparse,
    /// z_F, the latents of the complete view: DP, the control.
    Complete,
}

impl View {
    /// The paper's two letters.
    pub fn short(self) -> &'static str {
        match self {
            View::Sparse => "sp",
            View::Complete => "dp",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn training(draws: u64) -> Training {
        Training {
            recipe: "full".into(),
            draws,
            planned: draws,
            generated: true,
            seed: None,
            minutes: None,
            sensors: None,
            problem: None,
            adapted: None,
            from: None,
        }
    }

    #[test]
    fn draws_beyond_any_training_are_refused_wherever_they_are_stated() {
        training(MOST_DRAWS).check().unwrap();
        let refused = training(u64::MAX).check().unwrap_err();
        assert_eq!(
            refused,
            "18446744073709551615 draws are more than any training has (1152921504606846976)"
        );
        let head = |base: u64| Training {
            adapted: Some(Box::new(Adapted {
                view: View::Sparse,
                continued: false,
                base: Some(training(base)),
            })),
            ..training(u64::MAX - 5)
        };
        assert_eq!(head(7).taken(), u64::MAX);
        let after = training(3).after(&training(u64::MAX));
        assert_eq!(after.draws, u64::MAX);
        let planned = Training { planned: u64::MAX, ..training(1) };
        let hidden = Training { from: Some(Box::new(training(u64::MAX))), ..training(1) };
        let endless = Training { minutes: Some(f64::NAN), ..training(1) };
        for wrong in [head(7), after, planned, hidden, endless] {
            assert!(wrong.check().is_err(), "{wrong:?}");
        }
    }
}
