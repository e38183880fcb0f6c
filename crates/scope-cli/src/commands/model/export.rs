//! `scope model export`: models for other programs.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use scope_engine::Device;
use scope_model::FieldModel;

use crate::commands::{Outcome, models};
use crate::terminal::{grouped, say};

/// What `--help` ends with.
const EXAMPLES: &str = "\
Examples:
  scope model export --model poisson --format onnx --out poisson.onnx
  scope model export --model poisson --format huggingface --out poisson-hub
  scope recover --model poisson-hub --sensors sensors.csv --out recovered";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ModelExport {
    /// A model's name, a run folder or a weight file
    #[arg(long, value_name = "NAME|RUN|FILE")]
    model: PathBuf,
    /// onnx: one graph from readings and masks to fields, all in physical units; huggingface: a folder with
    /// model.safetensors, config.json, README.md and the card, which --model reads too
    #[arg(long)]
    format: ExportFormat,
    /// The file or folder to write, which must be new
    #[arg(long, value_name = "PATH")]
    out: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ExportFormat {
    Onnx,
    #[value(name = "huggingface")]
    HuggingFace,
}

impl ModelExport {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let found = models::find(&self.model)?;
        anyhow::ensure!(
            !self.out.exists(),
            "{} already exists: name another path with --out, or remove it first",
            self.out.display()
        );
        let out = self.out.display();
        match self.format {
            ExportFormat::Onnx => {
                let (model, about) = FieldModel::from_file(found.open()?, &Device::all_threads())?;
                let bytes = scope_onnx::export(&model, &about, &self.out)?;
                say(&format!(
                    "wrote {out}: a graph of {} bytes from {}, operators of version {}",
                    grouped(bytes),
                    found.shown(),
                    scope_onnx::OPSET
                ));
            }
            ExportFormat::HuggingFace => {
                found.write_hugging_face(&self.out)?;
                say(&format!("wrote {out}: model.safetensors and config.json from {}", found.shown()));
            }
        }
        Ok(Outcome::Success)
    }
}
