//! What a trained model's latents hold and what its decoder makes of them (paper, "Physical Readout Transfer").
//!
//! Three latents of every record are compared: z_M, predicted from a sparse context; z_F, the encoder's own of the
//! complete pair; and the teacher's of the complete pair, where a teacher is at hand.

mod error;
mod inequality;
mod lipschitz;
mod readout;
mod recovery;
mod session;
mod spread;
mod views;

use std::collections::BTreeMap;

use scope_data::{
    Dataset,
    observation::{Condition, Layout},
};
use scope_engine::Params;
use scope_model::{About, Model, ModelConfig};
use serde::Serialize;

pub use error::DiagnoseError;
pub use inequality::Inequality;
pub use lipschitz::Lipschitz;
pub use readout::{Cohort, Readout};
pub use recovery::Recovery;
pub use spread::{Quantiles, Spread};

use session::Session;
use views::{Inputs, Latents, inputs};

/// What is diagnosed.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The model.
    pub model: &'a Model,
    /// The running average of its encoder.
    pub teacher: Option<&'a Params>,
    /// The model whose decoder this one's has replaced.
    pub base: Option<&'a Model>,
}

/// Which records are diagnosed, and what is shown of them.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// What the context shows.
    pub condition: Condition,
    /// The seed of the test masks.
    pub seed: u64,
    /// The first so many records.
    pub limit: usize,
    /// Records that go through the network together; no result depends on it.
    pub batch: usize,
}

/// What was found.
#[derive(Clone, Debug, Serialize)]
pub struct Diagnosis {
    /// Records looked at.
    pub records: usize,
    /// The number of tokens of a latent.
    pub tokens: usize,
    /// The length of a token; the paper's r is the product of both.
    pub width: usize,
    /// What was found of each field, by its name.
    pub channels: BTreeMap<&'static str, ChannelDiagnosis>,
    /// z_F over the records.
    pub complete: Spread,
    /// z_M over the records.
    pub predicted: Spread,
    /// How much of the teacher's latents is recovered; none without a teacher.
    pub recovery: Option<Recovery>,
}

/// What was found of one field.
#[derive(Clone, Debug, Serialize)]
pub struct ChannelDiagnosis {
    /// The model's decoder.
    pub decoder: Readout,
    /// The decoder that it has replaced.
    pub base: Option<Readout>,
    /// What was found of the records whose field is not zero; none if there are none.
    pub cohort: Option<Cohort>,
    /// The paper's inequalities, as far as they can be computed.
    pub inequalities: Vec<Inequality>,
}

impl Subject<'_> {
    /// Refuses a base that shares more, or less, than all parts but the decoder.
    fn require_same_backbone(&self) -> Result<(), DiagnoseError> {
        let Some(base) = self.base else { return Ok(()) };
        let own = &self.model.config;
        if (ModelConfig { decoder: own.decoder.clone(), ..base.config.clone() }) != *own {
            return Err(DiagnoseError::OtherBackbone("size"));
        }
        // The decoder's parameters come last.
        let shared = self.model.params.layout().range("decoder").start;
        let values = |model: &Model| model.params.flat().to_vec::<f32>();
        if values(self.model)?[..shared] != values(base)?[..shared] {
            return Err(DiagnoseError::OtherBackbone("encoder, predictor or conditioner"));
        }
        Ok(())
    }
}

impl Settings {
    /// Refuses records that do not fit the model, and returns how many there are to look at.
    fn require_fit(&self, about: &About, data: &Dataset) -> Result<usize, DiagnoseError> {
        let meta = data.meta();
        if about.pde != meta.pde || about.constants != meta.constants() {
            return Err(DiagnoseError::OtherProblem { data: meta.pde, model: about.pde });
        }
        if about.config.resolution() != meta.resolution {
            let data = meta.resolution;
            let model = about.config.resolution();
            return Err(DiagnoseError::OtherGrid { data, model });
        }
        if matches!(self.condition.layout(), Layout::BenchmarkUniform) && !meta.pde.descriptor().benchmark {
            return Err(DiagnoseError::CylinderOnly(self.condition.to_string()));
        }
        match self.limit.min(data.len()) {
            few @ 0..2 => Err(DiagnoseError::TooFew(few)),
            count => Ok(count),
        }
    }
}

/// Looks at the first records of a set. `progress` hears how many are done.
pub fn diagnose(
    subject: &Subject<'_>,
    about: &About,
    data: &Dataset,
    settings: &Settings,
    progress: &mut dyn FnMut(usize),
) -> Result<Diagnosis, DiagnoseError> {
    let count = settings.require_fit(about, data)?;
    subject.require_same_backbone()?;
    let mut session = Session::new(subject, data.meta());
    for first in (0..count).step_by(settings.batch.max(1)) {
        let records = first..(first + settings.batch.max(1)).min(count);
        let Inputs { pairs, views } = inputs(data, settings.condition, settings.seed, records.clone())?;
        session.add(records.start, &pairs, &Latents::of(subject, &views)?)?;
        progress(records.end);
    }
    session.finish(count)
}
