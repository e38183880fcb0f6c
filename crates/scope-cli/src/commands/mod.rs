//! One file per command.

mod bench;
mod completions;
mod data;
mod demo;
mod device;
mod diagnose;
mod doctor;
mod evaluation;
mod fit;
mod frame;
mod man;
mod mask;
mod method;
mod misuse;
mod model;
mod models;
mod place;
mod recover;
mod serve;
mod shard;
mod synthetic;
mod training;

pub(crate) use misuse::Misuse;

use clap::{
    Subcommand,
    builder::{PossibleValuesParser, TypedValueParser},
};
use scope_model::{Architecture, Auxiliary, Head, Operator, Precision, Preset};
use scope_pde::{GridShape, MAX_RESOLUTION, MIN_RESOLUTION, Pde, require_resolution};

/// How a command that ran to its end turned out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Everything that was asked for was done.
    Success,
    /// The command did its work and found something wrong with what it was given.
    Faults,
    /// The command did its work and wrote everything, but the data contradict the model.
    Contradicted,
    /// The user stopped it; its state is saved.
    Interrupted,
}

/// Reads the name of a problem; a misspelt one gets a suggestion.
fn pde_names() -> impl TypedValueParser<Value = Pde> {
    PossibleValuesParser::new(Pde::ALL.map(Pde::name)).try_map(|name| name.parse::<Pde>())
}

/// Reads the name of a precision.
fn precision_names() -> impl TypedValueParser<Value = Precision> {
    PossibleValuesParser::new(Precision::ALL.map(Precision::name)).try_map(|name| name.parse::<Precision>())
}

/// Reads the name of a precision that keeps the errors which a model's card states.
fn error_keeping_precisions() -> impl TypedValueParser<Value = Precision> {
    let names = [Precision::F32, Precision::Int8].map(Precision::name);
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Precision>())
}

/// Reads the name of a model's size.
fn model_names() -> impl TypedValueParser<Value = Preset> {
    PossibleValuesParser::new(Preset::ALL.map(Preset::name)).try_map(|name| name.parse::<Preset>())
}

/// A network by name: a size of SCOPE, or an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NetworkChoice {
    Scope(Preset),
    Operator(Operator),
    Auxiliary(Auxiliary),
}

impl NetworkChoice {
    /// The names of all, sizes first.
    fn names() -> Vec<&'static str> {
        let operators =
            Operator::ALL.map(Operator::name).into_iter().chain(Auxiliary::ALL.map(Auxiliary::name));
        Preset::ALL.map(Preset::name).into_iter().chain(operators).collect()
    }

    fn find(name: &str) -> Option<Self> {
        let preset = name.parse().ok().map(NetworkChoice::Scope);
        let operator = || name.parse().ok().map(NetworkChoice::Operator);
        preset.or_else(operator).or_else(|| name.parse().ok().map(NetworkChoice::Auxiliary))
    }

    fn name(self) -> &'static str {
        match self {
            NetworkChoice::Scope(preset) => preset.name(),
            NetworkChoice::Operator(operator) => operator.name(),
            NetworkChoice::Auxiliary(operator) => operator.name(),
        }
    }

    /// Its sizes on a grid.
    fn architecture(self, resolution: impl Into<GridShape>) -> Architecture {
        match self {
            NetworkChoice::Scope(preset) => preset.config(resolution).into(),
            NetworkChoice::Operator(operator) => operator.architecture(resolution),
            NetworkChoice::Auxiliary(operator) => operator.architecture(resolution),
        }
    }
}

/// Reads the name of a network.
fn network_names() -> impl TypedValueParser<Value = NetworkChoice> {
    let find = |name: String| NetworkChoice::find(&name).ok_or("no network has this name");
    PossibleValuesParser::new(NetworkChoice::names()).try_map(find)
}

/// Reads the name of a replacement decoder.
fn head_names() -> impl TypedValueParser<Value = Head> {
    PossibleValuesParser::new(Head::ALL.map(Head::name)).try_map(|name| name.parse::<Head>())
}

/// Reads a resolution that the solvers and masks support.
fn resolution(text: &str) -> Result<usize, String> {
    let valid = |size: &usize| require_resolution(*size).is_ok();
    let expected = || format!("expected an even number from {MIN_RESOLUTION} to {MAX_RESOLUTION}");
    text.parse().ok().filter(valid).ok_or_else(expected)
}

/// The most threads that may be asked for: a system that is asked for many more refuses them.
const MOST_THREADS: u16 = 1024;

/// Reads a number from one up.
fn up_to(most: u16) -> impl TypedValueParser<Value = usize> {
    clap::value_parser!(u16).range(1..=i64::from(most)).map(usize::from)
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// See the main job done: a fresh record, 500 sensors, both fields recovered
    Demo(demo::Demo),
    /// Recover complete fields from your own sensors
    Recover(Box<recover::RecoverCommand>),
    /// Place sensors where they say most
    Place(place::PlaceCommand),
    /// Serve a page and programs: recovery over HTTP
    Serve(serve::ServeCommand),
    /// Make, import, check and join data sets
    #[command(subcommand)]
    Data(data::DataCommand),
    /// Write an observation mask, or a picture of all families
    Mask(mask::MaskCommand),
    /// Fit the best linear estimate to the records of any problem
    #[command(subcommand)]
    Fit(fit::FitCommand),
    /// Train a model
    Train(training::TrainCommand),
    /// Train a replacement decoder on a trained model
    Adapt(training::AdaptCommand),
    /// Measure a model's errors on held-out records
    Evaluate(evaluation::EvaluateCommand),
    /// Compare two evaluations record by record
    Compare(evaluation::CompareCommand),
    /// Write the paper's tables from runs
    Report(evaluation::ReportCommand),
    /// Look into a model: its latents, its decoder, the paper's transfer inequalities
    Diagnose(diagnose::DiagnoseCommand),
    /// List, describe, pack, export and calibrate models
    #[command(subcommand)]
    Model(model::ModelCommand),
    /// Show what this machine has, and check a GPU against the processor
    Doctor(doctor::Doctor),
    /// Measure this program on this machine
    #[command(subcommand)]
    Bench(bench::BenchCommand),
    /// Print a script that completes commands and options in a shell
    Completions(completions::Completions),
    /// Write the manual: a man page for each command
    Man(man::Man),
}

impl Command {
    pub(crate) fn run(self) -> anyhow::Result<Outcome> {
        match self {
            Command::Demo(demo) => demo.run(),
            Command::Recover(recover) => recover.run(),
            Command::Place(place) => place.run(),
            Command::Serve(serve) => serve.run(),
            Command::Data(data) => data.run(),
            Command::Mask(mask) => mask.run(),
            Command::Fit(fit) => fit.run(),
            Command::Train(train) => train.run(),
            Command::Adapt(adapt) => adapt.run(),
            Command::Evaluate(evaluate) => evaluate.run(),
            Command::Compare(compare) => compare.run(),
            Command::Report(report) => report.run(),
            Command::Diagnose(diagnose) => diagnose.run(),
            Command::Model(model) => model.run(),
            Command::Doctor(doctor) => doctor.run(),
            Command::Bench(bench) => bench.run(),
            Command::Completions(completions) => completions.run(),
            Command::Man(man) => man.run(),
        }
    }
}
