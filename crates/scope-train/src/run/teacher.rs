//! The EMA teacher that a run keeps beside its deployable model.

use std::path::Path;

use scope_engine::Params;
use scope_model::Model;

use super::checkpoint;
use crate::error::TrainError;

/// The EMA teacher of a run.
#[derive(Debug)]
pub enum Teacher {
    /// The EMA of the encoder, under the encoder's names.
    Kept(Box<Params>),
    /// There is none that belongs to the model; this says why.
    Missing(String),
}

/// Reads the EMA teacher of a run folder's model from its newest checkpoint; a weight file has none. A checkpoint whose
/// parameters are not the model's has a teacher, but not of this model.
pub fn saved_teacher(run: &Path, model: &Model) -> Result<Teacher, TrainError> {
    let missing = |why: &str| Ok(Teacher::Missing(why.to_owned()));
    let newest = if run.is_dir() { checkpoint::newest(&run.join("state"))? } else { None };
    let Some(checkpoint) = newest else {
        return missing("a weight file alone has none: it is kept in the checkpoints of a run folder");
    };
    let [params, teacher] = checkpoint.pair(["params", "teacher"])?;
    let Some(teacher) = teacher else {
        return missing("this run keeps none: it does not train with the latent component J");
    };
    let refuse = |problem: &str| TrainError::malformed(&checkpoint.path(), problem);
    if teacher.iter().any(|x| !x.is_finite()) {
        return Err(refuse("its teacher has a value that is not finite"));
    }
    let model_values = model.params.flat().to_vec::<f32>()?;
    if params.is_none_or(|params| params != model_values) {
        return missing("the newest checkpoint is not of this model: its parameters are others");
    }
    let layout = model.params.layout().prefix("encoder");
    if teacher.len() != layout.len() {
        return Err(refuse("its teacher is not of the encoder's size"));
    }
    let teacher = Params::from_flat(model.params.device(), layout.into(), &teacher)?;
    Ok(Teacher::Kept(Box::new(teacher)))
}
