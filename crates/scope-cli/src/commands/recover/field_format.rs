//! What recovered fields are written as, for programs that read no npy.

use clap::ValueEnum;
use scope_data::labelled::LabelledFormat;

/// What fields are written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum FieldFormat {
    Npy,
    Csv,
    Netcdf,
    Zarr,
    Vti,
}

impl FieldFormat {
    /// The kind of file with names and coordinates, if it is one.
    pub(super) fn labelled(self) -> Option<LabelledFormat> {
        match self {
            FieldFormat::Npy | FieldFormat::Csv => None,
            FieldFormat::Netcdf => Some(LabelledFormat::Netcdf),
            FieldFormat::Zarr => Some(LabelledFormat::Zarr),
            FieldFormat::Vti => Some(LabelledFormat::Vti),
        }
    }

    /// The file that is written beside the arrays, of so many problems.
    pub(super) fn file(self, problems: usize) -> Option<String> {
        match (self, self.labelled()) {
            (_, Some(format)) if problems > 1 => Some(format!("fields-N.{}", format.ending())),
            (_, Some(format)) => Some(format!("fields.{}", format.ending())),
            (FieldFormat::Csv, None) => Some("fields.csv".to_owned()),
            _ => None,
        }
    }
}
