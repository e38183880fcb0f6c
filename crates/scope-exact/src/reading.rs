//! What sensors say.

use scope_data::{Channel, Constants, observation::ContextMasks};

/// One measurement in physical units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// What is measured.
    pub channel: Channel,
    /// Where: i S + j.
    pub point: usize,
    /// The value.
    pub value: f64,
}

/// The readings of masked fields in stored coordinates, such as a record's or
/// [`UserContext`](scope_data::observation::UserContext)'s.
pub fn readings(masks: &ContextMasks, stored: [&[f32]; 2], constants: &Constants) -> Vec<Reading> {
    let mut all = Vec::with_capacity(masks.a.count() + masks.u.count());
    for (channel, mask, values) in [(Channel::A, &masks.a, stored[0]), (Channel::U, &masks.u, stored[1])] {
        let scaling = constants.of(channel);
        let reading = |point| Reading { channel, point, value: scaling.physical(values[point]) };
        all.extend(mask.points().map(reading));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use scope_pde::Pde;

    #[test]
    fn readings_are_the_seen_values_in_physical_units() {
        let constants = Constants::released(Pde::Poisson);
        let mut masks = ContextMasks::empty(32);
        masks.a.insert(40);
        masks.u.insert(7);
        masks.u.insert(900);
        let (a, u) = (vec![0.5; 1024], vec![-0.25; 1024]);
        let got = readings(&masks, [&a, &u], &constants);
        let value = |scaling: scope_data::Scaling, stored| scaling.physical(stored);
        assert_eq!(
            got,
            [
                Reading { channel: Channel::A, point: 40, value: value(constants.a, 0.5) },
                Reading { channel: Channel::U, point: 7, value: value(constants.u, -0.25) },
                Reading { channel: Channel::U, point: 900, value: value(constants.u, -0.25) },
            ]
        );
    }
}
