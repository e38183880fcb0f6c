//! SCOPE's network as a graph.

use scope_data::Constants;
use scope_engine::Params;
use scope_model::{ModelConfig, Transformer};

use crate::{
    OnnxError,
    graph::{Attribute, Graph},
    layers::{DOUBLE, FLOAT, Window},
    local_fits,
};

/// From readings in physical units to fields in physical units.
pub(crate) fn graph(
    config: &ModelConfig,
    params: &Params,
    constants: &Constants,
) -> Result<Graph, OnnxError> {
    let mut graph = Graph::new(config.resolution.lengths());
    let network = Builder { config, params };
    let scales = Scales::of(&mut graph, constants);
    let values = scales.store(&mut graph); // [batch, 2, rows, columns], zero where nothing is measured
    let latents = network.encoder(&mut graph, &values)?;
    let seen = network.seen(&mut graph);
    let seen = graph.linear(params, &seen, "cond")?;
    let latents = graph.node("Add", &[&latents, &seen], &[]);
    let latents = network.predictor(&mut graph, &latents)?;
    let stored = network.decoder(&mut graph, &latents)?;
    scales.physical(&mut graph, &stored);
    Ok(graph)
}

/// The means and the divisors 2 sigma of both fields, in double precision.
struct Scales {
    means: String,
    divisors: String,
}

impl Scales {
    fn of(graph: &mut Graph, constants: &Constants) -> Self {
        let both = constants.into_array();
        let means = graph.constant(&[1, 2, 1, 1], both.map(|scaling| scaling.mean).to_vec());
        let divisors = graph.constant(&[1, 2, 1, 1], both.map(|scaling| 2.0 * scaling.sigma).to_vec());
        Self { means, divisors }
    }

    /// mask (x - mean) / (2 sigma). Readings count only where the mask says so, whatever they are elsewhere, NaN included.
    fn store(&self, graph: &mut Graph) -> String {
        let nothing = graph.constant(&[], vec![0.0_f32]);
        let measured = graph.node("Greater", &[Graph::MASK, &nothing], &[]);
        let readings = graph.cast(Graph::READINGS, DOUBLE);
        let centred = graph.node("Sub", &[&readings, &self.means], &[]);
        let scaled = graph.node("Div", &[&centred, &self.divisors], &[]);
        let stored = graph.cast(&scaled, FLOAT);
        let weighed = graph.node("Mul", &[&stored, Graph::MASK], &[]);
        graph.node("Where", &[&measured, &weighed, &nothing], &[])
    }

    /// 2 sigma x + mean.
    fn physical(&self, graph: &mut Graph, stored: &str) {
        let wide = graph.cast(stored, DOUBLE);
        let scaled = graph.node("Mul", &[&wide, &self.divisors], &[]);
        let fields = graph.node("Add", &[&scaled, &self.means], &[]);
        graph.named("Cast", &[&fields], &[("to", Attribute::Integer(FLOAT))], &[Graph::FIELDS]);
    }
}

/// The parts of the network.
struct Builder<'a> {
    config: &'a ModelConfig,
    params: &'a Params,
}

impl Builder<'_> {
    /// The context (Ma a, Ma, Mu u, Mu) \[batch, 4, rows, columns\] to latents \[batch, tokens, latent\].
    fn encoder(&self, graph: &mut Graph, values: &str) -> Result<String, OnnxError> {
        let [rows, columns] = self.config.resolution.lengths();
        let split = |graph: &mut Graph, x: &str| graph.reshape(x, &[0, 2, 1, rows, columns]);
        let [pair, masks] = [split(graph, values), split(graph, Graph::MASK)];
        let turns = graph.node("Concat", &[&pair, &masks], &[("axis", Attribute::Integer(2))]);
        let context = graph.reshape(&turns, &[0, 4, rows, columns]);
        let Transformer { width, .. } = self.config.encoder;
        let patches =
            graph.convolution(self.params, &context, "encoder.patch", Window::patch(self.config.patch))?;
        let mut image = patches;
        if let Some(fits) = &self.config.fits {
            let fitted = local_fits::graph(graph, self.params, fits, values)?;
            let side = Window::patch(self.config.patch / fits.stride);
            let embedded = graph.convolution(self.params, &fitted, "encoder.fits", side)?;
            image = graph.node("Add", &[&image, &embedded], &[]);
        }
        let tokens = graph.tokens(&image, width, self.config.tokens());
        let position = graph.parameter(self.params, "encoder.pos")?;
        let x = graph.node("Add", &[&tokens, &position], &[]);
        let x = self.blocks(graph, x, "encoder", self.config.encoder)?;
        let x = graph.layer_norm(self.params, &x, "encoder.ln")?;
        graph.linear(self.params, &x, "encoder.head")
    }

    /// How much of each patch is measured \[batch, tokens, 2\].
    fn seen(&self, graph: &mut Graph) -> String {
        let patch = self.config.patch as i64;
        let settings = [
            ("kernel_shape", Attribute::Integers(vec![patch; 2])),
            ("strides", Attribute::Integers(vec![patch; 2])),
        ];
        let means = graph.node("AveragePool", &[Graph::MASK], &settings);
        graph.tokens(&means, 2, self.config.tokens())
    }

    fn predictor(&self, graph: &mut Graph, z: &str) -> Result<String, OnnxError> {
        let x = graph.linear(self.params, z, "predictor.inp")?;
        let position = graph.parameter(self.params, "predictor.pos")?;
        let x = graph.node("Add", &[&x, &position], &[]);
        let x = self.blocks(graph, x, "predictor", self.config.predictor)?;
        let x = graph.layer_norm(self.params, &x, "predictor.ln")?;
        graph.linear(self.params, &x, "predictor.out")
    }

    fn blocks(
        &self,
        graph: &mut Graph,
        mut x: String,
        part: &str,
        stack: Transformer,
    ) -> Result<String, OnnxError> {
        for k in 0..stack.depth {
            let name = |layer: &str| format!("{part}.blocks.{k}.{layer}");
            let h = graph.layer_norm(self.params, &x, &name("ln1"))?;
            let qkv = graph.linear(self.params, &h, &name("qkv"))?;
            let h = self.attention(graph, &qkv, stack);
            let h = graph.linear(self.params, &h, &name("proj"))?;
            x = graph.node("Add", &[&x, &h], &[]);
            let h = graph.layer_norm(self.params, &x, &name("ln2"))?;
            let h = graph.linear(self.params, &h, &name("fc1"))?;
            let h = graph.gelu(&h);
            let h = graph.linear(self.params, &h, &name("fc2"))?;
            x = graph.node("Add", &[&x, &h], &[]);
        }
        Ok(x)
    }

    /// softmax(q k^T / sqrt d) v for each head, \[batch, tokens, 3 width\] to \[batch, tokens, width\].
    fn attention(
        &self,
        graph: &mut Graph,
        qkv: &str,
        Transformer { width, heads, .. }: Transformer,
    ) -> String {
        let tokens = self.config.tokens();
        let size = width / heads;
        let parted = graph.reshape(qkv, &[0, tokens, 3, heads, size]);
        let parted = graph.transpose(&parted, &[2, 0, 3, 1, 4]); // [3, batch, heads, tokens, size]
        let [q, k, v] = [0, 1, 2].map(|which| {
            let which = graph.constant(&[], vec![which]);
            graph.node("Gather", &[&parted, &which], &[("axis", Attribute::Integer(0))])
        });
        let keys = graph.transpose(&k, &[0, 1, 3, 2]);
        let scores = graph.node("MatMul", &[&q, &keys], &[]);
        let factor = graph.constant(&[], vec![1.0 / (size as f32).sqrt()]);
        let scores = graph.node("Mul", &[&scores, &factor], &[]);
        let weights = graph.node("Softmax", &[&scores], &[("axis", Attribute::Integer(-1))]);
        let heads = graph.node("MatMul", &[&weights, &v], &[]);
        let together = graph.transpose(&heads, &[0, 2, 1, 3]);
        graph.reshape(&together, &[0, tokens, width])
    }

    /// x + conv(x), where x are the tiles of MLP(z): \[batch, tokens, latent\] to \[batch, 2, rows, columns\].
    fn decoder(&self, graph: &mut Graph, z: &str) -> Result<String, OnnxError> {
        let ModelConfig { patch, fields, ref decoder, .. } = *self.config;
        let mut h = z.to_owned();
        for k in 0..=decoder.mlp.len() {
            h = graph.linear(self.params, &h, &format!("decoder.mlp.{k}"))?;
            if k < decoder.mlp.len() {
                h = graph.gelu(&h);
            }
        }
        let [across, along] = self.config.token_grid().lengths();
        let tiles = graph.reshape(&h, &[0, across, along, fields, patch, patch]);
        let laid_out = graph.transpose(&tiles, &[0, 3, 1, 4, 2, 5]);
        let [rows, columns] = self.config.resolution.lengths();
        let x = graph.reshape(&laid_out, &[0, fields, rows, columns]);
        let mut h = x.clone();
        for k in 0..=decoder.conv.len() {
            let window = Window { side: 3, stride: 1, padding: 1 };
            h = graph.convolution(self.params, &h, &format!("decoder.conv.{k}"), window)?;
            if k < decoder.conv.len() {
                h = graph.gelu(&h);
            }
        }
        Ok(graph.node("Add", &[&x, &h], &[]))
    }
}
