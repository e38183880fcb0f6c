//! `scope evaluate`: a method's errors on held-out records.

use std::{
    num::NonZeroUsize,
    ops::Range,
    path::{Path, PathBuf},
};

use clap::{Args, builder::TypedValueParser};
use scope::Network;
use scope_data::{
    Dataset, PerChannel, Shard,
    frame::StatedNoise,
    observation::{Condition, Family, Layout, TEST_MASK_SEED},
};
use scope_engine::Device;
use scope_eval::{
    Banded, DataIdentity, Evaluation, Interpolation, MaskIdentity, Measure, MethodIdentity, MethodKind,
    Provenance, Record, RecoveryMethod, Results, TestNoise, auxiliary,
};
use scope_model::{Found, Precision, RUN_EVALUATIONS};

use super::{conditions::ConditionArguments, destination::Destination, posterior, seen};
use crate::{
    commands::{
        Misuse, Outcome,
        device::DeviceArguments,
        method::{ChosenMethod, MethodArguments},
        models, precision_names,
        shard::ShardChoice,
    },
    terminal::{Progress, Table, grouped, print_json, say, warn},
};

/// What `--help` ends with.
const EXAMPLES: &str = "\
Examples:
  scope evaluate --run runs/poisson --data data/poisson-test
  scope evaluate --run runs/poisson --data data/poisson-test --protocol all --limit 1000
  scope evaluate --run runs/poisson --data data/poisson-test --condition forward/grid/1024 --condition joint/lines/4915
  scope evaluate --run runs/poisson --data data/poisson-test --protocol few --noise 5%
  scope evaluate --run runs/aux-fno --data data/poisson-test --protocol auxiliary
  scope evaluate --run runs/poisson --data data/poisson-test --limit 100 --figures 3
  scope evaluate --run runs/poisson/milestones/000000000200000.safetensors --data data/poisson-test --out early
  scope evaluate --run models/poisson.safetensors --data data/poisson-test --json -
  scope evaluate --method exact --pde poisson --data data/poisson-test --out limits/poisson
  scope evaluate --method exact --pde poisson --data data/poisson-test --limit 100 --coverage
  scope evaluate --run runs/poisson --data data/poisson-test --protocol all --shard 3/20
  scope evaluate --run runs/poisson --data data/poisson-test --protocol all --join
  scope evaluate --method linear --fit ns.safetensors --data data/ns-test --out baselines/ns";

/// Contexts recovered together.
const BATCH: usize = 64;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct EvaluateCommand {
    /// A run folder, a weight file or a model's name
    #[arg(long, value_name = "RUN|FILE|NAME", required_unless_present = "method", conflicts_with_all = ["method", "pde", "fit"])]
    run: Option<PathBuf>,
    #[command(flatten)]
    method: MethodArguments,
    /// The records, which training must not have seen
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    #[command(flatten)]
    conditions: ConditionArguments,
    /// The first N records only [default: all, and 1000 of --protocol auxiliary]
    #[arg(long, value_name = "N")]
    limit: Option<NonZeroUsize>,
    /// The seed of the test masks [default: 20261013, and 12345 for --protocol auxiliary]
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// Readings are off by errors with this standard deviation in physical units, or with a percent sign as a share of
    /// the field's own, one for both channels or one each for a and u; networks see how far each can be trusted
    #[arg(long, value_name = "S[,S]")]
    noise: Option<StatedNoise>,
    /// With --noise: a network is not told, and takes readings for exact, as one trained on exact readings must
    #[arg(long, requires = "noise", conflicts_with = "method")]
    untold: bool,
    /// Contexts recovered together; results do not depend on it
    #[arg(long, value_name = "B", default_value_t = BATCH, value_parser = clap::value_parser!(u16).range(1..).map(usize::from))]
    batch: usize,
    /// Write the summaries to this file too; "-" for standard output
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Leave out what interpolation between the same sensors gives, which takes longer than a network on a GPU
    #[arg(long)]
    no_interpolation: bool,
    /// Where PROTOCOL.json and the per-record PROTOCOL.npz go, with --noise PROTOCOL-noise-LEVEL.json and its like
    /// [default: RUN/eval, if RUN is a folder]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// With --method: also measure how many pixels lie within its bands, which takes longer (a model's bands are in its
    /// card, and always measured)
    #[arg(long, requires = "method", conflicts_with = "run")]
    coverage: bool,
    /// Draw the first N records under each condition into figures/ beside the results
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    figures: usize,
    /// Measure the i-th of n parts of the records only, kept in DIR/parts until --join; "ranks" is the part of a
    /// process that torchrun, srun or mpirun has started
    #[arg(long, value_name = "i/n|ranks", conflicts_with_all = ["join", "figures", "json"])]
    shard: Option<ShardChoice>,
    /// Measure nothing, and join the parts that --shard has left: the same files in every byte as without parts
    #[arg(long)]
    join: bool,
    /// What networks are computed in: bf16 is faster on a GPU, and adds its rounding to small errors; int8 is faster on
    /// a processor for models that are stored so, with errors like those of f32
    #[arg(long, value_name = "KIND", default_value = "f32", value_parser = precision_names(), conflicts_with = "method")]
    precision: Precision,
    #[command(flatten)]
    device: DeviceArguments,
}

impl EvaluateCommand {
    pub(crate) fn run(self) -> anyhow::Result<Outcome> {
        let method = self.method.open()?;
        let data = Dataset::open(&self.data)?;
        match (&self.run, method) {
            (Some(run), _) => self.evaluate_network(run, &data),
            (None, Some(chosen)) => self.evaluate_posterior(chosen, &data),
            (None, None) => anyhow::bail!("name a model with --run, or a method with --method"),
        }
    }

    fn evaluate_network(&self, run: &Path, data: &Dataset) -> anyhow::Result<Outcome> {
        let found = models::find(run)?;
        let device = self.device.open()?;
        let Network { model, card, blake3, .. } = Network::load(&found, &device, self.precision)?;
        self.evaluation(data).require_fit(&model)?;
        let kind = model.about().config.name();
        anyhow::ensure!(
            self.conditions.is_auxiliary() || model.about().config.auxiliary().is_none(),
            "{kind} recovers the hidden field alone, from 3% of the other one: evaluate it with --protocol auxiliary"
        );
        let method = MethodIdentity::of_network(model.about(), model.parameters(), blake3);
        let mut identity = self.identity(computed(&device, self.precision), method, data);
        seen::mark(&mut identity.data, &found);
        seen::warn_of(&identity.data, &self.data);
        let destination = self.destination(run_folder(&found, run), &identity);
        // Bands of a card are for exact readings.
        let bands = card.and_then(|card| card.bands).filter(|_| identity.masks.noise.is_none());
        if bands.as_ref().is_some_and(|bands| bands.blake3 == identity.data.blake3) {
            warn(
                "these are the records that the model's error bands were measured on: judge the bands by others",
            );
        }
        let banded = Banded { method: model, bands };
        self.measure(data, &banded, identity, &self.conditions.of(data.meta().pde)?, &destination)
    }

    /// A posterior, on the conditions that have one.
    fn evaluate_posterior(&self, chosen: ChosenMethod, data: &Dataset) -> anyhow::Result<Outcome> {
        anyhow::ensure!(
            !self.conditions.is_auxiliary(),
            "--protocol auxiliary is for networks: take another protocol for {}",
            chosen.name()
        );
        self.device.require_processor(chosen.name())?;
        let fitted_on = match &chosen {
            ChosenMethod::Exact(_) => None,
            ChosenMethod::Linear(prior) => Some(prior.fit().about.source.blake3.clone()),
        };
        let mut method = posterior::method(chosen, data)?;
        self.evaluation(data).require_fit(&method)?;
        if self.coverage {
            anyhow::ensure!(
                method.knows_its_errors(),
                "the fit is not calibrated and states no bands: leave --coverage out, or fit at least 100 records with scope fit linear"
            );
            method = method.with_bands();
        }
        if let Some(noise) = self.test_noise(data) {
            method = method.with_noise(noise.physical(&data.meta().constants()));
        }
        let conditions =
            posterior::conditions(&method, &self.conditions.of(data.meta().pde)?, &self.conditions.name())?;
        let mut identity = self.identity("cpu f64".to_owned(), method.identity(), data);
        if let Some(blake3) = fitted_on {
            identity.data.trained_on = blake3 == identity.data.blake3;
            seen::warn_of(&identity.data, &self.data);
        }
        let destination = self.destination(None, &identity);
        let measure = || self.measure(data, &method, identity, &conditions, &destination);
        let outcome = self.device.pool().install(measure)?;
        posterior::warn_of_approximations(&method);
        Ok(outcome)
    }

    fn evaluation<'a>(&self, data: &'a Dataset) -> Evaluation<'a> {
        let most = if self.conditions.is_auxiliary() { auxiliary::RECORDS } else { usize::MAX };
        let records = self.limit.map_or(most, NonZeroUsize::get).min(data.len());
        let noise = self.test_noise(data);
        Evaluation {
            data,
            mask_seed: self.seed(),
            noise,
            records,
            batch: self.batch,
            interpolate: !self.no_interpolation,
        }
    }

    /// The seed of the test masks.
    fn seed(&self) -> u64 {
        let usual = if self.conditions.is_auxiliary() { auxiliary::MASK_SEED } else { TEST_MASK_SEED };
        self.seed.unwrap_or(usual)
    }

    /// The noise of the readings; a noise of zero is none.
    fn test_noise(&self, data: &Dataset) -> Option<TestNoise> {
        let levels = self.noise?.shares(&data.meta().constants());
        (levels != PerChannel::both(0.0)).then_some(TestNoise { levels, untold: self.untold })
    }

    /// Evaluates a method under each condition, reports it and draws what was asked for.
    fn measure(
        &self,
        data: &Dataset,
        method: &dyn RecoveryMethod,
        identity: Provenance,
        conditions: &[Condition],
        destination: &Destination,
    ) -> anyhow::Result<Outcome> {
        let evaluation = self.evaluation(data);
        anyhow::ensure!(
            !self.conditions.is_auxiliary() || (self.shard.is_none() && !self.join),
            Misuse::of("--protocol auxiliary is measured whole: leave --shard and --join out")
        );
        if let Some(choice) = self.shard {
            let shard = choice.of(evaluation.records)?;
            return measure_part(
                &evaluation,
                method,
                identity,
                conditions,
                &destination.of_part(&shard)?,
                &shard,
            );
        }
        let _claim = destination.claim(&identity)?;
        let record = if self.join {
            evaluation.join(&destination.parts()?, &destination.name, &identity)?
        } else {
            measured(&evaluation, method, identity, conditions, 0..evaluation.records)?
        };
        let written = destination.write(&record)?;
        if destination.is_standard_output() {
            print_json(&record.results)?;
        } else {
            say(&table(&record.results).to_string());
            say(&origin(&record.results.identity));
        }
        destination.tell(&written);
        destination.draw(&evaluation, method, conditions)?;
        Ok(Outcome::Success)
    }

    /// Where results go: to --out, or else beside the run they are of.
    fn destination(&self, run: Option<&Path>, identity: &Provenance) -> Destination {
        Destination {
            folder: self.out.clone().or_else(|| run.map(|run| run.join(RUN_EVALUATIONS))),
            json: self.json.clone(),
            name: match identity.masks.noise {
                Some(noise) => format!("{}-{}", self.conditions.name(), noise.label()),
                None => self.conditions.name(),
            },
            figures: self.figures,
        }
    }

    fn identity(&self, computed: String, method: MethodIdentity, data: &Dataset) -> Provenance {
        Provenance {
            pde: data.meta().pde,
            protocol: self.conditions.name(),
            records: self.evaluation(data).records,
            method,
            data: DataIdentity::of(data),
            masks: MaskIdentity {
                seed: self.seed(),
                noise: self.test_noise(data),
                ..MaskIdentity::default()
            },
            computed,
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

/// Measures a method on some of the records under each condition.
fn measured(
    evaluation: &Evaluation<'_>,
    method: &dyn RecoveryMethod,
    identity: Provenance,
    conditions: &[Condition],
    records: Range<usize>,
) -> anyhow::Result<Record> {
    let progress = Progress::new("evaluating", records.len() * conditions.len());
    let mut record = Record::new(identity);
    for (k, condition) in conditions.iter().enumerate() {
        let report = &mut |done| progress.at(k * records.len() + done);
        let scores = match condition.layout() {
            Layout::Bernoulli => auxiliary::condition(evaluation, method, *condition, report)?,
            _ => evaluation.condition_of(method, *condition, records.clone(), report)?,
        };
        record.add(*condition, scores);
    }
    progress.finish();
    Ok(record)
}

/// Measures one part of the records, and keeps it for when all are joined.
fn measure_part(
    evaluation: &Evaluation<'_>,
    method: &dyn RecoveryMethod,
    identity: Provenance,
    conditions: &[Condition],
    destination: &Destination,
    shard: &Shard,
) -> anyhow::Result<Outcome> {
    let _claim = destination.claim(&identity)?;
    let record = measured(evaluation, method, identity, conditions, shard.records())?;
    let written = destination.write(&record)?;
    destination.tell(&written);
    let Shard { part, of, .. } = shard;
    say(&format!(
        "part {part} of {of}: when all are there, join them with the same arguments and --join in the place of --shard"
    ));
    Ok(Outcome::Success)
}

/// The folder that was named, if the model was found in it: a folder that is no run may have the name of a model.
fn run_folder<'a>(found: &Found, named: &'a Path) -> Option<&'a Path> {
    let of_weights = found.path().and_then(Path::parent);
    (of_weights == Some(named) && named.is_dir()).then_some(named)
}

/// Where and in which precision a network is computed.
fn computed(device: &Device, precision: Precision) -> String {
    let place = match device {
        Device::Cpu(_) => "cpu",
        Device::Cuda(_) => "cuda",
    };
    format!("{place} {}", precision.name())
}

/// A row for each measure of the method; beside its errors those of interpolation between the same sensors.
fn table(results: &Results) -> Table {
    let mut table =
        Table::new(&["condition", "measure", "records", "undefined", "mean %", "sd", "nearest %", "cubic %"]);
    let shown = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.3}"));
    for (condition, measures) in &results.conditions {
        let own = measures.iter().filter(|(measure, _)| !matches!(measure, Measure::Interpolated(..)));
        for (measure, summary) in own {
            let beside = |how: Interpolation| match measure {
                Measure::Relative(channel) => shown(
                    measures.get(&Measure::Interpolated(*channel, how)).and_then(|summary| summary.mean),
                ),
                _ => String::new(),
            };
            table.row([
                condition.to_string(),
                measure.to_string(),
                summary.count.to_string(),
                summary.undefined.to_string(),
                shown(summary.mean),
                shown(summary.sd),
                beside(Interpolation::Nearest),
                beside(Interpolation::Cubic),
            ]);
        }
    }
    table
}

/// Where the figures come from, in a few lines.
fn origin(identity: &Provenance) -> String {
    let mut lines = vec![format!("records: {} ({})", identity.data.origin, identity.data.split)];
    let grid = identity.data.resolution;
    let points = Family::UNIFORM.points(500, grid);
    let budgets = if points == 500 {
        String::new()
    } else {
        format!("; budgets are those of 128 x 128 points, and 500 stands for {points}")
    };
    lines.push(format!("grid: {grid} points{budgets}"));
    if let Some(TestNoise { levels: PerChannel { a, u }, untold }) = identity.masks.noise {
        let told = if untold { ", of which the network was not told" } else { "" };
        lines.push(format!(
            "readings: noisy, {:.3}% of a's and {:.3}% of u's standard deviation{told}",
            100.0 * a,
            100.0 * u
        ));
    }
    let training = identity.method.training.as_ref();
    let cut = training.is_some_and(|training| training.cut_short);
    lines.push(match training {
        Some(training) => format!(
            "model: {}, {}{}",
            identity.method.label(),
            training.described(|draws| grouped(draws as usize)),
            if cut { ", cut short: not the figures of a finished run" } else { "" }
        ),
        None if identity.method.kind == MethodKind::Exact => posterior::meaning(identity.pde),
        None if identity.method.kind == MethodKind::Linear => {
            "method: the best linear estimate, from the modes of records".to_owned()
        }
        None => format!("model: {}, untrained", identity.method.label()),
    });
    lines.join("\n")
}
