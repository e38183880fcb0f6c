//! SCOPE's network as a graph.

use scope_engine::Params;
use scope_model::{ModelConfig, Transformer};

use crate::{
    OnnxError,
    graph::{Attribute, Graph},
    layers::Window,
    local_fits,
};

/// The fields in stored coordinates that the network makes of values \[batch, 2, rows, columns\] in stored coordinates,
/// zero where nothing is measured.
pub(crate) fn fields(
    graph: &mut Graph,
    config: &ModelConfig,
    params: &Params,
    values: &str,
) -> Result<String, OnnxError> {
    let network = Builder { config, params };
    let latents = network.encoder(graph, values)?;
    let seen = network.seen(graph);
    let seen = graph.linear(params, &seen, "cond")?;
    let latents = graph.node("Add", &[&latents, &seen], &[]);
    let latents = network.predictor(graph, &latents)?;
    network.decoder(graph, &latents)
}

/// The parts of the network.
struct Builder<'a> {
    config: &'a ModelConfig,
    params: &'a Params,
}

impl Builder<'_> {
    /// Values, zero where nothing is measured, to latents \[batch, tokens, latent\].
    fn encoder(&self, graph: &mut Graph, values: &str) -> Result<String, OnnxError> {
        let context = graph.context(values);
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
        let heads = graph.attention([&q, &k, &v], size);
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
            h = graph.convolution(self.params, &h, &format!("decoder.conv.{k}"), Window::THREE)?;
            if k < decoder.conv.len() {
                h = graph.gelu(&h);
            }
        }
        Ok(graph.node("Add", &[&x, &h], &[]))
    }
}
