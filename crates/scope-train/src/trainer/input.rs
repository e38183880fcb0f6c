//! Where a recorded step finds its batch.

use scope_data::schedule::Batch;
use scope_engine::{Device, ImageTable, Selection};

use crate::{error::TrainError, examples::Examples, run::DataLoader};

/// A batch that is written over by the next one, in the memory that the step was recorded with.
#[derive(Debug)]
pub(super) enum Input {
    /// Copied to the GPU whole, for data that do not fit on it.
    Given(Examples),
    /// Gathered on the GPU from all records, with what complete views show where that is not all; part of the recorded
    /// work.
    Selected(ImageTable, Selection, Option<Selection>),
}

impl Input {
    /// The first batch.
    pub(super) fn new(loader: &DataLoader<'_>, batch: &Batch, device: &Device) -> Result<Self, TrainError> {
        let Some(table) = loader.table() else { return Ok(Self::Given(loader.examples(batch, device)?)) };
        let mut selection = Selection::new(table, batch.records.len())?;
        loader.select(batch, &mut selection)?;
        Ok(Self::Selected(table.clone(), selection, loader.complete_selection(batch)?))
    }

    /// Another batch in its place.
    pub(super) fn change(&mut self, loader: &DataLoader<'_>, batch: &Batch) -> Result<(), TrainError> {
        match self {
            Self::Selected(_, selection, complete) => {
                loader.select(batch, selection)?;
                complete.as_mut().map_or(Ok(()), |complete| loader.select_complete(batch, complete))
            }
            Self::Given(examples) => loader.overwrite(batch, examples),
        }
    }

    /// The batch, as the step takes it.
    pub(super) fn examples(&self) -> Result<Examples, TrainError> {
        match self {
            Self::Given(examples) => Ok(examples.clone()),
            Self::Selected(table, selection, complete) => {
                Examples::gathered(table, selection, complete.as_ref())
            }
        }
    }
}
