//! `scope bench train`: how fast a model takes training steps.

use clap::Args;
use scope_engine::Device;
use scope_model::{Model, Preset};
use scope_train::{Examples, Objective, Trainer};
use serde::Serialize;

use super::median_time;
use crate::commands::{Outcome, model_names};
use crate::terminal::{Table, print_json, say};

/// What `--help` ends with.
const EXAMPLES: &str = "\
Example:
  scope bench train --model base --objective fo --batch 8 --threads 2";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct BenchTrain {
    /// How large a model
    #[arg(long, default_value = "base", value_parser = model_names())]
    model: Preset,
    /// What is minimised
    #[arg(long, default_value = "fo", value_parser = ["full", "fjv", "fo"])]
    objective: String,
    /// Examples in a step
    #[arg(long, value_name = "N", default_value_t = 8)]
    batch: usize,
    /// Threads; all by default
    #[arg(long, value_name = "T")]
    threads: Option<usize>,
    /// How long to measure
    #[arg(long, value_name = "SECONDS", default_value_t = 2.0)]
    seconds: f64,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
}

/// The figures.
#[derive(Debug, Serialize)]
struct Row {
    model: &'static str,
    objective: String,
    batch: usize,
    median_ms: f64,
    draws_per_second: f64,
}

impl BenchTrain {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let device = self.threads.map_or_else(Device::all_threads, Device::cpu);
        let model = Model::initial(self.model.config(128), 1, &device)?;
        let objective = match self.objective.as_str() {
            "full" => Objective::FULL,
            "fjv" => Objective::FJV,
            _ => Objective::FO,
        };
        let examples = made_up(&device, self.batch)?;
        let mut trainer = Trainer::new(model, objective)?;
        let time = median_time(self.seconds, || {
            trainer.step(&examples, 1e-6, 0.996)?;
            Ok(())
        })?;
        let row = Row {
            model: self.model.name(),
            objective: self.objective,
            batch: self.batch,
            median_ms: time.as_secs_f64() * 1e3,
            draws_per_second: self.batch as f64 / time.as_secs_f64(),
        };
        if self.json {
            print_json(&row)?;
            return Ok(Outcome::Success);
        }
        let mut table = Table::new(&["model", "objective", "batch", "median ms", "draws/s"]);
        table.row([
            row.model.into(),
            row.objective.clone(),
            row.batch.to_string(),
            format!("{:.1}", row.median_ms),
            format!("{:.2}", row.draws_per_second),
        ]);
        say(&table.to_string());
        Ok(Outcome::Success)
    }
}

/// Smooth fields with one point in thirty seen: the time of a step does not depend on their values.
fn made_up(device: &Device, batch: usize) -> anyhow::Result<Examples> {
    let pixels = 128 * 128;
    let fields: Vec<f32> = (0..batch * 2 * pixels).map(|k| (k as f32 * 0.01).sin()).collect();
    let contexts: Vec<f32> = fields
        .chunks(pixels)
        .flat_map(|field| {
            let seen = |k: usize| f32::from(u8::from(k.is_multiple_of(30)));
            let values = field.iter().enumerate().map(move |(k, x)| x * seen(k));
            values.chain((0..pixels).map(seen)).collect::<Vec<f32>>()
        })
        .collect();
    Ok(Examples::new(device, 128, &fields, &contexts, &vec![0.01; 2 * batch])?)
}
