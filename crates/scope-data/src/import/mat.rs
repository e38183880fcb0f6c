//! DiffusionPDE's MATLAB files: which variables they hold, and their records.

use std::path::{Path, PathBuf};

use memmap2::Mmap;
use scope_pde::Pde;

use super::{
    file_name,
    mat5::Mat5,
    mat73::Mat73,
    source::{Conversion, Source, Take},
};
use crate::{error::DataError, npy::map_file, pair::Channel};

const KIND: &str = "MATLAB file";
/// Records gathered at a time: the first axis is contiguous, so this many share each cache line.
const BLOCK: usize = 16;

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
    map: Mmap,
    count: usize,
    resolution: usize,
    /// The variables of a and u.
    variables: [Variable; 2],
}

/// The two containers, told apart by the header's text.
enum Container<'a> {
    V5(Mat5<'a>),
    V73(Mat73),
}

impl MatFile {
    pub(super) fn open(path: &Path, pde: Pde) -> Result<Self, DataError> {
        let map = map_file(path)?;
        let found = find_variables(path, &map, pde);
        let (variables, count, resolution) =
            found.map_err(|problem| DataError::malformed(path, KIND, problem))?;
        Ok(Self { path: path.to_owned(), map, count, resolution, variables })
    }

    /// The last S x S x N values of a variable: all of them, or its last time.
    fn values(&self, container: &Container, channel: Channel, conversion: Conversion) -> Parsed<Vec<f32>> {
        let (variable, store) = (&self.variables[channel as usize], conversion.channel(channel));
        let wanted = self.count * self.resolution * self.resolution;
        let skip = variable.elements() - wanted;
        // The vector grows with what is really there, not with what a header claims.
        let mut values = Vec::new();
        let mut take = |piece: &[f64]| values.extend(piece.iter().map(|x| store(*x)));
        match container {
            Container::V5(file) => file.read(&variable.name, skip, &mut take)?,
            Container::V73(file) => file.read(&variable.name, skip, &mut take)?,
        }
        match values.len() == wanted {
            true => Ok(values),
            false => Err(format!("'{}' has {} values, expected {wanted}", variable.name, values.len())),
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

    fn files(&self) -> Vec<String> {
        vec![file_name(&self.path)]
    }

    /// Holds the file's values in memory, in single precision: its records are interleaved.
    fn read(&self, conversion: Conversion, take: Take) -> Result<(), DataError> {
        let malformed = |problem| DataError::malformed(&self.path, KIND, problem);
        let container = open_container(&self.path, &self.map).map_err(malformed)?;
        let a = self.values(&container, Channel::A, conversion).map_err(malformed)?;
        let u = self.values(&container, Channel::U, conversion).map_err(malformed)?;
        let pixels = self.resolution * self.resolution;
        let mut block = vec![0.0; BLOCK.min(self.count) * 2 * pixels];
        for first in (0..self.count).step_by(BLOCK) {
            let records = BLOCK.min(self.count - first);
            gather(&a, first, records, self.count, self.resolution, &mut block, 0);
            gather(&u, first, records, self.count, self.resolution, &mut block, pixels);
            for pair in block.chunks_exact(2 * pixels).take(records) {
                take(pair)?;
            }
        }
        Ok(())
    }
}

/// Copies records `first ..` of a column-major \[N, S, S\] array to row-major fields at `offset` of each
/// pair.
fn gather(
    values: &[f32],
    first: usize,
    records: usize,
    count: usize,
    size: usize,
    block: &mut [f32],
    offset: usize,
) {
    for j in 0..size {
        for i in 0..size {
            let from = &values[count * (i + size * j) + first..][..records];
            for (n, value) in from.iter().enumerate() {
                block[n * 2 * size * size + offset + i * size + j] = *value;
            }
        }
    }
}

fn open_container<'a>(path: &Path, map: &'a Mmap) -> Parsed<Container<'a>> {
    let text = map.get(..116).ok_or("it is shorter than a header")?;
    if text.starts_with(b"MATLAB 7.3") || map.starts_with(b"\x89HDF\r\n\x1a\n") {
        return Ok(Container::V73(Mat73::open(path, map.len() as u64)?));
    }
    match text.starts_with(b"MATLAB 5.0") {
        true => Ok(Container::V5(Mat5::open(map)?)),
        false => Err("its header names neither MATLAB 5.0 nor MATLAB 7.3".into()),
    }
}

/// The variables of a and u, the number of records and the resolution.
fn find_variables(path: &Path, map: &Mmap, pde: Pde) -> Parsed<([Variable; 2], usize, usize)> {
    let container = open_container(path, map)?;
    let present: Vec<Variable> = match &container {
        Container::V5(file) => file.variables().cloned().collect(),
        Container::V73(file) => file.variables().cloned().collect(),
    };
    let find = |name: &str| {
        let names = || present.iter().map(|v| v.name.as_str()).collect::<Vec<_>>().join(", ");
        let found = present.iter().find(|variable| variable.name == name).cloned();
        found.ok_or_else(|| format!("it has no variable '{name}' of {pde}; it has: {}", names()))
    };
    let [a, u] = match pde {
        Pde::Darcy => ["thresh_a_data", "thresh_p_data"],
        Pde::Poisson => ["f_data", "phi_data"],
        Pde::Helmholtz => ["f_data", "psi_data"],
        Pde::NavierStokes => ["a", "u"],
        Pde::Cylinder => return Err("the cylinder's data are npy files, not MATLAB's".into()),
    };
    let (a, u) = (find(a)?, find(u)?);
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
        // Navier-Stokes keeps several times; the last one, t = 1, is the response.
        [n, rows, columns, times] => {
            pde == Pde::NavierStokes && times > 0 && [n, rows, columns] == [count, size, size]
        }
        _ => false,
    };
    match matches {
        true => Ok(([a, u], count, size)),
        false => Err(shape(&u, &format!("[{count}, {size}, {size}] as '{}' has", a.name))),
    }
}
