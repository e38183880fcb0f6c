//! FNO: a transform that keeps a few modes is one real matrix along each axis, so no Fourier transform is asked for.

use scope_engine::Params;
use scope_model::operators::{FnoConfig, Modes};

use crate::{
    OnnxError,
    graph::{Attribute, Graph},
};

/// The fields \[batch, 2, rows, columns\] of values.
pub(crate) fn fields(
    graph: &mut Graph,
    config: &FnoConfig,
    params: &Params,
    values: &str,
) -> Result<String, OnnxError> {
    let pixels = graph.pixels(values);
    let pixels = graph.channels_last(&pixels); // [batch, rows, columns, 6]
    let lifted = graph.linear(params, &pixels, "lift")?;
    let beyond = config.padding as i64;
    let zeros = graph.integers(&[0, 0, 0, 0, 0, beyond, beyond, 0]);
    let mut v = graph.node("Pad", &[&lifted, &zeros], &[]); // [batch, padded rows, padded columns, width]
    let transforms = Transforms::of(graph, config);
    for k in 0..config.layers {
        let far = transforms.convolve(graph, params, &v, &format!("layers.{k}.spectral"))?;
        let near = graph.linear(params, &v, &format!("layers.{k}.pointwise"))?;
        v = graph.node("Add", &[&near, &far], &[]);
        if k + 1 < config.layers {
            v = graph.gelu(&v);
        }
    }
    let [rows, columns] = graph.grid;
    let v = graph.part(&v, &[(-3, 0, rows), (-2, 0, columns)]);
    let h = graph.hidden(params, &v, "fc1")?;
    let fields = graph.linear(params, &h, "fc2")?;
    Ok(graph.channels_first(&fields))
}

/// The matrices of the transforms, and their sizes.
struct Transforms {
    /// (kx, re | im) from rows; (ky, re | im) from (re | im, column); and the ways back.
    rows: String,
    columns: String,
    columns_back: String,
    rows_back: String,
    modes: Modes,
    /// Rows and columns of what is transformed.
    points: [usize; 2],
    width: usize,
}

impl Transforms {
    fn of(graph: &mut Graph, config: &FnoConfig) -> Self {
        let transforms = config.transforms();
        Self {
            rows: graph.matrix(&transforms.rows),
            columns: graph.matrix(&transforms.columns),
            columns_back: graph.matrix(&transforms.columns_back),
            rows_back: graph.matrix(&transforms.rows_back),
            modes: config.kept(),
            points: config.padded(),
            width: config.width,
        }
    }

    /// v \[batch, rows, columns, width\] transformed, its modes mixed, and the way back.
    fn convolve(
        &self,
        graph: &mut Graph,
        params: &Params,
        v: &str,
        layer: &str,
    ) -> Result<String, OnnxError> {
        let Self { points: [p, q], width: c, modes: Modes { half_rows: m, columns: k }, .. } = *self;
        let lines = graph.reshape(v, &[0, p, q * c]);
        let h = graph.node("MatMul", &[&self.rows, &lines], &[]); // [batch, (kx, ri), (column, channel)]
        let h = graph.reshape(&h, &[0, 2 * m, 2 * q, c]);
        let h = graph.node("MatMul", &[&self.columns, &h], &[]); // [batch, kx, (ky, ri), channel]
        let h = graph.reshape(&h, &[0, 2 * m * k, 2 * c]);
        let h = graph.transpose(&h, &[1, 0, 2]); // [mode, batch, (ri, channel)]
        let weight = self.mixing(graph, params, layer)?;
        let h = graph.node("MatMul", &[&h, &weight], &[]);
        let h = graph.transpose(&h, &[1, 0, 2]);
        let h = graph.reshape(&h, &[0, 2 * m, 2 * k, c]);
        let h = graph.node("MatMul", &[&self.columns_back, &h], &[]); // [batch, kx, (ri, column), channel]
        let h = graph.reshape(&h, &[0, 4 * m, q * c]);
        let h = graph.node("MatMul", &[&self.rows_back, &h], &[]);
        Ok(graph.reshape(&h, &[0, p, q, c]))
    }

    /// Complex weights as real matrices \[mode, (ri, in), (ri, out)\]: (re, im) times the rows (Re W, Im W) and (-Im W,
    /// Re W).
    fn mixing(&self, graph: &mut Graph, params: &Params, layer: &str) -> Result<String, OnnxError> {
        let Self { width: c, modes: Modes { half_rows: m, columns: k }, .. } = *self;
        let weight = graph.parameter(params, &format!("{layer}.weight"))?;
        let weight = graph.reshape(&weight, &[2 * m * k, 2, c, c]);
        let [re, im] = [0, 1].map(|part| {
            let part = graph.constant(&[], vec![part]);
            graph.node("Gather", &[&weight, &part], &[("axis", Attribute::Integer(1))])
        });
        let minus = graph.node("Neg", &[&im], &[]);
        let beside = [("axis", Attribute::Integer(2))];
        let upper = graph.node("Concat", &[&re, &im], &beside);
        let lower = graph.node("Concat", &[&minus, &re], &beside);
        Ok(graph.node("Concat", &[&upper, &lower], &[("axis", Attribute::Integer(1))]))
    }
}
