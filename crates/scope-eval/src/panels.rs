//! One record under one condition, to look at.

use scope_data::{Channel, observation::Condition};
use scope_pde::{Pde, descriptor::KnownRegion};

use crate::{
    error::EvalError,
    evaluate::Evaluation,
    figure::{Drawing, FieldPanel, FieldPicture, FieldRow, Measure, PanelAxes},
    method::RecoveryMethod,
    metrics::Recovered,
};

/// What stands above the panel of what is seen of a field: its sensors, and whether more is known without any.
pub fn seen_title(pde: Pde, sensors: usize, is_more_known: bool) -> String {
    let known = match pde.descriptor().known_region {
        _ if !is_more_known => "",
        KnownRegion::Disk => ", the disk known",
        KnownRegion::Fixed(_) | KnownRegion::PerRecord(_) | KnownRegion::Nowhere => ", a region known",
    };
    match sensors {
        0 => format!("not measured{known}"),
        _ => format!("{sensors} sensors{known}"),
    }
}

impl Evaluation<'_> {
    /// Draws sensors, truth, recovery and error of both channels of a record, in physical units.
    pub fn draw(
        &self,
        method: &dyn RecoveryMethod,
        condition: Condition,
        record: usize,
    ) -> Result<Drawing, EvalError> {
        let meta = self.data.meta();
        let grid = meta.resolution;
        let mut context = vec![0.0; 4 * grid.points()];
        let (pair, masks) = self.observe(record, condition, &mut context)?;
        let fields = method.recover(&context).map_err(EvalError::Method)?.pop();
        let fields = fields.ok_or_else(|| EvalError::Method("it returned no fields".into()))?;
        let channels = [
            (Channel::A, "a", pair.a(), &fields.a, &masks.seen.a),
            (Channel::U, "u", pair.u(), &fields.u, &masks.seen.u),
        ];
        let truths = channels.map(|(channel, _, stored, ..)| -> Vec<f32> {
            let scaling = meta.channel(channel).scaling();
            stored.iter().map(|value| scaling.physical(*value) as f32).collect()
        });
        let errors = [0, 1].map(|k| -> Vec<f32> {
            let (.., recovered, _) = channels[k];
            recovered.iter().zip(&truths[k]).map(|(recovered, truth)| recovered - truth).collect()
        });
        let rows = [0, 1].map(|k| {
            let (channel, name, stored, field, mask) = channels[k];
            let scaling = meta.channel(channel).scaling();
            let error = Recovered { field, stored, scaling }.relative_error(|_| true);
            let error = error
                .map_or("recovered - truth".to_owned(), |error| format!("recovered - truth: {error:.2}%"));
            let sensors = masks.sensors(channel).count();
            let seen = seen_title(meta.pde, sensors, mask.count() > sensors);
            let panel = |title: &str, values, shown, measure| FieldPanel {
                title: title.to_owned(),
                values,
                shown,
                measure,
            };
            FieldRow {
                name: name.to_owned(),
                grid,
                panels: vec![
                    panel(&seen, truths[k].as_slice(), Some(mask), Measure::Field),
                    panel("truth", &truths[k], None, Measure::Field),
                    panel("recovered", field, None, Measure::Field),
                    panel(&error, &errors[k], None, Measure::Difference),
                ],
            }
        });
        let noise = self.noise.map_or_else(String::new, |noise| format!(", {}", noise.label()));
        let heading = format!("{}, {condition}, record {record}{noise}, {grid} points", meta.pde.name());
        let present = meta.pde.present().into_array();
        let rows: Vec<FieldRow> =
            rows.into_iter().zip(present).filter(|(_, present)| *present).map(|(row, _)| row).collect();
        let axes = Some(&PanelAxes::of(meta.pde));
        Ok(FieldPicture { heading: &heading, rows: &rows, axes, ..FieldPicture::default() }.draw())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_without_a_sensor_is_not_counted_as_one() {
        assert_eq!(seen_title(Pde::CYLINDER, 474, true), "474 sensors, the disk known");
        assert_eq!(seen_title(Pde::CYLINDER, 0, true), "not measured, the disk known");
        assert_eq!(seen_title(Pde::POISSON, 500, false), "500 sensors");
    }
}
