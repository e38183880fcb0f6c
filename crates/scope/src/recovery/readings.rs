//! The readings that fields were recovered from, as the user knows them.

use scope_data::{Channel, observation::Placed};

use super::{recovered::Recovered, summary::MethodSummary};

/// One reading in the coordinates and units that it came in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SensorReading {
    /// Its place along axis 0.
    pub x: f64,
    /// Its place along axis 1.
    pub y: f64,
    /// The field that it measures.
    pub channel: Channel,
    /// The value that was read.
    pub value: f64,
}

impl Recovered {
    /// The readings that were used, in the order given.
    pub fn readings(&self) -> Vec<SensorReading> {
        let MethodSummary { pde, resolution, frame, .. } = &*self.method;
        let reading = |placed: &Placed| {
            let [x, y] = frame.point_of_unit(placed.spot.point(*pde, *resolution));
            let value = frame.value_of_ours(placed.channel, placed.value);
            SensorReading { x, y, channel: placed.channel, value }
        };
        self.problem.context.sensors.iter().map(reading).collect()
    }
}
