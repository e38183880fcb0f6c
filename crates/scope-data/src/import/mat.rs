//! DiffusionPDE's MATLAB files: which variables they hold, and their records.

use std::{
    ops::Range,
    path::{Path, PathBuf},
    sync::Arc,
};

use memmap2::Mmap;
use scope_pde::{Pde, descriptor::ReleasedFiles};

use super::{
    mat5::Mat5,
    mat73::Mat73,
    source::{Conversion, Source, Take},
};
use crate::{
    Channel, PerChannel,
    budget::Budget,
    error::{DataError, some_of},
    npy::map_file,
};

const KIND: &str = "MATLAB file";
/// Records gathered at a time: the first axis is contiguous, so this many share each cache line.
const BLOCK: usize = 16;

/// The most variables that a file may hold.
pub(super) const MAX_VARIABLES: usize = 4096;
/// What to do about a file that takes too much memory when it is unpacked.
const UNCOMPRESSED: &str = "save it without compression, in MATLAB with save(..., '-v7.3', '-nocompression')";

/// A problem in words, to which the caller adds the path.
pub(super) type Parsed<T> = Result<T, String>;

/// Takes the next values of a variable.
pub(super) type TakeValues<'a> = &'a mut dyn FnMut(&[f64]);

/// A numeric array in a file.
#[derive(Clone, Debug)]
pub(super) struct Variable {
    pub(super) name: String,
    /// In MATLAB's order: the first is contiguous.
    pub(super) dimensions: Vec<usize>,
    /// The bytes that are unpacked to read it; none where it is not compressed.
    pub(super) unpacked: u64,
    /// The bytes held beside its values while it is read, where they are many.
    pub(super) buffers: u64,
}

impl Variable {
    pub(super) fn checked_elements(&self) -> Option<usize> {
        self.dimensions.iter().try_fold(1usize, |product, d| product.checked_mul(*d))
    }

    pub(super) fn elements(&self) -> usize {
        self.checked_elements().unwrap_or(usize::MAX)
    }
}

/// One file, its variables found and their shapes checked.
pub(super) struct MatFile {
    path: PathBuf,
    map: Arc<Mmap>,
    count: usize,
    resolution: usize,
    /// The variables of a and u.
    variables: PerChannel<Variable>,
}

/// The two containers, told apart by the header's text.
pub(super) enum Container<'a> {
    V5(Mat5<'a>),
    V73(Mat73),
}

impl<'a> Container<'a> {
    pub(super) fn open(map: &'a Arc<Mmap>) -> Parsed<Self> {
        let text = map.get(..116).ok_or("it is shorter than a header")?;
        if text.starts_with(b"MATLAB 7.3") || map.starts_with(b"\x89HDF\r\n\x1a\n") {
            return Ok(Container::V73(Mat73::open(Arc::clone(map))?));
        }
        if text.starts_with(b"MATLAB 5.0") {
            Ok(Container::V5(Mat5::open(map)?))
        } else {
            Err("its header names neither MATLAB 5.0 nor MATLAB 7.3".into())
        }
    }

    /// The arrays of numbers in it.
    pub(super) fn variables(&self) -> Vec<Variable> {
        match self {
            Container::V5(file) => file.variables().cloned().collect(),
            Container::V73(file) => file.variables().cloned().collect(),
        }
    }

    /// Hands out the values of a variable in column-major order, from the `skip`-th on.
    pub(super) fn read(&self, name: &str, skip: usize, take: TakeValues) -> Parsed<()> {
        match self {
            Container::V5(file) => file.read(name, skip, take),
            Container::V73(file) => file.read(name, skip, take),
        }
    }
}

impl MatFile {
    pub(super) fn open(path: &Path, pde: Pde) -> Result<Self, DataError> {
        let map = Arc::new(map_file(path)?);
        let found = find_variables(&map, pde);
        let (variables, count, resolution) =
            found.map_err(|problem| DataError::malformed(path, KIND, problem))?;
        Ok(Self { path: path.to_owned(), map, count, resolution, variables })
    }

    /// The last S x S x N values of a variable: all of them, or its last time.
    fn values(&self, container: &Container, channel: Channel, conversion: Conversion) -> Parsed<ColumnMajor> {
        let variable = &self.variables[channel];
        let store = conversion.channel(channel);
        let wanted = self.count * self.resolution * self.resolution;
        let skip = variable.elements() - wanted;
        let mut values = Vec::with_capacity(wanted);
        let mut take = |piece: &[f64]| values.extend(piece.iter().map(|x| store(*x)));
        container.read(&variable.name, skip, &mut take)?;
        if values.len() == wanted {
            Ok(ColumnMajor { values, count: self.count, size: self.resolution })
        } else {
            Err(format!("'{}' has {} values, expected {wanted}", variable.name, values.len()))
        }
    }
}

impl Source for MatFile {
    fn count(&self) -> usize {
        self.count
    }

    fn resolution(&self) -> usize {
        self.resolution
    }

    fn files(&self) -> Vec<PathBuf> {
        vec![self.path.clone()]
    }

    /// Holds the file's values in memory, in single precision: its records are interleaved.
    fn read(&self, conversion: Conversion, take: Take) -> Result<(), DataError> {
        let malformed = |problem| DataError::malformed(&self.path, KIND, problem);
        let container = Container::open(&self.map).map_err(malformed)?;
        let a = self.values(&container, Channel::A, conversion).map_err(malformed)?;
        let u = self.values(&container, Channel::U, conversion).map_err(malformed)?;
        let pixels = self.resolution * self.resolution;
        let mut block = vec![0.0; BLOCK.min(self.count) * 2 * pixels];
        for first in (0..self.count).step_by(BLOCK) {
            let records = BLOCK.min(self.count - first);
            a.gather(first..first + records, &mut block, 0);
            u.gather(first..first + records, &mut block, pixels);
            for pair in block.chunks_exact(2 * pixels).take(records) {
                take(pair)?;
            }
        }
        Ok(())
    }
}

/// A column-major \[N, S, S\] array.
struct ColumnMajor {
    values: Vec<f32>,
    /// N: the number of records.
    count: usize,
    /// S: the points along a side.
    size: usize,
}

impl ColumnMajor {
    /// Copies records to row-major fields at `offset` of each pair.
    fn gather(&self, records: Range<usize>, block: &mut [f32], offset: usize) {
        let size = self.size;
        for j in 0..size {
            for i in 0..size {
                let from = &self.values[self.count * (i + size * j)..][records.clone()];
                for (n, value) in from.iter().enumerate() {
                    block[n * 2 * size * size + offset + i * size + j] = *value;
                }
            }
        }
    }
}

/// The variables of a and u, the number of records and the resolution.
fn find_variables(map: &Arc<Mmap>, pde: Pde) -> Parsed<(PerChannel<Variable>, usize, usize)> {
    let present = Container::open(map)?.variables();
    let (PerChannel { a, u }, keeps_times) = names(pde)?;
    let a = find(&present, a, pde)?;
    let u = find(&present, u, pde)?;
    if let Some(absurd) = [&a, &u].into_iter().find(|variable| variable.checked_elements().is_none()) {
        return Err(format!(
            "'{}' claims {:?} values, more than any file holds",
            absurd.name, absurd.dimensions
        ));
    }
    let shape = |v: &Variable, expected: &str| {
        format!("'{}' has dimensions {:?}, expected {expected}", v.name, v.dimensions)
    };
    let (count, size) = match a.dimensions[..] {
        [count, rows, columns] if rows == columns => (count, rows),
        _ => return Err(shape(&a, "[N, S, S]")),
    };
    let matches = match u.dimensions[..] {
        [n, rows, columns] => [n, rows, columns] == [count, size, size],
        // The last of several times is the response.
        [n, rows, columns, times] => keeps_times && times > 0 && [n, rows, columns] == [count, size, size],
        _ => false,
    };
    if !matches {
        return Err(shape(&u, &format!("[{count}, {size}, {size}] as '{}' has", a.name)));
    }
    let variables = PerChannel { a, u };
    require_memory(map.len() as u64, &variables, count, size)?;
    Ok((variables, count, size))
}

/// The names of a and u in released files, and whether u may have several times.
fn names(pde: Pde) -> Parsed<(PerChannel<&'static str>, bool)> {
    match pde.descriptor().distribution.released().map(|released| released.files) {
        Some(ReleasedFiles::Matlab { variables, times }) => Ok((variables, times)),
        Some(ReleasedFiles::Snapshots(_)) => Err(format!("the {pde}'s data are npy files, not MATLAB's")),
        None => Err(format!("nobody has released MATLAB files of {pde}: give its fields as a.npy and u.npy")),
    }
}

/// The one variable of a name.
fn find(present: &[Variable], name: &str, pde: Pde) -> Parsed<Variable> {
    let mut found = present.iter().filter(|variable| variable.name == name);
    match (found.next(), found.next()) {
        (Some(variable), None) => Ok(variable.clone()),
        (Some(_), Some(_)) => Err(format!("it has two variables '{name}': save it again, with one of them")),
        (None, _) => {
            let names: Vec<String> = present.iter().map(|variable| variable.name.clone()).collect();
            Err(format!("it has no variable '{name}' of {pde}; it has: {}", some_of(&names)))
        }
    }
}

/// Refuses a file that takes more than one of its length may, before anything is unpacked. Held are both fields of all
/// records in single precision, a block of records and the buffers of the variable at hand; and what is unpacked on the
/// way is bounded as well.
fn require_memory(length: u64, variables: &PerChannel<Variable>, count: usize, size: usize) -> Parsed<()> {
    let PerChannel { a, u } = variables;
    let mut held = Budget::of_file(length);
    let records = count.saturating_add(BLOCK.min(count));
    let values = records.saturating_mul(size).saturating_mul(size);
    held.spend_elements(values, 2 * size_of::<f32>())
        .and_then(|()| held.spend(a.buffers.max(u.buffers)))
        .and_then(|()| Budget::of_file(length).spend(a.unpacked.saturating_add(u.unpacked)))
        .map_err(|over| format!("{over}: {UNCOMPRESSED}"))
}

/// Refuses a variable that takes more than one of its file's length may, before anything is unpacked: so many values
/// are held in single precision.
pub(super) fn require_memory_of(length: u64, variable: &Variable, values: usize) -> Parsed<()> {
    let mut held = Budget::of_file(length);
    held.spend_elements(values, size_of::<f32>())
        .and_then(|()| held.spend(variable.buffers))
        .and_then(|()| Budget::of_file(length).spend(variable.unpacked))
        .map_err(|over| format!("{over}: {UNCOMPRESSED}"))
}
