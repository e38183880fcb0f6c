//! `scope model pack`: weights in fewer bits.

use std::path::PathBuf;

use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};
use scope_engine::Device;
use scope_model::{FieldModel, WeightKind};

use crate::commands::{Outcome, models::catalogue};
use crate::terminal::{grouped, say};

/// What `--help` ends with.
const EXAMPLES: &str = "\
Example:
  scope model pack --run runs/poisson --kind int8 --out models/poisson.safetensors
  scope evaluate --run models/poisson.safetensors --data data/poisson-test --protocol all --out evals/poisson
  scope model card --model models/poisson.safetensors --run runs/poisson --data data/poisson --eval evals/poisson/all.json";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ModelPack {
    /// A run folder, a weight file or a model's name
    #[arg(long, value_name = "RUN|FILE|NAME")]
    run: PathBuf,
    /// What weights are stored in: f32 keeps all bits, bf16 and int16 half of them, int8 a quarter; whole numbers have a
    /// scale for each row
    #[arg(long, default_value = "bf16", value_parser = kinds())]
    kind: WeightKind,
    /// The weight file to write
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

fn kinds() -> impl TypedValueParser<Value = WeightKind> {
    let find =
        |name: String| WeightKind::ALL.into_iter().find(|kind| kind.name() == name).ok_or("no such kind");
    PossibleValuesParser::new(WeightKind::ALL.map(WeightKind::name)).try_map(find)
}

impl ModelPack {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let from = catalogue().find(&self.run)?;
        anyhow::ensure!(
            !self.out.exists(),
            "{} already exists: name another file with --out, or remove it first",
            self.out.display()
        );
        let (model, about) = FieldModel::from_file(from.open()?, &Device::all_threads())?;
        model.save(&self.out, &about, self.kind)?;
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
}
