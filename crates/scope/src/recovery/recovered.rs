//! What was recovered from the sensors of one problem.

use std::{path::Path, sync::Arc};

use scope_eval::{
    figure::{Drawing, FieldPicture},
    trust::{Residuals, Trust, Warning},
};
use scope_model::Fields;

use super::{
    bands::ErrorBands,
    error::RecoveryError,
    folder::ResultFolder,
    picture::picture_rows,
    problem::Problem,
    remark::Remark,
    summary::MethodSummary,
    two_valued::TwoValued,
    without_bands::{WithoutBands, WithoutBandsReason},
};

/// Both complete fields of one problem, and how far to trust them: what [`Recovery::recover`](super::Recovery::recover)
/// returns.
#[derive(Clone, Debug)]
pub struct Recovered {
    /// The method that recovered them.
    pub method: Arc<MethodSummary>,
    /// The sensors they were recovered from, as the method saw them.
    pub problem: Problem,
    /// Both fields in the user's units, \[rows, columns\] each, row by row: x runs along axis 0, y along axis 1.
    pub fields: Fields,
    /// Both fields as the network gave them, before known facts were imposed, if that was asked for.
    pub unprojected: Option<Fields>,
    /// How far they may be off.
    pub uncertainty: Uncertainty,
    /// Which of its two values a has, where it has two.
    pub two_valued: Option<TwoValued>,
    /// The readings beside what the other sensors say of them, where the method knows.
    pub residuals: Option<Residuals>,
    /// Draws from the distribution of the fields, where the method has one and draws were asked for.
    pub samples: Vec<Fields>,
    /// What is known of the method under conditions like these, and what speaks against it: `trust.warnings`.
    pub trust: Trust,
    /// Remarks of the method itself on how it recovered them.
    pub remarks: Vec<Remark>,
}

/// How far recovered fields may be off.
#[derive(Clone, Debug)]
pub enum Uncertainty {
    /// The standard deviation of every pixel, of a method that knows it.
    Deviation(Fields),
    /// Error bands, which were measured for the method.
    Bands(Box<ErrorBands>),
    /// Both, of a method that states standard deviations which were measured.
    Measured {
        /// The standard deviation of every pixel: the root mean square of errors there.
        deviation: Fields,
        /// Bands, which need not be those of a Gaussian.
        bands: Box<ErrorBands>,
    },
    /// The standard deviations of a method that knows them were not asked for.
    NotAsked,
    /// Nothing is known, for this reason.
    Unknown(WithoutBands),
}

impl Uncertainty {
    /// Error bands, if there are any.
    pub fn bands(&self) -> Option<&ErrorBands> {
        match self {
            Uncertainty::Bands(bands) | Uncertainty::Measured { bands, .. } => Some(bands),
            _ => None,
        }
    }

    /// The same, unless a warning says that the measurements are unlike all that it was measured on.
    pub(super) fn unless_denied(self, warnings: &[Warning]) -> Self {
        let denies =
            |warning: &&Warning| warning.denies_errors() || matches!(warning, Warning::Contradiction(_));
        match (warnings.iter().find(denies), &self) {
            (Some(warning), Uncertainty::Measured { .. }) => {
                let reason = WithoutBandsReason::Unlike(warning.clone());
                Uncertainty::Unknown(WithoutBands { reason, can_be_measured: false })
            }
            _ => self,
        }
    }

    /// The standard deviation of every pixel, if the method knows it.
    pub fn deviation(&self) -> Option<&Fields> {
        match self {
            Uncertainty::Deviation(deviation) | Uncertainty::Measured { deviation, .. } => Some(deviation),
            _ => None,
        }
    }

    /// What can be drawn of it: the standard deviation or the narrower band, with a title.
    pub fn panel(&self) -> Option<(String, &Fields)> {
        match self {
            Uncertainty::Deviation(deviation) | Uncertainty::Measured { deviation, .. } => {
                Some(("standard deviation".to_owned(), deviation))
            }
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
        let measured = self.measured();
        let rows = &picture_rows(self, &measured, None);
        let warnings = &self.cautions();
        let axes = &self.method.axes();
        FieldPicture { heading: &heading, rows, warnings, axes: Some(axes), ..FieldPicture::default() }.draw()
    }

    /// What stands below a picture: all that speaks against the recovery, and why it has no error bands.
    fn cautions(&self) -> Vec<String> {
        let warnings = self.trust.warnings.iter().map(|warning| format!("warning: {warning}"));
        let mut all: Vec<String> = warnings.collect();
        match &self.uncertainty {
            // What denies the bands stands there already.
            Uncertainty::Unknown(WithoutBands { reason: WithoutBandsReason::Unlike(_), .. }) => {
                all.push("no error bands".to_owned());
            }
            Uncertainty::Unknown(without) => all.push(format!("no error bands: {without}")),
            Uncertainty::Deviation(_)
            | Uncertainty::Bands(_)
            | Uncertainty::Measured { .. }
            | Uncertainty::NotAsked => {}
        }
        all
    }

    /// The arrays that a result folder has of it: the name of each file, and the fields \[rows, columns\] that it
    /// holds: one, or a field for each draw.
    pub fn arrays<'a>(&'a self) -> Vec<(String, Vec<&'a [f32]>)> {
        let mut kinds: Vec<(String, Vec<&Fields>)> = vec![(String::new(), vec![&self.fields])];
        kinds.extend(self.unprojected.as_ref().map(|fields| ("_unprojected".to_owned(), vec![fields])));
        kinds.extend(self.uncertainty.deviation().map(|deviation| ("_sd".to_owned(), vec![deviation])));
        if let Some(bands) = self.uncertainty.bands() {
            let levels = bands.summary.levels.iter().zip(&bands.half_widths);
            kinds.extend(levels.map(|(level, widths)| (format!("_band{:.0}", 100.0 * level), vec![widths])));
        }
        if !self.samples.is_empty() {
            kinds.push(("_samples".to_owned(), self.samples.iter().collect()));
        }
        let both = |(kind, fields): (String, Vec<&'a Fields>)| {
            let a = fields.iter().map(|fields| &fields.a[..]).collect();
            let u = fields.iter().map(|fields| &fields.u[..]).collect();
            let present = self.method.pde.present();
            let named = [(present.a, format!("a{kind}.npy"), a), (present.u, format!("u{kind}.npy"), u)];
            named.into_iter().filter(|(present, ..)| *present).map(|(_, name, fields)| (name, fields))
        };
        let mut arrays: Vec<(String, Vec<&'a [f32]>)> = kinds.into_iter().flat_map(both).collect();
        if let Some(two_valued) = &self.two_valued {
            // A band about the mean of two values would hold neither.
            arrays.retain(|(name, _)| !name.starts_with("a_band"));
            arrays.push(("a_map.npy".to_owned(), vec![&two_valued.map]));
            if self.uncertainty.bands().is_some() {
                arrays.push(("a_probability.npy".to_owned(), vec![&two_valued.probability]));
            }
        }
        arrays
    }
}
