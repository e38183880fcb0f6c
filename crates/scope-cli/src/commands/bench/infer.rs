//! `scope bench infer`: how fast a model recovers fields.

use clap::Args;
use scope_engine::{Device, EngineError, Graph, Tape, Tensor};
use scope_model::{Arithmetic, Model, Precision, Preset, multiply_in_int8};
use serde::Serialize;

use super::{MOST_AT_ONCE, Measuring, Speed, ceiling, device_name, median_card_time, median_time};
use crate::commands::{Outcome, model_names, precision_names, up_to};
use crate::terminal::{Table, print_json, say};

/// What `--help` ends with.
const EXAMPLES: &str = "\
Examples:
  scope bench infer --model base --batch 1,8 --precision f32,bf16,int8 --device cpu --threads 2
  scope bench infer --model base --batch 1,32,256 --precision bf16 --device cuda
  scope bench infer --model small --batch 1 --precision f32 --fits 3,6";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct BenchInfer {
    /// How large a model
    #[arg(long, default_value = "base", value_parser = model_names())]
    model: Preset,
    /// Contexts at a time
    #[arg(long, value_name = "N,...", default_value = "1,8", value_delimiter = ',', value_parser = up_to(MOST_AT_ONCE))]
    batch: Vec<usize>,
    /// What products are computed in
    #[arg(long, value_name = "KIND,...", default_value = "f32,bf16", value_delimiter = ',', value_parser = precision_names())]
    precision: Vec<Precision>,
    #[command(flatten)]
    measuring: Measuring,
}

/// What one pass took and gave.
#[derive(Debug, Serialize)]
struct Row {
    model: &'static str,
    batch: usize,
    precision: &'static str,
    device: String,
    median_ms: f64,
    fields_per_second: f64,
    #[serde(flatten)]
    speed: Speed,
}

impl BenchInfer {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let device = self.measuring.device.open()?;
        let mut model = Model::initial(self.measuring.network(self.model)?, 1, &device)?;
        let ceiling = ceiling(&device)?;
        let mut rows = Vec::new();
        for precision in &self.precision {
            if *precision == Precision::Int8 {
                multiply_in_int8(&mut model.params)?;
            } else {
                model.params.forget_integers();
            }
            for batch in &self.batch {
                rows.push(self.measure(&model, *batch, *precision, ceiling)?);
            }
        }
        if self.measuring.json {
            print_json(&rows)?;
            return Ok(Outcome::Success);
        }
        let heads =
            ["model", "batch", "precision", "device", "median ms", "fields/s", "TFLOP/s", "of ceiling"];
        let mut table = Table::new(&heads);
        for row in &rows {
            let [tflops, share] = Speed::cells(Some(row.speed));
            table.row([
                row.model.into(),
                row.batch.to_string(),
                row.precision.into(),
                row.device.clone(),
                format!("{:.2}", row.median_ms),
                format!("{:.1}", row.fields_per_second),
                tflops,
                share,
            ]);
        }
        say(&table.to_string());
        Ok(Outcome::Success)
    }

    fn measure(
        &self,
        model: &Model,
        batch: usize,
        precision: Precision,
        ceiling: Option<f64>,
    ) -> anyhow::Result<Row> {
        let device = model.params.device();
        let [rows, columns] = model.config.resolution.lengths();
        let shape = [batch, model.config.context_channels, rows, columns];
        let contexts = Tensor::from_slice(device, &shape, &vec![0.25_f32; shape.iter().product()])?;
        let forward = || -> Result<Tensor, EngineError> {
            let tape = Tape::inference(&model.params, precision.dtype());
            Ok(model.network.forward(&tape, &tape.input(contexts.clone()))?.value().clone())
        };
        let time = match device {
            Device::Cpu(_) => {
                median_time(self.measuring.seconds, || forward().map(drop).map_err(Into::into))?
            }
            Device::Cuda(cuda) => {
                let (graph, _fields) = Graph::record(cuda, forward)?;
                median_card_time(self.measuring.seconds, None, || Ok(cuda.time(|| graph.replay())?))?
            }
        };
        Ok(Row {
            model: self.model.name(),
            batch,
            precision: precision.name(),
            device: device_name(device),
            median_ms: time.as_secs_f64() * 1e3,
            fields_per_second: batch as f64 / time.as_secs_f64(),
            speed: Speed::of(batch as f64 * Arithmetic::of(&model.config).inference(), time, ceiling),
        })
    }
}
