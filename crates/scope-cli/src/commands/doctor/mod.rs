//! `scope doctor`: what this machine has, and whether a GPU computes what the processor computes.

mod memory;

use std::collections::BTreeMap;

use anyhow::{anyhow, bail};
use clap::Args;
use scope_data::GridShape;
use scope_engine::{Cpu, Cuda, Device, EngineError, selftest};
use scope_model::{Model, Preset};
use scope_train::{Component, Objective, Rates, StepReport, Trainer};
use serde::Serialize;

use super::{Misuse, Outcome, synthetic};
use crate::terminal::{complain_of, print_json, say};
use memory::Memory;

/// What `--help` ends with.
const EXAMPLES: &str = "\
Examples:
  scope doctor
  scope doctor --selftest
  scope doctor --selftest --only attention";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Doctor {
    /// Check every operation and one training step of the GPU against the processor
    #[arg(long)]
    selftest: bool,
    /// Check only operations with this word in their names
    #[arg(long, value_name = "WORD", requires = "selftest")]
    only: Option<String>,
    /// Which GPU, counted from zero
    #[arg(long, alias = "card", value_name = "N", default_value_t = 0)]
    gpu: usize,
    /// Print what was found as JSON
    #[arg(long)]
    json: bool,
}

/// What was found.
#[derive(Debug, Serialize)]
struct Findings {
    version: &'static str,
    instructions: String,
    threads: usize,
    /// Main memory, where the system tells of it.
    memory: Option<Memory>,
    #[serde(rename = "card")]
    gpu: Option<Gpu>,
    /// Why there is no GPU, and what to do.
    #[serde(rename = "without_card")]
    without_gpu: Option<String>,
    checks: Vec<Checked>,
}

#[derive(Debug, Serialize)]
struct Gpu {
    name: String,
    capability: String,
    memory_gib: f64,
    free_gib: f64,
    /// Versions of the driver and of CUDA's libraries.
    libraries: BTreeMap<&'static str, String>,
    /// Why convolutions cannot be computed, if they cannot.
    without_convolutions: Option<String>,
}

#[derive(Debug, Serialize)]
struct Checked {
    name: String,
    error: f64,
    limit: f64,
    passed: bool,
}

/// The training step that is compared: relative errors of losses and norms in bf16.
const STEP_LIMIT: f64 = 2e-2;

impl Doctor {
    pub(crate) fn run(self) -> anyhow::Result<Outcome> {
        let processor = Cpu::all_threads();
        let opened = Device::cuda(self.gpu);
        let mut findings = Findings {
            version: env!("CARGO_PKG_VERSION"),
            instructions: format!("{:?}", processor.isa()),
            threads: processor.threads(),
            memory: Memory::of_this_machine(),
            gpu: None,
            without_gpu: opened.as_ref().err().map(ToString::to_string),
            checks: Vec::new(),
        };
        if let Ok(Device::Cuda(cuda)) = &opened {
            findings.gpu = Some(describe(cuda)?);
        }
        if self.selftest {
            let gpu = opened.map_err(without_gpu)?;
            findings.checks = match &self.only {
                Some(word) => operations(&gpu, word)?,
                None => operations(&gpu, "")?.into_iter().chain(training_step(&gpu)?).collect(),
            };
            if findings.checks.is_empty() {
                let word = self.only.unwrap_or_default();
                bail!(Misuse::of(format!(
                    "no operation that is checked has \"{word}\" in its name: try a shorter word"
                )));
            }
        }
        if self.json {
            print_json(&findings)?;
        } else {
            findings.print(self.selftest);
        }
        let failed = findings.checks.iter().any(|check| !check.passed);
        Ok(if failed { Outcome::Faults } else { Outcome::Success })
    }
}

/// Why a GPU cannot be checked; what one could compute with instead is of no help here.
fn without_gpu(error: EngineError) -> anyhow::Error {
    match error {
        EngineError::Unavailable { what, advice } => {
            anyhow!("--selftest checks a GPU against the processor, and no GPU can be used: {what}; {advice}")
        }
        other => other.into(),
    }
}

fn describe(cuda: &Cuda) -> anyhow::Result<Gpu> {
    let (major, minor) = cuda.capability();
    let (free, total) = cuda.memory_left()?;
    let gib = |bytes: usize| bytes as f64 / f64::from(1 << 30);
    Ok(Gpu {
        name: cuda.name().to_owned(),
        capability: format!("{major}.{minor}"),
        memory_gib: gib(total),
        free_gib: gib(free),
        libraries: cuda.libraries()?.into_iter().collect(),
        without_convolutions: cuda.require_convolutions().err().map(|error| error.to_string()),
    })
}

/// The operations with a word in their names.
fn operations(gpu: &Device, only: &str) -> anyhow::Result<Vec<Checked>> {
    let checked = |check: selftest::Check| {
        let passed = check.passed();
        Checked { name: check.name, error: check.error, limit: check.limit, passed }
    };
    Ok(selftest::run(gpu, only)?.into_iter().map(checked).collect())
}

/// Compares one training step on the GPU with the same on the CPU.
fn training_step(gpu: &Device) -> anyhow::Result<Vec<Checked>> {
    let mut checks = Vec::new();
    let expected = step(&Device::all_threads())?;
    let got = step(gpu)?;
    let numbers = |report: &StepReport| {
        let loss = |c: Component| Some((format!("loss {}", c.letter()), *report.losses.get(&c)?));
        let norm = |c: Component| Some((format!("norm {}", c.letter()), report.norms.get(&c)?[0]));
        let losses = Component::ALL.into_iter().filter_map(loss);
        losses.chain(Component::ALL.into_iter().filter_map(norm)).collect::<Vec<(String, f64)>>()
    };
    for ((name, expected), (_, got)) in numbers(&expected).into_iter().zip(numbers(&got)) {
        let error = ((got - expected) / expected).abs();
        let passed = error <= STEP_LIMIT;
        checks.push(Checked { name: format!("training step: {name}"), error, limit: STEP_LIMIT, passed });
    }
    Ok(checks)
}

/// A Full step of a tiny model on synthetic fields.
fn step(device: &Device) -> anyhow::Result<StepReport> {
    let grid = GridShape::square(64);
    let examples = synthetic::examples(device, grid, 4)?;
    let model = Model::initial(Preset::Tiny.config(grid), 1, device)?;
    let rates = Rates { learning_rate: 1e-4, ema_momentum: 0.996 };
    Ok(Trainer::scope(model, Objective::FULL)?.step(&examples, rates)?.read()?)
}

impl Findings {
    fn print(&self, checked: bool) {
        say(&format!("scope {}", self.version));
        say(&format!("processor: {} threads, {} kernels", self.threads, self.instructions));
        if let Some(Memory { total_gib, available_gib }) = self.memory {
            say(&format!("memory: {total_gib:.1} GiB, {available_gib:.1} GiB available"));
        }
        if let Some(gpu) = &self.gpu {
            let Gpu { name, capability, memory_gib, free_gib, .. } = gpu;
            say(&format!(
                "GPU: {name}, compute capability {capability}, {memory_gib:.0} GiB of memory, {free_gib:.0} GiB free"
            ));
            let libraries: Vec<String> =
                gpu.libraries.iter().map(|(name, version)| format!("{name} {version}")).collect();
            say(&format!("libraries: {}", libraries.join(", ")));
            if let Some(problem) = &gpu.without_convolutions {
                complain_of(problem);
            }
        }
        if let Some(reason) = &self.without_gpu {
            say(&format!("GPU: none; {reason}"));
        }
        for check in self.checks.iter().filter(|check| !check.passed) {
            complain_of(&format!(
                "{}: relative error {:.1e}, at most {:.0e}",
                check.name, check.error, check.limit
            ));
        }
        if checked {
            let passed = self.checks.iter().filter(|check| check.passed).count();
            say(&format!("{passed} of {} checks passed", self.checks.len()));
        }
    }
}
