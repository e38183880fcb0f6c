//! The measurements of one problem.

use super::rounding::rounding;
use crate::{
    Channel,
    observation::{Place, Sensor, SensorError},
    record_region::RecordRegion,
};

/// The measurements of one problem, and where in the file they are.
#[derive(Clone, Debug, PartialEq)]
pub struct SensorSet {
    /// What the file calls the problem; its number, from 1, where it has no name.
    pub name: String,
    /// The measurements in physical units.
    pub sensors: Vec<Sensor>,
    /// Where the fields are known without sensors, where the file says so: the cylinder's disk.
    pub region: Option<RecordRegion>,
    /// How messages call a sensor.
    pub(super) labels: Labels,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Labels {
    /// A sensor is called by its line.
    Lines(Vec<u32>),
    /// A sensor is called by its number, from 1.
    Numbers,
    /// A sensor is called by the number, from 0, that it had before others were left out.
    Kept(Vec<usize>),
    /// A sensor is called by its channel and its place: in arrays nobody counts sensors.
    Places,
}

impl SensorSet {
    /// Measurements that come from no file; messages call them by number.
    pub fn new(name: impl Into<String>, sensors: Vec<Sensor>) -> Self {
        Self { name: name.into(), sensors, region: None, labels: Labels::Numbers }
    }

    /// How messages call a sensor.
    pub fn label(&self, sensor: usize) -> String {
        match (&self.labels, &self.sensors[sensor]) {
            (Labels::Lines(lines), _) => format!("line {}", lines[sensor]),
            (Labels::Places, Sensor { channel, place: Place::Index(i, j), .. }) => {
                format!("{} at ({i}, {j})", channel.name())
            }
            (Labels::Kept(numbers), _) => format!("sensor {}", numbers[sensor] + 1),
            _ => format!("sensor {}", sensor + 1),
        }
    }

    /// The same problem without some of its measurements, which are told by their numbers from 0. The others keep their
    /// labels.
    pub fn without(&self, left_out: &[usize]) -> Self {
        let kept: Vec<usize> = (0..self.sensors.len()).filter(|k| !left_out.contains(k)).collect();
        let labels = match &self.labels {
            Labels::Lines(lines) => Labels::Lines(kept.iter().map(|k| lines[*k]).collect()),
            Labels::Numbers => Labels::Kept(kept.clone()),
            Labels::Kept(numbers) => Labels::Kept(kept.iter().map(|k| numbers[*k]).collect()),
            Labels::Places => Labels::Places,
        };
        let sensors = kept.iter().map(|k| self.sensors[*k]).collect();
        Self { name: self.name.clone(), sensors, region: self.region.clone(), labels }
    }

    /// The standard deviation of what each reading is off by for being written with few digits; zero where there are too
    /// few of a field to tell.
    pub fn rounding(&self) -> Vec<f64> {
        let mut all = vec![0.0; self.sensors.len()];
        for channel in Channel::BOTH {
            let numbers: Vec<usize> =
                (0..all.len()).filter(|number| self.sensors[*number].channel == channel).collect();
            let values: Vec<f64> = numbers.iter().map(|number| self.sensors[*number].value).collect();
            numbers.into_iter().zip(rounding(&values)).for_each(|(number, rounding)| all[number] = rounding);
        }
        all
    }

    /// An error of placing these sensors, in the words of their file.
    pub fn explain(&self, error: &SensorError) -> String {
        error.describe(|sensor| self.label(sensor))
    }
}
