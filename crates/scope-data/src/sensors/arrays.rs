//! Measurements as numpy arrays, one value a pixel of a grid of H rows and W columns.
//!
//! | file | arrays | seen |
//! |---|---|---|
//! | .npy | \[2, H, W\] (a, u) | where the value is not NaN |
//! | .npy | \[4, H, W\] (a, mask of a, u, mask of u) | where the mask is 1 |
//! | .npz | `values` \[2, H, W\] | where the value is not NaN |
//! | .npz | `values` and `mask`, both \[2, H, W\] | where the mask is 1 |
//!
//! One more axis in front makes a stack of problems. An .npz may hold `geometry` \[3\] or \[N, 3\] (cx, cy, r).

use std::io::Cursor;

use scope_pde::{GridShape, cylinder::Disk};

use super::{
    error::Fault,
    set::{Labels, SensorSet},
};
use crate::{
    Channel,
    error::some_of,
    npy::NpyArray,
    npz::{Archive, NpzError},
    observation::{Place, Sensor},
};

const SHAPES: &str = "[2, H, W] (a and u, NaN where nothing was measured), [4, H, W] (a, mask of a, u, mask of u), or a stack of either";

/// How an .npz file begins.
pub(super) const ARCHIVE: &[u8] = b"PK\x03\x04";

/// Problems stacked in arrays.
#[derive(Debug)]
pub(super) struct Stack {
    values: NpyArray,
    mask: Option<NpyArray>,
    geometry: Option<NpyArray>,
    /// Whether the first axis counts problems.
    stacked: bool,
    /// 2, or 4 with masks among the values.
    channels: usize,
    count: usize,
    shape: GridShape,
}

impl Stack {
    /// Reads an .npy or an .npz file.
    pub(super) fn parse(bytes: Vec<u8>) -> Result<Self, Fault> {
        if bytes.starts_with(ARCHIVE) {
            Self::from_archive(bytes)
        } else {
            Self::new(NpyArray::parse(bytes).map_err(Fault::Array)?, None, None)
        }
    }

    fn from_archive(bytes: Vec<u8>) -> Result<Self, Fault> {
        let length = bytes.len() as u64;
        let refused = |error: NpzError| Fault::Array(error.to_string());
        let mut archive = Archive::open(Cursor::new(bytes), length).map_err(refused)?;
        let names = archive.names().map_err(refused)?;
        if names.iter().any(|name| name == "[Content_Types].xml") {
            return Err(Fault::Array("this is an Excel workbook: save the sheet as CSV".to_owned()));
        }
        let mut take = |name: &str| {
            let array = archive.unpack(&format!("{name}.npy")).map_err(refused)?.map(NpyArray::parse);
            array.transpose().map_err(|problem| Fault::Array(format!("{name}: {problem}")))
        };
        let values = take("values")?.ok_or_else(|| {
            Fault::Array(format!(
                "the archive holds {}, expected an array called values, and one called mask where values are not NaN",
                some_of(&names)
            ))
        })?;
        Self::new(values, take("mask")?, take("geometry")?)
    }

    fn new(values: NpyArray, mask: Option<NpyArray>, geometry: Option<NpyArray>) -> Result<Self, Fault> {
        let shape = values.header().shape.clone();
        let (stacked, count, inner) = match shape.as_slice() {
            [count, inner @ ..] if inner.len() == 3 => (true, *count, inner.to_vec()),
            inner => (false, 1, inner.to_vec()),
        };
        let (channels, grid) = match inner[..] {
            [channels @ (2 | 4), rows, columns] if rows > 0 && columns > 0 => {
                (channels, GridShape { rows, columns })
            }
            _ => return Err(Fault::Array(format!("its shape is {shape:?}, expected {SHAPES}"))),
        };
        if count == 0 {
            return Err(Fault::NoRows);
        }
        if let Some(mask) = mask.as_ref().filter(|mask| channels == 4 || mask.header().shape != shape) {
            let got = &mask.header().shape;
            return Err(Fault::Array(format!(
                "values are {shape:?} and mask is {got:?}, expected [2, H, W] or [N, 2, H, W], both the same"
            )));
        }
        let disks = [vec![3], vec![count, 3]];
        if let Some(geometry) = geometry.as_ref().filter(|disk| !disks.contains(&disk.header().shape)) {
            let got = &geometry.header().shape;
            return Err(Fault::Array(format!("geometry is {got:?}, expected [3] or [{count}, 3]")));
        }
        Ok(Self { values, mask, geometry, stacked, channels, count, shape: grid })
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    pub(super) fn shape(&self) -> GridShape {
        self.shape
    }

    /// The measurements of a problem, row after row.
    pub(super) fn set(&self, problem: usize) -> Result<SensorSet, Fault> {
        let mut sensors = Vec::new();
        for channel in Channel::BOTH {
            for point in 0..self.shape.points() {
                let [i, j] = self.shape.place(point);
                if let Some(value) = self.value(problem, channel, i, j)? {
                    sensors.push(Sensor { channel, place: Place::Index(i, j), value });
                }
            }
        }
        let name = (problem + 1).to_string();
        Ok(SensorSet { name, sensors, region: self.disk(problem).map(Into::into), labels: Labels::Places })
    }

    /// The value of a pixel, if it was measured.
    fn value(&self, problem: usize, channel: Channel, i: usize, j: usize) -> Result<Option<f64>, Fault> {
        let at = |array: &NpyArray, layer: usize| {
            if self.stacked { array.at(&[problem, layer, i, j]) } else { array.at(&[layer, i, j]) }
        };
        let each = self.channels / 2;
        let value = at(&self.values, each * channel.position());
        let mask = match &self.mask {
            Some(mask) => Some(at(mask, channel.position())),
            None => (each == 2).then(|| at(&self.values, 2 * channel.position() + 1)),
        };
        let name = || format!("problem {}, {} at ({i}, {j})", problem + 1, channel.name());
        match mask {
            Some(0.0) => Ok(None),
            Some(1.0) if value.is_finite() => Fault::require_storable(value, name).map(Some),
            Some(1.0) => {
                let remedy = "set the mask to 0 where nothing was measured";
                Err(Fault::NotFinite { column: name(), value, remedy })
            }
            Some(other) => Err(Fault::Array(format!("{}: the mask is {other}, expected 0 or 1", name()))),
            None if value.is_nan() => Ok(None),
            None if value.is_finite() => Fault::require_storable(value, name).map(Some),
            None => {
                let remedy = "write NaN where nothing was measured";
                Err(Fault::NotFinite { column: name(), value, remedy })
            }
        }
    }

    fn disk(&self, problem: usize) -> Option<Disk> {
        let geometry = self.geometry.as_ref()?;
        let value = |k: usize| match geometry.header().shape.len() {
            1 => geometry.at(&[k]),
            _ => geometry.at(&[problem, k]),
        };
        Some(Disk { cx: value(0), cy: value(1), r: value(2) })
    }
}
