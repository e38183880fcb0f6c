//! Transolver: soft weights gather pixels into slices, which attend to each other and are spread out again.

use scope_engine::{Params, Sliced};
use scope_model::operators::TransolverConfig;

use crate::{
    OnnxError,
    graph::{Attribute, Graph},
    layers::Window,
};

/// The fields \[batch, 2, rows, columns\] of values.
pub(crate) fn fields(
    graph: &mut Graph,
    config: &TransolverConfig,
    params: &Params,
    values: &str,
) -> Result<String, OnnxError> {
    let pixels = graph.pixels(values);
    let pixels = graph.channels_last(&pixels);
    let h = graph.hidden(params, &pixels, "lift.0")?;
    let mut v = graph.linear(params, &h, "lift.1")?; // [batch, rows, columns, width]
    for k in 0..config.depth {
        v = block(graph, config, params, &v, &format!("blocks.{k}"))?;
    }
    let h = graph.layer_norm(params, &v, "ln")?;
    let fields = graph.linear(params, &h, "head")?;
    Ok(graph.channels_first(&fields))
}

/// Attention over slices and an MLP, each added to the stream.
fn block(
    graph: &mut Graph,
    config: &TransolverConfig,
    params: &Params,
    v: &str,
    block: &str,
) -> Result<String, OnnxError> {
    let name = |layer: &str| format!("{block}.{layer}");
    let h = graph.layer_norm(params, v, &name("ln1"))?;
    let image = graph.channels_first(&h);
    let [g, f] = ["conv_x", "conv_fx"].map(|layer| heads(graph, config, params, &image, &name(layer)));
    let weights = slice_weights(graph, params, &g?, block)?; // [batch, heads, pixels, slices]
    let gathered = gather(graph, &weights, &f?); // [batch, heads, slices, size]
    let tokens = attend(graph, config, params, &gathered, block)?;
    let spread = graph.node("MatMul", &[&weights, &tokens], &[]); // [batch, heads, pixels, size]
    let together = graph.transpose(&spread, &[0, 2, 1, 3]);
    let [rows, columns] = graph.grid;
    let o = graph.reshape(&together, &[0, rows, columns, config.width]);
    let o = graph.linear(params, &o, &name("out"))?;
    let v = graph.node("Add", &[v, &o], &[]);
    let h = graph.layer_norm(params, &v, &name("ln2"))?;
    let h = graph.hidden(params, &h, &name("fc1"))?;
    let h = graph.linear(params, &h, &name("fc2"))?;
    Ok(graph.node("Add", &[&v, &h], &[]))
}

/// A convolution's result \[batch, heads, pixels, size\].
fn heads(
    graph: &mut Graph,
    config: &TransolverConfig,
    params: &Params,
    image: &str,
    layer: &str,
) -> Result<String, OnnxError> {
    let h = graph.convolution(params, image, layer, Window::THREE)?; // [batch, width, rows, columns]
    let [rows, columns] = graph.grid;
    let parted = graph.reshape(&h, &[0, config.heads, config.width / config.heads, rows * columns]);
    Ok(graph.transpose(&parted, &[0, 1, 3, 2]))
}

/// softmax over slices of (W g + b) / t, with the temperature of each head kept between its bounds.
fn slice_weights(graph: &mut Graph, params: &Params, g: &str, block: &str) -> Result<String, OnnxError> {
    let logits = graph.linear(params, g, &format!("{block}.slice"))?;
    let temperature = graph.parameter(params, &format!("{block}.temperature"))?;
    let [least, most] = Sliced::TEMPERATURES.map(|bound| graph.constant(&[], vec![bound as f32]));
    let temperature = graph.node("Clip", &[&temperature, &least, &most], &[]);
    let axes = graph.integers(&[1, 2]);
    let temperature = graph.node("Unsqueeze", &[&temperature, &axes], &[]); // [heads, 1, 1]
    let scaled = graph.node("Div", &[&logits, &temperature], &[]);
    Ok(graph.node("Softmax", &[&scaled], &[("axis", Attribute::Integer(-1))]))
}

/// The sum over pixels of w f / (sum over pixels of w + epsilon).
fn gather(graph: &mut Graph, weights: &str, f: &str) -> String {
    let turned = graph.transpose(weights, &[0, 1, 3, 2]); // [batch, heads, slices, pixels]
    let sums = graph.node("MatMul", &[&turned, f], &[]);
    let last = graph.integers(&[-1]);
    let total = graph.node("ReduceSum", &[&turned, &last], &[("keepdims", Attribute::Integer(1))]);
    let epsilon = graph.constant(&[], vec![Sliced::EPSILON as f32]);
    let total = graph.node("Add", &[&total, &epsilon], &[]);
    graph.node("Div", &[&sums, &total], &[])
}

/// Attention between the slices of each head; queries, keys and values are one projection without a bias, the same for
/// all heads.
fn attend(
    graph: &mut Graph,
    config: &TransolverConfig,
    params: &Params,
    tokens: &str,
    block: &str,
) -> Result<String, OnnxError> {
    let size = config.width / config.heads;
    let weight = graph.parameter(params, &format!("{block}.tokens.weight"))?;
    let weight = graph.transpose(&weight, &[1, 0]);
    let qkv = graph.node("MatMul", &[tokens, &weight], &[]); // [batch, heads, slices, 3 size]
    let [q, k, v] = [0, 1, 2].map(|which| graph.part(&qkv, &[(-1, which * size, (which + 1) * size)]));
    Ok(graph.attention([&q, &k, &v], size))
}
