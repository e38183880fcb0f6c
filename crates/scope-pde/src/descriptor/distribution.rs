//! Which distribution a problem's records have, and what is known of it.

use crate::{channel::PerChannel, constants::Constants};

/// Where records come from: from released data, from the solver, or from both.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution {
    /// There are released data, and the solver makes fresh draws from their distribution.
    Released(Released),
    /// There are released data, and the solver makes records that are similar and not the same.
    Similar {
        /// The released data.
        released: Released,
        /// What the solver makes.
        own: Own,
    },
    /// There are no released data.
    Own(Own),
    /// Records are imported, and each set has constants that were measured on its training split.
    Imported,
}

/// Data that others have released.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Released {
    /// The constants of stored coordinates (paper, table "Normalization constants").
    pub constants: Constants,
    /// How many training records they were estimated from, on 128 x 128 points.
    pub records: usize,
    /// How many test records there are beside them.
    pub test_records: usize,
    /// The least and greatest values in these records.
    pub extremes: PerChannel<[f64; 2]>,
    /// How the files are made that `data import` reads.
    pub files: ReleasedFiles,
    /// The scale of the loss of fields that are zero everywhere, where the paper states it; else it is the root mean
    /// square of the training set.
    pub zero_target_scale: Option<PerChannel<f64>>,
    /// Which records have a u that is zero everywhere; no record has such an a.
    pub zero_u: ZeroRecords,
}

/// Released records that are zero everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZeroRecords {
    /// How many training records.
    pub train: usize,
    /// The numbers of the test records, from zero.
    pub test: &'static [usize],
}

impl ZeroRecords {
    /// There are none.
    pub const NONE: ZeroRecords = ZeroRecords { train: 0, test: &[] };
}

/// How released files are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReleasedFiles {
    /// MATLAB files, \[N, S, S\] for each field.
    Matlab {
        /// The variables' names.
        variables: PerChannel<&'static str>,
        /// Whether u may have several times, \[N, S, S, T\], of which the last is taken.
        times: bool,
    },
    /// A numpy array of snapshots, \[N, S, S, T\]: the times that are taken for a and u.
    Snapshots(PerChannel<usize>),
}

/// Records of the solver's own distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Own {
    /// What they are, after "our own": "flow".
    pub what: &'static str,
    /// The constants of stored coordinates. They belong to the generator version.
    pub constants: Constants,
    /// How many records they were measured on, on 128 x 128 points; none where they were set and mean nothing for
    /// `data check`.
    pub measured_on: Option<usize>,
}

impl Distribution {
    /// The released data, if there are any.
    pub fn released(&self) -> Option<&Released> {
        match self {
            Distribution::Released(released) | Distribution::Similar { released, .. } => Some(released),
            Distribution::Own(_) | Distribution::Imported => None,
        }
    }

    /// What the solver makes, where that is not what was released.
    pub fn own(&self) -> Option<&Own> {
        match self {
            Distribution::Released(_) | Distribution::Imported => None,
            Distribution::Similar { own, .. } | Distribution::Own(own) => Some(own),
        }
    }

    /// What generated records are, in words.
    pub fn describe_generated(&self) -> String {
        match self {
            Distribution::Released(_) => "fresh draws from the released distribution".to_owned(),
            Distribution::Similar { own, .. } => {
                format!("our own {}, similar to the released data", own.what)
            }
            Distribution::Own(own) => format!("our own {}", own.what),
            Distribution::Imported => "records without a solver".to_owned(),
        }
    }
}

/// A mean and a root mean square deviation from it, in physical units, where they are known exactly.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    /// The mean over all pixels and records.
    pub mean: Option<f64>,
    /// The standard deviation.
    pub deviation: Option<f64>,
}

impl Moments {
    /// Neither is known.
    pub const UNKNOWN: Moments = Moments { mean: None, deviation: None };
}

/// What is known of means and deviations without any record.
#[derive(Clone, Copy, Debug)]
pub struct Statistics {
    /// Which of the normalisation's constants were set to exact values and not estimated.
    pub set: PerChannel<Moments>,
    /// What theory says on S x S points.
    pub theory: fn(usize) -> PerChannel<Moments>,
}

impl Statistics {
    /// Nothing is known.
    pub const UNKNOWN: Statistics = Statistics {
        set: PerChannel { a: Moments::UNKNOWN, u: Moments::UNKNOWN },
        theory: |_| PerChannel::default(),
    };
}
