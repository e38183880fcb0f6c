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
        let (head, mut params) = Self::declare(base, widths, view)?;
        initialise(&mut params, seed)?;
        Ok((head, params))
    }

    /// A model's own decoder, to be trained on while the rest of it is frozen.
    pub(super) fn continued(base: Model, view: View) -> Result<(Self, Params), TrainError> {
        let widths = base.config.decoder.clone();
        let (head, mut params) = Self::declare(base, widths, view)?;
        let trained = head.base.params.flat().to_vec::<f32>()?;
        let mut flat = vec![0.0_f32; params.layout().len()];
        for to in params.layout().params() {
            let from = head.base.params.layout();
            let Some(id) = from.find(&to.name) else { continue };
            flat[to.range.clone()].copy_from_slice(&trained[from.param(id).range.clone()]);
        }
        params.set_flat(Tensor::from_slice(params.device(), &[flat.len()], &flat)?)?;
        Ok((head, params))
    }

    /// A decoder of some widths on a frozen model; its parameters are zeros.
    fn declare(base: Model, widths: DecoderConfig, view: View) -> Result<(Self, Params), TrainError> {
        let mut layout = Layout::new();
        let decoder = Decoder::declare(layout.root().scope("decoder"), &base.config, &widths);
        let params = Params::zeros(base.params.device(), Arc::new(layout))?;
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

#[cfg(test)]
mod tests {
    use scope_engine::Device;
    use scope_model::Preset;

    use super::*;

    #[test]
    fn a_continued_decoder_begins_as_the_models_own() {
        let base = || Model::initial(Preset::Tiny.config(32), 7, &Device::all_threads()).unwrap();
        let flat = |params: &Params| params.flat().to_vec::<f32>().unwrap();
        let (head, params) = Head::continued(base(), View::Sparse).unwrap();
        let (config, merged) = head.merged(&params).unwrap();
        assert_eq!(config, base().config.into());
        assert_eq!(flat(&merged), flat(&base().params));
        // A new one of the same size has other numbers, and the rest of the model is the same.
        let (head, params) = Head::new(base(), base().config.decoder, View::Sparse, 8).unwrap();
        let (_, merged) = head.merged(&params).unwrap();
        let [before, after] = [flat(&base().params), flat(&merged)];
        for param in merged.layout().params() {
            let same = before[param.range.clone()] == after[param.range.clone()];
            let constant = param.shape.len() == 1;
            assert!(same != param.name.starts_with("decoder.") || constant, "{}", param.name);
        }
    }
}
