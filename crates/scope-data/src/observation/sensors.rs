//! A context from measurements of one's own.

use scope_pde::{Pde, cylinder::Disk};
use thiserror::Error;

use super::context::ContextMasks;
use crate::{constants::Constants, pair::Channel};

/// Where a sensor is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Place {
    /// Row and column of the grid.
    Index(usize, usize),
    /// A point of the unit square: x along axis 0, y along axis 1. It stands for the pixel that holds it.
    Point(f64, f64),
}

/// One measurement in physical units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sensor {
    /// What is measured.
    pub channel: Channel,
    /// Where.
    pub place: Place,
    /// The value.
    pub value: f64,
}

/// Why sensors cannot be used. Sensors are numbered from 0, in the order given.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum SensorError {
    /// A value or coordinate that is NaN or infinite.
    #[error("sensor {sensor} has a {what} that is not finite")]
    NotFinite {
        /// Which sensor.
        sensor: usize,
        /// "value" or "coordinate".
        what: &'static str,
    },
    /// A place outside the grid.
    #[error("sensor {sensor} lies at {place}, outside {range}")]
    Outside {
        /// Which sensor.
        sensor: usize,
        /// Where it was said to be.
        place: String,
        /// Where it may be.
        range: String,
    },
    /// Two measurements of one pixel.
    #[error("sensors {first} and {second} both measure {channel} at pixel ({i}, {j}): keep one of them")]
    Duplicate {
        /// The earlier sensor.
        first: usize,
        /// The later one.
        second: usize,
        /// "a" or "u".
        channel: &'static str,
        /// Axis 0.
        i: usize,
        /// Axis 1.
        j: usize,
    },
}

/// A context made of sensors: which points are seen, and their values in stored coordinates.
#[derive(Clone, Debug, PartialEq)]
pub struct UserContext {
    /// The observed points.
    pub masks: ContextMasks,
    /// \[S, S\] for a and for u, zero where nothing is seen.
    pub values: [Vec<f32>; 2],
}

impl UserContext {
    /// Places sensors on an S x S grid. A known disk is at rest on both channels, except where sensors say
    /// otherwise.
    pub fn new(
        pde: Pde,
        constants: &Constants,
        size: usize,
        sensors: &[Sensor],
        disk: Option<&Disk>,
    ) -> Result<Self, SensorError> {
        let scalings = Channel::BOTH.map(|channel| constants.of(channel));
        let mut masks = ContextMasks::empty(size);
        let mut values = [vec![0.0; size * size], vec![0.0; size * size]];
        // Which sensor measures a pixel, for the report on duplicates.
        let mut holders = [vec![usize::MAX; size * size], vec![usize::MAX; size * size]];
        for (number, sensor) in sensors.iter().enumerate() {
            if !sensor.value.is_finite() {
                return Err(SensorError::NotFinite { sensor: number, what: "value" });
            }
            let (i, j) = locate(pde, size, number, sensor.place)?;
            let (channel, point) = (sensor.channel as usize, i * size + j);
            let mask = if channel == 0 { &mut masks.a } else { &mut masks.u };
            if !mask.insert(point) {
                let (first, channel) = (holders[channel][point], sensor.channel.name());
                return Err(SensorError::Duplicate { first, second: number, channel, i, j });
            }
            holders[channel][point] = number;
            values[channel][point] = scalings[channel].store(sensor.value);
        }
        if let Some(disk) = disk {
            for (channel, mask) in [&mut masks.a, &mut masks.u].into_iter().enumerate() {
                for point in disk.points(size) {
                    if mask.insert(point) {
                        values[channel][point] = scalings[channel].stored_zero();
                    }
                }
            }
        }
        Ok(Self { masks, values })
    }
}

/// The pixel of a place.
fn locate(pde: Pde, size: usize, sensor: usize, place: Place) -> Result<(usize, usize), SensorError> {
    match place {
        Place::Index(i, j) if i < size && j < size => Ok((i, j)),
        Place::Index(i, j) => Err(SensorError::Outside {
            sensor,
            place: format!("index ({i}, {j})"),
            range: format!("0 to {} on both axes", size - 1),
        }),
        Place::Point(x, y) if !x.is_finite() || !y.is_finite() => {
            Err(SensorError::NotFinite { sensor, what: "coordinate" })
        }
        Place::Point(x, y) if (0.0..=1.0).contains(&x) && (0.0..=1.0).contains(&y) => {
            Ok((snap(pde, size, x), snap(pde, size, y)))
        }
        Place::Point(x, y) => Err(SensorError::Outside {
            sensor,
            place: format!("({x}, {y})"),
            range: "the unit square".into(),
        }),
    }
}

/// The pixel that a coordinate of the unit interval falls on, as each problem's grid has it.
fn snap(pde: Pde, size: usize, x: f64) -> usize {
    let s = size as f64;
    match pde {
        // Nodes k / (S - 1).
        Pde::Poisson | Pde::Helmholtz => (x * (s - 1.0)).round() as usize,
        // Cells [k / S, (k + 1) / S).
        Pde::Darcy | Pde::Cylinder => ((x * s) as usize).min(size - 1),
        // Periodic points k / S.
        Pde::NavierStokes => (x * s).round() as usize % size,
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

    /// The single pixel that a point falls on.
    fn pixel(pde: Pde, x: f64, y: f64) -> (usize, usize) {
        let seen = context(pde, &[sensor(Place::Point(x, y), 1.0)]).unwrap().masks.u;
        let point = seen.points().next().unwrap();
        (point / 128, point % 128)
    }

    #[test]
    fn coordinates_fall_on_each_problem_s_own_pixels() {
        for pde in [Pde::Poisson, Pde::Helmholtz] {
            assert_eq!(pixel(pde, 0.0, 1.0), (0, 127));
            assert_eq!(pixel(pde, 1.4 / 127.0, 1.6 / 127.0), (1, 2));
        }
        for pde in [Pde::Darcy, Pde::Cylinder] {
            assert_eq!(pixel(pde, 0.0, 1.0), (0, 127));
            assert_eq!(pixel(pde, 1.99 / 128.0, 2.0 / 128.0), (1, 2));
        }
        assert_eq!(pixel(Pde::NavierStokes, 0.0, 1.0), (0, 0));
        assert_eq!(pixel(Pde::NavierStokes, 127.6 / 128.0, 1.4 / 128.0), (0, 1));
    }

    #[test]
    fn values_are_stored_where_they_were_measured() {
        let constants = Constants::released(Pde::Darcy);
        let sensors = [
            Sensor { channel: Channel::A, place: Place::Index(3, 5), value: 12.0 },
            sensor(Place::Index(3, 5), 0.01),
        ];
        let context = context(Pde::Darcy, &sensors).unwrap();
        assert_eq!((context.masks.a.count(), context.masks.u.count()), (1, 1));
        assert_eq!(context.values[0][3 * 128 + 5], 0.5);
        assert_eq!(context.values[1][3 * 128 + 5], constants.u.store(0.01));
    }

    #[test]
    fn bad_sensors_are_refused_by_number() {
        let good = sensor(Place::Index(0, 0), 1.0);
        let refusal = |bad| context(Pde::Poisson, &[good, bad]).unwrap_err();
        let nan = f64::NAN;
        assert_eq!(
            refusal(sensor(Place::Index(1, 1), nan)),
            SensorError::NotFinite { sensor: 1, what: "value" }
        );
        assert_eq!(
            refusal(sensor(Place::Point(nan, 0.5), 1.0)),
            SensorError::NotFinite { sensor: 1, what: "coordinate" }
        );
        assert!(refusal(sensor(Place::Index(0, 128), 1.0)).to_string().contains("outside 0 to 127"));
        assert!(
            refusal(sensor(Place::Point(1.2, 0.5), 1.0)).to_string().contains("(1.2, 0.5), outside the unit")
        );
        assert_eq!(
            refusal(sensor(Place::Point(0.001, 0.001), 2.0)).to_string(),
            "sensors 0 and 1 both measure u at pixel (0, 0): keep one of them"
        );
    }

    #[test]
    fn a_known_disk_is_at_rest_unless_measured() {
        let constants = Constants::generated(Pde::Cylinder);
        let disk = Disk { cx: 40.0, cy: 60.0, r: 10.0 };
        let sensors = [sensor(Place::Index(40, 60), 0.25)];
        let context = UserContext::new(Pde::Cylinder, &constants, 128, &sensors, Some(&disk)).unwrap();
        assert_eq!(context.masks.a, context.masks.u);
        let centre = 40 * 128 + 60;
        assert_eq!(context.values[0][centre], constants.a.stored_zero());
        assert_eq!(context.values[1][centre], constants.u.store(0.25));
        assert_eq!(context.values[1][centre + 3], constants.u.stored_zero());
    }
}
