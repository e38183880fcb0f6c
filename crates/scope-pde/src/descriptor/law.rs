//! What every single record of a problem must obey, whatever statistics say.

use crate::{
    channel::{Channel, PerChannel},
    constants::Constants,
    cylinder::Disk,
    error::PdeError,
};

/// Single precision leaves an equation's residual of about 1e-4, and less of a fresh solve's difference; a wrong
/// convention leaves 1e-2.
pub const RESIDUAL_LIMIT: f64 = 1e-3;

/// A law: a figure of a record and what it must not exceed.
pub struct Law {
    /// What is tested.
    pub name: &'static str,
    /// What the figure must not exceed.
    pub limit: f64,
    /// Which records of a set it is tested on.
    pub sample: Sample,
    /// Whether it is a law of our solver's records only, and not of other people's.
    pub generated_only: bool,
    /// Plans the figure on S x S points.
    pub figure: fn(usize) -> Figure,
}

/// The figure of a record.
pub type Figure = Box<dyn Fn(&StoredRecord) -> f64 + Send + Sync>;

/// Which records of a set a law is tested on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sample {
    /// All records.
    All,
    /// So many records, spread evenly over the set.
    Spread(usize),
}

impl Sample {
    /// For figures that cost little more than reading the record.
    pub const MANY: Sample = Sample::Spread(64);
    /// For figures that solve the equation again.
    pub const FEW: Sample = Sample::Spread(8);
}

/// A record as a data set holds it.
pub struct StoredRecord<'a> {
    /// Both fields in stored coordinates, \[S, S\] each.
    pub stored: PerChannel<&'a [f32]>,
    /// The constants of these coordinates.
    pub constants: Constants,
    /// The record's disk, if its problem has one.
    pub disk: Option<Disk>,
    /// Points along each axis.
    pub size: usize,
}

impl StoredRecord<'_> {
    /// A field in physical units.
    pub fn physical(&self, channel: Channel) -> Vec<f64> {
        let scaling = self.constants[channel];
        self.stored[channel].iter().map(|x| scaling.physical(*x)).collect()
    }
}

/// The stored u against a fresh solve from the stored a, relative L2; infinite where there is no solution.
pub fn difference_to_fresh_solve(
    record: &StoredRecord,
    solve: impl Fn(&[f64]) -> Result<Vec<f64>, PdeError>,
) -> f64 {
    let u = record.physical(Channel::U);
    solve(&record.physical(Channel::A)).map_or(f64::INFINITY, |fresh| {
        let difference: f64 = fresh.iter().zip(&u).map(|(x, y)| (x - y).powi(2)).sum();
        (difference / fresh.iter().map(|x| x * x).sum::<f64>()).sqrt()
    })
}

/// The largest |x| of a field \[S, S\] on its edge over the largest anywhere.
pub fn edge_share(field: &[f64], size: usize) -> f64 {
    let largest = |values: &mut dyn Iterator<Item = &f64>| values.fold(0.0, |m: f64, x| m.max(x.abs()));
    let inside = |at: usize| (1..size - 1).contains(&(at / size)) && (1..size - 1).contains(&(at % size));
    let edge = largest(&mut field.iter().enumerate().filter(|(at, _)| !inside(*at)).map(|(_, x)| x));
    edge / largest(&mut field.iter())
}
