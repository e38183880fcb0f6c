//! Why measurements of one's own cannot be used.

use std::fmt;

use crate::Scaling;

/// Why sensors cannot be used. Sensors are numbered from 0, in the order given.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SensorError {
    /// A value or coordinate that is NaN or infinite.
    NotFinite {
        /// Which sensor.
        sensor: usize,
        /// "value" or "coordinate".
        what: &'static str,
    },
    /// A place outside the grid.
    Outside {
        /// Which sensor.
        sensor: usize,
        /// Where it was said to be.
        place: String,
        /// Where it may be.
        range: String,
    },
    /// Two measurements of one pixel that contradict each other and are far from all values of the field: in other
    /// units.
    Units {
        /// The later sensor.
        sensor: usize,
        /// What it measured.
        value: f64,
        /// "a" or "u".
        channel: &'static str,
        /// Where values of the channel are.
        scaling: Scaling,
    },
    /// Two measurements of one pixel that contradict each other.
    Contradiction {
        /// The earlier sensor and the later one.
        sensors: [usize; 2],
        /// What they measured.
        values: [f64; 2],
        /// "a" or "u".
        channel: &'static str,
        /// Axis 0 and axis 1.
        pixel: [usize; 2],
        /// The standard deviation of the channel.
        sigma: f64,
    },
    /// A measurement of a field that the problem has not.
    NoField {
        /// Which sensor.
        sensor: usize,
        /// "a" or "u".
        channel: &'static str,
        /// The problem.
        pde: &'static str,
    },
    /// A measurement of what is always known, which says otherwise.
    Known {
        /// Which sensor.
        sensor: usize,
        /// What it measured.
        value: f64,
        /// "a" or "u".
        channel: &'static str,
        /// What the field is there in every record.
        known: f64,
        /// How many other sensors do so.
        others: usize,
    },
    /// A disk, or another known region of the record, that cannot be.
    Region(String),
}

impl SensorError {
    /// The error in words, with names for the sensors.
    pub fn describe(&self, name: impl Fn(usize) -> String) -> String {
        match self {
            SensorError::NotFinite { sensor, what } => {
                format!("{}: the {what} is not finite", name(*sensor))
            }
            SensorError::Outside { sensor, place, range } => {
                format!("{}: {place} lies outside {range}", name(*sensor))
            }
            SensorError::Units { sensor, value, channel, scaling: Scaling { mean, sigma } } => format!(
                "{}: {channel} is {value}, and values of this field lie about {mean:.4} with a standard deviation of {sigma:.4}: \
                 its units are others, state what they are multiples of",
                name(*sensor)
            ),
            SensorError::Contradiction { sensors, values, channel, pixel: [i, j], sigma } => format!(
                "{} and {}: both measure {channel} at pixel ({i}, {j}), but {} and {} are further apart than the \
                 field's standard deviation of {sigma}: remove one, or give the rows of different problems a column \
                 \"problem\"",
                name(sensors[0]),
                name(sensors[1]),
                values[0],
                values[1],
            ),
            SensorError::NoField { sensor, channel, pde } => {
                format!("{}: it measures {channel}, and {pde} has the other field only", name(*sensor))
            }
            SensorError::Known { sensor, value, channel, known, others } => {
                let others = match others {
                    0 => String::new(),
                    1 => "; one more sensor lies there".to_owned(),
                    others => format!("; {others} more sensors lie there"),
                };
                format!(
                    "{}: {channel} is {value}, and its nearest pixel lies in the known region, where {channel} is {known} in every record: \
                     move it to a place outside of the region, or leave it out{others}",
                    name(*sensor)
                )
            }
            SensorError::Region(problem) => problem.clone(),
        }
    }
}

impl fmt::Display for SensorError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.describe(|sensor| format!("sensor {sensor}")))
    }
}

impl std::error::Error for SensorError {}
