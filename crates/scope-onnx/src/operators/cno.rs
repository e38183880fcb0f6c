//! CNO in its simplified form. Its resizes are fixed matrices along both axes, as ONNX's own resize has no such filter
//! on the way up.

use std::collections::HashMap;

use scope_data::GridShape;
use scope_engine::Params;
use scope_model::operators::{CnoConfig, LEAKY_SLOPE, bicubic_resize};

use crate::{
    OnnxError,
    graph::{Attribute, Graph},
    layers::Window,
};

/// The fields \[batch, 2, rows, columns\] of values.
pub(crate) fn fields(
    graph: &mut Graph,
    config: &CnoConfig,
    params: &Params,
    values: &str,
) -> Result<String, OnnxError> {
    let pixels = graph.pixels(values);
    Builder { graph, config, params, resizes: HashMap::new() }.fields(&pixels)
}

struct Builder<'a> {
    graph: &'a mut Graph,
    config: &'a CnoConfig,
    params: &'a Params,
    /// The matrices of resizes by the points before and after, as they are and transposed.
    resizes: HashMap<[usize; 2], [String; 2]>,
}

impl Builder<'_> {
    fn fields(&mut self, pixels: &str) -> Result<String, OnnxError> {
        let levels = self.config.levels;
        let grid = |level: usize| self.config.grid(level);
        let grids: Vec<GridShape> = (0..=levels).map(grid).collect();
        let mut v = self.pair(pixels, "lift")?;
        let mut skips = Vec::new();
        for level in 0..levels {
            let skip = self.residuals(&v, &format!("skips.{level}"), self.config.residual, grids[level])?;
            skips.push(self.block(&skip, &format!("invariant.{level}"), grids[level], grids[level])?);
            v = self.block(&v, &format!("down.{level}"), grids[level], grids[level + 1])?;
        }
        v = self.residuals(&v, "neck", self.config.neck, grids[levels])?;
        v = self.block(&v, &format!("invariant.{levels}"), grids[levels], grids[levels])?;
        for (k, skip) in skips.iter().rev().enumerate() {
            let level = levels - k;
            v = self.block(&v, &format!("up.{k}"), grids[level], grids[level - 1])?;
            v = self.graph.node("Concat", &[&v, skip], &[("axis", Attribute::Integer(1))]);
        }
        self.pair(&v, "project")
    }

    fn convolution(&mut self, v: &str, layer: &str) -> Result<String, OnnxError> {
        self.graph.convolution(self.params, v, layer, Window::THREE)
    }

    /// Convolution, normalisation, and an activation on the way to another grid.
    fn block(&mut self, v: &str, name: &str, from: GridShape, to: GridShape) -> Result<String, OnnxError> {
        let h = self.convolution(v, &format!("{name}.conv"))?;
        let h = self.graph.batch_norm(self.params, &h, &format!("{name}.bn"))?;
        Ok(self.activate(&h, from, to))
    }

    /// v + norm(conv(activation(norm(conv v)))), so many times.
    fn residuals(&mut self, v: &str, part: &str, count: usize, grid: GridShape) -> Result<String, OnnxError> {
        let mut v = v.to_owned();
        for k in 0..count {
            let name = |layer: &str| format!("{part}.{k}.{layer}");
            let h = self.convolution(&v, &name("conv0"))?;
            let h = self.graph.batch_norm(self.params, &h, &name("bn0"))?;
            let h = self.activate(&h, grid, grid);
            let h = self.convolution(&h, &name("conv1"))?;
            let h = self.graph.batch_norm(self.params, &h, &name("bn1"))?;
            v = self.graph.node("Add", &[&h, &v], &[]);
        }
        Ok(v)
    }

    /// Convolution, activation, convolution, on the finest grid.
    fn pair(&mut self, v: &str, name: &str) -> Result<String, OnnxError> {
        let h = self.convolution(v, &format!("{name}.conv0"))?;
        let h = self.activate(&h, self.config.resolution, self.config.resolution);
        self.convolution(&h, &format!("{name}.conv1"))
    }

    /// A leaky ReLU on twice the grid, between resizes.
    fn activate(&mut self, v: &str, from: GridShape, to: GridShape) -> String {
        let fine = GridShape { rows: 2 * from.rows, columns: 2 * from.columns };
        let v = self.resized(v, from, fine);
        let slope = ("alpha", Attribute::Float(LEAKY_SLOPE as f32));
        let v = self.graph.node("LeakyRelu", &[&v], &[slope]);
        self.resized(&v, fine, to)
    }

    /// Images with their channels first on another grid.
    fn resized(&mut self, v: &str, from: GridShape, to: GridShape) -> String {
        let [rows, _] = self.resize(from.rows, to.rows);
        let [_, columns] = self.resize(from.columns, to.columns);
        let v = self.graph.node("MatMul", &[&rows, v], &[]);
        self.graph.node("MatMul", &[&v, &columns], &[])
    }

    /// The matrix of a resize between so many points, and its transpose.
    fn resize(&mut self, from: usize, to: usize) -> [String; 2] {
        if let Some(known) = self.resizes.get(&[from, to]) {
            return known.clone();
        }
        let matrix = self.graph.matrix(&bicubic_resize(from, to));
        let both = [matrix.clone(), self.graph.transpose(&matrix, &[1, 0])];
        self.resizes.insert([from, to], both.clone());
        both
    }
}
