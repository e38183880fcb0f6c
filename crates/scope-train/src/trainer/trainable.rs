//! What can be trained, and how each goes forward.

use scope_engine::{EngineError, Params, Tape};
use scope_model::{FieldNetwork, Network};

use super::head::Head;
use crate::{
    examples::Examples,
    losses::Pass,
    objective::{Component, Objective},
    residual::Residual,
};

/// A network in training, whose parameters are the trainer's.
#[derive(Debug)]
pub enum Trainable {
    /// A SCOPE network. It has latents, and so can have every component of the objective.
    Scope(Box<Network>),
    /// A network of any architecture from contexts to fields, which has the field loss alone.
    Field(Box<dyn FieldNetwork>),
    /// An operator of the auxiliary study, which has the losses of the hidden field and, if it is PINO, of the
    /// equation.
    Auxiliary(Box<dyn FieldNetwork>, Option<Box<Residual>>),
    /// A replacement decoder on a frozen SCOPE model, which has the field loss alone.
    Head(Box<Head>),
}

impl Trainable {
    /// The objective that it is trained with when another is asked for: without latents of its own, the field loss
    /// alone.
    pub(super) fn objective(&self, asked: Objective) -> Objective {
        match self {
            Self::Scope(_) | Self::Auxiliary(..) => asked,
            Self::Field(_) | Self::Head(_) => Objective::FO,
        }
    }

    /// Goes forward as far as an objective needs it. `teacher` is the EMA of a SCOPE network's encoder.
    pub(super) fn forward(
        &self,
        tape: &Tape<'_>,
        teacher: Option<&Params>,
        examples: &Examples,
        objective: &Objective,
    ) -> Result<Pass, EngineError> {
        let fields = match self {
            Self::Scope(network) => return Pass::run(tape, network, teacher, examples, objective),
            Self::Auxiliary(network, residual) => {
                return forward_auxiliary(tape, network.as_ref(), residual.as_deref(), examples, objective);
            }
            Self::Field(network) => network.forward(tape, &tape.input(examples.contexts.clone()))?,
            Self::Head(head) => head.forward(tape, examples)?,
        };
        Ok(Pass { fields: Some(fields), ..Pass::default() })
    }
}

/// What an auxiliary operator makes of the sparse input and, if it is grounded, of the complete one.
fn forward_auxiliary(
    tape: &Tape<'_>,
    network: &dyn FieldNetwork,
    residual: Option<&Residual>,
    examples: &Examples,
    objective: &Objective,
) -> Result<Pass, EngineError> {
    let mut pass = Pass::default();
    if objective.has(Component::Field) || objective.has(Component::Residual) {
        let fields = network.forward(tape, &tape.input(examples.contexts.clone()))?;
        if objective.has(Component::Residual) {
            pass.residual = residual.map(|residual| residual.loss(tape, &fields, examples)).transpose()?;
        }
        pass.fields = Some(fields);
    }
    if objective.has(Component::Grounding) {
        pass.grounded = Some(network.forward(tape, &tape.input(examples.complete.clone()))?);
    }
    Ok(pass)
}
