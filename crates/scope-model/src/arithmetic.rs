//! How much arithmetic a SCOPE model takes: products only, two operations for each multiplication and addition.

use crate::config::{DecoderConfig, ModelConfig, Transformer};

/// Operations of one pass forward over one sample, part by part. A pass back takes twice as many: one product for the
/// gradient of a layer's input, one for that of its weights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arithmetic {
    /// A context or a complete view to latents.
    pub encoder: f64,
    /// Latents to latents, with the conditioner.
    pub predictor: f64,
    /// Latents to fields.
    pub decoder: f64,
}

impl Arithmetic {
    /// Counts a model.
    pub fn of(config: &ModelConfig) -> Self {
        let tokens = config.tokens() as f64;
        let latent = config.latent as f64;
        let linear = |from: f64, to: f64| 2.0 * tokens * from * to;
        let wide = config.encoder.width as f64;
        let narrow = config.predictor.width as f64;
        let patch = config.encoder_inputs() as f64;
        let masks = (config.context_channels / 2) as f64;
        Self {
            encoder: linear(patch, wide) + stack(config, config.encoder) + linear(wide, latent),
            predictor: linear(masks, latent) + 2.0 * linear(latent, narrow) + stack(config, config.predictor),
            decoder: decoder(config, &config.decoder),
        }
    }

    /// Operations of recovering one sample.
    pub fn inference(&self) -> f64 {
        self.encoder + self.predictor + self.decoder
    }
}

/// Blocks: four products with the tokens, n x (3 + 1 + 2 expansion) n weights, and two with the scores of each head.
fn stack(config: &ModelConfig, stack: Transformer) -> f64 {
    let tokens = config.tokens() as f64;
    let width = stack.width as f64;
    let weights = (4 + 2 * config.expansion) as f64 * width * width;
    stack.depth as f64 * (2.0 * tokens * weights + 4.0 * tokens * tokens * width)
}

/// Operations of a decoder, the model's own or one in its place: a tokenwise MLP, then 3x3 convolutions of the grid.
pub fn decoder(config: &ModelConfig, widths: &DecoderConfig) -> f64 {
    let sum = |first: usize, hidden: &[usize], last: usize| -> f64 {
        let sizes = [&[first], hidden, &[last]].concat();
        sizes.windows(2).map(|pair| (pair[0] * pair[1]) as f64).sum()
    };
    let tokenwise = sum(config.latent, &widths.mlp, config.tile());
    let taps = 9.0 * sum(config.fields, &widths.conv, config.fields);
    2.0 * (config.tokens() as f64 * tokenwise + config.resolution.points() as f64 * taps)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Head, Preset};

    /// The floors that were counted independently for the base model on a GPU of 680 TFLOP/s, in milliseconds.
    #[test]
    fn counts_of_the_base_model_are_those_published() {
        let config = Preset::Base.config(128);
        let Arithmetic { encoder, predictor, decoder: native } = Arithmetic::of(&config);
        let milliseconds = |batch: f64, operations: f64| batch * operations / 680e12 * 1e3;
        let field = encoder + predictor + native;
        let near =
            |time: f64, expected: f64| assert!((time / expected - 1.0).abs() < 0.05, "{time} {expected}");
        near(milliseconds(256.0, field), 8.8);
        near(milliseconds(32.0, 3.0 * field), 3.3);
        near(milliseconds(32.0, encoder + predictor + 3.0 * decoder(&config, &Head::M10.config())), 17.0);
    }
}
