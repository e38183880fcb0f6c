//! A decoder's Lipschitz constant L_d from below: the largest |d(z) - d(z')| / |z - z'|_r over pairs that were tried.
//! The decoder's fields are in physical units, its latents in |v|_r = |v| / sqrt(r).
//!
//! No number of pairs gives the constant itself. Two sets of pairs are tried: what the records give, and points to
//! both sides of predicted latents along directions that power iteration turns to where the decoder is steepest.

use std::sync::Arc;

use scope_data::Scaling;
use scope_engine::{Dtype, EngineError, Gradients, Layout, Params, Tape, Tensor};
use scope_model::{Decoder, Model};
use serde::Serialize;

use super::views::{distance, norm};

/// Records around whose predicted latents the decoder is probed.
pub(super) const PROBES: usize = 4;
/// Steps of power iteration.
const STEPS: usize = 8;
/// How far to both sides, as a share of the latent's own norm.
const REACH: f64 = 0.01;

/// Lower bounds of L_d.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Lipschitz {
    /// Over pairs of latents that records have: both views of each, and either view of each two neighbours.
    pub records: f64,
    /// Over points close to predicted latents, in the steepest directions found.
    pub local: f64,
}

impl Lipschitz {
    /// The better of the two.
    pub(crate) fn lower_bound(&self) -> f64 {
        self.records.max(self.local)
    }
}

/// Where the decoder is probed, and the direction it is first probed in.
pub(super) struct Probe {
    /// z_M, \[tokens, latent\].
    pub(super) at: Vec<f32>,
    /// z_F, which the first direction points to.
    pub(super) towards: Vec<f32>,
}

/// A decoder cut out of its model, so that gradients are no larger than it is.
pub(super) struct DecoderAlone {
    decoder: Decoder,
    params: Params,
    gradients: Gradients,
    shape: [usize; 3],
}

impl DecoderAlone {
    pub(super) fn of(model: &Model) -> Result<Self, EngineError> {
        let config = &model.config;
        let mut layout = Layout::new();
        let decoder = Decoder::declare(layout.root().scope("decoder"), config, &config.decoder);
        let whole = model.params.layout();
        let values = model.params.flat().to_vec::<f32>()?;
        let mut flat = vec![0.0_f32; layout.len()];
        for param in layout.params() {
            if let Some(id) = whole.find(&param.name) {
                flat[param.range.clone()].copy_from_slice(&values[whole.param(id).range.clone()]);
            }
        }
        let params = Params::from_flat(model.params.device(), Arc::new(layout), &flat)?;
        let gradients = Gradients::zeros(&params)?;
        Ok(Self { decoder, params, gradients, shape: [1, config.tokens(), config.latent] })
    }

    /// The steepest slope that power iteration finds around a latent, for one channel (0 or 1).
    pub(super) fn steepest(
        &mut self,
        probe: &Probe,
        channel: usize,
        scaling: Scaling,
    ) -> Result<f64, EngineError> {
        let Some(mut direction) = unit(probe.towards.iter().zip(&probe.at).map(|(to, at)| to - at).collect())
        else {
            return Ok(0.0);
        };
        let size = norm(&probe.at);
        let reach = (REACH * if size > 0.0 { size } else { 1.0 }) as f32;
        let mut best = 0.0_f64;
        for _ in 0..STEPS {
            let beside = |sign: f32| -> Vec<f32> {
                probe.at.iter().zip(&direction).map(|(z, v)| z + sign * reach * v).collect()
            };
            let plus = beside(1.0);
            let minus = beside(-1.0);
            let rise = self.rise(&plus, &minus, channel)?;
            let apart = distance(&plus, &minus) / (plus.len() as f64).sqrt();
            let slope = 2.0 * scaling.sigma * norm(&rise) / apart;
            best = best.max(slope);
            match unit(self.pulled_back(&probe.at, &rise)?) {
                Some(next) => direction = next,
                None => break,
            }
        }
        Ok(best)
    }

    /// d(z) - d(z') on one channel and zero on the other, in stored coordinates: \[2, S, S\].
    fn rise(&self, plus: &[f32], minus: &[f32], channel: usize) -> Result<Vec<f32>, EngineError> {
        let decoded = |z: &[f32]| -> Result<Vec<f32>, EngineError> {
            let tape = Tape::inference(&self.params, Dtype::F32);
            let z = tape.input(Tensor::from_slice(tape.device(), &self.shape, z)?);
            self.decoder.forward(&tape, &z)?.value().to_vec()
        };
        let plus = decoded(plus)?;
        let minus = decoded(minus)?;
        let pixels = plus.len() / 2;
        let difference = |k: usize| if k / pixels == channel { plus[k] - minus[k] } else { 0.0 };
        Ok((0..plus.len()).map(difference).collect())
    }

    /// The Jacobian's transpose at a latent, applied to fields.
    fn pulled_back(&mut self, at: &[f32], fields: &[f32]) -> Result<Vec<f32>, EngineError> {
        let tape = Tape::recording_in(&self.params, Dtype::F32)?;
        let z = tape.tracked(Tensor::from_slice(tape.device(), &self.shape, at)?);
        let decoded = self.decoder.forward(&tape, &z)?;
        let seed = Tensor::from_slice(tape.device(), decoded.shape(), fields)?;
        self.gradients.restart()?;
        tape.backward_from(&[(&decoded, seed)], &mut self.gradients)?;
        match self.gradients.input(&z) {
            Some(gradient) => gradient.to_vec(),
            None => Ok(vec![0.0; at.len()]),
        }
    }
}

/// A vector brought to length one; none if it has no direction.
fn unit(vector: Vec<f32>) -> Option<Vec<f32>> {
    let size = norm(&vector);
    (size > 0.0 && size.is_finite()).then(|| vector.iter().map(|x| (f64::from(*x) / size) as f32).collect())
}

#[cfg(test)]
mod tests {
    use scope_engine::Device;
    use scope_model::{DecoderConfig, ModelConfig, Preset};

    use super::*;
    use scope_pde::linear::eigen::symmetric_eigen;

    /// A decoder that is one matrix a token, W \[128, 4\]: its first 64 rows are the tile of a, the others that of u.
    fn linear_decoder(weight: &[f32]) -> Model {
        let decoder = DecoderConfig { mlp: vec![], conv: vec![] };
        let config = ModelConfig { latent: 4, decoder, ..Preset::Tiny.config(16) };
        let mut model = Model::zeros(config, &Device::cpu(1)).unwrap();
        let layout = model.params.layout().clone();
        let place = layout.param(layout.find("decoder.mlp.0.weight").unwrap()).range.clone();
        let mut flat = vec![0.0_f32; layout.len()];
        flat[place].copy_from_slice(weight);
        model.params.set_flat(Tensor::from_slice(&Device::cpu(1), &[flat.len()], &flat).unwrap()).unwrap();
        model
    }

    #[test]
    fn the_constant_of_a_linear_decoder_is_found() {
        let weight: Vec<f32> = (0..128 * 4).map(|k| ((k * k) as f32 * 0.37).sin() + (k % 4) as f32).collect();
        let mut alone = DecoderAlone::of(&linear_decoder(&weight)).unwrap();
        let scaling = Scaling { mean: 5.0, sigma: 0.75 };
        let latent = |shift: usize| (0..16).map(|k| ((k + shift) as f32).cos()).collect::<Vec<_>>();
        let probe = Probe { at: latent(0), towards: latent(3) };
        for channel in [0, 1] {
            // 2 sigma times the largest singular value of the channel's rows, times sqrt(r) for |v|_r.
            let rows = || weight[channel * 64 * 4..][..64 * 4].chunks(4);
            let gram =
                |i: usize, j: usize| rows().map(|row| f64::from(row[i]) * f64::from(row[j])).sum::<f64>();
            let gram: Vec<f64> = (0..16).map(|k| gram(k / 4, k % 4)).collect();
            let exact = 2.0 * scaling.sigma * symmetric_eigen(&gram, 4).values[0].sqrt() * 16.0_f64.sqrt();
            let found = alone.steepest(&probe, channel, scaling).unwrap();
            assert!((found / exact - 1.0).abs() < 1e-4, "{found} is not {exact}");
        }
        let still = Probe { at: latent(0), towards: latent(0) };
        assert_eq!(alone.steepest(&still, 0, scaling).unwrap(), 0.0);
    }
}
