//! A context from measurements of one's own.

use std::collections::BTreeMap;

use scope_pde::{GridShape, Pde, cylinder::Disk, descriptor::KnownRegion};

use super::{
    context::{ContextMasks, write_context},
    mask::Mask,
    noise::trust,
    pixels::Pixels,
    place::{Place, Spot},
    sensor_error::SensorError,
};
use crate::{Channel, Constants, Fields, PerChannel, record_region::RecordRegion};

/// One measurement in physical units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sensor {
    /// What is measured.
    pub channel: Channel,
    /// Where it is measured.
    pub place: Place,
    /// The value measured.
    pub value: f64,
}

/// A measurement on a grid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Placed {
    /// Which it is in the order given, from 0.
    pub number: usize,
    /// What is measured.
    pub channel: Channel,
    /// Where it is measured.
    pub spot: Spot,
    /// The value in physical units.
    pub value: f64,
}

/// A context made of sensors: which points are seen, and their values in stored coordinates.
#[derive(Clone, Debug, PartialEq)]
pub struct UserContext {
    /// The observed points, those of a known disk among them.
    pub masks: ContextMasks,
    /// The points that sensors measured.
    pub measured: PerChannel<Mask>,
    /// \[rows, columns\] for a and for u, zero where nothing is seen.
    pub values: Fields,
    /// Whether the region where the record is known by itself was given; it may hold no point.
    pub region_given: bool,
    /// Sensors that share their pixel with an earlier one.
    pub shared: usize,
    /// All of them, by channel and place: what is known of them does not depend on the order of a file's rows.
    pub sensors: Vec<Placed>,
    /// The noise that a network is told of, in units of each field's standard deviation; zero for readings that count
    /// as exact.
    pub noise: PerChannel<f64>,
}

/// A reading may be off what is always known at its place by so much of the larger of both.
const ROUNDING: f64 = 1e-5;

/// Refuses sensors on points that are the same in every record, as on land, if they say something else: their values
/// could say nothing of the field, and as exact readings of what is known they would contradict it.
fn require_unknown(pde: Pde, shape: GridShape, placed: &[Placed]) -> Result<(), SensorError> {
    let KnownRegion::Fixed(region) = pde.descriptor().known_region else { return Ok(()) };
    let says_otherwise = |sensor: &&Placed| {
        let known = region.values[sensor.channel];
        let apart = (sensor.value - known).abs();
        apart > ROUNDING * sensor.value.abs().max(known.abs()) && region.contains(sensor.spot.nearest(shape))
    };
    let mut wrong = placed.iter().filter(says_otherwise);
    let Some(Placed { number: sensor, channel, value, .. }) = wrong.next().copied() else { return Ok(()) };
    let known = region.values[channel];
    Err(SensorError::Known { sensor, value, channel: channel.name(), known, others: wrong.count() })
}

impl UserContext {
    /// Places sensors on a grid, where each counts for the pixel nearest to it. Sensors of one pixel are averaged,
    /// unless they are further apart than the channel's standard deviation. What is always known, and a cylinder's disk
    /// at rest, is known on both channels, except where sensors say otherwise.
    pub fn new(
        pde: Pde,
        constants: &Constants,
        shape: impl Into<GridShape>,
        sensors: &[Sensor],
        region: Option<&RecordRegion>,
    ) -> Result<Self, SensorError> {
        let shape = shape.into();
        if let Some(region) = region {
            region.check(pde, shape).map_err(SensorError::Region)?;
        }
        let mut placed = placed(pde, shape, sensors)?;
        require_unknown(pde, shape, &placed)?;
        // Only now: sensors in other coordinates or units share pixels and contradict each other by that alone.
        let mut pixels = PerChannel::from_fn(|channel| Pixels::new(channel, constants[channel], shape));
        for sensor in &placed {
            pixels[sensor.channel].add(sensor.number, sensor.spot.nearest(shape), sensor.value)?;
        }
        placed.sort_by(|x, y| {
            let along = |axis: usize| x.spot.at[axis].total_cmp(&y.spot.at[axis]);
            x.channel.cmp(&y.channel).then(along(0)).then(along(1)).then(x.value.total_cmp(&y.value))
        });
        let measured = pixels.each_ref().map(|pixels| pixels.mask.clone());
        let given = known_points(pde, shape, region)?;
        let known = pde.descriptor().known_region.values();
        for (channel, pixels) in pixels.each_mut().with_channels() {
            if pde.present()[channel] {
                given.points().for_each(|point| pixels.know(point, known[channel]));
            }
        }
        let shared = pixels.iter().map(|pixels| pixels.shared).sum();
        let values = pixels.each_ref().map(Pixels::stored);
        let masks = ContextMasks { seen: pixels.map(|pixels| pixels.mask), given };
        let region_given = region.is_some();
        Ok(Self {
            masks,
            measured,
            values,
            region_given,
            shared,
            sensors: placed,
            noise: PerChannel::both(0.0),
        })
    }

    /// The same sensors with a noise that a network is told of, in units of each field's standard deviation.
    #[must_use]
    pub fn with_noise(self, noise: PerChannel<f64>) -> Self {
        Self { noise, ..self }
    }

    /// The context \[4, rows, columns\] that a network reads: (Ma a, Ma, Mu u, Mu). A noisy reading counts c in place
    /// of 1, see [`trust`]; the mean of k readings of one pixel has a noise of sqrt(k) less. What comes with the
    /// problem needs no sensor and stays exact.
    pub fn context(&self) -> Vec<f32> {
        let pixels = self.values.a.len();
        let mut context = vec![0.0; 4 * pixels];
        write_context(self.values.each_ref().map(Vec::as_slice), &self.masks.seen, &mut context);
        for (channel, shown) in Channel::BOTH.into_iter().zip(context.chunks_exact_mut(2 * pixels)) {
            let noise = self.noise[channel];
            if noise > 0.0 {
                let (values, mask) = shown.split_at_mut(pixels);
                for (point, readings) in self.readings_of_pixels(channel) {
                    let weight = trust(noise / f64::from(readings).sqrt()) as f32;
                    values[point] *= weight;
                    mask[point] = weight;
                }
            }
        }
        context
    }

    /// The pixels that sensors of a channel count for, with how many of them.
    fn readings_of_pixels(&self, channel: Channel) -> BTreeMap<usize, u32> {
        let shape = self.masks.shape();
        let mut readings = BTreeMap::new();
        for sensor in self.sensors.iter().filter(|sensor| sensor.channel == channel) {
            *readings.entry(sensor.spot.nearest(shape)).or_default() += 1;
        }
        readings
    }
}

/// The sensors on a grid, in the order given.
fn placed(pde: Pde, shape: GridShape, sensors: &[Sensor]) -> Result<Vec<Placed>, SensorError> {
    let place = |(number, sensor): (usize, &Sensor)| {
        let channel = sensor.channel;
        if !pde.present()[channel] {
            return Err(SensorError::NoField { sensor: number, channel: channel.name(), pde: pde.name() });
        }
        if !sensor.value.is_finite() {
            return Err(SensorError::NotFinite { sensor: number, what: "value" });
        }
        let spot = locate(pde, shape, number, sensor.place)?;
        Ok(Placed { number, channel, spot, value: sensor.value })
    };
    sensors.iter().enumerate().map(place).collect()
}

/// The points that are known without sensors: those of every record, and those of this one.
fn known_points(pde: Pde, shape: GridShape, region: Option<&RecordRegion>) -> Result<Mask, SensorError> {
    let mut given = Mask::always_known(pde, shape);
    if let Some(region) = region {
        let of_record = region.points(shape);
        require_pixels(region, &of_record).map_err(SensorError::Region)?;
        given.unite(&of_record);
    }
    Ok(given)
}

/// Refuses a disk between pixels, as one in sides of the square is: a model would be told of none.
fn require_pixels(region: &RecordRegion, points: &Mask) -> Result<(), String> {
    match region.disk() {
        Some(Disk { cx, cy, r }) if points.count() == 0 => {
            let shape = points.shape();
            Err(format!("the disk at ({cx}, {cy}) with radius {r} covers no pixel of the {shape} grid"))
        }
        _ => Ok(()),
    }
}

/// A place on the grid; `sensor` is whose place it is, for the error.
pub(crate) fn locate(pde: Pde, shape: GridShape, sensor: usize, place: Place) -> Result<Spot, SensorError> {
    match place {
        Place::Index(i, j) if i < shape.rows && j < shape.columns => Ok(Spot::pixel(i, j)),
        Place::Index(i, j) => Err(SensorError::Outside {
            sensor,
            place: format!("pixel ({i}, {j})"),
            range: match shape.side() {
                Some(size) => format!("the grid, 0 to {} on both axes", size - 1),
                None => {
                    format!("the grid, rows 0 to {} and columns 0 to {}", shape.rows - 1, shape.columns - 1)
                }
            },
        }),
        Place::Point(x, y) if !x.is_finite() || !y.is_finite() => {
            Err(SensorError::NotFinite { sensor, what: "coordinate" })
        }
        Place::Point(x, y) if (0.0..=1.0).contains(&x) && (0.0..=1.0).contains(&y) => {
            Ok(Spot::of_point(pde, shape, x, y))
        }
        Place::Point(x, y) => Err(SensorError::Outside {
            sensor,
            place: format!("({x}, {y})"),
            range: if x.fract() == 0.0 && y.fract() == 0.0 {
                "the unit square: for pixels name the columns i and j".into()
            } else {
                "the unit square: scale the coordinates of your domain to 0 to 1".into()
            },
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sensor(place: Place, value: f64) -> Sensor {
        Sensor { channel: Channel::U, place, value }
    }

    fn context(pde: Pde, sensors: &[Sensor]) -> Result<UserContext, SensorError> {
        UserContext::new(pde, &Constants::released(pde), 128, sensors, None)
    }

    #[test]
    fn values_are_stored_where_they_were_measured() {
        let constants = Constants::released(Pde::DARCY);
        let sensors = [
            Sensor { channel: Channel::A, place: Place::Index(3, 5), value: 12.0 },
            sensor(Place::Index(3, 5), 0.01),
        ];
        let context = context(Pde::DARCY, &sensors).unwrap();
        assert_eq!((context.masks.seen.a.count(), context.masks.seen.u.count()), (1, 1));
        assert_eq!(context.values.a[3 * 128 + 5], 0.5);
        assert_eq!(context.values.u[3 * 128 + 5], constants.u.store(0.01));
    }

    #[test]
    fn bad_sensors_are_refused_by_number() {
        let good = sensor(Place::Index(0, 0), 1.0);
        let refusal = |bad| context(Pde::POISSON, &[good, bad]).unwrap_err();
        let nan = f64::NAN;
        assert_eq!(
            refusal(sensor(Place::Index(1, 1), nan)),
            SensorError::NotFinite { sensor: 1, what: "value" }
        );
        assert_eq!(
            refusal(sensor(Place::Point(nan, 0.5), 1.0)),
            SensorError::NotFinite { sensor: 1, what: "coordinate" }
        );
        let beyond = refusal(sensor(Place::Index(0, 128), 1.0)).to_string();
        assert_eq!(beyond, "sensor 1: pixel (0, 128) lies outside the grid, 0 to 127 on both axes");
        let beyond = refusal(sensor(Place::Point(1.2, 0.5), 1.0)).to_string();
        assert!(beyond.contains("sensor 1: (1.2, 0.5) lies outside the unit square: scale"), "{beyond}");
        let beyond = refusal(sensor(Place::Point(12.0, 5.0), 1.0)).to_string();
        assert!(beyond.contains("name the columns i and j"), "{beyond}");
    }

    #[test]
    fn sensors_where_every_record_is_known_are_refused_unless_they_say_so() {
        let text = r#"{"name": "strait", "fields": {"u": {"name": "temperature"}}, "grid": {"rows": 32, "columns": 32},
            "known": {"mask": [0, 64, 960], "value": 0}}"#;
        let pde: Pde = serde_json::from_str(text).unwrap();
        let of = |sensors: &[Sensor]| UserContext::new(pde, &Constants::UNSCALED, 32, sensors, None);
        let on = |i, value| sensor(Place::Index(i, 3), value);
        assert!(of(&[on(2, 5.0), on(1, 0.0)]).is_ok());
        let refusal = of(&[on(2, 5.0), on(1, 15.5), on(0, 14.0)]).unwrap_err().to_string();
        assert!(
            refusal.starts_with("sensor 1: u is 15.5, and its nearest pixel lies in the known region, where u is 0 in every record"),
            "{refusal}"
        );
        assert!(refusal.ends_with("; one more sensor lies there"), "{refusal}");
    }

    #[test]
    fn sensors_of_one_pixel_are_averaged_unless_they_contradict_each_other() {
        let scaling = Constants::released(Pde::POISSON).u;
        let pair = |second: f64| {
            let both = [(0.0, 0.01), (0.001, second)];
            context(Pde::POISSON, &both.map(|(x, value)| sensor(Place::Point(x, 0.0), value)))
        };
        let merged = pair(0.012).unwrap();
        assert_eq!((merged.masks.seen.u.count(), merged.shared), (1, 1));
        assert_eq!(merged.values.u[0], scaling.store((0.01 + 0.012) / 2.0));
        assert_eq!(
            pair(0.02).unwrap_err().describe(|sensor| format!("line {}", sensor + 2)),
            "line 2 and line 3: both measure u at pixel (0, 0), but 0.01 and 0.02 are further apart than the field's \
             standard deviation of 0.00417478: remove one, or give the rows of different problems a column \"problem\""
        );
    }

    #[test]
    fn ranges_and_units_are_judged_before_duplicates() {
        let at = |x: f64, value: f64| sensor(Place::Point(x, 0.0), value);
        // In metres: two heads on one pixel contradict each other only because their unit is another.
        let heads = context(Pde::POISSON, &[at(0.0, 101.5), at(0.001, 103.0)]).unwrap_err();
        assert!(matches!(heads, SensorError::Units { sensor: 1, value: 103.0, channel: "u", .. }), "{heads}");
        let outside = context(Pde::POISSON, &[at(0.0, 0.01), at(0.001, 0.02), at(7.5, 0.0)]).unwrap_err();
        assert!(matches!(outside, SensorError::Outside { sensor: 2, .. }), "{outside}");
    }

    #[test]
    fn a_context_holds_values_and_masks_in_turn() {
        let placed = context(Pde::POISSON, &[sensor(Place::Index(2, 3), 0.01)]).unwrap();
        let context = placed.context();
        let at = 2 * 128 + 3;
        assert_eq!(context.len(), 4 * 128 * 128);
        assert_eq!(context.iter().filter(|x| **x != 0.0).count(), 2);
        assert_eq!((context[2 * 16384 + at], context[3 * 16384 + at]), (placed.values.u[at], 1.0));
    }

    #[test]
    fn noisy_readings_count_by_their_noise_and_a_disk_in_full() {
        let constants = Constants::generated(Pde::CYLINDER);
        let disk = Disk { cx: 40.0, cy: 60.0, r: 10.0 };
        let places = [Place::Index(3, 5), Place::Index(7, 9), Place::Index(7, 9)];
        let sensors = places.map(|place| sensor(place, 0.25));
        let exact = UserContext::new(Pde::CYLINDER, &constants, 128, &sensors, Some(&disk.into())).unwrap();
        assert_eq!(exact.clone().with_noise(PerChannel::both(0.0)).context(), exact.context());
        let noisy = exact.clone().with_noise(PerChannel { a: 0.0, u: 0.01 });
        let context = noisy.context();
        let at = |channel: usize, i: usize, j: usize| context[channel * 16384 + i * 128 + j];
        let stored = constants.u.store(0.25);
        assert_eq!((at(2, 3, 5), at(3, 3, 5)), (0.5 * stored, 0.5), "one reading with c = 1/2");
        let two = trust(0.01 / 2.0_f64.sqrt()) as f32;
        assert_eq!((at(2, 7, 9), at(3, 7, 9)), (two * stored, two), "the mean of two");
        assert_eq!((at(1, 40, 60), at(3, 40, 60)), (1.0, 1.0), "the disk is known");
        assert_eq!(context[..2 * 16384], exact.context()[..2 * 16384]);
    }

    #[test]
    fn a_disk_must_lie_on_the_grid() {
        let disk = Disk { cx: 5.0, cy: 60.0, r: 10.0 };
        let constants = Constants::generated(Pde::CYLINDER);
        let error = UserContext::new(Pde::CYLINDER, &constants, 128, &[], Some(&disk.into())).unwrap_err();
        assert!(error.to_string().contains("does not lie inside 128 x 128 pixels"), "{error}");
    }

    #[test]
    fn a_disk_where_there_is_none_is_refused() {
        let disk = Disk { cx: 40.0, cy: 60.0, r: 10.0 };
        let constants = Constants::generated(Pde::POISSON);
        let error = UserContext::new(Pde::POISSON, &constants, 128, &[], Some(&disk.into())).unwrap_err();
        assert_eq!(error.to_string(), "poisson has no disk: leave the geometry out");
    }

    #[test]
    fn sensors_are_kept_where_they_are_whatever_their_order() {
        let rows = [(0.2, 0.4, 0.01), (0.7, 0.1, 0.02), (0.2, 0.3, 0.03)];
        let rows = rows.map(|(x, y, value)| sensor(Place::Point(x, y), value));
        let kept = context(Pde::POISSON, &rows).unwrap().sensors;
        assert_eq!(kept[0].spot.at, [0.2 * 127.0, 0.3 * 127.0]);
        let turned = [rows[1], rows[2], rows[0]];
        let again = context(Pde::POISSON, &turned).unwrap().sensors;
        // Each still knows which row it was.
        assert_eq!(again.iter().map(|placed| placed.number).collect::<Vec<_>>(), [1, 2, 0]);
        let renumbered = again.iter().map(|placed| Placed { number: (placed.number + 1) % 3, ..*placed });
        assert_eq!(renumbered.collect::<Vec<_>>(), kept);
    }

    #[test]
    fn a_known_disk_is_at_rest_unless_measured() {
        let constants = Constants::generated(Pde::CYLINDER);
        let disk = Disk { cx: 40.0, cy: 60.0, r: 10.0 };
        let sensors = [sensor(Place::Index(40, 60), 0.25)];
        let context = UserContext::new(Pde::CYLINDER, &constants, 128, &sensors, Some(&disk.into())).unwrap();
        assert_eq!(context.masks.seen.a, context.masks.seen.u);
        assert_eq!((context.measured.a.count(), context.measured.u.count()), (0, 1));
        let centre = 40 * 128 + 60;
        assert_eq!(context.values.a[centre], constants.a.stored_zero());
        assert_eq!(context.values.u[centre], constants.u.store(0.25));
        assert_eq!(context.values.u[centre + 3], constants.u.stored_zero());
    }
}
