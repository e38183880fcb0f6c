//! Fields in a MATLAB file. Its first axis is contiguous, so that records are interleaved: a variable is held in memory
//! whole.

use std::{path::Path, sync::Arc};

use scope_pde::GridShape;

use super::{
    super::mat::{Container, Variable, require_memory_of},
    source::{IndexedField, require_fields},
};
use crate::{
    error::{DataError, some_of},
    npy::map_file,
};

const KIND: &str = "MATLAB file";

/// A variable N x rows x columns, or rows x columns x N.
pub(super) struct MatlabField {
    /// The values in the file's order.
    values: Vec<f32>,
    count: usize,
    shape: GridShape,
    records_last: bool,
}

impl MatlabField {
    pub(super) fn open(path: &Path, variable: &str, shape: GridShape) -> Result<Self, DataError> {
        let malformed = |problem: String| DataError::malformed(path, KIND, problem);
        let map = Arc::new(map_file(path)?);
        let container = Container::open(&map).map_err(malformed)?;
        let present = container.variables();
        let Some(found) = present.iter().find(|known| known.name == variable) else {
            let names: Vec<String> = present.iter().map(|known| known.name.clone()).collect();
            return Err(malformed(format!("it has no variable '{variable}'; it has: {}", some_of(&names))));
        };
        let (count, records_last) = Self::layout(path, found, shape)?;
        require_memory_of(map.len() as u64, found, count.saturating_mul(shape.points()))
            .map_err(malformed)?;
        let mut values = Vec::with_capacity(count * shape.points());
        let mut take = |piece: &[f64]| values.extend(piece.iter().map(|value| *value as f32));
        container.read(variable, 0, &mut take).map_err(malformed)?;
        if values.len() != count * shape.points() {
            return Err(malformed(format!("'{variable}' has {} values", values.len())));
        }
        Ok(Self { values, count, shape, records_last })
    }

    /// The number of records, and whether they come last, which a cube does not say.
    fn layout(path: &Path, variable: &Variable, shape: GridShape) -> Result<(usize, bool), DataError> {
        match variable.dimensions[..] {
            [x, y, z] if x == y && y == z && [x, y] == shape.lengths() => {
                let problem = format!(
                    "'{}' has the shape {:?}, which does not tell where its records are: save it as a .npy file, or with another number of \
                     records",
                    variable.name, variable.dimensions
                );
                Err(DataError::malformed(path, KIND, problem))
            }
            [rows, columns, count] if [rows, columns] == shape.lengths() && count > 0 => Ok((count, true)),
            _ => {
                let what = format!("'{}'", variable.name);
                require_fields(path, &what, &variable.dimensions, shape).map(|count| (count, false))
            }
        }
    }
}

impl IndexedField for MatlabField {
    fn count(&self) -> usize {
        self.count
    }

    fn shape(&self) -> GridShape {
        self.shape
    }

    fn value(&self, record: usize, [i, j]: [usize; 2]) -> f64 {
        let GridShape { rows, columns } = self.shape;
        let at = if self.records_last {
            (record * columns + j) * rows + i
        } else {
            (j * rows + i) * self.count + record
        };
        self.values[at].into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_first_or_last_and_a_cube_is_refused() {
        let layout = |dimensions: &[usize], shape: GridShape| {
            let name = "h".to_owned();
            let variable = Variable { name, dimensions: dimensions.to_vec(), unpacked: 0, buffers: 0 };
            MatlabField::layout(Path::new("x.mat"), &variable, shape).map_err(|error| error.to_string())
        };
        let rectangle = GridShape { rows: 32, columns: 40 };
        assert_eq!(layout(&[32, 40, 7], rectangle), Ok((7, true)));
        assert_eq!(layout(&[7, 32, 40], rectangle), Ok((7, false)));
        assert_eq!(layout(&[32, 40, 40], rectangle), Ok((40, true)));
        assert_eq!(layout(&[32, 32, 7], 32.into()), Ok((7, true)));
        let refusal = layout(&[32, 32, 32], 32.into()).unwrap_err();
        assert!(refusal.contains("does not tell where its records are: save it as a .npy file"), "{refusal}");
    }
}
