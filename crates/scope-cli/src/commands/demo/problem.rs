//! A fresh record, its sensors, and what becomes of them.

use std::fmt::Write;

use scope::{
    Recovered, Recovery, SensorSet,
    recovery::{Truth, picture_rows},
};
use scope_data::{
    Channel, Dataset, GridShape, PerChannel, RecordRegion,
    frame::Frame,
    observation::{Condition, Family, MaskSampler, Namespace, Place, Sensor, Spot, TEST_MASK_SEED, Task},
    sensors::ProblemColumns,
};
use scope_eval::figure::{Drawing, FieldPicture};
use scope_model::Fields;
use scope_pde::{Generator, Identity, Pde, Record, Split};

/// The seed of the fresh record: no training set has it.
const SEED: u64 = 2_026;
/// Sensors on a grid of 128 x 128; other grids observe the same share.
const SENSORS: usize = 500;

/// Which field is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Forward,
    Inverse,
}

impl Direction {
    /// Those of a problem, which may have one field only.
    pub(super) fn of(pde: Pde) -> impl Iterator<Item = Self> {
        let both = [Direction::Forward, Direction::Inverse];
        both.into_iter().filter(move |direction| pde.present()[direction.channel()])
    }

    /// The condition, as evaluations name it.
    pub(super) fn condition(self) -> String {
        format!("{}/uniform/{SENSORS}", self.task().name())
    }

    fn task(self) -> Task {
        match self {
            Direction::Forward => Task::Forward,
            Direction::Inverse => Task::Inverse,
        }
    }

    fn channel(self) -> Channel {
        match self {
            Direction::Forward => Channel::A,
            Direction::Inverse => Channel::U,
        }
    }

    /// The demo's file with these sensors.
    pub(super) fn sensors_file(self) -> String {
        format!("{}.csv", self.task().name())
    }

    /// What a table calls it.
    pub(super) fn measured(self, sensors: usize) -> String {
        format!("{sensors} points of {} ({})", self.channel().name(), self.task().name())
    }
}

/// A record that no model has seen, in physical units.
pub(super) struct Problem {
    pde: Pde,
    grid: GridShape,
    index: u64,
    fields: Fields<f64>,
    /// Where it is known without sensors.
    region: Option<RecordRegion>,
    /// "fresh" or "held-out".
    what: &'static str,
}

/// What was recovered from some sensors, beside the truth.
pub(super) struct Solved {
    pub(super) direction: Direction,
    sensors: Vec<Sensor>,
    recovered: Recovered,
    truth: Truth,
}

impl Solved {
    pub(super) fn sensors(&self) -> usize {
        self.sensors.len()
    }

    /// The relative L2 errors of a and u.
    pub(super) fn percent(&self) -> PerChannel<f64> {
        self.truth.percent
    }

    /// The share of a two-valued field's pixels that are taken for the other value, in percent: the error that results
    /// state for it.
    pub(super) fn wrong_pixels(&self) -> Option<f64> {
        let threshold = self.recovered.method.pde.descriptor().fields.a.threshold()?;
        let upper = |value: &f32| f64::from(*value) > threshold;
        let recovered = &self.recovered.fields.a;
        let truth = &self.truth.fields.a;
        let wrong = recovered.iter().zip(truth).filter(|(a, b)| upper(a) != upper(b)).count();
        Some(100.0 * wrong as f64 / truth.len() as f64)
    }

    /// The level of the narrower band, and the shares of the pixels of a and u that lie within it; a field of two
    /// values has no band.
    pub(super) fn within(&self) -> Option<(f64, [Option<f64>; 2])> {
        let bands = self.recovered.uncertainty.bands()?;
        let share = |difference: &[f32], widths: &[f32]| {
            let held = difference.iter().zip(widths).filter(|(off, width)| off.abs() <= **width).count();
            held as f64 / difference.len() as f64
        };
        let difference = &self.truth.difference;
        let widths = &bands.half_widths[0];
        let of_a = self.recovered.two_valued.is_none().then(|| share(&difference.a, &widths.a));
        let shares = [of_a, Some(share(&difference.u, &widths.u))];
        Some((bands.summary.levels[0], shares))
    }
}

impl Problem {
    /// A fresh record on the grid of a recovery.
    pub(super) fn fresh(recovery: &Recovery, index: u64) -> anyhow::Result<Self> {
        let pde = recovery.pde();
        let grid = recovery.resolution();
        // Solvers make square fields, and so do the models that are trained on theirs.
        let identity = Identity { pde, seed: SEED, split: Split::Test, resolution: grid.rows };
        let Record { fields, disk } = Generator::new(identity)?.record(index)?;
        Ok(Self { pde, grid, index, fields, region: disk.map(RecordRegion::Disk), what: "fresh" })
    }

    /// A record of a held-out set.
    pub(super) fn held_out(recovery: &Recovery, set: &Dataset, index: u64) -> anyhow::Result<Self> {
        let grid = recovery.resolution();
        let meta = set.meta();
        let number = usize::try_from(index).ok().filter(|number| *number < set.len());
        let Some(number) = number else {
            anyhow::bail!(
                "{} holds {} records, numbered from 0: there is no {index}",
                set.folder().display(),
                set.len()
            );
        };
        anyhow::ensure!(
            meta.resolution == grid,
            "{} is on {} points and the model on {grid}: they must be the same",
            set.folder().display(),
            meta.resolution
        );
        let pair = set.pair(number)?;
        let fields = pair.fields().zip(meta.constants()).map(|(field, scaling)| {
            field.iter().map(|stored| scaling.physical(*stored)).collect::<Vec<f64>>()
        });
        let region = set.region(number).cloned();
        Ok(Self { pde: meta.pde, grid, index, fields, region, what: "held-out" })
    }

    pub(super) fn grid(&self) -> GridShape {
        self.grid
    }

    pub(super) fn region(&self) -> Option<&RecordRegion> {
        self.region.as_ref()
    }

    fn field(&self, channel: Channel) -> &[f64] {
        &self.fields[channel]
    }

    /// Measures one field at random points, and recovers both.
    pub(super) fn solve(&self, recovery: &Recovery, direction: Direction) -> anyhow::Result<Solved> {
        let channel = direction.channel();
        let condition = Condition::new(direction.task(), Family::UNIFORM, SENSORS)?;
        let sampler = MaskSampler::new(self.pde, TEST_MASK_SEED, self.grid);
        let masks = sampler.masks(Namespace::Test, self.index, condition, None);
        let sensor = |point: usize| {
            let [i, j] = self.grid.place(point);
            Sensor { channel, place: Place::Index(i, j), value: self.field(channel)[point] }
        };
        let sensors: Vec<Sensor> = masks.sensors(channel).points().map(sensor).collect();
        let mut set = SensorSet::new(direction.task().name(), sensors.clone());
        set.region = self.region.clone();
        let recovered = recovery.recover(&set)?;
        let truth = self.compare(&recovered.fields);
        Ok(Solved { direction, sensors, recovered, truth })
    }

    fn compare(&self, recovered: &Fields) -> Truth {
        let difference = |recovered: &[f32], truth: &[f64]| -> Vec<f32> {
            recovered.iter().zip(truth).map(|(got, truth)| (f64::from(*got) - truth) as f32).collect()
        };
        let percent = |recovered: &[f32], truth: &[f64]| {
            let squares = recovered.iter().zip(truth).map(|(got, truth)| (f64::from(*got) - truth).powi(2));
            100.0 * (squares.sum::<f64>() / truth.iter().map(|x| x * x).sum::<f64>()).sqrt()
        };
        let Fields { a, u } = &self.fields;
        let single = |field: &[f64]| field.iter().map(|x| *x as f32).collect();
        Truth {
            fields: Fields { a: single(a), u: single(u) },
            difference: Fields { a: difference(&recovered.a, a), u: difference(&recovered.u, u) },
            percent: PerChannel { a: percent(&recovered.a, a), u: percent(&recovered.u, u) },
        }
    }

    /// The sensors as a user would write them.
    pub(super) fn sensors_csv(&self, solved: &Solved) -> String {
        let ProblemColumns { axes: [x, y], fields, .. } = ProblemColumns::of(self.pde);
        let mut text = format!("{x},{y},{}\n", fields[solved.direction.channel()]);
        for sensor in &solved.sensors {
            if let Place::Index(i, j) = sensor.place {
                let point = Spot::pixel(i, j).point(self.pde, self.grid);
                let frame = Frame::of_problem(self.pde);
                let [x, y] = frame.point_of_unit(point);
                // Nine digits tell a pixel of a grid of 128 x 128 exactly; coordinates of one's own may need others.
                let _ = match frame.domain() {
                    None => writeln!(text, "{x:.9},{y:.9},{}", sensor.value),
                    Some(_) => writeln!(text, "{x},{y},{}", sensor.value),
                };
            }
        }
        text
    }

    /// A picture of both directions, with a row for each field.
    pub(super) fn picture(&self, solved: &[Solved]) -> Drawing {
        let measured: Vec<Fields> = solved.iter().map(|solved| solved.recovered.measured()).collect();
        let rows = solved.iter().zip(&measured).flat_map(|(solved, measured)| {
            let mut rows = picture_rows(&solved.recovered, measured, Some(&solved.truth));
            let task = solved.direction.task().name();
            rows.iter_mut().for_each(|row| row.name = format!("{task} {}", row.name));
            rows
        });
        let sensors = solved.first().map_or(0, Solved::sensors);
        let grid = self.grid;
        let heading = format!(
            "{}: a {} record, {sensors} sensors of {grid} points, one pass of a network",
            self.pde, self.what
        );
        let axes = solved.first().map(|solved| solved.recovered.method.axes());
        let rows = &rows.collect::<Vec<_>>();
        FieldPicture { heading: &heading, rows, axes: axes.as_ref(), ..FieldPicture::default() }.draw()
    }
}
