//! `scope diagnose`: what a model's latents hold, and what its decoder makes of them.

mod tables;

use std::{
    num::NonZeroUsize,
    path::{Path, PathBuf},
};

use anyhow::Context;
use clap::Args;
use scope_data::{
    Dataset,
    observation::{Condition, TEST_MASK_SEED},
    require_writable, write_atomic,
};
use scope_engine::Params;
use scope_eval::{
    DataIdentity, MethodIdentity, Protocol,
    diagnose::{Diagnosis, Settings, Subject, diagnose},
};
use scope_model::{About, Model};
use scope_pde::Pde;
use scope_train::{Teacher, saved_teacher};
use serde::Serialize;

use super::{Outcome, device::DeviceArguments, models::catalogue};
use crate::terminal::{Progress, complain_of, print_json, say};

/// What `--help` ends with.
const EXAMPLES: &str = "\
Examples:
  scope diagnose --run runs/poisson --data data/poisson-test --limit 200
  scope diagnose --run runs/poisson --data data/poisson-test --condition inverse/grid/500 --json poisson.json
  scope diagnose --run runs/poisson-dp --base runs/poisson --data data/poisson-test

Exit code 1 if one of the paper's inequalities does not hold: then something is computed wrongly.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DiagnoseCommand {
    /// A run folder or a weight file
    #[arg(long, value_name = "RUN|FILE")]
    run: PathBuf,
    /// The records, which training must not have seen
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// The run that an adapted run was adapted from: its decoder is compared, and its teacher is used
    #[arg(long, value_name = "RUN|FILE")]
    base: Option<PathBuf>,
    /// What the model sees of a record [default: forward/uniform/500, or the task of a problem that has one field]
    #[arg(long)]
    condition: Option<Condition>,
    /// The first N records only
    #[arg(long, value_name = "N", default_value_t = NonZeroUsize::MAX, hide_default_value = true)]
    limit: NonZeroUsize,
    /// The seed of the test masks
    #[arg(long, value_name = "S", default_value_t = TEST_MASK_SEED)]
    seed: u64,
    /// Records that go through the network together: speed and memory, never results
    #[arg(long, value_name = "N", default_value = "8")]
    batch: NonZeroUsize,
    /// Write the results to this file; "-" for standard output
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    #[command(flatten)]
    device: DeviceArguments,
}

/// The results, as they are written.
#[derive(Debug, Serialize)]
struct Results {
    identity: DiagnosisProvenance,
    /// Why quantities that need a teacher are missing.
    without_teacher: Option<String>,
    #[serde(flatten)]
    diagnosis: Diagnosis,
}

/// What was diagnosed on what.
#[derive(Debug, Serialize)]
struct DiagnosisProvenance {
    pde: Pde,
    condition: Condition,
    mask_seed: u64,
    method: MethodIdentity,
    /// The model whose backbone the method has, if its decoder was replaced.
    base: Option<MethodIdentity>,
    data: DataIdentity,
}

/// A model, its file's hash, and its teacher if it has one.
struct Loaded {
    model: Model,
    about: About,
    hash: String,
    teacher: Teacher,
}

impl DiagnoseCommand {
    pub(crate) fn run(self) -> anyhow::Result<Outcome> {
        if let Some(path) = self.json_file() {
            require_writable(path)?;
        }
        let device = self.device.open()?;
        let load = |path: &PathBuf| -> anyhow::Result<Loaded> {
            let file = catalogue().find(path)?.open()?;
            let hash = file.hash();
            let (model, about) = Model::from_file(file, &device)?;
            let teacher = saved_teacher(path, &model)?;
            Ok(Loaded { model, about, hash, teacher })
        };
        let own = load(&self.run)?;
        let base = self.base.as_ref().map(load).transpose()?;
        let data = Dataset::open(&self.data)?;
        let (teacher, without_teacher) = teacher_of(&own, base.as_ref());
        let subject = Subject { model: &own.model, teacher, base: base.as_ref().map(|base| &base.model) };
        let condition = self.condition_for(data.meta().pde);
        let seed = self.seed;
        let limit = self.limit.get();
        let batch = self.batch.get();
        let progress = Progress::new("diagnosing", limit.min(data.len()));
        let settings = Settings { condition, seed, limit, batch };
        let diagnosis = diagnose(&subject, &own.about, &data, &settings, &mut |done| progress.at(done))
            .with_context(|| {
                format!("{} cannot be diagnosed on {}", self.run.display(), self.data.display())
            })?;
        progress.finish();
        let identity = self.identity(&own, base.as_ref(), &data);
        self.report(&Results { identity, without_teacher, diagnosis })
    }

    /// The condition that was named, or the first of the protocol's.
    fn condition_for(&self, pde: Pde) -> Condition {
        let usual = || Protocol::Uniform500.conditions(pde).into_iter().next();
        self.condition.or_else(usual).unwrap_or(Condition::full_observation())
    }

    fn identity(&self, own: &Loaded, base: Option<&Loaded>, data: &Dataset) -> DiagnosisProvenance {
        let method = |loaded: &Loaded| {
            let parameters = loaded.model.params.layout().count("");
            MethodIdentity::of_network(&loaded.about, parameters, loaded.hash.clone())
        };
        DiagnosisProvenance {
            pde: data.meta().pde,
            condition: self.condition_for(data.meta().pde),
            mask_seed: self.seed,
            method: method(own),
            base: base.map(method),
            data: DataIdentity::of(data),
        }
    }

    /// The file that results go to, if it is not standard output.
    fn json_file(&self) -> Option<&Path> {
        self.json.as_deref().filter(|path| *path != Path::new("-"))
    }

    fn report(&self, results: &Results) -> anyhow::Result<Outcome> {
        if self.json.is_some() && self.json_file().is_none() {
            print_json(results)?;
        } else {
            results.say();
            if let Some(path) = self.json_file() {
                write_atomic(path, &serde_json::to_vec_pretty(results)?)?;
                say(&format!("wrote {}", path.display()));
            }
        }
        let mut outcome = Outcome::Success;
        for (channel, found) in &results.diagnosis.channels {
            for wrong in found.inequalities.iter().filter(|inequality| !inequality.holds) {
                complain_of(&format!("{} does not hold for {channel}: please report this", wrong.statement));
                outcome = Outcome::Faults;
            }
        }
        Ok(outcome)
    }
}

/// The teacher of a run or, an adaptation having none, of its base; or why there is none.
fn teacher_of<'a>(own: &'a Loaded, base: Option<&'a Loaded>) -> (Option<&'a Params>, Option<String>) {
    match (&own.teacher, base.map(|base| &base.teacher)) {
        (Teacher::Kept(params), _) | (_, Some(Teacher::Kept(params))) => (Some(params), None),
        (_, Some(Teacher::Missing(why))) => (None, Some(format!("{why} (the base)"))),
        (Teacher::Missing(why), None) => {
            (None, Some(format!("{why}; name an adapted run's base with --base")))
        }
    }
}
