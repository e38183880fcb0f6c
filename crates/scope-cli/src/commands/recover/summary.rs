//! What is said of a recovery, to people and in `summary.json`.

use std::{path::Path, time::Duration};

use scope_data::{observation::UserContext, sensors::SensorFile};
use scope_eval::trust::Trust;
use serde::Serialize;

use super::{
    bands::BandSummary,
    method::{Method, Recovered},
};
use crate::terminal::{Table, grouped, say};

/// The most problems that are listed on a terminal.
const MOST_ROWS: usize = 20;

/// The whole recovery. It holds nothing that differs between two equal ones.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Summary {
    pde: &'static str,
    /// What the channels are.
    channels: [&'static str; 2],
    units: &'static str,
    resolution: usize,
    method: MethodSummary,
    sensors: String,
    /// What was read otherwise than one may expect.
    notes: Vec<String>,
    pub(super) problems: Vec<ProblemSummary>,
}

#[derive(Clone, Debug, Serialize)]
struct MethodSummary {
    name: String,
    file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    blake3: Option<String>,
    /// Records that held-out errors are means over.
    #[serde(skip_serializing_if = "Option::is_none")]
    held_out_records: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    held_out_origin: Option<String>,
}

/// One problem.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ProblemSummary {
    pub(super) name: String,
    /// The least and the largest value recovered, of a and of u.
    range: [[f32; 2]; 2],
    /// Sensors that share their pixel with an earlier one.
    shared_pixels: usize,
    /// The relative L2 error of a and u that the method itself expects, in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    expected_percent: Option<[f64; 2]>,
    /// Measured bands about the fields.
    #[serde(skip_serializing_if = "Option::is_none")]
    bands: Option<BandSummary>,
    /// Why there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    without_bands: Option<String>,
    /// What the method itself has to say.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) remarks: Vec<String>,
    /// How many draws of both fields were written.
    #[serde(skip)]
    samples: usize,
    #[serde(flatten)]
    pub(super) trust: Trust,
}

impl ProblemSummary {
    pub(super) fn new(name: &str, context: &UserContext, recovered: &Recovered, trust: Trust) -> Self {
        let range = |field: &[f32]| {
            field
                .iter()
                .fold([f32::INFINITY, f32::NEG_INFINITY], |[low, high], x| [low.min(*x), high.max(*x)])
        };
        let fields = &recovered.fields;
        Self {
            name: name.to_owned(),
            range: [range(&fields.a), range(&fields.u)],
            shared_pixels: context.shared,
            expected_percent: recovered.deviation.as_ref().map(|deviation| {
                [expected_error(&fields.a, &deviation.a), expected_error(&fields.u, &deviation.u)]
            }),
            bands: recovered.bands.as_ref().and_then(|bands| Some(bands.as_ref().ok()?.summary.clone())),
            without_bands: recovered.bands.as_ref().and_then(|bands| bands.as_ref().err().cloned()),
            remarks: recovered.remarks.clone(),
            samples: recovered.samples.len(),
            trust,
        }
    }

    fn sensors(&self) -> [usize; 2] {
        [self.trust.coverage.a, self.trust.coverage.u].map(|coverage| coverage.map_or(0, |c| c.sensors))
    }
}

impl Summary {
    pub(super) fn new(file: &SensorFile, method: &Method, problems: Vec<ProblemSummary>) -> Self {
        let (name, shown, blake3) = method.identity();
        let held_out = method.known().held_out;
        Self {
            pde: method.pde().name(),
            channels: method.pde().channels(),
            units: "those of the sensors: values are in physical units throughout",
            resolution: method.resolution(),
            method: MethodSummary {
                name,
                file: shown,
                blake3,
                held_out_records: held_out.map(|held_out| held_out.records),
                held_out_origin: held_out.map(|held_out| held_out.origin.clone()),
            },
            sensors: file.name().to_owned(),
            notes: file.notes().to_vec(),
            problems,
        }
    }

    /// Tells it on a terminal; pictures were asked for of that many problems.
    pub(super) fn say(&self, out: &Path, spent: Duration, pictures: usize) {
        let count = self.problems.len();
        let (size, ms) = (self.resolution, 1e3 * spent.as_secs_f64() / count.max(1) as f64);
        match &self.problems[..] {
            [one] => self.say_one(one),
            many => self.say_many(many),
        }
        let each = if count > 1 { " each" } else { "" };
        say(&format!("a and u on {size} x {size} in {ms:.0} ms{each} ({})", self.method.file));
        self.say_missing_bands();
        let any = |has: fn(&ProblemSummary) -> bool| self.problems.iter().any(has);
        let spread =
            match (any(|problem| problem.expected_percent.is_some()), any(|problem| problem.bands.is_some()))
            {
                (true, _) => " with their standard deviations",
                (false, true) => " with their error bands",
                (false, false) => "",
            };
        let samples = match any(|problem| problem.samples > 0) {
            true => ", draws in a_samples.npy and u_samples.npy",
            false => "",
        };
        let drawn = match pictures.min(count) {
            0 => String::new(),
            1 => "a picture, ".to_owned(),
            several => format!("{} pictures, ", grouped(several)),
        };
        say(&format!("wrote {}: a.npy, u.npy{spread}{samples}, {drawn}summary.json", out.display()));
    }

    fn say_one(&self, one: &ProblemSummary) {
        let [a, u] = one.sensors();
        say(&format!("{}, {} sensors of a and {} of u", self.pde, grouped(a), grouped(u)));
        if let (Some(nearest), Some(errors)) = (&one.trust.nearest, &one.trust.held_out_percent) {
            let records = self.method.held_out_records.unwrap_or(0);
            say(&format!(
                "most like {}, where the model's mean errors on {} held-out records are {} for a and {} for u",
                nearest.condition,
                grouped(records),
                percent(errors.a),
                percent(errors.u),
            ));
        }
        if let Some([a, u]) = one.expected_percent {
            say(&format!("expected error in L2: {a:.2}% for a and {u:.2}% for u"));
        }
        if let Some(BandSummary { levels, mean_half_width: [a, u], measured_on, .. }) = &one.bands {
            for (k, level) in levels.iter().enumerate() {
                let percent = 100.0 * level;
                say(&format!(
                    "{percent:.0}% of pixels lie within +-{:.2e} for a and +-{:.2e} for u on average",
                    a[k], u[k]
                ));
            }
            say(&format!("(measured on {measured_on})"));
        }
        let misfit = one.trust.misfit_percent;
        let named = [("a", misfit.a), ("u", misfit.u)];
        let shown: Vec<String> = named
            .iter()
            .filter_map(|(name, value)| value.map(|value| format!("{value:.1}% for {name}")))
            .collect();
        say(&format!("distance from the measurements themselves: {}", shown.join(", ")));
    }

    /// Says why there are no error bands, if there are not.
    fn say_missing_bands(&self) {
        let without: Vec<&String> =
            self.problems.iter().filter_map(|problem| problem.without_bands.as_ref()).collect();
        match without[..] {
            [] => {}
            [reason] => say(&format!("no error bands: {reason}")),
            [reason, ..] => {
                say(&format!("no error bands for {} problems; the first: {reason}", grouped(without.len())));
            }
        }
    }

    fn say_many(&self, many: &[ProblemSummary]) {
        let mut table = Table::new(&[
            "problem",
            "sensors a",
            "sensors u",
            "most like",
            "held-out a",
            "held-out u",
            "misfit",
            "warnings",
        ]);
        for problem in many.iter().take(MOST_ROWS) {
            let ([a, u], trust) = (problem.sensors(), &problem.trust);
            let errors = trust.held_out_percent.unwrap_or_default();
            let misfit = trust
                .misfit_percent
                .a
                .into_iter()
                .chain(trust.misfit_percent.u)
                .fold(None, |most, x| Some(f64::max(most.unwrap_or(0.0), x)));
            table.row([
                problem.name.clone(),
                a.to_string(),
                u.to_string(),
                trust.nearest.as_ref().map_or("-".into(), |nearest| nearest.condition.clone()),
                percent(errors.a),
                percent(errors.u),
                percent(misfit),
                trust.warnings.len().to_string(),
            ]);
        }
        say(&format!("{}, {} problems\n\n{table}", self.pde, grouped(many.len())));
        if many.len() > MOST_ROWS {
            say(&format!("... and {} more, in summary.json", grouped(many.len() - MOST_ROWS)));
        }
    }
}

/// 100 sqrt(E|x - mean|^2 / E|x|^2) over a field of such means and standard deviations.
fn expected_error(mean: &[f32], deviation: &[f32]) -> f64 {
    let squares = |field: &[f32]| field.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>();
    let (known, unknown) = (squares(mean), squares(deviation));
    if unknown > 0.0 { 100.0 * (unknown / (known + unknown)).sqrt() } else { 0.0 }
}

fn percent(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.1}%"))
}
