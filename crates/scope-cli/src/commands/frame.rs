//! `--domain`, `--scale`, `--edge-value`, `--columns` and `--missing`: how someone's own sensors are to be read.

use clap::Args;
use scope::{RecoveryError, SensorFile, recovery::estimate_amplitude};
use scope_data::{
    PerChannel,
    frame::{Domain, Frame, StatedFrame, StatedScale},
    sensors::{ColumnNames, MissingMarks, TableOptions},
};
use scope_exact::Amplitude;
use scope_pde::Pde;

use super::Misuse;
use crate::terminal::{notice, significant};

/// How sensors are to be read.
#[derive(Debug, Args)]
pub(crate) struct FrameArguments {
    /// Where the square lies in your coordinates, as in 0,500,0,500 for metres; it maps coordinates, and values are
    /// left alone
    #[arg(long, value_name = "X0,X1,Y0,Y1", allow_hyphen_values = true)]
    domain: Option<Domain>,
    /// Values in your units: L, A and U are what lengths, a and u are multiples of, undone on the way out; those left
    /// out follow from the equation, and L from --domain. u=auto estimates the amplitude of a linear problem from the
    /// readings, and coefficient=C is for C Lap u = a. See docs/units.md
    #[arg(long, value_name = "length=L,a=A,u=U", allow_hyphen_values = true)]
    scale: Option<StatedScale>,
    /// What u is on the edge of the square in your units, for poisson and darcy: a reference level [default: 0]
    #[arg(long, value_name = "U", allow_hyphen_values = true)]
    edge_value: Option<f64>,
    /// Which columns of a table hold what, where their names do not say so, as in x=east,y=north,u=level
    #[arg(long, value_name = "x=NAME,...")]
    columns: Option<ColumnNames>,
    /// What stands for a reading that is absent, as in NA,-9999
    #[arg(long, value_name = "MARK,...", allow_hyphen_values = true)]
    missing: Option<MissingMarks>,
}

impl FrameArguments {
    /// How tables are read.
    pub(crate) fn table_options(&self) -> TableOptions {
        TableOptions {
            columns: self.columns.clone().unwrap_or_default(),
            missing: self.missing.clone().unwrap_or_default(),
        }
    }

    /// The coordinates and units of a problem's sensors. An amplitude that is left open is estimated from those of the
    /// first problem of a file, with the standard deviations of their errors.
    pub(crate) fn frame(
        &self,
        pde: Pde,
        file: &SensorFile,
        noise: &dyn Fn(&Frame) -> PerChannel<f64>,
    ) -> anyhow::Result<Frame> {
        let Self { domain, scale, edge_value, .. } = *self;
        let stated = StatedFrame { domain, scale, edge_value, estimated: None };
        if !stated.leaves_amplitude_open() {
            return Ok(stated.of_problem(pde).map_err(Misuse::of)?);
        }
        let amplitude = match estimate_amplitude(&stated, pde, file.set(0)?.as_ref(), noise) {
            Err(RecoveryError::Frame(error)) => return Err(Misuse::of(error).into()),
            // Readings that cannot be placed are refused where they are.
            estimated => estimated?,
        };
        let Some(Amplitude { ratio, deviation, left_out, .. }) = amplitude else {
            return Ok(stated.with_amplitude(1.0, 1.0).of_problem(pde).map_err(Misuse::of)?);
        };
        let faulty = match left_out {
            0 => String::new(),
            1 => "; one reading that does not fit the others was not asked".to_owned(),
            several => format!("; {several} readings that do not fit the others were not asked"),
        };
        notice(&format!(
            "fields are taken for {} times the model's, by what the readings say (--scale u={0}), which is known to {:.0}%: no reading is \
             tested against an amplitude any more{faulty}",
            significant(ratio, 4),
            100.0 * deviation
        ));
        Ok(stated.with_amplitude(ratio, deviation).of_problem(pde).map_err(Misuse::of)?)
    }

    /// Whether a domain was stated.
    pub(crate) fn has_domain(&self) -> bool {
        self.domain.is_some()
    }
}
