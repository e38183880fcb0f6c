//! DeepONet: coefficients from a convolutional branch, basis functions from a trunk that sees fixed coordinates.

use scope_engine::Params;
use scope_model::operators::DeepOnetConfig;

use crate::{OnnxError, graph::Graph, layers::Window};

/// Fields of an answer.
const FIELDS: usize = 2;

/// The fields \[batch, 2, rows, columns\] of values.
pub(crate) fn fields(
    graph: &mut Graph,
    config: &DeepOnetConfig,
    params: &Params,
    values: &str,
) -> Result<String, OnnxError> {
    let coefficients = branch(graph, config, params, values)?; // [batch, 2, basis]
    let basis = trunk(graph, config, params)?; // [points, basis]
    let basis = graph.transpose(&basis, &[1, 0]);
    let sums = graph.node("MatMul", &[&coefficients, &basis], &[]); // [batch, 2, points]
    let offset = graph.parameter(params, "offset")?;
    let offset = graph.reshape(&offset, &[FIELDS, 1]);
    let fields = graph.node("Add", &[&sums, &offset], &[]);
    let [rows, columns] = graph.grid;
    Ok(graph.reshape(&fields, &[0, FIELDS, rows, columns]))
}

fn branch(
    graph: &mut Graph,
    config: &DeepOnetConfig,
    params: &Params,
    values: &str,
) -> Result<String, OnnxError> {
    let mut x = if config.branch_coordinates { graph.pixels(values) } else { graph.context(values) };
    for k in 0..config.channels.len() {
        let side = if k == 0 { config.stem } else { 3 };
        let window = Window { side, stride: 2, padding: side / 2 };
        x = graph.channels_last_convolution(params, &x, &format!("branch.conv{k}"), window)?;
        if config.normalised {
            x = graph.batch_norm(params, &x, &format!("branch.bn{k}"))?;
        }
        x = graph.gelu(&x);
    }
    let coarse = config.resolution.divided(1 << config.channels.len());
    let last = config.channels.last().copied().unwrap_or_default();
    let x = graph.channels_last(&x);
    let flat = graph.reshape(&x, &[0, coarse.points() * last]);
    let h = graph.hidden(params, &flat, "branch.fc1")?;
    let coefficients = graph.linear(params, &h, "branch.fc2")?;
    Ok(graph.reshape(&coefficients, &[0, FIELDS, config.basis]))
}

fn trunk(graph: &mut Graph, config: &DeepOnetConfig, params: &Params) -> Result<String, OnnxError> {
    let points = config.points();
    let mut t = graph.constant(points.shape(), points.single().to_vec());
    for k in 0..config.trunk_depth {
        t = graph.hidden(params, &t, &format!("trunk.{k}"))?;
    }
    graph.linear(params, &t, &format!("trunk.{}", config.trunk_depth))
}
