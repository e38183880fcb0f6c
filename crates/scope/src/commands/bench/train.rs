//! `scope bench train`: how fast a model takes training steps.

use clap::Args;
use scope_engine::Device;
use scope_model::{Model, Preset};
use scope_train::{Objective, RecordedTrainer, Trainer};
use serde::Serialize;

use super::{Measuring, device_name, median_card_time, median_time};
use crate::commands::{Outcome, made_up, model_names};
use crate::terminal::{Table, print_json, say};

/// What `--help` ends with.
const EXAMPLES: &str = "\
Examples:
  scope bench train --model base --objective fo --batch 8 --device cpu --threads 2
  scope bench train --model base --objective full --batch 32 --device cuda";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct BenchTrain {
    /// How large a model
    #[arg(long, default_value = "base", value_parser = model_names())]
    model: Preset,
    /// What is minimised; full-idle is full while its variance term is zero
    #[arg(long, default_value = "fo", value_parser = ["full", "full-idle", "fjv", "fo"])]
    objective: String,
    /// Examples in a step
    #[arg(long, value_name = "N", default_value_t = 8)]
    batch: usize,
    #[command(flatten)]
    measuring: Measuring,
}

/// The figures.
#[derive(Debug, Serialize)]
struct Row {
    model: &'static str,
    objective: String,
    batch: usize,
    device: String,
    median_ms: f64,
    draws_per_second: f64,
    /// What is held of a card's memory, in GiB.
    memory_gib: Option<f64>,
}

impl BenchTrain {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let device = self.measuring.device.open()?;
        let model = Model::initial(self.model.config(128), 1, &device)?;
        let objective = match self.objective.as_str() {
            "full" => Objective::FULL,
            "full-idle" => Objective { variance: 0.0, ..Objective::FULL },
            "fjv" => Objective::FJV,
            _ => Objective::FO,
        };
        let examples = made_up::examples(&device, 128, self.batch)?;
        let mut trainer = Trainer::new(model, objective)?;
        let mut memory_gib = None;
        let time = match &device {
            Device::Cpu(_) => median_time(self.measuring.seconds, || {
                trainer.step(&examples, 1e-6, 0.996)?;
                Ok(())
            })?,
            Device::Cuda(cuda) => {
                let mut recorded = RecordedTrainer::new(cuda, trainer);
                recorded.step_on(&examples, 1e-6, 0.996)?;
                memory_gib = Some(cuda.memory_held() as f64 / f64::from(1 << 30));
                median_card_time(self.measuring.seconds, || {
                    let mut step = Ok(());
                    let time = cuda.time(|| {
                        step = recorded.step_on(&examples, 1e-6, 0.996).map(drop);
                        Ok(())
                    })?;
                    step?;
                    Ok(time)
                })?
            }
        };
        let row = Row {
            model: self.model.name(),
            objective: self.objective,
            batch: self.batch,
            device: device_name(&device),
            median_ms: time.as_secs_f64() * 1e3,
            draws_per_second: self.batch as f64 / time.as_secs_f64(),
            memory_gib,
        };
        if self.measuring.json {
            print_json(&row)?;
            return Ok(Outcome::Success);
        }
        let mut table =
            Table::new(&["model", "objective", "batch", "device", "median ms", "draws/s", "memory"]);
        table.row([
            row.model.into(),
            row.objective.clone(),
            row.batch.to_string(),
            row.device.clone(),
            format!("{:.1}", row.median_ms),
            format!("{:.2}", row.draws_per_second),
            row.memory_gib.map_or_else(|| "-".to_owned(), |gib| format!("{gib:.2} GiB")),
        ]);
        say(&table.to_string());
        Ok(Outcome::Success)
    }
}
