//! `scope demo`: the main job in one command.

mod folder;
mod own_set;
mod problem;

use std::path::{Path, PathBuf};

use clap::Args;
use scope::{Network, NetworkOptions, Recovery};
use scope_data::{
    GridShape, PerChannel, RecordRegion,
    observation::{Task, masks_to_npy},
};
use scope_engine::Device;
use scope_model::{HeldOut, ModelError, Precision};
use scope_pde::Pde;
use serde_json::json;

use super::{
    Outcome, models, pde_names,
    training::{train_on_the_spot, train_tiny},
};
use crate::terminal::{Interrupt, Table, for_shell, grouped, note, print_json, say};
use folder::DemoFolder;
use own_set::OwnSet;
use problem::{Direction, Problem, Solved};

/// What `--help` ends with.
const EXAMPLES: &str = "\
Examples:
  scope demo
  scope demo --pde darcy --record 7
  scope demo --data data/mine --model runs/mine

Writes its picture and its sensors to scope-demo, with the commands to do the same on your own data.";

/// The file with the known region of a record that has one of its own.
const KNOWN: &str = "known.npy";
/// How long a model is trained when none is at hand.
const MINUTES: f64 = 0.6;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Demo {
    /// The problem [default: poisson]
    #[arg(long, value_parser = pde_names(), conflicts_with = "data")]
    pde: Option<Pde>,
    /// Records of your own: a set that was held out, or the folder with it that `data import own` made
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// A model for --data: a name, a run folder or a weight file [default: a tiny one, trained on the spot]
    #[arg(long, value_name = "NAME|RUN|FILE", requires = "data")]
    model: Option<String>,
    /// Which fresh record, or which of --data
    #[arg(long, value_name = "R", default_value_t = 0)]
    record: u64,
    /// Where files go; an earlier demo there is replaced
    #[arg(long, value_name = "DIR", default_value = "scope-demo")]
    out: PathBuf,
    /// Print the errors as JSON
    #[arg(long)]
    json: bool,
}

/// What the demo recovers with.
struct DemoModel {
    network: Network,
    /// What `--model` calls it.
    name: String,
}

/// The errors of what was recovered, by condition.
fn errors_percent(solved: &[Solved]) -> serde_json::Map<String, serde_json::Value> {
    let errors = |recovery: &Solved| {
        let PerChannel { a, u } = recovery.percent();
        let mut errors = json!({ "a": a, "u": u });
        if let Some(wrong) = recovery.wrong_pixels() {
            errors["ber"] = json!(wrong);
        }
        (recovery.direction.condition(), errors)
    };
    solved.iter().map(errors).collect()
}

impl Demo {
    pub(crate) fn run(self) -> anyhow::Result<Outcome> {
        let own = self.data.as_deref().map(OwnSet::open).transpose()?;
        let pde = own.as_ref().map_or(self.pde.unwrap_or(Pde::POISSON), OwnSet::pde);
        let folder = DemoFolder::open(&self.out, &json!({ "pde": pde.name(), "record": self.record }))?;
        let device = Device::all_threads();
        let DemoModel { network, name } = match &own {
            Some(own) => self.own_model(own, &folder, &device)?,
            None => self.model(pde, &folder, &device)?,
        };
        let usual = network.held_out.as_ref().and_then(|held_out| usual_errors(pde, held_out, own.is_some()));
        let recovery = Recovery::with_network(network, NetworkOptions::default())?;
        let problem = match &own {
            Some(own) => Problem::held_out(&recovery, own.held_out(), self.record)?,
            None => Problem::fresh(&recovery, self.record)?,
        };
        let solved = Direction::of(pde)
            .map(|direction| problem.solve(&recovery, direction))
            .collect::<anyhow::Result<Vec<_>>>()?;
        for recovery in &solved {
            folder.write(&recovery.direction.sensors_file(), problem.sensors_csv(recovery).as_bytes())?;
        }
        if let Some(RecordRegion::Points(mask)) = problem.region() {
            folder.write(KNOWN, &masks_to_npy(&[mask]))?;
        }
        folder.write("demo.png", &problem.picture(&solved).to_png()?)?;
        folder.mark(&json!({ "pde": pde.name(), "record": self.record, "model": name }))?;
        if self.json {
            print_json(&json!({
                "pde": pde.name(), "record": self.record, "model": name, "errors_percent": errors_percent(&solved),
            }))?;
            return Ok(Outcome::Success);
        }
        say_errors(pde, &solved, problem.grid());
        let wrong: Vec<f64> = solved.iter().filter_map(Solved::wrong_pixels).collect();
        if let [forward, inverse] = wrong[..] {
            say(&format!(
                "(of a, {forward:.1}% and {inverse:.1}% of all pixels are taken for the other value)"
            ));
        }
        if let Some(usual) = usual {
            say(&usual);
        }
        self.say_next(pde, &name, &problem);
        Ok(Outcome::Success)
    }

    /// The shipped model of the problem, or one trained on the spot.
    fn model(&self, pde: Pde, folder: &DemoFolder, device: &Device) -> anyhow::Result<DemoModel> {
        match models::catalogue().find(pde.name()) {
            Ok(found) => {
                self.begin(&format!(
                    "A fresh record of {pde}, and the model \"{pde}\" ({}).\n",
                    found.shown()
                ));
                let network = Network::load(&found, device, Precision::F32)?;
                Ok(DemoModel { network, name: pde.name().to_owned() })
            }
            Err(ModelError::Unknown { .. } | ModelError::NoModelYet(_)) => {
                let interrupt = Interrupt::listen()?;
                self.begin(&format!(
                    "There is no trained model for {pde} here: training a tiny one on the spot, about {:.0} s. Its errors \
                     are large; a model trained in earnest does far better. The project's own is used if \
                     {pde}.safetensors and {pde}.toml, from models/ of its repository, are in a folder models here, in one \
                     beside the program, or in one that SCOPE_MODELS names.\n",
                    60.0 * MINUTES
                ));
                let scratch = tempfile::tempdir()?;
                let weights = train_on_the_spot(pde, device, MINUTES, scratch.path(), &interrupt)?;
                let path = folder.keep("model.safetensors", &weights)?;
                let network = Network::open(&path, device)?;
                Ok(DemoModel { network, name: path.display().to_string() })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The model that was named, or one trained on the spot on the training records beside the held-out ones.
    fn own_model(&self, own: &OwnSet, folder: &DemoFolder, device: &Device) -> anyhow::Result<DemoModel> {
        let pde = own.pde();
        if let Some(name) = &self.model {
            let found = models::find(name)?;
            let network = Network::load(&found, device, Precision::F32)?;
            let trained_on = network.model.about().pde;
            anyhow::ensure!(
                trained_on == pde,
                "the records are of {pde} and {name} was trained on {trained_on}: name a model of theirs"
            );
            self.begin(&format!("A held-out record of {pde}, and the model {}.\n", found.shown()));
            return Ok(DemoModel { network, name: name.clone() });
        }
        let interrupt = Interrupt::listen()?;
        self.begin(&format!(
            "No model was named with --model: training a tiny one on the spot, about {:.0} s. Its errors are large; a model \
             trained in earnest does far better.\n",
            60.0 * MINUTES
        ));
        let scratch = tempfile::tempdir()?;
        let weights = train_tiny(&own.training()?, device, MINUTES, scratch.path(), &interrupt)?;
        let path = folder.keep("model.safetensors", &weights)?;
        let network = Network::open(&path, device)?;
        Ok(DemoModel { network, name: path.display().to_string() })
    }

    /// Says what is being done; figures as JSON are left alone.
    fn begin(&self, text: &str) {
        if self.json { note(text) } else { say(text) }
    }

    /// The commands that do the same on one's own data.
    fn say_next(&self, pde: Pde, name: &str, problem: &Problem) {
        let measured = if pde.present().u { Direction::Inverse } else { Direction::Forward };
        let [picture, sensors] = ["demo.png", &measured.sensors_file()].map(|file| self.out.join(file));
        // Of this demo alone: the printed command works after that of another demo, too.
        let mut recovered = self.out.file_name().unwrap_or("scope".as_ref()).to_owned();
        recovered.push(format!("-recovered-{pde}-{}", self.record));
        let recovered = self.out.with_file_name(recovered);
        let region = match problem.region() {
            None => String::new(),
            Some(RecordRegion::Disk(disk)) => format!(" --geometry {},{},{}", disk.cx, disk.cy, disk.r),
            Some(RecordRegion::Points(_)) => format!(" --known {}", for_shell(&self.out.join(KNOWN))),
        };
        let train = match &self.data {
            Some(data) => format!(
                "  scope train --data {} --model small --minutes 60 --out runs/{pde}",
                for_shell(&data.join("train"))
            ),
            None => format!(
                "  scope data generate {pde} --count 20000 --out data/{pde}\n  \
                 scope train --pde {pde} --data data/{pde} --model small --minutes 60 --out runs/{pde}"
            ),
        };
        say(&format!(
            "\nSee {}. To recover fields from sensors of your own, write them as in {}:\n\n  \
             scope recover --model {} --sensors {}{region} --out {}\n\n\
             To train a model of your own:\n\n{train}",
            picture.display(),
            sensors.display(),
            for_shell(Path::new(name)),
            for_shell(&sensors),
            for_shell(&recovered),
        ));
    }
}

/// The errors of each recovery, and how many pixels lie within its bands, if the model has any.
fn say_errors(pde: Pde, solved: &[Solved], grid: GridShape) {
    let level = solved.iter().find_map(|recovery| Some(recovery.within()?.0));
    let heads = ["what is measured", "error of a", "error of u", "a within band", "u within band"];
    let columns = if level.is_some() { heads.len() } else { 3 };
    let mut table = Table::new(&heads[..columns]);
    for recovery in solved {
        let errors = recovery
            .percent()
            .map(|percent| if percent.is_finite() { format!("{percent:.1}%") } else { "-".to_owned() });
        let shares = recovery.within().map(|(_, shares)| shares);
        let within = [0, 1].map(|channel| {
            let share = shares.and_then(|shares| shares[channel]);
            share.map_or("-".to_owned(), |share| format!("{:.0}%", 100.0 * share))
        });
        let cells = [recovery.direction.measured(recovery.sensors())].into_iter().chain(errors).chain(within);
        table.row(cells.take(columns));
    }
    let fields = match pde.present() {
        PerChannel { a: true, u: true } => "errors of both complete fields",
        _ => "error of the complete field",
    };
    say(&format!("{table}\n(relative L2 {fields}, {grid} points)"));
    if let Some(level) = level {
        say(&format!(
            "(bands were measured on other records, and hold {:.0}% of all pixels on average over records)",
            100.0 * level
        ));
    }
}

/// What the model's errors are on average, as its card has them: one record may be easier or harder. Held-out records
/// of one's own may be the very set that the record is of.
fn usual_errors(pde: Pde, held_out: &HeldOut, own: bool) -> Option<String> {
    let [forward, inverse] = [Task::Forward, Task::Inverse].map(|task| held_out.primary(task));
    let hidden_a = || match (inverse.ber, inverse.a) {
        (Some(wrong), _) => Some(format!("{wrong:.1}% of all pixels of a")),
        (None, a) => Some(format!("{:.1}% for a", a?)),
    };
    let errors = match pde.present() {
        PerChannel { a: true, u: true } => {
            format!("forward {:.1}% for u, inverse {}", forward.u?, hidden_a()?)
        }
        PerChannel { a: true, .. } => format!("{:.1}% for a", forward.a?),
        PerChannel { .. } => format!("{:.1}% for u", inverse.u?),
    };
    let which = if own { "held-out records, which may include this one" } else { "other records" };
    Some(format!("(on average over {} {which}: {errors})", grouped(held_out.records)))
}
