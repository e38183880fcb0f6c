//! The picture of a recovery: sensors, the truth where it is known, what was recovered, and how far it is off.

use scope_data::{Channel, PerChannel, observation::UserContext};
use scope_eval::{
    figure::{FieldPanel, FieldRow, Measure},
    seen_title,
};
use scope_model::Fields;

use super::recovered::Recovered;

/// The true fields and the recovery's distance from them, \[S, S\] each, with its relative L2 error in percent.
pub struct Truth {
    /// The true fields.
    pub fields: Fields,
    /// Recovered minus true values.
    pub difference: Fields,
    /// The relative L2 errors of a and u, in percent.
    pub percent: PerChannel<f64>,
}

impl Recovered {
    /// What was measured of a and u in the frame's units, \[S, S\] each; anything elsewhere.
    pub fn measured(&self) -> Fields {
        let UserContext { values, .. } = &self.problem.context;
        let physical = |channel: Channel| {
            let scaling = self.method.frame.constants(&self.method.constants)[channel];
            values[channel].iter().map(|value| scaling.physical(*value) as f32).collect()
        };
        Fields { a: physical(Channel::A), u: physical(Channel::U) }
    }
}

/// A row of panels for each channel; `measured` are the recovery's own.
pub fn picture_rows<'a>(
    recovered: &'a Recovered,
    measured: &'a Fields,
    truth: Option<&'a Truth>,
) -> Vec<FieldRow<'a>> {
    let context = &recovered.problem.context;
    let grid = context.masks.shape();
    let row = |channel: Channel| {
        let mask = &context.masks.seen[channel];
        let count = context.measured[channel].count();
        let panel = |title: String, fields: &'a Fields, measure: Measure| {
            let shown = None;
            FieldPanel { title, values: &fields[channel], shown, measure }
        };
        let seen = seen_title(recovered.method.pde, count, mask.count() > count);
        let sensors = FieldPanel { shown: Some(mask), ..panel(seen, measured, Measure::Field) };
        let mut panels = vec![sensors];
        panels.extend(truth.map(|truth| panel("truth".into(), &truth.fields, Measure::Field)));
        panels.push(panel("recovered".into(), &recovered.fields, Measure::Field));
        panels.extend(truth.map(|truth| {
            let title = format!("recovered - truth: {:.1}%", truth.percent[channel]);
            panel(title, &truth.difference, Measure::Difference)
        }));
        let spread = recovered.uncertainty.panel();
        // Beside an error a band has the error's colours: a pixel as bright in both is as far off as the band says.
        let measure = if truth.is_some() { Measure::Difference } else { Measure::Deviation };
        panels.extend(spread.map(|(title, fields)| match &recovered.two_valued {
            Some(two_valued) if channel == Channel::A => FieldPanel {
                title: format!("probability of {}", two_valued.values[1]),
                values: &two_valued.probability,
                shown: None,
                measure: Measure::Deviation,
            },
            _ => panel(title, fields, measure),
        }));
        let facts = recovered.method.pde.descriptor().fields[channel];
        let name = format!("{}: {}", channel.name(), facts.label());
        FieldRow { name, grid, panels }
    };
    let present = recovered.method.pde.present();
    Channel::BOTH.into_iter().filter(|channel| present[*channel]).map(row).collect()
}
