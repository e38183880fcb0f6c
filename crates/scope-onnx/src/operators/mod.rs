//! The operators that SCOPE is compared with, as graphs: values in stored coordinates to fields in stored coordinates.

mod cno;
mod deeponet;
mod fno;
mod transolver;

use scope_engine::{AxisMap, Params};

use crate::{
    OnnxError,
    graph::{Attribute, Graph},
};

pub(crate) use cno::fields as cno;
pub(crate) use deeponet::fields as deeponet;
pub(crate) use fno::fields as fno;
pub(crate) use transolver::fields as transolver;

impl Graph {
    /// The context and the coordinates of each pixel, from 0 to 1 \[batch, 6, rows, columns\].
    fn pixels(&mut self, values: &str) -> String {
        let [rows, columns] = self.grid;
        let context = self.context(values);
        let down = |k: usize| (k / columns) as f64 / (rows - 1) as f64;
        let across = |k: usize| (k % columns) as f64 / (columns - 1) as f64;
        let points = rows * columns;
        let places: Vec<f32> =
            (0..points).map(down).chain((0..points).map(across)).map(|place| place as f32).collect();
        let places = self.constant(&[2, rows, columns], places);
        let ends = [("start", Attribute::Integer(0)), ("end", Attribute::Integer(1))];
        let batch = self.node("Shape", &[&context], &ends);
        let each = self.integers(&[2, rows as i64, columns as i64]);
        let first = ("axis", Attribute::Integer(0));
        let shape = self.node("Concat", &[&batch, &each], &[first]);
        let places = self.node("Expand", &[&places, &shape], &[]);
        self.node("Concat", &[&context, &places], &[("axis", Attribute::Integer(1))])
    }

    /// Images \[batch, channels, rows, columns\] with their channels last.
    fn channels_last(&mut self, x: &str) -> String {
        self.transpose(x, &[0, 2, 3, 1])
    }

    /// Images \[batch, rows, columns, channels\] with their channels first.
    fn channels_first(&mut self, x: &str) -> String {
        self.transpose(x, &[0, 3, 1, 2])
    }

    /// The matrix of a map along an axis.
    fn matrix(&mut self, map: &AxisMap) -> String {
        let matrix = map.matrix();
        self.constant(matrix.shape(), matrix.single().to_vec())
    }

    /// A linear layer and GELU.
    fn hidden(&mut self, params: &Params, x: &str, layer: &str) -> Result<String, OnnxError> {
        let h = self.linear(params, x, layer)?;
        Ok(self.gelu(&h))
    }
}
