//! A replacement decoder on a frozen SCOPE model.

use std::sync::Arc;

use scope_engine::{EngineError, Layout, Params, Tape, Tensor, Var};
use scope_model::{Architecture, Decoder, DecoderConfig, Model, ModelConfig, View, initialise};

use crate::{error::TrainError, examples::Examples};

/// A replacement decoder, and the frozen model whose decoder it replaces. The layout of its parameters is its own:
/// those of the frozen model are not even in the optimizer's reach.
#[derive(Debug)]
pub struct Head {
    base: Model,
    view: View,
    widths: DecoderConfig,
    decoder: Decoder,
}

impl Head {
    /// A newly initialised head on a frozen model, and its parameters, which are named `decoder. ...`.
    pub(super) fn new(
        base: Model,
        widths: DecoderConfig,
        view: View,
        seed: u64,
    ) -> Result<(Self, Params), TrainError> {
        let mut layout = Layout::new();
        let decoder = Decoder::declare(layout.root().scope("decoder"), &base.config, &widths);
        let mut params = Params::zeros(base.params.device(), Arc::new(layout))?;
        initialise(&mut params, seed)?;
        Ok((Self { base, view, widths, decoder }, params))
    }

    /// The fields that the head decodes from the frozen model's latents.
    pub(super) fn forward(&self, tape: &Tape<'_>, examples: &Examples) -> Result<Var, EngineError> {
        let latents = self.latents(tape, examples)?;
        self.decoder.forward(tape, &tape.input(latents))
    }

    /// The frozen model's latents of a batch, z_M of a sparse view or z_F of a complete one; nothing flows back through
    /// them.
    fn latents(&self, tape: &Tape<'_>, examples: &Examples) -> Result<Tensor, EngineError> {
        let frozen = Tape::inference(&self.base.params, tape.compute());
        let latents = match self.view {
            View::Sparse => self.base.network.predict(&frozen, &frozen.input(examples.contexts.clone()))?,
            View::Complete => {
                self.base.network.encoder.forward(&frozen, &frozen.input(examples.complete.clone()))?
            }
        };
        Ok(latents.value().clone())
    }

    /// The frozen model with a head of these parameters in the decoder's place.
    pub(super) fn merged(&self, head: &Params) -> Result<(Architecture, Params), TrainError> {
        let config = ModelConfig { decoder: self.widths.clone(), ..self.base.config.clone() };
        let mut model = Model::zeros(config, head.device())?;
        let layout = model.params.layout().clone();
        let mut flat = vec![0.0_f32; layout.len()];
        for source in [&self.base.params, head] {
            let values = source.flat().to_vec::<f32>()?;
            for param in source.layout().params() {
                let Some(to) = layout.find(&param.name).map(|id| layout.param(id)) else { continue };
                // The old decoder's names are the new one's; their numbers come second and win.
                if to.shape == param.shape {
                    flat[to.range.clone()].copy_from_slice(&values[param.range.clone()]);
                }
            }
        }
        model.params.set_flat(Tensor::from_slice(head.device(), &[flat.len()], &flat)?)?;
        Ok((model.config.into(), model.params))
    }
}
