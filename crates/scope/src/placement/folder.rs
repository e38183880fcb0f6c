//! The folder that a placement leaves: `sensors.csv`, `summary.json` and two pictures.

use std::path::Path;

use scope_data::{Channel, PerChannel, StagedFolder, sensors::ProblemColumns};
use scope_eval::figure::{
    AxisLabel, Curve, CurveChart, Drawing, FieldPanel, FieldPicture, FieldRow, Measure, PanelAxes, Scale,
};
use scope_pde::GridShape;
use serde::Serialize;

use super::{PlacedSensor, RandomLayouts, SensorPlacement, wanted_percent};
use crate::recovery::RecoveryError;

/// What is said in `summary.json`.
#[derive(Clone, Debug, Serialize)]
pub struct PlacementSummary {
    /// The problem.
    pub pde: &'static str,
    /// The side S of the grid.
    pub resolution: GridShape,
    /// What the sensors measure.
    pub channel: &'static str,
    /// The fields that are to be known well.
    pub target: Vec<&'static str>,
    /// Sensors that were there before.
    pub given: usize,
    /// Among how many places was chosen.
    pub candidates: usize,
    /// The relative L2 errors of a and u that are expected before any sensor is placed, in percent.
    pub before_percent: PerChannel<Option<f64>>,
    /// The error of the fields that are to be known well, with all sensors: for both, the root of the mean square.
    pub expected_percent: f64,
    /// The sensors in the order in which they were placed.
    pub sensors: Vec<PlacedSensor>,
    /// What random layouts would have given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub random_layouts: Option<RandomLayouts>,
}

impl SensorPlacement {
    /// What is to be said of it.
    pub fn summary(&self) -> PlacementSummary {
        let target = self.options.target;
        let last = self.sensors.last().map_or(self.before_percent, |sensor| sensor.expected_percent);
        PlacementSummary {
            pde: self.pde.name(),
            resolution: self.resolution,
            channel: self.options.channel.name(),
            target: Channel::BOTH.into_iter().filter(|channel| target[*channel]).map(Channel::name).collect(),
            given: self.given,
            candidates: self.candidates,
            before_percent: self.before_percent,
            expected_percent: wanted_percent(last, target),
            sensors: self.sensors.clone(),
            random_layouts: self.random,
        }
    }

    /// Writes a new folder. It appears whole or not at all.
    pub fn write(&self, folder: impl AsRef<Path>) -> Result<PlacementSummary, RecoveryError> {
        let mut staged = StagedFolder::create(folder.as_ref())?;
        let summary = self.summary();
        let unwritten = |source| RecoveryError::Write { file: "summary.json".to_owned(), source };
        let json = serde_json::to_vec_pretty(&summary).map_err(|error| unwritten(error.into()))?;
        staged.write("sensors.csv", self.table().as_bytes())?;
        staged.write("summary.json", &json)?;
        staged.write("placement.png", &self.map().to_png()?)?;
        staged.write("expected-error.png", &self.curve().to_png()?)?;
        staged.finish()?;
        Ok(summary)
    }

    /// A line for each sensor: where it is, and the errors expected with it and all before.
    fn table(&self) -> String {
        let [x, y] = ProblemColumns::of(self.pde).axes;
        let mut table = format!("{x},{y},expected_a_percent,expected_u_percent\n");
        for PlacedSensor { x, y, expected_percent } in &self.sensors {
            let cell =
                |percent: Option<f64>| percent.map_or(String::new(), |percent| format!("{percent:.4}"));
            table.push_str(&format!("{x},{y},{},{}\n", cell(expected_percent.a), cell(expected_percent.u)));
        }
        table
    }

    /// The standard deviations that remain, with the sensors.
    fn map(&self) -> Drawing {
        let row = |channel: Channel| {
            let title = "remaining standard deviation".to_owned();
            let values = &self.deviations[channel][..];
            let panel = FieldPanel { title, values, shown: None, measure: Measure::Deviation };
            let name = format!("{}: {}", channel.name(), self.pde.descriptor().fields[channel].label());
            FieldRow { name, grid: self.resolution, panels: vec![panel] }
        };
        let shown = |channel: &Channel| self.before_percent[*channel].is_some();
        let rows: Vec<FieldRow> = Channel::BOTH.into_iter().filter(shown).map(row).collect();
        let heading =
            format!("{}, {} sensors of {} placed", self.pde, self.sensors.len(), self.options.channel.name());
        let [given, placed] = &self.marks;
        FieldPicture {
            heading: &heading,
            rows: &rows,
            rings: given,
            dots: placed,
            axes: Some(&PanelAxes::of(self.pde)),
            ..FieldPicture::default()
        }
        .draw()
    }

    /// Expected errors against the number of sensors.
    fn curve(&self) -> Drawing {
        let curve = |channel: Channel| {
            let percents = std::iter::once(self.before_percent)
                .chain(self.sensors.iter().map(|sensor| sensor.expected_percent));
            let points = percents.enumerate().filter_map(|(k, percent)| Some((k as f64, percent[channel]?)));
            Curve { name: channel.name().to_owned(), points: points.collect() }
        };
        let curves: Vec<Curve> =
            Channel::BOTH.map(curve).into_iter().filter(|curve| !curve.points.is_empty()).collect();
        let x = AxisLabel::new("sensors placed", Scale::Linear);
        let y = AxisLabel::new("expected relative L2 error in percent", Scale::Linear);
        let title = format!("{}: expected error against sensors placed", self.pde);
        CurveChart { title, x, y, curves, levels: Vec::new() }.draw()
    }
}
