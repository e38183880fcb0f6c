//! A fit in a file: safetensors with arrays in single precision, and what they are in its metadata.

use std::{collections::HashMap, path::Path};

use safetensors::{Dtype, SafeTensors, tensor::TensorView};
use scope_data::{Constants, Meta, Origin, Scaling, read_bounded, write_atomic};
use scope_pde::{GridShape, Pde, Split};
use serde::{Deserialize, Serialize};

use crate::{error::LinearError, fit::LinearFit};

/// The version of the file that this program writes. It also reads version 1, whose fits have no records for
/// calibration.
pub const FORMAT_VERSION: u32 = 2;
/// The entry of the metadata that is ours.
const KEY: &str = "scope-linear-fit";
/// The most numbers of all modes together: two gibibytes.
pub(crate) const MOST_VALUES: usize = 1 << 29;
/// The most modes.
pub const MOST_MODES: usize = 8192;
/// The most bytes of our entry, and of a header.
const MOST_ENTRY: usize = 1 << 18;
const MOST_HEADER: u64 = 1 << 20;
/// The names of the arrays.
const MEAN: &str = "mean";
const MODES: &str = "modes";
const RESIDUAL: &str = "residual";
const CALIBRATION: &str = "calibration";

/// What a fit was made from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct About {
    /// The records.
    pub source: Source,
    /// How many modes it has.
    pub modes: usize,
    /// How many records, those held out among them.
    pub records: usize,
    /// How many of them were kept from the modes, to measure what these leave out.
    pub held_out: usize,
    /// The share of the variance of a and u of those that the modes hold, in percent.
    pub held_out_percent: [f64; 2],
    /// How many more stay with the fit, so that what it says of its own accuracy can be measured for any sensors: none
    /// in older fits, and where there were too few.
    #[serde(default)]
    pub calibration: usize,
}

/// The records of a fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// The problem.
    pub pde: Pde,
    /// Points along each axis.
    pub resolution: GridShape,
    /// How values are stored.
    pub constants: Constants,
    /// BLAKE3 of the fields.
    pub blake3: String,
    /// Train or test.
    pub split: Split,
    /// Where they come from.
    pub origin: Origin,
}

impl Source {
    /// The source that a data set is.
    pub fn of(meta: &Meta) -> Self {
        Self {
            pde: meta.pde,
            resolution: meta.resolution,
            constants: meta.constants(),
            blake3: meta.fields_hash().to_owned(),
            split: meta.split,
            origin: meta.origin.clone(),
        }
    }

    /// The numbers of a record.
    pub(crate) fn record_length(&self) -> usize {
        2 * self.resolution.points()
    }
}

impl About {
    /// What is impossible about it.
    fn check(&self) -> Result<(), String> {
        self.source.pde.require_grid(self.source.resolution).map_err(|error| error.to_string())?;
        if !(1..=MOST_MODES).contains(&self.modes) || self.modes * self.source.record_length() > MOST_VALUES {
            return Err(format!(
                "{} modes of {} values each are more than a fit may have",
                self.modes,
                self.source.record_length()
            ));
        }
        let sound =
            |scaling: &Scaling| scaling.mean.is_finite() && scaling.sigma.is_finite() && scaling.sigma > 0.0;
        if !self.source.constants.iter().all(sound) {
            return Err("its normalisation is not finite and positive".to_owned());
        }
        let kept = self.held_out.saturating_add(self.calibration);
        if kept >= self.records
            || self.calibration > MOST_MODES
            || !self.held_out_percent.iter().all(|percent| percent.is_finite())
        {
            return Err("its figures of held-out records make no sense".to_owned());
        }
        Ok(())
    }

    /// The bytes of the arrays.
    fn data_length(&self) -> u64 {
        (size_of::<f32>() * self.source.record_length() * (self.modes + 2 + self.calibration)) as u64
    }
}

impl LinearFit {
    /// Writes it, whole or not at all.
    pub fn write(&self, path: &Path) -> Result<(), LinearError> {
        let bytes = self.to_bytes().map_err(|problem| LinearError::malformed(path, problem))?;
        Ok(write_atomic(path, &bytes)?)
    }

    /// The bytes of its file, or why it cannot be one.
    pub fn to_bytes(&self) -> Result<Vec<u8>, String> {
        let entry = Entry { version: FORMAT_VERSION, about: self.about.clone() };
        let entry = serde_json::to_string(&entry).map_err(|error| error.to_string())?;
        let views: Result<Vec<(&str, TensorView<'_>)>, _> = self
            .arrays()
            .into_iter()
            .map(|(name, shape, values)| {
                Ok((name, TensorView::new(Dtype::F32, shape, bytemuck::cast_slice(values))?))
            })
            .collect();
        let unusable = |error: safetensors::SafeTensorError| error.to_string();
        let metadata = HashMap::from([(KEY.to_owned(), entry)]);
        safetensors::serialize(views.map_err(unusable)?, Some(metadata)).map_err(unusable)
    }

    /// Reads one: every array in its shape, and every value finite.
    pub fn read(path: &Path) -> Result<Self, LinearError> {
        Self::parse(path, &Self::bytes(path)?)
    }

    /// The bytes of a file that is no longer than any fit.
    pub(crate) fn bytes(path: &Path) -> Result<Vec<u8>, LinearError> {
        // One mode has as many numbers as the mean, the residual and a record.
        let most = (4 * size_of::<f32>() * MOST_VALUES) as u64 + MOST_HEADER;
        Ok(read_bounded(path, most)?)
    }

    /// Reads the bytes of a file; errors call it `path`.
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<Self, LinearError> {
        let refuse = |problem: String| LinearError::malformed(path, problem);
        let about = understand(bytes).map_err(refuse)?;
        let file = SafeTensors::deserialize(bytes).map_err(|error| refuse(error.to_string()))?;
        let none = Vec::new;
        let mut fit = Self { about, mean: none(), modes: none(), residual: none(), calibration: none() };
        let shapes: Vec<(&str, Vec<usize>)> =
            fit.arrays().into_iter().map(|(name, shape, _)| (name, shape)).collect();
        let mut arrays = Vec::new();
        for (name, shape) in shapes {
            let view = file.tensor(name).map_err(|_| refuse(format!("it lacks the array \"{name}\"")))?;
            arrays.push(values(&view, &shape).map_err(|problem| refuse(format!("\"{name}\" {problem}")))?);
        }
        let mut arrays = arrays.into_iter();
        for place in [&mut fit.mean, &mut fit.modes, &mut fit.residual, &mut fit.calibration] {
            *place = arrays.next().unwrap_or_default();
        }
        if fit.residual.iter().any(|deviation| *deviation < 0.0) {
            return Err(refuse("its residual has negative standard deviations".to_owned()));
        }
        Ok(fit)
    }

    /// Its arrays by name and shape.
    fn arrays(&self) -> Vec<(&'static str, Vec<usize>, &[f32])> {
        let GridShape { rows, columns } = self.about.source.resolution;
        let mut arrays: Vec<(&str, Vec<usize>, &[f32])> = vec![
            (MEAN, vec![2, rows, columns], &self.mean),
            (MODES, vec![2, rows, columns, self.about.modes], &self.modes),
            (RESIDUAL, vec![2, rows, columns], &self.residual),
        ];
        if self.about.calibration > 0 {
            arrays.push((CALIBRATION, vec![self.about.calibration, 2, rows, columns], &self.calibration));
        }
        arrays
    }
}

/// Our entry of the metadata.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    version: u32,
    about: About,
}

/// What a file says that it is, which its length must bear out.
fn understand(bytes: &[u8]) -> Result<About, String> {
    let prefix: [u8; 8] = bytes
        .first_chunk()
        .copied()
        .ok_or_else(|| format!("it has {} bytes, too few for a header", bytes.len()))?;
    let header = u64::from_le_bytes(prefix);
    if header > MOST_HEADER {
        return Err(format!("its header is to have {header} bytes, and none has more than {MOST_HEADER}"));
    }
    let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(|error| error.to_string())?;
    let entry = metadata.metadata().as_ref().and_then(|metadata| metadata.get(KEY));
    let entry = entry.ok_or_else(|| format!("its metadata has no \"{KEY}\" entry: it is not one of ours"))?;
    if entry.len() > MOST_ENTRY {
        return Err(format!(
            "its \"{KEY}\" entry has {} bytes, and none has more than {MOST_ENTRY}",
            entry.len()
        ));
    }
    let Entry { version, about } =
        serde_json::from_str(entry).map_err(|error| format!("its \"{KEY}\" entry: {error}"))?;
    if !(1..=FORMAT_VERSION).contains(&version) {
        return Err(format!(
            "it has version {version}, and this program reads versions 1 to {FORMAT_VERSION}"
        ));
    }
    about.check()?;
    let data = (bytes.len() as u64).saturating_sub(header + 8);
    if data != about.data_length() {
        return Err(format!("its arrays are to have {} bytes, and {data} are there", about.data_length()));
    }
    Ok(about)
}

/// The values of an array in single precision, all finite.
fn values(view: &TensorView<'_>, shape: &[usize]) -> Result<Vec<f32>, String> {
    if view.dtype() != Dtype::F32 || view.shape() != shape {
        return Err(format!("is {:?} {:?}, expected F32 {shape:?}", view.dtype(), view.shape()));
    }
    let values: Vec<f32> = view.data().as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
    match values.iter().position(|value| !value.is_finite()) {
        None => Ok(values),
        Some(at) => Err(format!("has the value {} at {at}", values[at])),
    }
}
