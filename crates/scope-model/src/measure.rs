//! What is measured of a recovered record, by the names that results files have.

use std::{cmp::Ordering, fmt, str::FromStr};

use scope_data::Channel;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use thiserror::Error;

/// A measure of one recovered record; prints and parses as its name in files, and has the order of these names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Measure {
    /// The relative L2 error of a channel in percent: `a`, `u`.
    Relative(Channel),
    /// The root mean square error of a channel in physical units: `a/rmse`, `u/rmse`.
    Absolute(Channel),
    /// The relative L2 error of a channel in percent, in stored coordinates as the auxiliary operator study has it:
    /// `a/stored`, `u/stored`.
    Stored(Channel),
    /// The relative L2 error of a channel within a region round a cylinder, in percent: `a/fluid` and its like.
    Regional(Channel, Region),
    /// The share of pixels of a channel within the bands of a level (in percent) that a method states, in percent:
    /// `a/within68` and its like.
    Within(Channel, u8),
    /// The relative L2 error that interpolation between the same sensors has, in percent: `a/nearest` and its like.
    Interpolated(Channel, Interpolation),
    /// Darcy's bit error rate of a in percent: `ber`.
    BitErrorRate,
}

/// A trivial answer, which any method must be compared with. Where a field is not measured, it is the mean that values
/// are stored about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Interpolation {
    /// The value of the nearest sensor.
    Nearest,
    /// Cubic radial basis functions through the nearest sensors.
    Cubic,
}

impl Interpolation {
    /// The two interpolations.
    pub const ALL: [Self; 2] = [Interpolation::Nearest, Interpolation::Cubic];

    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Interpolation::Nearest => "nearest",
            Interpolation::Cubic => "cubic",
        }
    }
}

/// A part of the grid round a cylinder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Region {
    /// Every pixel outside the disk.
    Fluid,
    /// The fluid beside the disk.
    Band,
    /// The fluid further away.
    Interior,
}

impl Region {
    /// All regions.
    pub const ALL: [Self; 3] = [Region::Fluid, Region::Band, Region::Interior];

    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Region::Fluid => "fluid",
            Region::Band => "band",
            Region::Interior => "interior",
        }
    }
}

impl Measure {
    /// The relative L2 error of the input field.
    pub const A: Self = Measure::Relative(Channel::A);
    /// The relative L2 error of the response field.
    pub const U: Self = Measure::Relative(Channel::U);

    /// The share of a channel's pixels within the bands of a level, which is a share between zero and one.
    pub fn within(channel: Channel, level: f64) -> Self {
        Measure::Within(channel, (100.0 * level).round() as u8)
    }

    /// Whether it is an error of the method itself: neither a share of pixels within bands, nor the error of
    /// interpolation.
    pub fn is_error(self) -> bool {
        !matches!(self, Measure::Within(..) | Measure::Interpolated(..))
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Measure::Relative(channel) => f.pad(channel.name()),
            Measure::Absolute(channel) => write!(f, "{}/rmse", channel.name()),
            Measure::Stored(channel) => write!(f, "{}/stored", channel.name()),
            Measure::Regional(channel, region) => write!(f, "{}/{}", channel.name(), region.name()),
            Measure::Within(channel, percent) => write!(f, "{}/within{percent}", channel.name()),
            Measure::Interpolated(channel, how) => write!(f, "{}/{}", channel.name(), how.name()),
            Measure::BitErrorRate => f.pad("ber"),
        }
    }
}

/// A text that names no measure.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "\"{0}\" names no measure: expected a, u, ber, or a/ and u/ with rmse, stored, nearest, cubic, fluid, band, \
     interior or within68"
)]
pub struct UnknownMeasure(String);

impl FromStr for Measure {
    type Err = UnknownMeasure;

    fn from_str(name: &str) -> Result<Self, UnknownMeasure> {
        let parsed = parse(name).filter(|measure| measure.to_string() == name);
        parsed.ok_or_else(|| UnknownMeasure(name.to_owned()))
    }
}

fn parse(name: &str) -> Option<Measure> {
    if name == "ber" {
        return Some(Measure::BitErrorRate);
    }
    let (channel, rest) = name.split_once('/').map_or((name, None), |(channel, rest)| (channel, Some(rest)));
    let channel = Channel::BOTH.into_iter().find(|known| known.name() == channel)?;
    let Some(rest) = rest else { return Some(Measure::Relative(channel)) };
    if rest == "rmse" {
        return Some(Measure::Absolute(channel));
    }
    if rest == "stored" {
        return Some(Measure::Stored(channel));
    }
    if let Some(percent) = rest.strip_prefix("within") {
        return percent.parse().ok().map(|percent| Measure::Within(channel, percent));
    }
    if let Some(how) = Interpolation::ALL.into_iter().find(|how| how.name() == rest) {
        return Some(Measure::Interpolated(channel, how));
    }
    let region = Region::ALL.into_iter().find(|region| region.name() == rest)?;
    Some(Measure::Regional(channel, region))
}

impl Ord for Measure {
    fn cmp(&self, other: &Self) -> Ordering {
        self.to_string().cmp(&other.to_string())
    }
}

impl PartialOrd for Measure {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Serialize for Measure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Measure {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back_and_give_the_order() {
        let names = [
            "a",
            "a/band",
            "a/cubic",
            "a/fluid",
            "a/interior",
            "a/nearest",
            "a/rmse",
            "a/stored",
            "a/within68",
            "a/within95",
            "ber",
            "u",
            "u/rmse",
        ];
        let measures = names.map(|name| name.parse::<Measure>().unwrap());
        assert_eq!(measures.map(|measure| measure.to_string()), names);
        assert!(measures.is_sorted_by(|one, next| one < next));
        assert_eq!(measures[8], Measure::within(Channel::A, 0.68));
    }

    #[test]
    fn what_is_no_measure_is_refused() {
        for name in
            ["", "b", "a/", "ber/rmse", "a/disk", "a/within", "a/within068", "a/within+68", "u/rmse/x"]
        {
            let refused = name.parse::<Measure>().unwrap_err().to_string();
            assert!(refused.starts_with(&format!("\"{name}\" names no measure")), "{refused}");
        }
    }
}
