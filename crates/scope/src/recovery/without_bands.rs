//! Why there are no error bands about a network's fields.

use std::fmt;

use scope_eval::trust::Warning;
use scope_model::bands::NoBands;
use serde::{Serialize, Serializer};

/// Why there are no error bands; prints as a sentence.
#[derive(Clone, Debug, PartialEq)]
pub struct WithoutBands {
    /// The reason.
    pub reason: WithoutBandsReason,
    /// Whether they could be measured for the very sensors on fresh records.
    pub can_be_measured: bool,
}

/// What keeps bands from being known.
#[derive(Clone, Debug, PartialEq)]
pub enum WithoutBandsReason {
    /// The measurements are unlike all that bands were measured on.
    Unlike(Warning),
    /// The network's card has none, or it has no card.
    NotInCard,
    /// Those of the card were measured without noise.
    Noise,
    /// Those of the card are not for sensors like these.
    Sensors(NoBands),
    /// The recovery is further from its measurements, or nearer to them, than those that bands were measured on.
    Misfit {
        /// How many times as wide as usual a band would be.
        times: f64,
    },
    /// A linear fit has no records that its errors could be measured on, or there are too many sensors for it.
    NotCalibrated,
    /// Too few of the measurements lie within the wider band.
    FewWithin {
        /// The share that does.
        share: f64,
        /// The share that should.
        level: f64,
    },
}

impl WithoutBands {
    /// The reason in a word or two, for tables and pictures.
    pub fn short(&self) -> &'static str {
        match &self.reason {
            WithoutBandsReason::Unlike(warning) => warning.short(),
            WithoutBandsReason::NotInCard => "not in the card",
            WithoutBandsReason::Noise => "noise",
            WithoutBandsReason::Sensors(NoBands::Task(_)) => "task not measured",
            WithoutBandsReason::Sensors(NoBands::Sensors { .. }) => "other numbers measured",
            WithoutBandsReason::Sensors(NoBands::Gaps { .. }) => "wide gaps",
            WithoutBandsReason::Sensors(_) => "unequal numbers",
            WithoutBandsReason::Misfit { .. } => "unusual misfit",
            WithoutBandsReason::NotCalibrated => "not calibrated",
            WithoutBandsReason::FewWithin { .. } => "few measurements within",
        }
    }
}

impl fmt::Display for WithoutBands {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match &self.reason {
            WithoutBandsReason::Unlike(warning) => write!(f, "{warning}")?,
            WithoutBandsReason::NotInCard => f.write_str("the model's card has none")?,
            WithoutBandsReason::Noise => f.write_str("those of the card are for exact readings")?,
            WithoutBandsReason::Sensors(reason) => write!(f, "{reason}")?,
            WithoutBandsReason::Misfit { times } => {
                let (how, band, times) = if *times > 1.0 {
                    ("further from", "wider", *times)
                } else {
                    ("nearer to", "narrower", 1.0 / times)
                };
                write!(
                    f,
                    "the recovery is so much {how} the measurements than is usual that a band would be {times:.0} \
                     times {band}: those of the card were measured on hardly any such field"
                )?;
            }
            WithoutBandsReason::NotCalibrated => f.write_str(
                "the fit is not calibrated: it was made by an older program or from fewer than 100 records, or there \
                 are more sensors between pixels than it can be measured for; readings are not tested and samples not \
                 drawn either",
            )?,
            WithoutBandsReason::FewWithin { share, level } => write!(
                f,
                "only {:.0}% of the measurements lie within the band that should hold {:.0}%: they are noisier than \
                 those it was measured with, or do not obey this problem",
                100.0 * share,
                100.0 * level
            )?,
        }
        if self.can_be_measured {
            f.write_str("; they can be measured for these very sensors on fresh records")?;
        }
        Ok(())
    }
}

impl Serialize for WithoutBands {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
