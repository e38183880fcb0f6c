//! Fresh records of a problem's own solver, kept in memory: for fits where there are no files.

use scope_data::{Channel, Constants, Origin};
use scope_pde::{GENERATOR_VERSION, Generator, GridShape, Identity, PdeError};

use crate::{
    error::LinearError,
    fit::{FitOptions, FitProgress, LinearFit, fit_records},
    fit_file::Source,
    records::{RecordArray, Records},
};

/// The first records of an identity, as many as were solved for.
pub struct FreshRecords {
    generator: Generator,
    constants: Constants,
    records: RecordArray,
}

impl FreshRecords {
    /// None as yet, with room for so many.
    pub fn with_capacity(identity: Identity, records: usize) -> Result<Self, PdeError> {
        let length = 2 * GridShape::square(identity.resolution).points();
        let records = RecordArray { values: Vec::with_capacity(records.saturating_mul(length)), length };
        let constants = Constants::generated(identity.pde);
        Ok(Self { generator: Generator::new(identity)?, constants, records })
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.records.count()
    }

    /// Solves for one more.
    pub fn solve_next(&mut self) -> Result<(), PdeError> {
        let record = self.generator.record(self.count() as u64)?;
        for channel in Channel::BOTH {
            let scaling = self.constants[channel];
            self.records.values.extend(record.fields[channel].iter().map(|value| scaling.store(*value)));
        }
        Ok(())
    }

    /// Fits them. The hash that the fit has of its records is that of their values.
    pub fn fit(&self, options: FitOptions, progress: &FitProgress) -> Result<LinearFit, LinearError> {
        let Identity { pde, seed, split, resolution } = self.generator.identity();
        let blake3 = blake3::hash(bytemuck::cast_slice(&self.records.values)).to_string();
        let origin = Origin::Generated { seed, generator_version: GENERATOR_VERSION };
        let source =
            Source { pde, resolution: resolution.into(), constants: self.constants, blake3, split, origin };
        fit_records(&self.records, source, options, progress)
    }
}
