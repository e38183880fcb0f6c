//! `scope recover`: complete fields from someone's own sensors.

mod estimate;
mod field_format;
mod posterior_arguments;
mod remedy;
mod statement;
mod watch;

use std::{
    path::PathBuf,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use clap::{Args, builder::TypedValueParser};
use scope::{
    Network, NetworkOptions, Recovery, RecoveryError, SensorFile, SensorSet,
    recovery::{Points, Problem, Progress, ResultFolder, Summary},
};
use scope_data::{
    Constants, PerChannel, RecordRegion,
    frame::Frame,
    observation::SensorError,
    sensors::{PointFile, TableOptions},
};
use scope_model::Precision;
use scope_pde::{Pde, cylinder::Disk, descriptor::KnownRegion};

use super::{
    Outcome,
    device::DeviceArguments,
    error_keeping_precisions,
    frame::FrameArguments,
    method::{ChosenMethod, MethodArguments},
    models,
};
use crate::terminal::{grouped, notice, print_json};
use field_format::FieldFormat;
use posterior_arguments::PosteriorArguments;
use watch::Watch;

/// What `--help` ends with.
const EXAMPLES: &str = "\
Examples:
  scope recover --model poisson --sensors sensors.csv --out recovered
  scope recover --model runs/darcy --sensors measurements.npz --out recovered --json
  zcat log.csv.gz | scope recover --model poisson --sensors - --out recovered
  scope recover --model cylinder --sensors probes.csv --geometry 40,64,10 --out recovered
  scope recover --model poisson --sensors sensors.csv --noise 0.01,1e-4 --calibrate 200 --out recovered
  scope recover --method exact --pde poisson --sensors sensors.csv --noise 0.01,1e-4 --samples 20 --out recovered
  scope recover --method exact --pde poisson --sensors sensors.csv --drop-suspects --no-deviations --out recovered
  scope recover --method linear --fit heat.safetensors --sensors probes.csv --noise 2% --out recovered
  scope recover --model poisson --sensors wells.csv --domain 0,500,0,500 --scale u=400 --edge-value 102.5 --out recovered
  scope recover --model poisson --sensors wells.csv --columns x=east,y=north,u=level --missing NA,-9999 --out recovered
  scope recover --model poisson --sensors sensors.csv --at points.csv --format csv --out recovered

A CSV file needs columns x, y (0 to 1) or i, j (pixels), and channel and value, or the values under a and u; a column
\"problem\" tells many problems apart. Values are in physical units, in and out; docs/units.md says how to state yours.
docs/sensors.md has every format.

Exit code 3: all was done and written, but the readings contradict the model of --method.";

/// How a disk is given.
const DISK: &str = "give row and column of its centre, and its radius, in pixels";
/// How it is given where a domain is stated.
const DISK_IN_DOMAIN: &str = "give x and y of its centre, and its radius, in the coordinates of --domain";

/// From so many sensors on it is said how long the exact posterior takes.
const MANY_SENSORS: usize = 1000;

/// Problems recovered together: their contexts are in memory at once.
const TOGETHER: usize = 32;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RecoverCommand {
    /// A model's name, a run folder or a weight file
    #[arg(long, value_name = "NAME|RUN|FILE", required_unless_present = "method", conflicts_with_all = ["method", "pde", "fit"])]
    model: Option<String>,
    #[command(flatten)]
    method: MethodArguments,
    #[command(flatten)]
    posterior: PosteriorArguments,
    /// Measurements: CSV, JSON, .npy or .npz; "-" for standard input
    #[arg(long, value_name = "FILE")]
    sensors: PathBuf,
    /// A new folder for a.npy, u.npy, fields.png and summary.json; with --method also a_sd.npy, u_sd.npy and
    /// residuals.csv, with a model a_band68.npy and its like, where its error bands are known
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    #[command(flatten)]
    frame: FrameArguments,
    /// The cylinder's disk in pixels, or with --domain in its coordinates, for problems whose file gives none
    #[arg(long, value_name = "CX,CY,R", conflicts_with = "method", value_parser = disk, allow_hyphen_values = true)]
    geometry: Option<Disk>,
    /// Where the fields are known without sensors, for problems with a known region in each record: a .npy file [rows,
    /// columns], not zero there
    #[arg(long, value_name = "MASK", conflicts_with = "geometry")]
    known: Option<PathBuf>,
    /// Also write at.csv: both fields, and how far they may be off, at the points of a table with columns x and y
    #[arg(long, value_name = "POINTS")]
    at: Option<PathBuf>,
    /// Also write, beside npy, what other programs open: fields.csv, a line for each pixel with x, y, both fields and
    /// how far they may be off; fields.nc (NetCDF); fields.zarr.zip; or fields.vti, for ParaView
    #[arg(long, value_enum, default_value = "npy")]
    format: FieldFormat,
    /// Measure a model's errors and error bands for these very sensors and their noise, on N fresh records of the
    /// problem's own solver, instead of taking those of its card
    #[arg(long, value_name = "N", conflicts_with = "method", value_parser = clap::value_parser!(u16).range(19..=2000).map(usize::from))]
    calibrate: Option<usize>,
    /// Also write a_unprojected.npy and u_unprojected.npy: a model's fields before what is known of them was imposed
    /// (zero edges, speeds that are not negative, two values)
    #[arg(long, conflicts_with = "method")]
    unprojected: bool,
    /// What a model's network is computed in: int8 takes less time on a processor, with errors like those of f32, where
    /// the model is stored so
    #[arg(long, value_name = "KIND", default_value = "f32", value_parser = error_keeping_precisions(), conflicts_with = "method")]
    precision: Precision,
    /// Draw the first N problems
    #[arg(long, value_name = "N", default_value_t = 1)]
    pictures: usize,
    /// Print summary.json
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    device: DeviceArguments,
}

/// Reads a disk.
fn disk(text: &str) -> Result<Disk, String> {
    let numbers: Result<Vec<f64>, _> = text.split(',').map(|number| number.trim().parse()).collect();
    match numbers.as_deref() {
        Ok([cx, cy, r]) => Ok(Disk { cx: *cx, cy: *cy, r: *r }),
        _ => Err("expected three numbers, as in 40,64,10".to_owned()),
    }
}

impl RecoverCommand {
    pub(crate) fn run(self) -> anyhow::Result<Outcome> {
        let method = self.method.open()?;
        let loaded = self.model.as_deref().map(|model| self.load(model)).transpose()?;
        let pde = loaded.as_ref().map(|network| network.model.about().pde);
        let options = self.table_options(pde.or(method.as_ref().map(ChosenMethod::pde)));
        let file = match self.sensors.as_os_str() == "-" {
            true => SensorFile::standard_input(&options),
            false => SensorFile::open_with(&self.sensors, &options),
        };
        let file = file.map_err(|error| match error.lacks_column() {
            true => anyhow::anyhow!("{error} (--columns x=NAME,y=NAME,u=NAME)"),
            false => error.into(),
        })?;
        file.notes().iter().for_each(|line| notice(line));
        let (summary, spent) = match (loaded, method) {
            (_, Some(chosen)) => {
                self.device.require_processor(chosen.name())?;
                self.device.pool().install(|| {
                    let is_exact = matches!(chosen, ChosenMethod::Exact(_));
                    let frame = |chosen: &ChosenMethod| self.frame(chosen.pde(), &chosen.constants(), &file);
                    let recovery = self.posterior.recovery(chosen, frame)?;
                    if is_exact {
                        self.tell_time(&file, &recovery)?;
                    }
                    self.recover(&file, &recovery)
                })?
            }
            (Some(network), None) => self.recover(&file, &self.network(network, &file)?)?,
            (None, None) => anyhow::bail!("name a model with --model, or a method with --method"),
        };
        statement::warn_of(&summary);
        if self.json {
            print_json(&summary)?;
        } else {
            let at = self.at.as_ref().map(|_| "at.csv".to_owned());
            let tables: Vec<String> =
                at.into_iter().chain(self.format.file(summary.problems.len())).collect();
            statement::say_recovered(&summary, &self.out, spent, self.pictures, &tables);
        }
        let contradicted = summary.problems.iter().any(|problem| problem.trust.is_contradicted());
        Ok(if contradicted { Outcome::Contradicted } else { Outcome::Success })
    }

    /// A trained network, by name, folder or file.
    fn load(&self, name: &str) -> anyhow::Result<Network> {
        let found = models::find(name)?;
        Ok(Network::load(&found, &self.device.open()?, self.precision)?)
    }

    /// How tables are read: a problem of one's own has names for its columns.
    fn table_options(&self, pde: Option<Pde>) -> TableOptions {
        let stated = self.frame.table_options();
        match pde {
            Some(pde) => stated.of_problem(pde),
            None => stated,
        }
    }

    /// The way from the sensors of a file to fields by a network.
    fn network(&self, network: Network, file: &SensorFile) -> anyhow::Result<Recovery> {
        let about = network.model.about();
        let frame = self.frame(about.pde, &about.constants, file)?;
        let stated = self.posterior.stated_noise();
        let noise = stated.map(|noise| noise.physical(&frame.constants(&about.constants)));
        let options = NetworkOptions {
            noise,
            calibration: self.calibrate,
            drop_suspects: self.posterior.drops_suspects(),
            unprojected: self.unprojected,
            frame,
        };
        Ok(Recovery::with_network(network, options)?)
    }

    /// The coordinates and units of the sensors.
    fn frame(&self, pde: Pde, constants: &Constants, file: &SensorFile) -> anyhow::Result<Frame> {
        let noise = |frame: &Frame| {
            let stated = self.posterior.stated_noise();
            stated.map_or(PerChannel::both(0.0), |noise| noise.physical(&frame.constants(constants)))
        };
        self.frame.frame(pde, file, &noise)
    }

    /// Says how long the exact posterior takes, where one has to wait for it.
    fn tell_time(&self, file: &SensorFile, recovery: &Recovery) -> anyhow::Result<()> {
        let largest = (0..file.len()).map(|index| Ok(file.set(index)?.sensors.len()));
        let largest = largest.collect::<anyhow::Result<Vec<usize>>>()?.into_iter().max().unwrap_or_default();
        if largest < MANY_SENSORS {
            return Ok(());
        }
        let deviations = self.posterior.with_deviations();
        let time = estimate::time_of_exact(recovery.pde(), recovery.resolution().rows, largest, deviations)?;
        let each = if file.len() > 1 { ", the largest of several problems" } else { "" };
        let threads = rayon::current_num_threads();
        notice(&format!(
            "{} sensors{each}: about {} s at most on {threads} {}",
            grouped(largest),
            time.as_secs().max(1),
            if threads == 1 { "thread" } else { "threads" }
        ));
        Ok(())
    }

    /// Refuses what no problem of the file could be recovered with.
    fn require_fit(&self, file: &SensorFile, recovery: &Recovery) -> anyhow::Result<()> {
        let pde = recovery.pde();
        let grid = recovery.resolution();
        anyhow::ensure!(
            self.geometry.is_none() || pde.has_disk(),
            "{pde} has no geometry: leave --geometry out"
        );
        let per_record = matches!(pde.descriptor().known_region, KnownRegion::PerRecord(_));
        anyhow::ensure!(
            self.known.is_none() || per_record,
            "{pde} has no known region in each record: leave --known out"
        );
        if let Some(got) = file.resolution().filter(|got| *got != grid) {
            anyhow::bail!(
                "{} holds grids of {got} and the model reads {grid}: give the sensors as a table with x and y",
                file.name()
            );
        }
        Ok(())
    }

    /// Recovers all problems, some at a time, and writes them; says how long the method itself took.
    fn recover(&self, file: &SensorFile, recovery: &Recovery) -> anyhow::Result<(Summary, Duration)> {
        self.require_fit(file, recovery)?;
        // Before the folder: who stops the program from here on finds none.
        let watch = Watch::begin(file.len(), self.calibrate)?;
        let points = self.points(recovery)?;
        let mut folder = ResultFolder::create(&self.out, file.len())?;
        if let Some(points) = points {
            folder.add_points(recovery.summary(), points)?;
        }
        match self.format.labelled() {
            Some(format) => folder.add_labelled(format),
            None if self.format == FieldFormat::Csv => folder.add_pixels(recovery.summary())?,
            None => {}
        }
        let mut spent = Duration::ZERO;
        let mut done = 0;
        for first in (0..file.len()).step_by(TOGETHER) {
            watch.require_no_interrupt()?;
            let some = first..file.len().min(first + TOGETHER);
            let problems: Vec<Problem> =
                some.map(|index| self.place(file, index, recovery)).collect::<anyhow::Result<_>>()?;
            let begin = Instant::now();
            let elapsed = Mutex::new(Duration::ZERO);
            let progress = |progress: Progress| match progress {
                Progress::Fields { .. } => {
                    *elapsed.lock().unwrap_or_else(PoisonError::into_inner) = begin.elapsed();
                    watch.at(first, 0)
                }
                Progress::Bands { problems, records } => watch.at(first + problems, records),
                Progress::Posterior { step, .. } => watch.during(step),
            };
            for recovered in recovery.recover_all(problems, &progress)? {
                folder.add(&recovered)?;
                if done < self.pictures {
                    folder.draw(&recovered)?;
                }
                done += 1;
            }
            spent += elapsed.into_inner().unwrap_or_else(PoisonError::into_inner);
            watch.at(done, 0);
        }
        watch.finish();
        Ok((folder.finish(recovery.summary(), file.name(), file.notes())?, spent))
    }

    /// The points where values are wanted, if any are.
    fn points(&self, recovery: &Recovery) -> anyhow::Result<Option<Points>> {
        let Some(path) = &self.at else { return Ok(None) };
        let file = PointFile::open(path, &self.table_options(Some(recovery.pde())))?;
        let spots = recovery.spots(&file.points).map_err(|error| {
            let why = error.describe(|point| format!("line {}", file.lines[point]));
            anyhow::anyhow!("{}, {why}{}", file.name, self.way_out(&error))
        })?;
        Ok(Some(Points::new(&file.points, spots)))
    }

    /// The option that helps where something is outside, or in other units.
    fn way_out(&self, error: &SensorError) -> &'static str {
        match error {
            // A pixel outside the grid is no matter of coordinates.
            SensorError::Outside { range, .. } if range.starts_with("the unit square") => {
                " (--domain X0,X1,Y0,Y1)"
            }
            SensorError::Units { .. } => " (--scale, see docs/units.md)",
            _ => "",
        }
    }

    /// Where the fields are known without sensors, if that was said.
    fn region(&self) -> anyhow::Result<Option<RecordRegion>> {
        match &self.known {
            Some(path) => Ok(Some(RecordRegion::read(path)?)),
            None => Ok(self.geometry.map(RecordRegion::Disk)),
        }
    }

    /// Puts a problem's sensors on the grid. What is wrong with them is said in the words of their file.
    fn place(&self, file: &SensorFile, index: usize, recovery: &Recovery) -> anyhow::Result<Problem> {
        let mut set = file.set(index)?;
        let has_own = set.region.is_some();
        if let Some(region) = self.region()?.filter(|_| !has_own) {
            set.to_mut().region = Some(region);
        }
        let error = match recovery.place(&set) {
            Ok(problem) => return Ok(problem),
            Err(error) => error,
        };
        let SensorSet { name, .. } = set.as_ref();
        let place = match file.len() {
            1 => file.name().to_owned(),
            _ => format!("{}, problem {name}", file.name()),
        };
        Err(match error {
            RecoveryError::NoGeometry(_) => anyhow::anyhow!("{place}: {error}: leave it out of the file"),
            RecoveryError::NothingMeasured => anyhow::anyhow!(
                "{}: problem {name} has no measurements: remove it, or give it at least one",
                file.name()
            ),
            RecoveryError::Sensors(SensorError::Region(problem)) if self.known.is_some() => {
                anyhow::anyhow!("--known: {problem}")
            }
            RecoveryError::Sensors(SensorError::Region(problem)) => {
                let place = if has_own { &place } else { "--geometry" };
                let how = if self.frame.has_domain() { DISK_IN_DOMAIN } else { DISK };
                anyhow::anyhow!("{place}: {problem}; {how}")
            }
            RecoveryError::Sensors(error) => {
                let why = error.describe(|sensor| set.label(sensor));
                anyhow::anyhow!("{place}, {why}{}", self.way_out(&error))
            }
            error => anyhow::anyhow!("{place}, {}", error.describe(|sensor| set.label(sensor))),
        })
    }
}
