//! What is said of a recovery in `summary.json`. Its keys are a file format: they do not change.

use scope_data::{
    Channel, Constants, PerChannel, as_array,
    frame::{Frame, FrameSummary},
    observation::Spot,
};
use scope_eval::{
    figure::PanelAxes,
    trust::{Residual, Residuals, Trust},
};
use scope_pde::{GridShape, Pde};
use serde::Serialize;

use super::{
    bands::BandSummary,
    recovered::{Recovered, Uncertainty},
    remark::Remark,
    two_valued::{TwoValued, TwoValuedSummary},
    without_bands::WithoutBands,
};

/// A whole recovery of one or more problems. It holds nothing that differs between two equal ones.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// The problem.
    pub pde: &'static str,
    /// What the channels are.
    #[serde(serialize_with = "as_array::serialize")]
    pub channels: PerChannel<&'static str>,
    /// The units of all values.
    pub units: &'static str,
    /// The units of a and u, where a problem file states them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field_units: Option<PerChannel<&'static str>>,
    /// The coordinates and units that were stated, with the equation that the fields obey in them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame: Option<FrameSummary>,
    /// The side S of the grid.
    pub resolution: GridShape,
    /// What recovered the fields.
    pub method: MethodSummary,
    /// Where the sensors come from.
    pub sensors: String,
    /// What was read otherwise than one may expect.
    pub notes: Vec<String>,
    /// Each problem.
    pub problems: Vec<ProblemSummary>,
}

/// What recovers fields.
#[derive(Clone, Debug, Serialize)]
pub struct MethodSummary {
    /// The problem it is for.
    #[serde(skip)]
    pub pde: Pde,
    /// How its values are scaled, in our units.
    #[serde(skip)]
    pub constants: Constants,
    /// The side S of its grid.
    #[serde(skip)]
    pub resolution: GridShape,
    /// The coordinates and units that it reads sensors in and gives fields in.
    #[serde(skip)]
    pub frame: Frame,
    /// Whether it is a posterior, which states standard deviations itself.
    #[serde(skip)]
    pub is_posterior: bool,
    /// Whether its errors can be measured on fresh records of the problem's own solver.
    #[serde(skip)]
    pub makes_fresh_records: bool,
    /// Its name.
    pub name: String,
    /// Where it is, or what it is.
    pub file: String,
    /// BLAKE3 of its file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blake3: Option<String>,
    /// Records that held-out errors are means over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_out_records: Option<usize>,
    /// Where these come from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_out_origin: Option<String>,
}

impl MethodSummary {
    /// Whether it is a network, and no posterior.
    pub(super) fn is_network(&self) -> bool {
        !self.is_posterior
    }

    /// Where the points of its grid are along x and along y, in the coordinates of its sensors.
    pub fn coordinates(&self) -> [Vec<f64>; 2] {
        let GridShape { rows, columns } = self.resolution;
        let point = |i: usize, j: usize| {
            let spot = Spot::pixel(i, j).point(self.pde, self.resolution);
            self.frame.point_of_unit(spot)
        };
        [(0..rows).map(|i| point(i, 0)[0]).collect(), (0..columns).map(|j| point(0, j)[1]).collect()]
    }

    /// The axes of its pictures: those of the problem, where its sensors are.
    pub fn axes(&self) -> PanelAxes {
        let mut axes = PanelAxes::of(self.pde);
        if let Some(domain) = self.frame.domain() {
            let [x0, x1, y0, y1] = domain.bounds();
            axes.bounds = [[x0, x1], [y0, y1]];
        }
        axes
    }
}

/// What is said of one problem.
#[derive(Clone, Debug, Serialize)]
pub struct ProblemSummary {
    /// What it is called.
    pub name: String,
    /// The least and the largest value recovered, of a and of u.
    pub range: [[f32; 2]; 2],
    /// Sensors that share their pixel with an earlier one.
    pub shared_pixels: usize,
    /// The relative L2 error of a and u that the method itself expects, in percent, of fields that there are; none
    /// where the readings contradict it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_percent: Option<[Option<f64>; 2]>,
    /// Measured bands about the fields.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bands: Option<BandSummary>,
    /// Why there are no bands, if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub without_bands: Option<WithoutBands>,
    /// Readings that do not fit the others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub suspects: Vec<Residual>,
    /// Whether they were left out.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub suspects_left_out: bool,
    /// Which of its two values a has, where it has two and their probabilities are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub two_valued: Option<TwoValuedSummary>,
    /// What the method itself has to say.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<Remark>,
    /// Whether there are standard deviations of every pixel.
    #[serde(skip)]
    pub deviations: bool,
    /// Whether there is a table of residuals.
    #[serde(skip)]
    pub residuals: bool,
    /// How many draws of both fields there are.
    #[serde(skip)]
    pub samples: usize,
    /// How far to trust it.
    #[serde(flatten)]
    pub trust: Trust,
}

impl Summary {
    /// The summary of problems that a method recovered; `sensors` says where these come from.
    pub fn new(
        method: &MethodSummary,
        sensors: &str,
        notes: &[String],
        problems: Vec<ProblemSummary>,
    ) -> Self {
        Self {
            pde: method.pde.name(),
            channels: method.pde.channels(),
            units: "those of the sensors: values are in physical units throughout",
            field_units: method
                .pde
                .descriptor()
                .spec
                .map(|_| method.pde.descriptor().fields.map(|field| field.unit)),
            frame: method.frame.summary(method.pde),
            resolution: method.resolution,
            method: method.clone(),
            sensors: sensors.to_owned(),
            notes: notes.to_vec(),
            problems,
        }
    }
}

impl ProblemSummary {
    /// Sensors of a and of u.
    pub fn sensors(&self) -> [usize; 2] {
        [self.trust.coverage.a, self.trust.coverage.u].map(|coverage| coverage.map_or(0, |c| c.sensors))
    }
}

impl From<&Recovered> for ProblemSummary {
    fn from(recovered: &Recovered) -> Self {
        let Recovered { problem, fields, uncertainty, residuals, samples, trust, remarks, .. } = recovered;
        let stated = uncertainty.deviation().filter(|_| !trust.denies_expectation());
        let present = recovered.method.pde.present();
        let expected_percent = stated.map(|deviation| {
            let frame = &recovered.method.frame;
            let of = |channel| expected_error(frame, channel, &fields[channel], &deviation[channel]);
            Channel::BOTH.map(|channel| present[channel].then(|| of(channel)))
        });
        let bands = uncertainty.bands().map(|bands| {
            let mut summary = bands.summary.clone();
            let widths = summary.mean_half_width.iter_mut().zip(present);
            widths.filter(|(_, present)| !present).for_each(|(width, _)| *width = None);
            summary
        });
        let without_bands = match uncertainty {
            Uncertainty::Unknown(reason) => Some(reason.clone()),
            _ => None,
        };
        Self {
            name: problem.name.clone(),
            range: [range(&fields.a), range(&fields.u)],
            shared_pixels: problem.context.shared,
            expected_percent,
            bands,
            without_bands,
            suspects: residuals.iter().flat_map(Residuals::suspects).cloned().collect(),
            suspects_left_out: residuals.as_ref().is_some_and(|residuals| residuals.left_out),
            deviations: uncertainty.deviation().is_some(),
            residuals: residuals.is_some(),
            two_valued: recovered
                .two_valued
                .as_ref()
                .filter(|_| uncertainty.bands().is_some())
                .map(TwoValued::summary),
            remarks: remarks.clone(),
            samples: samples.len(),
            trust: trust.clone(),
        }
    }
}

/// The least and the largest value.
fn range(field: &[f32]) -> [f32; 2] {
    field.iter().fold([f32::INFINITY, f32::NEG_INFINITY], |[low, high], x| [low.min(*x), high.max(*x)])
}

/// 100 sqrt(E|x - mean|^2 / E|x|^2) over a field of such means and standard deviations. A value on the edge is no part
/// of |x|: with the height of the sea level it would be any figure.
fn expected_error(frame: &Frame, channel: Channel, mean: &[f32], deviation: &[f32]) -> f64 {
    let squares =
        |field: &[f32], base: f64| field.iter().map(|x| (f64::from(*x) - base).powi(2)).sum::<f64>();
    let known = squares(mean, frame.value_of_ours(channel, 0.0));
    let unknown = squares(deviation, 0.0);
    if unknown > 0.0 { 100.0 * (unknown / (known + unknown)).sqrt() } else { 0.0 }
}
