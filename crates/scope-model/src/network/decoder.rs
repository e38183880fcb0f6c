//! From latent tokens to fields.

use scope_engine::{EngineError, Epilogue, Linear, Scope, Tape, Var};

use scope_pde::GridShape;

use crate::config::{DecoderConfig, ModelConfig};

/// A tokenwise MLP makes a tile of each field per token; 3x3 convolutions refine what the tiles make together.
/// The native decoder and the replacement heads differ in their widths only.
#[derive(Clone, Debug)]
pub struct Decoder {
    tile: usize,
    /// How tokens lie.
    tokens: GridShape,
    mlp: Vec<Linear>,
    conv: Vec<Linear>,
}

impl Decoder {
    /// Declares its parameters.
    pub fn declare(mut scope: Scope<'_>, config: &ModelConfig, widths: &DecoderConfig) -> Self {
        let ends = |first: usize, hidden: &[usize], last: usize| -> Vec<usize> {
            [&[first], hidden, &[last]].concat()
        };
        let tokenwise = ends(config.latent, &widths.mlp, config.tile());
        let channels = ends(config.fields, &widths.conv, config.fields);
        let pairs = |sizes: Vec<usize>| sizes.windows(2).map(|w| (w[0], w[1])).collect::<Vec<_>>();
        let mut mlp_scope = scope.scope("mlp");
        let mlp: Vec<Linear> = (0..)
            .zip(pairs(tokenwise))
            .map(|(k, (i, o))| Linear::declare(mlp_scope.scope(k), i, o))
            .collect();
        for between in mlp.iter().take(mlp.len() - 1).skip(1) {
            mlp_scope.hidden(between.weight, 1);
        }
        let mut conv = scope.scope("conv");
        let conv = (0..)
            .zip(pairs(channels))
            .map(|(k, (i, o))| Linear::declare_conv3x3(conv.scope(k), i, o))
            .collect();
        Self { tile: config.patch, tokens: config.token_grid(), mlp, conv }
    }

    /// x + conv(x), where x are the tiles of MLP(z).
    ///
    /// # Shapes
    /// z \[batch, tokens, latent\], fields \[batch, fields, rows, columns\].
    pub fn forward(&self, tape: &Tape<'_>, z: &Var) -> Result<Var, EngineError> {
        let mut h = z.clone();
        for (k, layer) in self.mlp.iter().enumerate() {
            let last = k + 1 == self.mlp.len();
            h = tape.linear(&h, *layer, if last { Epilogue::Wide } else { Epilogue::Gelu })?;
        }
        let x = tape.unpatchify(&h, self.tile, self.tokens.lengths())?; // [batch, rows, columns, fields]
        let fields = match self.conv.as_slice() {
            [] => x,
            [only] => tape.conv3x3(&x, *only, Epilogue::Add(&x))?,
            [first @ .., before, last] => {
                let mut h = x.clone();
                for layer in first {
                    h = tape.conv3x3(&h, *layer, Epilogue::Gelu)?;
                }
                tape.conv3x3_pair(&h, [*before, *last], &x)?
            }
        };
        tape.channels_first(&fields)
    }
}
