//! The latents of a batch of records, and what decoders make of them. All in single precision, on any device.

use std::ops::Range;

use scope_data::{
    Dataset, Pair,
    observation::{Condition, MaskSampler, Namespace, write_context},
};
use scope_engine::{Dtype, EngineError, Params, Tape, Tensor};
use scope_model::{Model, Network};

use super::{DiagnoseError, Subject};

/// The latents of some records: \[n, tokens, latent\] each.
pub(super) struct Latents {
    /// z_M, predicted from the context.
    pub(super) predicted: Tensor,
    /// z_F, of the complete pair.
    pub(super) complete: Tensor,
    /// The teacher's, of the complete pair.
    pub(super) target: Option<Tensor>,
}

/// Some records, and what the networks are shown of them.
pub(super) struct Inputs {
    pub(super) pairs: Vec<Pair>,
    /// Contexts and complete views: \[n, 4, S, S\] each.
    pub(super) views: [Vec<f32>; 2],
}

/// Reads some records and makes their views.
pub(super) fn inputs(
    data: &Dataset,
    condition: Condition,
    seed: u64,
    records: Range<usize>,
) -> Result<Inputs, DiagnoseError> {
    let meta = data.meta();
    let sampler = MaskSampler::new(meta.pde, seed, meta.resolution);
    let pixels = meta.resolution.points();
    let mut contexts = vec![0.0; records.len() * 4 * pixels];
    let mut complete = Vec::with_capacity(contexts.len());
    let ones = vec![1.0_f32; pixels];
    let mut pairs = Vec::with_capacity(records.len());
    for (record, context) in records.zip(contexts.chunks_mut(4 * pixels)) {
        let pair = data.pair(record)?;
        if pair.values().iter().any(|x| !x.is_finite()) {
            return Err(DiagnoseError::NotFinite(record));
        }
        let masks = sampler.masks(Namespace::Test, record as u64, condition, data.region(record));
        write_context(pair.fields(), &masks.seen, context);
        complete.extend([pair.a(), &ones, pair.u(), &ones].concat());
        pairs.push(pair);
    }
    Ok(Inputs { pairs, views: [contexts, complete] })
}

impl Latents {
    /// Runs contexts and complete views through the networks.
    pub(super) fn of(subject: &Subject<'_>, views: &[Vec<f32>; 2]) -> Result<Self, EngineError> {
        let Model { config, network, params } = subject.model;
        let channels = config.context_channels;
        let grid = config.resolution;
        let tape = Tape::inference(params, Dtype::F32);
        let on_device = |values: &Vec<f32>| {
            let count = values.len() / (channels * grid.points());
            Tensor::from_slice(tape.device(), &[count, channels, grid.rows, grid.columns], values)
        };
        let contexts = on_device(&views[0])?;
        let views = on_device(&views[1])?;
        let predicted = network.predict(&tape, &tape.input(contexts))?.value().clone();
        let complete = encode(network, params, &views)?;
        let target = subject.teacher.map(|teacher| encode(network, teacher, &views)).transpose()?;
        Ok(Self { predicted, complete, target })
    }
}

/// An encoder's latents of complete views.
fn encode(network: &Network, encoder: &Params, views: &Tensor) -> Result<Tensor, EngineError> {
    let tape = Tape::inference(encoder, Dtype::F32);
    Ok(network.encoder.forward(&tape, &tape.input(views.clone()))?.value().clone())
}

/// A model's decoder on latents: \[n, 2, S, S\] in stored coordinates.
pub(super) fn decode(model: &Model, latents: &Tensor) -> Result<Vec<f32>, EngineError> {
    let tape = Tape::inference(&model.params, Dtype::F32);
    model.network.decoder.forward(&tape, &tape.input(latents.clone()))?.value().to_vec()
}

/// The Euclidean norm of a vector.
pub(super) fn norm(x: &[f32]) -> f64 {
    x.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt()
}

/// The Euclidean distance of two vectors.
pub(super) fn distance(x: &[f32], y: &[f32]) -> f64 {
    x.iter().zip(y).map(|(x, y)| (f64::from(*x) - f64::from(*y)).powi(2)).sum::<f64>().sqrt()
}
