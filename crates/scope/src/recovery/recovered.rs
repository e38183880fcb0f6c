//! What was recovered from the sensors of one problem.

use std::{path::Path, sync::Arc};

use scope_eval::{
    figure::{Drawing, field_panels},
    trust::{Residuals, Trust},
};
use scope_model::Fields;

use super::{
    bands::ErrorBands, error::RecoveryError, folder::ResultFolder, picture::picture_rows, problem::Problem,
    remark::Remark, summary::MethodSummary, without_bands::WithoutBands,
};

/// Both complete fields of one problem, and how far to trust them.
#[derive(Clone, Debug)]
pub struct Recovered {
    /// What recovered them.
    pub method: Arc<MethodSummary>,
    /// The sensors they were recovered from, as the method saw them.
    pub problem: Problem,
    /// Both fields, in physical units.
    pub fields: Fields,
    /// How far they may be off.
    pub uncertainty: Uncertainty,
    /// The readings beside what the other sensors say of them, where the method knows.
    pub residuals: Option<Residuals>,
    /// Draws from the distribution of the fields, where the method has one and draws were asked for.
    pub samples: Vec<Fields>,
    /// What is known of the method under conditions like these, and what speaks against it: `trust.warnings`.
    pub trust: Trust,
    /// What the method itself has to say.
    pub remarks: Vec<Remark>,
}

/// How far recovered fields may be off.
#[derive(Clone, Debug)]
pub enum Uncertainty {
    /// The standard deviation of every pixel, of a method that knows it.
    Deviation(Fields),
    /// Error bands, which were measured for the method.
    Bands(Box<ErrorBands>),
    /// The standard deviations of a method that knows them were not asked for.
    NotAsked,
    /// Nothing is known, for this reason.
    Unknown(WithoutBands),
}

impl Uncertainty {
    /// Error bands, if there are any.
    pub fn bands(&self) -> Option<&ErrorBands> {
        match self {
            Uncertainty::Bands(bands) => Some(bands),
            _ => None,
        }
    }

    /// What can be drawn of it: the standard deviation or the narrower band, with a title.
    pub fn panel(&self) -> Option<(String, &Fields)> {
        match self {
            Uncertainty::Deviation(deviation) => Some(("standard deviation".to_owned(), deviation)),
            Uncertainty::Bands(bands) => Some((
                format!("{:.0}% band, half-width", 100.0 * bands.summary.levels[0]),
                &bands.half_widths[0],
            )),
            Uncertainty::NotAsked | Uncertainty::Unknown(_) => None,
        }
    }
}

impl Recovered {
    /// Writes a new folder: fields, bands, a picture and `summary.json`. It appears whole or not at all.
    pub fn write(&self, folder: impl AsRef<Path>) -> Result<(), RecoveryError> {
        let mut results = ResultFolder::create(folder.as_ref(), 1)?;
        results.add(self)?;
        results.draw(self)?;
        results.finish(&self.method, &self.problem.name, &[])?;
        Ok(())
    }

    /// A picture of the sensors and of what was recovered.
    pub fn picture(&self, heading: &str) -> Drawing {
        let mut heading = heading.to_owned();
        if self.trust.is_contradicted() {
            heading.push_str(". WARNING: the readings contradict the model");
        }
        field_panels(&heading, &picture_rows(self, &self.measured(), None))
    }

    /// The names of arrays and the fields \[S, S\] that each holds.
    pub(super) fn arrays<'a>(&'a self) -> Vec<(String, Vec<&'a [f32]>)> {
        let mut kinds: Vec<(String, Vec<&Fields>)> = vec![(String::new(), vec![&self.fields])];
        match &self.uncertainty {
            Uncertainty::Deviation(deviation) => kinds.push(("_sd".to_owned(), vec![deviation])),
            Uncertainty::Bands(bands) => {
                let levels = bands.summary.levels.iter().zip(&bands.half_widths);
                kinds.extend(
                    levels.map(|(level, widths)| (format!("_band{:.0}", 100.0 * level), vec![widths])),
                );
            }
            Uncertainty::NotAsked | Uncertainty::Unknown(_) => {}
        }
        if !self.samples.is_empty() {
            kinds.push(("_samples".to_owned(), self.samples.iter().collect()));
        }
        let both = |(kind, fields): (String, Vec<&'a Fields>)| {
            let a = fields.iter().map(|fields| &fields.a[..]).collect();
            let u = fields.iter().map(|fields| &fields.u[..]).collect();
            [(format!("a{kind}.npy"), a), (format!("u{kind}.npy"), u)]
        };
        kinds.into_iter().flat_map(both).collect()
    }
}
