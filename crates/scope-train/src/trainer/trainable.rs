//! What can be trained, and how each goes forward.

use scope_engine::{EngineError, Params, Tape};
use scope_model::{FieldNetwork, Network};

use super::head::Head;
use crate::{examples::Examples, losses::Pass, objective::Objective};

/// A network in training, whose parameters are the trainer's.
#[derive(Debug)]
pub enum Trainable {
    /// A SCOPE network. It has latents, and so can have every component of the objective.
    Scope(Box<Network>),
    /// A network of any architecture from contexts to fields, which has the field loss alone.
    Field(Box<dyn FieldNetwork>),
    /// A replacement decoder on a frozen SCOPE model, which has the field loss alone.
    Head(Box<Head>),
}

impl Trainable {
    /// The objective that it is trained with when another is asked for: without latents of its own, the field loss
    /// alone.
    pub(super) fn objective(&self, asked: Objective) -> Objective {
        match self {
            Self::Scope(_) => asked,
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
            Self::Field(network) => network.forward(tape, &tape.input(examples.contexts.clone()))?,
            Self::Head(head) => head.forward(tape, examples)?,
        };
        Ok(Pass { fields: Some(fields), ..Pass::default() })
    }
}
