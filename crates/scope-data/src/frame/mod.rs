//! The coordinates and units that someone's own sensors come in, and the way between them and ours.
//!
//! A method knows the unit square and values of one size. A [`Frame`] says which square of a user's coordinates that
//! is, and what values are divided by on the way in and multiplied with on the way out.

mod domain;
mod error;
mod noise;
mod scale;

pub use scope_pde::descriptor::Scale;
use scope_pde::{GridShape, Pde, cylinder::Disk};
use serde::Serialize;

pub use domain::Domain;
pub use error::FrameError;
pub use noise::StatedNoise;
pub use scale::StatedScale;

use crate::{
    Channel, Constants, PerChannel, Scaling,
    observation::{Place, SensorError, Spot, locate},
    record_region::RecordRegion,
    sensors::SensorSet,
};

/// An amplitude that is known to so many percent is mostly within a factor of 1.5 of the true one, as errors that are
/// stated have to be.
const SURE_AMPLITUDE_PERCENT: f64 = 20.0;

/// A frame as it is stated, before it is known which problem it is for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StatedFrame {
    /// Where the square lies.
    pub domain: Option<Domain>,
    /// What values are multiples of.
    pub scale: Option<StatedScale>,
    /// What u is on the edge of the square.
    pub edge_value: Option<f64>,
    /// Its relative standard deviation, where the amplitude was estimated from the readings.
    pub estimated: Option<f64>,
}

/// Coordinates and units of someone's own. The default one is ours.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Frame {
    domain: Option<Domain>,
    /// The scale of values; none where they are in the problem's own units.
    scale: Option<Scale>,
    edge_value: f64,
    /// The relative standard deviation of an amplitude that was estimated from the readings.
    estimated: Option<f64>,
}

/// What is said of a frame.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FrameSummary {
    /// x0, x1, y0, y1 of the square.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain: Option<[f64; 4]>,
    /// The unit of length.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<f64>,
    /// What values of a and u are multiples of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale: Option<PerChannel<f64>>,
    /// Whether the scale of u was estimated from the readings: they were then not tested against it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub amplitude_estimated: bool,
    /// The relative standard deviation of that estimate, in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amplitude_known_to_percent: Option<f64>,
    /// The value of u on the edge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edge_value: Option<f64>,
    /// The equation that the fields obey in these units.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub equation: Option<String>,
}

impl StatedFrame {
    /// Whether the amplitude is to be estimated from the readings.
    pub fn leaves_amplitude_open(&self) -> bool {
        self.scale.is_some_and(|scale| scale.estimate_u)
    }

    /// The same frame with an amplitude U that was estimated, and the relative standard deviation of the estimate.
    #[must_use]
    pub fn with_amplitude(&self, u: f64, deviation: f64) -> Self {
        let scale = StatedScale { u: Some(u), estimate_u: false, ..self.scale.unwrap_or_default() };
        Self { scale: Some(scale), estimated: Some(deviation), ..*self }
    }

    /// The frame of a problem; refuses what its equation does not allow for.
    pub fn of_problem(&self, pde: Pde) -> Result<Frame, FrameError> {
        let Self { domain, scale, edge_value, estimated } = self;
        let domain = match Domain::of_problem(pde) {
            Some(_) if domain.is_some() => return Err(FrameError::StatedAlready(pde)),
            Some(own) => Some(own),
            None => {
                domain.as_ref().map_or(Ok(()), Domain::require_square)?;
                *domain
            }
        };
        let side = domain.as_ref().map_or(1.0, |domain| domain.sides()[0]);
        let scale = scale.as_ref().map(|stated| stated.resolve(pde, side)).transpose()?;
        let edge_value = edge_value.unwrap_or(0.0);
        if !edge_value.is_finite() {
            return Err(FrameError::EdgeNotFinite);
        }
        let is_free = pde.descriptor().scaling.is_some_and(|law| law.free_edge_value);
        if edge_value != 0.0 && !is_free {
            return Err(match pde.descriptor().spec {
                Some(_) => FrameError::EdgeOfFile(pde),
                None => FrameError::Edge(pde),
            });
        }
        Ok(Frame { domain, scale, edge_value, estimated: *estimated })
    }
}

impl Frame {
    /// The coordinates and units that a problem has by itself: ours, or those of its problem file.
    pub fn of_problem(pde: Pde) -> Self {
        Self { domain: Domain::of_problem(pde), ..Self::default() }
    }

    /// Whether the amplitude was estimated from the readings.
    pub fn amplitude_is_estimated(&self) -> bool {
        self.estimated.is_some()
    }

    /// The relative standard deviation of an amplitude that was estimated; zero of one that was stated.
    pub fn amplitude_deviation(&self) -> f64 {
        self.estimated.unwrap_or(0.0)
    }

    /// The relative standard deviation, in percent, of an amplitude that is not known well enough for errors to be
    /// stated.
    pub fn unsure_amplitude_percent(&self) -> Option<f64> {
        self.estimated.map(|deviation| 100.0 * deviation).filter(|percent| *percent > SURE_AMPLITUDE_PERCENT)
    }

    /// Whether values are ours.
    pub fn has_own_values(&self) -> bool {
        self.scale.is_none() && self.edge_value == 0.0
    }

    /// The square, if it is not the unit square.
    pub fn domain(&self) -> Option<&Domain> {
        self.domain.as_ref()
    }

    /// What values of a channel are multiples of.
    pub fn scale(&self, channel: Channel) -> f64 {
        self.scale.map_or(1.0, |scale| scale.values[channel])
    }

    /// What is added to them.
    fn offset(&self, channel: Channel) -> f64 {
        match channel {
            Channel::A => 0.0,
            Channel::U => self.edge_value,
        }
    }

    /// A value of the user's in our units.
    pub fn value_to_ours(&self, channel: Channel, value: f64) -> f64 {
        (value - self.offset(channel)) / self.scale(channel)
    }

    /// A value of ours in the user's units.
    pub fn value_of_ours(&self, channel: Channel, value: f64) -> f64 {
        value * self.scale(channel) + self.offset(channel)
    }

    /// A width or a standard deviation of ours in the user's units.
    pub fn width_of_ours(&self, channel: Channel, width: f64) -> f64 {
        width * self.scale(channel).abs()
    }

    /// Standard deviations of the user's in our units.
    pub fn widths_to_ours(&self, widths: PerChannel<f64>) -> PerChannel<f64> {
        PerChannel::from_fn(|channel| widths[channel] / self.scale(channel).abs())
    }

    /// A range of ours in the user's units.
    pub fn range_of_ours(&self, channel: Channel, range: [f64; 2]) -> [f64; 2] {
        let [low, high] = range.map(|value| self.value_of_ours(channel, value));
        [low.min(high), low.max(high)]
    }

    /// How fields in the user's units are scaled.
    pub fn constants(&self, ours: &Constants) -> Constants {
        PerChannel::from_fn(|channel| Scaling {
            mean: self.value_of_ours(channel, ours[channel].mean),
            sigma: self.width_of_ours(channel, ours[channel].sigma),
        })
    }

    /// A point of the unit square in the user's coordinates.
    pub fn point_of_unit(&self, point: [f64; 2]) -> [f64; 2] {
        self.domain.map_or(point, |domain| domain.of_unit(point))
    }

    /// A place of the user's as one of ours. Pixels are what they are. `number` is whose place it is, for the error.
    pub(crate) fn place_to_ours(&self, number: usize, place: Place) -> Result<Place, SensorError> {
        match (self.domain, place) {
            (Some(domain), Place::Point(x, y)) if x.is_finite() && y.is_finite() => {
                if !domain.contains([x, y]) {
                    let place = format!("({x}, {y})");
                    return Err(SensorError::Outside {
                        sensor: number,
                        place,
                        range: format!("the domain, {domain}"),
                    });
                }
                let [x, y] = domain.to_unit([x, y]);
                Ok(Place::Point(x, y))
            }
            (_, place) => Ok(place),
        }
    }

    /// Where a place of the user's is on a problem's grid. `number` is whose place it is, for the error.
    pub fn spot(
        &self,
        pde: Pde,
        shape: impl Into<GridShape>,
        number: usize,
        place: Place,
    ) -> Result<Spot, SensorError> {
        locate(pde, shape.into(), number, self.place_to_ours(number, place)?)
    }

    /// A disk in pixels of a grid of cells: as it is without a domain, otherwise from the user's coordinates.
    pub(crate) fn disk_to_ours(&self, shape: impl Into<GridShape>, disk: Disk) -> Disk {
        let Some(domain) = self.domain else { return disk };
        let cells = shape.into().lengths().map(|length| length as f64);
        // Cell k of S has its centre at (k + 1/2) / S.
        let [x, y] = domain.to_unit([disk.cx, disk.cy]);
        Disk { cx: x * cells[0] - 0.5, cy: y * cells[1] - 0.5, r: disk.r / domain.sides()[0] * cells[0] }
    }

    /// Sensors of the user's as a method on a grid reads them.
    pub fn sensors_to_ours(&self, shape: GridShape, set: &SensorSet) -> Result<SensorSet, SensorError> {
        let mut ours = set.clone();
        for (number, sensor) in ours.sensors.iter_mut().enumerate() {
            sensor.place = self.place_to_ours(number, sensor.place)?;
            sensor.value = self.value_to_ours(sensor.channel, sensor.value);
        }
        if let Some(RecordRegion::Disk(disk)) = &mut ours.region {
            *disk = self.disk_to_ours(shape, *disk);
        }
        Ok(ours)
    }

    /// What is said of it; nothing of our own frame.
    pub fn summary(&self, pde: Pde) -> Option<FrameSummary> {
        if self.has_own_values() && self.domain.is_none() {
            return None;
        }
        Some(FrameSummary {
            domain: self.domain.map(|domain| domain.bounds()),
            length: self.scale.map(|scale| scale.length),
            scale: self.scale.map(|scale| scale.values),
            amplitude_estimated: self.estimated.is_some(),
            amplitude_known_to_percent: self.estimated.map(|deviation| 100.0 * deviation),
            edge_value: (self.edge_value != 0.0).then_some(self.edge_value),
            equation: self
                .scale
                .zip(pde.descriptor().scaling)
                .map(|(scale, law)| (law.equation)(&scale, self.edge_value)),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::observation::Sensor;

    fn frame(pde: Pde, domain: &str, scale: &str, edge_value: Option<f64>) -> Result<Frame, FrameError> {
        let domain = if domain.is_empty() { None } else { Some(domain.parse()?) };
        let scale = if scale.is_empty() { None } else { Some(scale.parse()?) };
        StatedFrame { domain, scale, edge_value, estimated: None }.of_problem(pde)
    }

    #[test]
    fn a_domain_maps_coordinates_only() {
        let frame = frame(Pde::POISSON, "100,600,-50,450", "", None).unwrap();
        let sensor = Sensor { channel: Channel::U, place: Place::Point(225.0, 450.0), value: 0.003 };
        let ours = frame.sensors_to_ours(128.into(), &SensorSet::new("1", vec![sensor])).unwrap();
        assert_eq!(ours.sensors[0], Sensor { place: Place::Point(0.25, 1.0), ..sensor });
        assert_eq!(frame.point_of_unit([0.25, 1.0]), [225.0, 450.0]);
        assert!(frame.has_own_values());
        let outside = frame.place_to_ours(3, Place::Point(601.0, 0.0)).unwrap_err().to_string();
        assert_eq!(
            outside,
            "sensor 3: (601, 0) lies outside the domain, x from 100 to 600 and y from -50 to 450"
        );
    }

    #[test]
    fn rectangles_are_refused_with_the_reason() {
        let refused = frame(Pde::DARCY, "0,2,0,3", "", None).unwrap_err().to_string();
        assert!(refused.contains("2 by 3") && refused.contains("posed on a square"), "{refused}");
    }

    #[test]
    fn amplitudes_of_linear_problems_are_tied_by_the_equation() {
        for pde in [Pde::POISSON, Pde::HELMHOLTZ] {
            let of_u = frame(pde, "0,500,0,500", "u=10", None).unwrap();
            let of_a = frame(pde, "", "length=500,a=4e-5", None).unwrap();
            for frame in [of_u, of_a] {
                assert!((frame.scale(Channel::U) - 10.0).abs() < 1e-12);
                assert!((frame.scale(Channel::A) - 4e-5).abs() < 1e-18);
            }
            let refused = frame(pde, "", "length=500,a=1,u=10", None).unwrap_err();
            assert!(matches!(refused, FrameError::Tied { .. }));
            // Recharge W of an aquifer with transmissivity 100: -100 Lap h = W.
            let recharge = frame(pde, "", "length=500,u=10,coefficient=-100", None).unwrap();
            assert!((recharge.scale(Channel::A) + 4e-3).abs() < 1e-15);
        }
        assert!(matches!(frame(Pde::DARCY, "", "u=1", None), Err(FrameError::BothNeeded(_))));
        assert!(matches!(frame(Pde::NAVIER_STOKES, "", "a=1,u=2", None), Err(FrameError::OneUnit { .. })));
        assert!(matches!(frame(Pde::CYLINDER, "", "a=-1", None), Err(FrameError::Negative(_))));
        assert!(matches!(
            frame(Pde::DARCY, "", "a=1,u=1,coefficient=2", None),
            Err(FrameError::Coefficient(_))
        ));
        assert!(matches!(frame(Pde::HELMHOLTZ, "", "", Some(1.0)), Err(FrameError::Edge(_))));
    }

    #[test]
    fn the_equation_in_the_user_s_units_is_stated() {
        let equation = |pde, scale: &str, edge| {
            frame(pde, "", scale, edge).unwrap().summary(pde).unwrap().equation.unwrap()
        };
        assert_eq!(
            equation(Pde::POISSON, "length=500,u=10", Some(102.5)),
            "Lap u = a, u = 102.5 on the edge"
        );
        assert_eq!(
            equation(Pde::HELMHOLTZ, "length=4", None),
            "Lap u + k^2 u = a with k = 0.25, u = 0 on the edge"
        );
        assert_eq!(
            equation(Pde::DARCY, "length=100,a=0.5,u=2000", None),
            "-div(a grad u) = 0.1, a is 1.5 or 6, u = 0 on the edge"
        );
        let flow = equation(Pde::NAVIER_STOKES, "length=2,u=0.5", None);
        assert!(
            flow.contains("= 0.002 Lap w + 0.025 (sin s + cos s)") && flow.ends_with("u = w(2)"),
            "{flow}"
        );
        assert!(
            equation(Pde::CYLINDER, "length=0.1,u=2", None).contains("viscosity 0.0002, inflow from 1 to 6")
        );
    }

    #[test]
    fn a_disk_in_the_domain_s_coordinates_is_one_in_pixels() {
        let frame = frame(Pde::CYLINDER, "0,64,0,64", "", None).unwrap();
        let disk = frame.disk_to_ours(128, Disk { cx: 20.25, cy: 32.25, r: 5.0 });
        assert_eq!(disk, Disk { cx: 40.0, cy: 64.0, r: 10.0 });
        assert_eq!(Frame::default().disk_to_ours(128, disk), disk);
    }

    proptest! {
        /// What is written as a domain is read as that domain, and its corners are those of the unit square.
        #[test]
        fn domains_are_read_as_they_are_written(x in -1e6..1e6_f64, y in -1e6..1e6_f64, side in 1e-3..1e6_f64) {
            let text = format!("{x}, {}, {y}, {}", x + side, y + side);
            let domain: Domain = text.parse().unwrap();
            prop_assert_eq!(domain.bounds(), [x, x + side, y, y + side]);
            prop_assert_eq!(domain.to_unit([x, y]), [0.0, 0.0]);
            prop_assert_eq!(domain.to_unit([x + side, y + side]), [1.0, 1.0]);
        }

        /// Whatever is read, values come back.
        #[test]
        fn values_come_back(length in 1e-3..1e4_f64, u in 1e-3..1e4_f64, edge in -1e3..1e3_f64, value in -1e3..1e3_f64) {
            let frame = frame(Pde::POISSON, "", &format!("length={length},u={u}"), Some(edge)).unwrap();
            for channel in Channel::BOTH {
                let back = frame.value_of_ours(channel, frame.value_to_ours(channel, value));
                prop_assert!((back - value).abs() <= 1e-9 * (value.abs() + edge.abs()));
            }
        }

        /// No text makes a parser panic; what it takes is sound.
        #[test]
        fn no_text_panics(text in "([0-9.,=e-]|length|a|u|coefficient|nan|inf| ){0,40}") {
            if let Ok(domain) = text.parse::<Domain>() {
                prop_assert!(domain.sides().iter().all(|side| *side > 0.0 && side.is_finite()));
            }
            if let Ok(stated) = text.parse::<StatedScale>() {
                for pde in Pde::ALL {
                    if let Ok(frame) = (StatedFrame { scale: Some(stated), ..StatedFrame::default() }).of_problem(pde) {
                        prop_assert!(Channel::BOTH.iter().all(|c| frame.scale(*c).is_finite() && frame.scale(*c) != 0.0));
                    }
                }
            }
        }
    }
}
