//! The forward pass of a training step: latents, fields, and one loss a component.

use scope_engine::{Dtype, EngineError, Params, Pending, Tape, Tensor, Var};
use scope_model::Network;

use crate::{
    examples::Examples,
    objective::{Component, FieldMeasure, GroundedParts, Objective},
};

/// What one forward pass computed; only what the objective needs.
#[derive(Clone, Debug, Default)]
pub struct Pass {
    /// z_M: the predicted latents of the context.
    pub predicted: Option<Var>,
    /// x_M: the fields decoded from them.
    pub fields: Option<Var>,
    /// z_F: the latents of the complete view.
    pub complete: Option<Var>,
    /// x_F: the fields decoded from those.
    pub grounded: Option<Var>,
    /// The EMA teacher's latents of the complete view.
    pub target: Option<Tensor>,
    /// L_R: the mean square of the equation's residual.
    pub residual: Option<Var>,
}

/// The losses of a pass, unweighted, in the order of [`Component::ALL`].
#[derive(Clone, Debug)]
pub struct PassLosses(pub Vec<(Component, Var)>);

impl Pass {
    /// Runs the network as far as the objective needs it.
    pub fn run(
        tape: &Tape<'_>,
        network: &Network,
        teacher: Option<&Params>,
        examples: &Examples,
        objective: &Objective,
    ) -> Result<Self, EngineError> {
        let mut pass = Self::default();
        let teacher = teacher.filter(|_| objective.has(Component::Latent));
        let complete = &examples.complete;
        let lesson = |teacher| {
            tape.device().on_side_stream(&[complete], || teach(network, teacher, tape.compute(), complete))
        };
        let target = teacher.map(lesson).transpose()?;
        if objective.has(Component::Field) || objective.has(Component::Latent) {
            let z = network.predict(tape, &tape.input(examples.contexts.clone()))?;
            if objective.has(Component::Field) {
                pass.fields = Some(network.decoder.forward(tape, &z)?);
            }
            pass.predicted = Some(z);
        }
        if objective.has(Component::Grounding) || objective.has(Component::Variance) {
            let z = network.encoder.forward(tape, &tape.input(examples.complete.clone()))?;
            if objective.has(Component::Grounding) {
                let from = match objective.grounding_reach {
                    GroundedParts::EncoderAndDecoder => z.clone(),
                    GroundedParts::Decoder => z.detach(),
                };
                pass.grounded = Some(network.decoder.forward(tape, &from)?);
            }
            pass.complete = Some(z);
        }
        pass.target = target.map(Pending::wait).transpose()?;
        Ok(pass)
    }

    /// The losses of the components that take part.
    pub fn losses(
        &self,
        tape: &Tape<'_>,
        examples: &Examples,
        objective: &Objective,
    ) -> Result<PassLosses, EngineError> {
        let Examples { fields: targets, weights, .. } = examples;
        let distance = |fields: &Var| match objective.measure {
            FieldMeasure::Relative => tape.mean_distance(fields, targets, weights),
            FieldMeasure::HiddenL1 => tape.mean_absolute(fields, targets, weights),
        };
        let mut losses = Vec::new();
        for component in Component::ALL.into_iter().filter(|component| objective.has(*component)) {
            let loss = match component {
                Component::Field => self.fields.as_ref().map(distance),
                Component::Latent => match (&self.predicted, &self.target) {
                    (Some(z), Some(target)) => Some(tape.mean_square(z, target)),
                    _ => None,
                },
                Component::Grounding => self.grounded.as_ref().map(distance),
                Component::Variance => {
                    self.complete.as_ref().map(|z| tape.spread_floor(z, objective.std_floor))
                }
                Component::Residual => self.residual.clone().map(Ok),
            };
            losses.extend(loss.transpose()?.map(|loss| (component, loss)));
        }
        Ok(PassLosses(losses))
    }
}

/// The EMA teacher's latents; nothing flows back to it.
fn teach(
    network: &Network,
    teacher: &Params,
    compute: Dtype,
    complete: &Tensor,
) -> Result<Tensor, EngineError> {
    let tape = Tape::inference(teacher, compute);
    Ok(network.encoder.forward(&tape, &tape.input(complete.clone()))?.value().clone())
}
