//! `scope model pack`: weights in fewer bits.

use std::path::PathBuf;

use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};
use scope_data::Dataset;
use scope_engine::Device;
use scope_eval::{Evaluation, Protocol};
use scope_model::{About, FieldModel, LayerHessians, Quantisation};

use crate::commands::{Misuse, Outcome, models::catalogue};
use crate::terminal::{Progress, grouped, say};

/// What `--help` ends with.
const EXAMPLES: &str = "\
Example:
  scope model pack --run runs/poisson --kind int8 --data data/poisson --out models/poisson.safetensors
  scope evaluate --run models/poisson.safetensors --data data/poisson-test --protocol all --out evals/poisson
  scope model card --model models/poisson.safetensors --run runs/poisson --data data/poisson --eval evals/poisson/all.json";

/// The seed of the masks under which records are shown to the model: not a test's.
const MASK_SEED: u64 = 20260913;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ModelPack {
    /// A run folder, a weight file or a model's name
    #[arg(long, value_name = "RUN|FILE|NAME")]
    run: PathBuf,
    /// What weights are stored in: f32 keeps all bits, bf16 and int16 half of them, int8 a quarter; integers have a
    /// scale for each row
    #[arg(long, default_value = "bf16", value_parser = quantisations())]
    kind: Quantisation,
    /// Records of the model's problem, such as those of its training: int8 and int16 then round so that what layers
    /// give for these changes least, which adds a fraction of the error that rounding each weight to nearest does
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// The weight file to write
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

fn quantisations() -> impl TypedValueParser<Value = Quantisation> {
    let find =
        |name: String| Quantisation::ALL.into_iter().find(|one| one.name() == name).ok_or("no such kind");
    PossibleValuesParser::new(Quantisation::ALL.map(Quantisation::name)).try_map(find)
}

impl ModelPack {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        self.require_use_of_data()?;
        let from = catalogue().find(&self.run)?;
        anyhow::ensure!(
            !self.out.exists(),
            "{} already exists: name another file with --out, or remove it first",
            self.out.display()
        );
        let (model, about) = FieldModel::from_file(from.open()?, &Device::all_threads())?;
        match &self.data {
            Some(folder) => {
                let hessians = hessians_on(&Dataset::open(folder)?, &model, &about)?;
                model.save_compensated(&hessians, &self.out, &about, self.kind)?;
            }
            None => model.save(&self.out, &about, self.kind)?,
        }
        let length = std::fs::metadata(&self.out).map_or(0, |file| file.len() as usize);
        say(&format!(
            "wrote {} in {}: {} bytes, from {}",
            self.out.display(),
            self.kind.name(),
            grouped(length),
            from.shown()
        ));
        Ok(Outcome::Success)
    }

    /// Refuses records for weights that are not rounded to integers.
    fn require_use_of_data(&self) -> Result<(), Misuse> {
        if self.data.is_none() || self.kind.is_integer() {
            return Ok(());
        }
        Err(Misuse::of(format!(
            "--data is for --kind int8 and int16, and {} was asked for: leave it out",
            self.kind.name()
        )))
    }
}

/// The Hessians of the model's layers, calibrated on records: one under each condition of the protocol.
fn hessians_on(data: &Dataset, model: &FieldModel, about: &About) -> anyhow::Result<LayerHessians> {
    let evaluation = Evaluation {
        data,
        mask_seed: MASK_SEED,
        noise: None,
        records: data.len(),
        batch: 1,
        interpolate: false,
    };
    evaluation.require_same(about.pde, &about.constants, about.config.resolution())?;
    let conditions = Protocol::All.conditions(about.pde);
    let each = about.config.context_channels() * about.config.resolution().points();
    let progress = Progress::new("measuring", conditions.len());
    let mut contexts = vec![0.0; conditions.len() * each];
    for (k, (condition, context)) in conditions.into_iter().zip(contexts.chunks_mut(each)).enumerate() {
        evaluation.observe(k % data.len(), condition, context)?;
    }
    let hessians = LayerHessians::calibrate(model, &contexts, &mut |done| progress.at(done))?;
    progress.finish();
    Ok(hessians)
}
