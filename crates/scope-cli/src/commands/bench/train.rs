//! `scope bench train`: how fast a model takes training steps.

use std::time::Duration;

use clap::Args;
use scope_engine::{Device, Dtype, Muon};
use scope_model::{Arithmetic, FieldModel, Head, Model, Preset, View, decoder_arithmetic};
use scope_parallel::Launch;
use scope_train::{Examples, Objective, Rates, Recipe, Team, TrainError, Trainer};
use serde::Serialize;

use super::{
    MOST_AT_ONCE, Measuring, Speed, ceiling, device_name, median_card_time, median_time,
    reduction::{Timed, When},
};
use crate::{
    commands::{Misuse, NetworkChoice, Outcome, network_names, synthetic, training::team, up_to},
    terminal::{Table, print_json, say, speak_as},
};

/// What `--help` ends with.
const EXAMPLES: &str = "\
Examples:
  scope bench train --model base --objective fo --batch 8 --device cpu --threads 2
  scope bench train --model base --objective full --batch 32 --device cuda
  scope bench train --model small --batch 32 --optimizer muon --fits 3,6 --device cuda
  scope bench train --model aux-fno --objective auxiliary-g --batch 32 --device cuda";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct BenchTrain {
    /// A SCOPE model of some size, or an operator
    #[arg(long, default_value = "base", value_parser = network_names())]
    model: NetworkChoice,
    /// What is minimised [default: fo; auxiliary for an operator of the auxiliary study, which has that and
    /// auxiliary-g]; full-idle is full while its variance term is zero, sp-10m the training of a replacement decoder
    #[arg(long, value_parser = ["full", "full-idle", "fjv", "fo", "sp-10m", "auxiliary", "auxiliary-g"])]
    objective: Option<String>,
    /// What follows the gradients
    #[arg(long, default_value = "adamw", value_parser = ["adamw", "muon"])]
    optimizer: String,
    /// Examples in a step
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = up_to(MOST_AT_ONCE))]
    batch: usize,
    /// On a GPU: with NCCL, as the process that a launcher has started among others, or as the only one
    #[arg(long)]
    nccl: bool,
    /// With NCCL: when gradients are reduced, beside the pass back as in training, between its operations, or never
    #[arg(long, value_enum, value_name = "WHEN", default_value = "beside", requires = "nccl")]
    reduction: When,
    /// On a GPU: measure so many steps, which several processes must have in common
    #[arg(long, value_name = "N", value_parser = up_to(u16::MAX))]
    steps: Option<usize>,
    #[command(flatten)]
    measuring: Measuring,
}

/// What training steps took.
#[derive(Debug, Serialize)]
struct Row {
    model: &'static str,
    objective: String,
    batch: usize,
    device: String,
    /// What products are computed in.
    precision: &'static str,
    median_ms: f64,
    draws_per_second: f64,
    /// How fast a SCOPE model trains; none for other operators.
    #[serde(flatten)]
    speed: Option<Speed>,
    /// What is held of a GPU's memory, in GiB.
    memory_gib: Option<f64>,
}

/// What the table says of a row.
const HEADS: [&str; 10] = [
    "model",
    "objective",
    "batch",
    "device",
    "precision",
    "median ms",
    "draws/s",
    "TFLOP/s",
    "of ceiling",
    "memory",
];

/// What was measured of a step.
struct Measured {
    time: Duration,
    /// What is held of a GPU's memory, in GiB.
    memory_gib: Option<f64>,
    /// What products were computed in.
    precision: Dtype,
}

impl Row {
    fn table(&self) -> Table {
        let [tflops, share] = Speed::cells(self.speed);
        let mut table = Table::new(&HEADS);
        table.row([
            self.model.into(),
            self.objective.clone(),
            self.batch.to_string(),
            self.device.clone(),
            self.precision.into(),
            format!("{:.1}", self.median_ms),
            format!("{:.2}", self.draws_per_second),
            tflops,
            share,
            self.memory_gib.map_or_else(|| "-".to_owned(), |gib| format!("{gib:.2} GiB")),
        ]);
        table
    }
}

impl BenchTrain {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let launch = Launch::from_environment().map_err(Misuse::of)?.filter(|_| self.nccl);
        let device = match &launch {
            Some(launch) => {
                speak_as(launch.rank);
                self.measuring.device.open_for(launch)?
            }
            None => self.measuring.device.open()?,
        };
        let examples = synthetic::examples(&device, 128.into(), self.batch)?;
        let measured = match self.model {
            NetworkChoice::Scope(preset) => self.measure_scope(preset, &device, &examples)?,
            NetworkChoice::Operator(_) => self.measure_operator(&device, &examples)?,
            NetworkChoice::Auxiliary(_) => self.measure_auxiliary(&device, &examples)?,
        };
        let time = measured.time;
        let operations = match self.model {
            NetworkChoice::Scope(preset) => Some(self.batch as f64 * self.operations(preset)?),
            NetworkChoice::Operator(_) | NetworkChoice::Auxiliary(_) => None,
        };
        let ceiling = ceiling(&device)?;
        let row = Row {
            speed: operations.map(|operations| Speed::of(operations, time, ceiling)),
            model: self.model.name(),
            objective: self.objective().to_owned(),
            batch: self.batch,
            device: device_name(&device),
            precision: match measured.precision {
                Dtype::Bf16 => "bf16",
                Dtype::F32 => "f32",
                Dtype::F64 => "f64",
            },
            median_ms: time.as_secs_f64() * 1e3,
            draws_per_second: self.batch as f64 / time.as_secs_f64(),
            memory_gib: measured.memory_gib,
        };
        let speaks = launch.is_none_or(|launch| launch.rank == 0);
        if self.measuring.json && speaks {
            print_json(&row)?;
        }
        if !self.measuring.json {
            say(&row.table().to_string());
        }
        Ok(Outcome::Success)
    }

    /// What is minimised.
    fn objective(&self) -> &str {
        let usual = match self.model {
            NetworkChoice::Auxiliary(_) => "auxiliary",
            NetworkChoice::Scope(_) | NetworkChoice::Operator(_) => "fo",
        };
        self.objective.as_deref().unwrap_or(usual)
    }

    /// Operations of a step on one example: what goes forward once, and twice as many for each way back.
    fn operations(&self, preset: Preset) -> anyhow::Result<f64> {
        let config = self.measuring.network(preset)?;
        let Arithmetic { encoder, predictor, decoder } = Arithmetic::of(&config);
        let predicted = encoder + predictor;
        let grounded = encoder + decoder;
        let field = 3.0 * (predicted + decoder);
        // The latent loss has the teacher's pass too; grounding comes with the complete view's.
        let full = field + 2.0 * predicted + encoder + 3.0 * grounded;
        Ok(match self.objective() {
            "sp-10m" => predicted + 3.0 * decoder_arithmetic(&config, &Head::M10.config()),
            "full-idle" => full,
            "full" => full + 2.0 * encoder,
            // Without grounding.
            "fjv" => full - 3.0 * grounded + 3.0 * encoder,
            _ => field,
        })
    }

    /// A step of an operator, which has the field loss only.
    fn measure_operator(&self, device: &Device, examples: &Examples) -> anyhow::Result<Measured> {
        let without = || {
            let name = self.model.name();
            format!(
                "{name} has the field loss, AdamW and no fits only: leave --objective, --optimizer and --fits out"
            )
        };
        let plain = self.objective() == "fo" && self.optimizer == "adamw" && self.measuring.fits.is_empty();
        anyhow::ensure!(plain, Misuse::of(without()));
        let model = FieldModel::initial(self.model.architecture(128), 1, device)?;
        self.measure_steps(Trainer::field(model)?, device, examples)
    }

    /// A step of an operator of the auxiliary study, with its recipe's losses, optimizer and precision.
    fn measure_auxiliary(&self, device: &Device, examples: &Examples) -> anyhow::Result<Measured> {
        let name = self.model.name();
        let own = ["auxiliary", "auxiliary-g"].contains(&self.objective());
        let plain = own && self.optimizer == "adamw" && self.measuring.fits.is_empty();
        let without = || {
            format!(
                "{name} has the objectives auxiliary and auxiliary-g, AdamW and no fits only: leave --optimizer and --fits out"
            )
        };
        anyhow::ensure!(plain, Misuse::of(without()));
        let recipe = Recipe::resolve(self.objective(), &[])?;
        let model = FieldModel::initial(self.model.architecture(128), 1, device)?;
        let mut trainer = Trainer::auxiliary(model, recipe.main.objective, None)?;
        trainer.optimizer = recipe.optimizer();
        if let Some(precision) = recipe.precision {
            trainer.precision = precision.dtype();
        }
        self.measure_steps(trainer, device, examples)
    }

    /// A step of a SCOPE model, or of a replacement decoder on one.
    fn measure_scope(
        &self,
        preset: Preset,
        device: &Device,
        examples: &Examples,
    ) -> anyhow::Result<Measured> {
        let model = Model::initial(self.measuring.network(preset)?, 1, device)?;
        let objective = match self.objective() {
            "sp-10m" => {
                let alone = "a replacement decoder is trained with AdamW: leave --optimizer out";
                anyhow::ensure!(self.optimizer == "adamw", Misuse::of(alone));
                let trainer = Trainer::head(model, Head::M10.config(), View::Sparse, 1)?;
                return self.measure_steps(trainer, device, examples);
            }
            "auxiliary" | "auxiliary-g" => {
                let alone = "that objective is of the auxiliary operators: name one with --model aux-fno, aux-deeponet, aux-unet or aux-cno";
                return Err(Misuse::of(alone).into());
            }
            "full" => Objective::FULL,
            "full-idle" => Objective { variance: 0.0, ..Objective::FULL },
            "fjv" => Objective::FJV,
            _ => Objective::FO,
        };
        let mut trainer = Trainer::scope(model, objective)?;
        trainer.optimizer.muon = (self.optimizer == "muon").then(Muon::default);
        self.measure_steps(trainer, device, examples)
    }

    /// The time of a trainer's steps on the same examples, recorded on a GPU.
    fn measure_steps(
        &self,
        trainer: Trainer,
        device: &Device,
        examples: &Examples,
    ) -> anyhow::Result<Measured> {
        let mut trainer = trainer.recorded();
        if self.nccl {
            trainer = self.with_nccl(trainer, device)?;
        }
        let rates = Rates { learning_rate: 1e-6, ema_momentum: 0.996 };
        let precision = trainer.precision;
        let (time, memory_gib) = self.measure(device, || trainer.repeat(examples, rates).map(drop))?;
        Ok(Measured { time, memory_gib, precision })
    }

    /// The trainer with the GPUs of the processes that were started together, or with its own alone.
    fn with_nccl(&self, trainer: Trainer, device: &Device) -> anyhow::Result<Trainer> {
        let alone = || Launch { rank: 0, size: 1, local_rank: 0, local_size: 1, rendezvous: None };
        let launch = Launch::from_environment().map_err(Misuse::of)?.unwrap_or_else(alone);
        anyhow::ensure!(
            launch.size == 1 || self.steps.is_some(),
            Misuse::of("several processes must take as many steps each: say how many with --steps N")
        );
        let mut ranks = team::connect(&launch, device)?;
        let Some(nccl) = team::connect_gpus(ranks.as_mut(), device)? else {
            return Err(Misuse::of("--nccl is for GPUs: name one with --device cuda").into());
        };
        let team = Team::new(ranks, None, self.batch * launch.size)?;
        Ok(trainer.in_team(team).over(Timed { nccl, when: self.reduction }))
    }

    /// The median time of a step, after one that may choose algorithms and record; on a GPU also what is held of its
    /// memory then, in GiB.
    fn measure(
        &self,
        device: &Device,
        mut step: impl FnMut() -> Result<(), TrainError>,
    ) -> anyhow::Result<(Duration, Option<f64>)> {
        let Device::Cuda(cuda) = device else {
            return Ok((median_time(self.measuring.seconds, || Ok(step()?))?, None));
        };
        step()?;
        let held = cuda.memory_held() as f64 / f64::from(1 << 30);
        let time = median_card_time(self.measuring.seconds, self.steps, || {
            let mut done = Ok(());
            let time = cuda.time(|| {
                done = step();
                Ok(())
            })?;
            done?;
            Ok(time)
        })?;
        Ok((time, Some(held)))
    }
}
