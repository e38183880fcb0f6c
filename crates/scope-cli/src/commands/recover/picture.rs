//! The picture of a recovery: sensors, the truth where it is known, what was recovered, and how far it is off.

use scope_data::{Channel, Constants, observation::UserContext};
use scope_eval::figure::{FieldPanel, FieldRow, Measure};
use scope_model::Fields;
use scope_pde::Pde;

/// The true fields and the recovery's distance from them, \[S, S\] each, with its relative L2 error in percent.
pub(crate) struct Truth {
    pub(crate) fields: Fields,
    pub(crate) apart: Fields,
    pub(crate) percent: [f64; 2],
}

/// What was measured of a and u in physical units, \[S, S\] each; anything elsewhere.
pub(crate) fn sensors(context: &UserContext, constants: &Constants) -> Fields {
    let physical = |channel: Channel| {
        let scaling = constants.of(channel);
        context.values[channel as usize].iter().map(|value| scaling.physical(*value) as f32).collect()
    };
    Fields { a: physical(Channel::A), u: physical(Channel::U) }
}

/// A row of panels for each channel; `spread` is how far it may be off, with its title.
pub(crate) fn rows<'a>(
    pde: Pde,
    context: &'a UserContext,
    sensors: &'a Fields,
    recovered: &'a Fields,
    spread: Option<(&'a str, &'a Fields)>,
    truth: Option<&'a Truth>,
) -> Vec<FieldRow<'a>> {
    let size = context.masks.a.size();
    let row = |channel: Channel| {
        let (mask, count) = match channel {
            Channel::A => (&context.masks.a, context.measured.a.count()),
            Channel::U => (&context.masks.u, context.measured.u.count()),
        };
        let of = |fields: &'a Fields| fields.of(channel);
        let panel = |title: String, values, shown, measure| FieldPanel { title, values, shown, measure };
        let disk = if mask.count() > count { ", the disk known" } else { "" };
        let seen = match count {
            0 => format!("not measured{disk}"),
            _ => format!("{count} sensors{disk}"),
        };
        let mut panels = vec![panel(seen, of(sensors), Some(mask), Measure::Field)];
        panels.extend(truth.map(|truth| panel("truth".into(), of(&truth.fields), None, Measure::Field)));
        panels.push(panel("recovered".into(), of(recovered), None, Measure::Field));
        panels.extend(truth.map(|truth| {
            let title = format!("error: {:.1}% in L2", truth.percent[channel as usize]);
            panel(title, of(&truth.apart), None, Measure::Difference)
        }));
        let spread = spread.map(|(title, fields)| panel(title.into(), of(fields), None, Measure::Deviation));
        panels.extend(spread);
        FieldRow { name: format!("{}: {}", channel.name(), pde.channels()[channel as usize]), size, panels }
    };
    Channel::BOTH.map(row).into()
}
