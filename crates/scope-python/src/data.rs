//! Records: made, read, written; and masks.

use std::path::PathBuf;

use numpy::{
    PyArray1, PyArray2, PyArray3, PyArray4, PyArrayMethods, PyReadonlyArray2, PyReadonlyArray3, ToPyArray,
};
use pyo3::{exceptions::PyMemoryError, prelude::*};
use rayon::prelude::*;
use scope::{
    data::{
        Channel, Constants, DataError, DatasetWriter, FieldSource, GridShape, HeldOut, Meta, Origin,
        OwnImport, PerChannel, Plan, RecordRegion, Request, import_own as import,
        observation::{Condition, MaskSampler, Namespace, TEST_MASK_SEED, TRAIN_MASK_SEED},
        read_problem,
    },
    pde::{Generator, Identity, Pde, Split, cylinder::Disk},
};

use crate::{
    error::{invalid, json, refused},
    work::{stopped, work},
};

/// A data set's folder, verified when it is opened.
#[pyclass(frozen, module = "fieldscope._native")]
pub(crate) struct Dataset {
    pub(crate) set: scope::data::Dataset,
}

/// Fields a and u, \[n, rows, columns\], in physical units.
type Both<'py> = (Bound<'py, PyArray3<f32>>, Bound<'py, PyArray3<f32>>);

/// The same of made records, and the disks \[n, 3\] of those that have one.
type Made<'py> = (Bound<'py, PyArray3<f32>>, Bound<'py, PyArray3<f32>>, Option<Bound<'py, PyArray2<f64>>>);

#[pymethods]
impl Dataset {
    /// Opens and verifies a folder.
    #[new]
    fn open(py: Python<'_>, folder: PathBuf) -> PyResult<Self> {
        Ok(Self { set: py.detach(|| scope::data::Dataset::open(&folder)).map_err(refused)? })
    }

    /// Its `meta.json`.
    #[getter]
    fn meta(&self) -> PyResult<String> {
        json(self.set.meta())
    }

    /// Where it is.
    #[getter]
    fn folder(&self) -> PathBuf {
        self.set.folder().to_owned()
    }

    fn __len__(&self) -> usize {
        self.set.len()
    }

    /// Records in physical units, as single precision.
    fn read<'py>(&self, py: Python<'py>, first: usize, count: usize) -> PyResult<Both<'py>> {
        let meta = self.set.meta();
        if first.checked_add(count).is_none_or(|end| end > self.set.len()) {
            return Err(invalid(format!("the set has {} records", self.set.len())));
        }
        let points = meta.resolution.points();
        let constants = meta.constants();
        let fields = py.detach(|| {
            let mut stored = vec![0.0; 2 * points];
            let mut fields = PerChannel::from_fn(|_| Vec::with_capacity(count * points));
            for record in first..first + count {
                self.set.read(record, &mut stored)?;
                for (channel, values) in Channel::BOTH.into_iter().zip(stored.chunks(points)) {
                    let physical = |x: &f32| constants[channel].physical(*x) as f32;
                    fields[channel].extend(values.iter().map(physical));
                }
            }
            Ok::<_, DataError>(fields)
        });
        let GridShape { rows, columns } = meta.resolution;
        let PerChannel { a, u } = fields.map_err(refused)?;
        let array = |values: Vec<f32>| PyArray1::from_vec(py, values).reshape([count, rows, columns]);
        Ok((array(a)?, array(u)?))
    }
}

/// What to make: a dictionary with every key.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct GenerateOptions {
    problem: String,
    count: usize,
    seed: u64,
    split: String,
    resolution: usize,
}

impl GenerateOptions {
    fn identity(&self) -> PyResult<Identity> {
        let pde = self.problem.parse().map_err(refused)?;
        let split: Split = self.split.parse().map_err(refused)?;
        scope::pde::require_resolution(self.resolution).map_err(refused)?;
        if self.count == 0 {
            return Err(invalid("count is 0: expected a whole number from 1 up"));
        }
        Ok(Identity { pde, seed: self.seed, split, resolution: self.resolution })
    }
}

/// Makes records with the solvers: what `generate_folder` would write, in physical units.
#[pyfunction]
pub(crate) fn generate<'py>(
    py: Python<'py>,
    options: GenerateOptions,
    listener: Option<&Bound<'py, PyAny>>,
) -> PyResult<Made<'py>> {
    let identity = options.identity()?;
    let constants = Constants::generated(identity.pde);
    let points = identity.resolution * identity.resolution;
    let count = options.count;
    let (fields, disks) = work(py, listener, |watch| {
        let generator = Generator::new(identity).map_err(refused)?;
        let mut fields = PerChannel { a: room(count, points)?, u: room(count, points)? };
        let PerChannel { a, u } = &mut fields;
        let done = std::sync::atomic::AtomicUsize::new(0);
        let places = a.par_chunks_mut(points).zip(u.par_chunks_mut(points)).enumerate();
        let disks: PyResult<Vec<Option<Disk>>> = places
            .map(|(index, (a, u))| {
                if !watch.go_on() {
                    return Err(stopped());
                }
                let record = generator.record(index as u64).map_err(refused)?;
                let outs = PerChannel { a, u };
                for (channel, out) in outs.with_channels() {
                    let scaling = constants[channel];
                    for (place, value) in out.iter_mut().zip(&record.fields[channel]) {
                        *place = scaling.physical(scaling.store(*value)) as f32;
                    }
                }
                let done = done.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
                watch.tell(|| format!("{{\"done\": {done}, \"of\": {count}}}"));
                Ok(record.disk)
            })
            .collect();
        Ok((fields, disks?))
    })?;
    let size = identity.resolution;
    let array = |values: Vec<f32>| PyArray1::from_vec(py, values).reshape([count, size, size]);
    let disks: Vec<Vec<f64>> = disks.iter().flatten().map(|disk| vec![disk.cx, disk.cy, disk.r]).collect();
    let disks = (!disks.is_empty()).then(|| PyArray2::from_vec2(py, &disks)).transpose();
    let PerChannel { a, u } = fields;
    Ok((array(a)?, array(u)?, disks.map_err(|error| invalid(error.to_string()))?))
}

/// Zeros for so many records, where memory can hold them.
fn room(count: usize, points: usize) -> PyResult<Vec<f32>> {
    let mut values = Vec::new();
    let reserved = count.checked_mul(points).filter(|length| values.try_reserve_exact(*length).is_ok());
    let Some(length) = reserved else {
        return Err(PyMemoryError::new_err(format!(
            "memory cannot hold {count} records of {points} points: make fewer at a time, as in shards of `scope data generate`"
        )));
    };
    values.resize(length, 0.0);
    Ok(values)
}

/// Makes records into a folder, as `scope data generate` does.
#[pyfunction]
pub(crate) fn generate_folder(
    py: Python<'_>,
    options: GenerateOptions,
    out: PathBuf,
    listener: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let request = Request { identity: options.identity()?, count: options.count, shard: None };
    work(py, listener, |watch| {
        let heard = |done: usize| {
            watch.tell(|| format!("{{\"done\": {done}, \"of\": {}}}", request.count));
            watch.go_on()
        };
        scope::data::generate(&request, &out, heard).map(drop).map_err(of_data)
    })
}

/// Writes records of one of the five problems, in physical units, as a folder.
#[pyfunction]
pub(crate) fn write_folder(
    py: Python<'_>,
    out: PathBuf,
    problem: &str,
    split: &str,
    fields: (PyReadonlyArray3<'_, f64>, PyReadonlyArray3<'_, f64>),
    geometry: Option<PyReadonlyArray2<'_, f64>>,
    source: String,
) -> PyResult<String> {
    let pde: Pde = problem.parse().map_err(refused)?;
    let split: Split = split.parse().map_err(refused)?;
    let a = fields.0.as_array();
    let u = fields.1.as_array();
    let [count, rows, columns] = [a.shape()[0], a.shape()[1], a.shape()[2]];
    let resolution = GridShape { rows, columns };
    pde.require_grid(resolution).map_err(refused)?;
    let disks = geometry.as_ref().map(|disks| disks.as_array());
    if pde.has_disk() != disks.is_some() || disks.is_some_and(|disks| disks.shape() != [count, 3]) {
        let expected = if pde.has_disk() { "an array (n, 3) of cx, cy and r" } else { "none" };
        return Err(invalid(format!("{pde} has other geometry: expected {expected}")));
    }
    let constants = Constants::generated(pde);
    let origin = Origin::Imported { source, files: Vec::new() };
    let plan = Plan { pde, split, resolution, count, constants, origin, shard: None };
    let written = py.detach(|| {
        let mut writer = DatasetWriter::create(&out, plan)?;
        for record in 0..count {
            let a = a.index_axis(numpy::ndarray::Axis(0), record);
            let u = u.index_axis(numpy::ndarray::Axis(0), record);
            let stored =
                a.iter().map(|x| constants.a.store(*x)).chain(u.iter().map(|x| constants.u.store(*x)));
            let disk = disks.map(|disks| {
                let [cx, cy, r] = [0, 1, 2].map(|k| disks[[record, k]]);
                Disk { cx, cy, r }
            });
            writer.push(&stored.collect::<Vec<f32>>(), disk.map(RecordRegion::Disk).as_ref())?;
        }
        writer.finish()
    });
    json(&written.map_err(refused)?)
}

/// Which records are held out: a fold and how many there are, or a share.
#[derive(FromPyObject)]
pub(crate) enum HeldOutOption {
    Fold(usize, usize),
    Share(f64),
}

/// Imports records of a problem of one's own from files of arrays, of a, of u and of known regions, as `scope data
/// import own` does: the sets' `meta.json`.
#[pyfunction]
pub(crate) fn import_own(
    py: Python<'_>,
    problem: PathBuf,
    files: (Option<PathBuf>, Option<PathBuf>, Option<PathBuf>),
    out: PathBuf,
    held_out: HeldOutOption,
    calibration_fraction: Option<f64>,
    groups: Option<PathBuf>,
) -> PyResult<(String, String, Vec<String>)> {
    let source = |path: PathBuf| FieldSource { path, variable: String::new() };
    let (a, u, known) = files;
    work(py, None, |watch| {
        let request = OwnImport {
            pde: read_problem(&problem).map_err(refused)?,
            fields: PerChannel { a, u }.map(|path| path.map(source)),
            known: known.map(source),
            groups,
            test: match held_out {
                HeldOutOption::Fold(fold, of) => HeldOut::Fold { fold, of },
                HeldOutOption::Share(share) => HeldOut::Share(share),
            },
            calibration_fraction,
        };
        let made = import(&request, &out, |_, _| watch.go_on()).map_err(of_data)?;
        let meta = |meta: &Meta| json(meta);
        Ok((meta(&made.train)?, meta(&made.test)?, made.notes))
    })
}

/// Which masks: a dictionary with every key.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct MaskOptions {
    condition: String,
    problem: String,
    resolution: usize,
    records: Vec<u64>,
    split: String,
    draw: u64,
    seed: Option<u64>,
}

/// Where a and u are seen, booleans \[records, 2, rows, columns\].
#[pyfunction]
pub(crate) fn mask(py: Python<'_>, options: MaskOptions) -> PyResult<Bound<'_, PyArray4<bool>>> {
    let MaskOptions { resolution, records, draw, seed, .. } = options;
    let condition: Condition = options.condition.parse().map_err(refused)?;
    let pde: Pde = options.problem.parse().map_err(refused)?;
    scope::pde::require_resolution(resolution).map_err(refused)?;
    let (namespace, usual) = match options.split.parse().map_err(refused)? {
        Split::Train => (Namespace::Train { draw }, TRAIN_MASK_SEED),
        Split::Test => (Namespace::Test, TEST_MASK_SEED),
    };
    let sampler = MaskSampler::new(pde, seed.unwrap_or(usual), resolution);
    let points = resolution * resolution;
    let mut seen: Vec<bool> = Vec::with_capacity(2 * points * records.len());
    for record in &records {
        let masks = sampler.masks(namespace, *record, condition, None);
        for mask in [&masks.seen.a, &masks.seen.u] {
            seen.extend((0..points).map(|point| mask.contains(point)));
        }
    }
    seen.to_pyarray(py).reshape([records.len(), 2, resolution, resolution])
}

/// Work that was stopped is a matter of whoever stopped it.
fn of_data(error: DataError) -> PyErr {
    match error {
        DataError::Interrupted => stopped(),
        other => refused(other),
    }
}
