//! A fresh record, its sensors, and what becomes of them.

use std::fmt::Write;

use scope_data::{
    Channel,
    observation::{
        Condition, Family, MaskSampler, Namespace, Place, Sensor, TEST_MASK_SEED, Task, UserContext,
    },
};
use scope_eval::{
    DARCY_MIDPOINT,
    figure::{Drawing, field_panels},
};
use scope_model::{
    Fields, Reconstructor,
    bands::{Bands, FieldBands},
};
use scope_pde::{Generator, Identity, Pde, Record, Split, cylinder::Disk};

use crate::commands::recover::{Truth, measured, picture_rows};

/// Of the fresh record: no training set has it.
const SEED: u64 = 2_026;
/// Of a grid of 128 x 128; others observe the same share.
const SENSORS: usize = 500;

/// Which field is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Forward,
    Inverse,
}

impl Direction {
    pub(super) const BOTH: [Self; 2] = [Direction::Forward, Direction::Inverse];

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
    size: usize,
    index: u64,
    record: Record,
}

/// What a model made of some sensors.
pub(super) struct Solved {
    pub(super) direction: Direction,
    sensors: Vec<Sensor>,
    context: UserContext,
    measured: Fields,
    recovered: Fields,
    truth: Truth,
    /// Relative L2 errors of a and u.
    pub(super) percent: [f64; 2],
    /// The model's error bands for these sensors, if it has any.
    bands: Option<FieldBands>,
}

impl Solved {
    pub(super) fn sensors(&self) -> usize {
        self.sensors.len()
    }

    /// The share of Darcy's pixels that are taken for the other permeability, in percent: the error that results state for it.
    pub(super) fn wrong_pixels(&self, pde: Pde) -> Option<f64> {
        let upper = |value: &f32| f64::from(*value) > DARCY_MIDPOINT;
        let (recovered, truth) = (&self.recovered.a, &self.truth.fields.a);
        let wrong = recovered.iter().zip(truth).filter(|(a, b)| upper(a) != upper(b)).count();
        (pde == Pde::Darcy).then(|| 100.0 * wrong as f64 / truth.len() as f64)
    }

    /// The level of the narrower band, and the shares of the pixels of a and u that lie within it.
    pub(super) fn within(&self) -> Option<(f64, [f64; 2])> {
        let bands = self.bands.as_ref()?;
        let share = |apart: &[f32], widths: &[f32]| {
            let held = apart.iter().zip(widths).filter(|(apart, width)| apart.abs() <= **width).count();
            held as f64 / apart.len() as f64
        };
        let (apart, widths) = (&self.truth.apart, &bands.half_widths[0]);
        Some((bands.levels[0], [share(&apart.a, &widths.a), share(&apart.u, &widths.u)]))
    }

    /// The narrower band, to be drawn.
    fn spread(&self) -> Option<(String, &Fields)> {
        let bands = self.bands.as_ref()?;
        Some((format!("{:.0}% band, half-width", 100.0 * bands.levels[0]), &bands.half_widths[0]))
    }
}

impl Problem {
    /// A fresh record on the model's grid.
    pub(super) fn fresh(model: &Reconstructor, index: u64) -> anyhow::Result<Self> {
        let (pde, size) = (model.about().pde, model.about().config.resolution());
        let identity = Identity { pde, seed: SEED, split: Split::Test, resolution: size };
        Ok(Self { pde, size, index, record: Generator::new(identity)?.record(index)? })
    }

    pub(super) fn size(&self) -> usize {
        self.size
    }

    pub(super) fn disk(&self) -> Option<Disk> {
        self.record.disk
    }

    fn field(&self, channel: Channel) -> &[f64] {
        match channel {
            Channel::A => &self.record.a,
            Channel::U => &self.record.u,
        }
    }

    /// Measures one field at random points, and recovers both.
    pub(super) fn solve(
        &self,
        model: &Reconstructor,
        bands: Option<&Bands>,
        direction: Direction,
    ) -> anyhow::Result<Solved> {
        let channel = direction.channel();
        let condition = Condition::new(direction.task(), Family::Uniform, SENSORS)?;
        let sampler = MaskSampler::new(self.pde, TEST_MASK_SEED, self.size);
        let masks = sampler.masks(Namespace::Test, self.index, condition, None);
        let mask = if channel == Channel::A { masks.a } else { masks.u };
        let sensor = |point: usize| Sensor {
            channel,
            place: Place::Index(point / self.size, point % self.size),
            value: self.field(channel)[point],
        };
        let sensors: Vec<Sensor> = mask.points().map(sensor).collect();
        let context = model.place(&sensors, self.record.disk.as_ref())?;
        let recovered = model.recover(&context.context())?.remove(0);
        let truth = self.compare(&recovered);
        let measured = measured(&context, &model.about().constants);
        let percent = truth.percent;
        let bands = bands.and_then(|bands| bands.of(direction.task(), &context.masks).ok());
        Ok(Solved { direction, sensors, context, measured, recovered, truth, percent, bands })
    }

    fn compare(&self, recovered: &Fields) -> Truth {
        let apart = |recovered: &[f32], truth: &[f64]| -> Vec<f32> {
            recovered.iter().zip(truth).map(|(got, truth)| (f64::from(*got) - truth) as f32).collect()
        };
        let percent = |recovered: &[f32], truth: &[f64]| {
            let squares = recovered.iter().zip(truth).map(|(got, truth)| (f64::from(*got) - truth).powi(2));
            100.0 * (squares.sum::<f64>() / truth.iter().map(|x| x * x).sum::<f64>()).sqrt()
        };
        let Record { a, u, .. } = &self.record;
        let single = |field: &[f64]| field.iter().map(|x| *x as f32).collect();
        Truth {
            fields: Fields { a: single(a), u: single(u) },
            apart: Fields { a: apart(&recovered.a, a), u: apart(&recovered.u, u) },
            percent: [percent(&recovered.a, a), percent(&recovered.u, u)],
        }
    }

    /// The sensors as a user would write them.
    pub(super) fn sensors_csv(&self, solved: &Solved) -> String {
        let mut text = format!("i,j,{}\n", solved.direction.channel().name());
        for sensor in &solved.sensors {
            if let Place::Index(i, j) = sensor.place {
                let _ = writeln!(text, "{i},{j},{}", sensor.value);
            }
        }
        text
    }

    /// Both directions, a row for each field.
    pub(super) fn picture(&self, solved: &[Solved]) -> Drawing {
        let spreads: Vec<Option<(String, &Fields)>> = solved.iter().map(Solved::spread).collect();
        let rows = solved.iter().zip(&spreads).flat_map(|(solved, spread)| {
            let Solved { direction, context, measured, recovered, truth, .. } = solved;
            let spread = spread.as_ref().map(|(title, fields)| (title.as_str(), *fields));
            let mut rows = picture_rows(self.pde, context, measured, recovered, spread, Some(truth));
            rows.iter_mut().for_each(|row| row.name = format!("{} {}", direction.task().name(), row.name));
            rows
        });
        let sensors = solved.first().map_or(0, Solved::sensors);
        let heading = format!("{}: a fresh record, {sensors} sensors, one pass of a network", self.pde);
        field_panels(&heading, &rows.collect::<Vec<_>>())
    }
}
