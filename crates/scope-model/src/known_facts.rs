//! What is known of a problem's fields whatever was measured, imposed on what a network or a linear fit gives.
//!
//! A fact says that the truth at a pixel lies in an interval (or is a number, which is a short one). The value nearest
//! to the recovered one in that interval is never further from the truth, so no pixel's error grows.

use scope_data::{Channel, Fields, observation::UserContext};
use scope_pde::{GridShape, Pde, descriptor::FieldKind};

/// Imposes what a problem's descriptor knows of both fields \[rows, columns\], in physical units: values that a
/// boundary condition fixes on the edge, the range of a two-valued field, the least value that a field can have, and
/// what they are inside a disk or a region that is known, except where sensors measure it.
pub fn impose_known_facts(pde: Pde, context: &UserContext, fields: &mut Fields) {
    for channel in Channel::BOTH {
        let field = &mut fields[channel];
        let facts = pde.descriptor().fields[channel];
        if let FieldKind::TwoValued { low, high } = facts.kind {
            field.iter_mut().for_each(|value| *value = value.clamp(low as f32, high as f32));
        }
        if let Some(minimum) = facts.minimum {
            // A value that is no number stays so.
            let minimum = minimum as f32;
            field.iter_mut().filter(|value| **value < minimum).for_each(|value| *value = minimum);
        }
        known_values(pde, context, channel, |point, value| field[point] = value);
    }
}

/// Imposes on standard deviations that nothing is uncertain where values are known.
pub fn impose_certainty(pde: Pde, context: &UserContext, deviations: &mut Fields) {
    for channel in Channel::BOTH {
        let deviations = &mut deviations[channel];
        known_values(pde, context, channel, |point, _| deviations[point] = 0.0);
    }
}

/// Hands out the points of a field whose values are known, with these values: on the edge, and then inside a region
/// where no sensor says otherwise.
fn known_values(pde: Pde, context: &UserContext, channel: Channel, mut take: impl FnMut(usize, f32)) {
    if let Some(edge) = pde.descriptor().fields[channel].edge {
        edge_points(context.masks.shape()).for_each(|point| take(point, edge as f32));
    }
    let inside = pde.descriptor().known_region.values()[channel] as f32;
    let known = context.masks.given.without(&context.measured[channel]);
    known.points().for_each(|point| take(point, inside));
}

/// The outermost points of a grid.
fn edge_points(shape: GridShape) -> impl Iterator<Item = usize> {
    let GridShape { rows, columns } = shape;
    let across = (0..columns).flat_map(move |j| [shape.point(0, j), shape.point(rows - 1, j)]);
    let along = (0..rows).flat_map(move |i| [shape.point(i, 0), shape.point(i, columns - 1)]);
    across.chain(along)
}

#[cfg(test)]
mod tests {
    use scope_data::{
        Constants, RecordRegion,
        observation::{Place, Sensor},
    };
    use scope_pde::{Generator, Identity, Split, cylinder::Disk};

    use super::*;

    const SIZE: usize = 32;

    fn context(pde: Pde, disk: Option<&Disk>) -> UserContext {
        let sensor = Sensor { channel: Channel::U, place: Place::Index(3, 4), value: 0.1 };
        let region = disk.map(|disk| RecordRegion::Disk(*disk));
        UserContext::new(pde, &Constants::generated(pde), SIZE, &[sensor], region.as_ref()).unwrap()
    }

    /// Every true record obeys all facts, and no pixel of a field that is off becomes worse.
    #[test]
    fn no_error_grows() {
        for pde in Pde::ALL {
            let identity = Identity { pde, seed: 3, split: Split::Test, resolution: SIZE };
            let record = Generator::new(identity).unwrap().record(1).unwrap();
            let context = context(pde, record.disk.as_ref());
            let truth = record.fields.map(|field| field.iter().map(|x| *x as f32).collect::<Vec<_>>());
            let mut unchanged = truth.clone();
            impose_known_facts(pde, &context, &mut unchanged);
            assert_eq!(unchanged, truth, "{pde}");
            let off = truth.each_ref().map(|field| {
                let spread = field.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
                field.iter().enumerate().map(|(k, x)| x + spread * (k as f32).sin()).collect::<Vec<_>>()
            });
            let mut better = off.clone();
            impose_known_facts(pde, &context, &mut better);
            let mut nearer = 0;
            for channel in Channel::BOTH {
                for ((truth, off), better) in truth[channel].iter().zip(&off[channel]).zip(&better[channel]) {
                    assert!((better - truth).abs() <= (off - truth).abs(), "{pde}: {truth} {off} {better}");
                    nearer += usize::from((better - truth).abs() < (off - truth).abs());
                }
            }
            assert_eq!(nearer > 0, pde != Pde::NAVIER_STOKES, "{pde}");
        }
    }

    #[test]
    fn facts_are_those_of_each_problem() {
        let imposed = |pde: Pde, disk: Option<&Disk>| {
            let mut fields = Fields { a: vec![-20.0; SIZE * SIZE], u: vec![-20.0; SIZE * SIZE] };
            impose_known_facts(pde, &context(pde, disk), &mut fields);
            fields
        };
        let zeros = |field: &[f32]| field.iter().filter(|x| **x == 0.0).count();
        let poisson = imposed(Pde::POISSON, None);
        assert_eq!((zeros(&poisson.a), zeros(&poisson.u)), (0, 4 * (SIZE - 1)));
        assert_eq!(zeros(&imposed(Pde::HELMHOLTZ, None).a), 4 * (SIZE - 1));
        let darcy = imposed(Pde::DARCY, None);
        assert!(darcy.a.iter().all(|x| *x == 3.0) && darcy.u.iter().all(|x| *x == -20.0));
        let disk = Disk { cx: 16.0, cy: 16.0, r: 4.0 };
        assert_eq!(zeros(&imposed(Pde::CYLINDER, Some(&disk)).u), SIZE * SIZE);
    }
}
