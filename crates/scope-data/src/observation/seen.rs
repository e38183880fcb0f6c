//! What is seen of a field where it is seen, for methods that need no pixels.

use super::{noise::trust, place::Spot, sensors::UserContext};
use crate::{Channel, Constants};

/// One thing that is seen of a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    /// The place that is seen.
    pub spot: Spot,
    /// The value in stored coordinates.
    pub value: f32,
    /// How far it can be trusted: 1 for what is exact.
    pub trust: f64,
}

impl UserContext {
    /// Whether pixels do not say all of it: a sensor lies between them, or several share one.
    pub fn is_off_grid(&self) -> bool {
        self.shared > 0 || self.between_pixels() > 0
    }

    /// Everything that is seen of a channel, in stored coordinates: all sensors where they are, with the values that
    /// they have, and the pixels of a known disk that no sensor measures.
    pub fn seen(&self, constants: &Constants, channel: Channel) -> Vec<Seen> {
        let scaling = constants[channel];
        let shape = self.masks.shape();
        let trust = trust(self.noise[channel]);
        let own = self.sensors.iter().filter(|sensor| sensor.channel == channel);
        let sensors = own.map(|sensor| Seen { spot: sensor.spot, value: scaling.store(sensor.value), trust });
        let known = self.masks.seen[channel].without(&self.measured[channel]);
        let at_rest = known.points().map(|point| {
            let [i, j] = shape.place(point);
            Seen { spot: Spot::pixel(i, j), value: self.values[channel][point], trust: 1.0 }
        });
        sensors.chain(at_rest).collect()
    }
}

#[cfg(test)]
mod tests {
    use scope_pde::{Pde, cylinder::Disk};

    use super::*;
    use crate::{
        PerChannel,
        observation::{Place, Sensor},
    };

    #[test]
    fn sensors_are_seen_where_they_are_and_the_disk_where_they_are_not() {
        let constants = Constants::generated(Pde::CYLINDER);
        let disk = Disk { cx: 20.0, cy: 16.0, r: 5.0 };
        let sensor = |place: Place, value: f64| Sensor { channel: Channel::U, place, value };
        let between = sensor(Place::Point(0.3, 0.2), 0.25);
        let sensors = [sensor(Place::Index(20, 16), 0.5), between];
        let context = UserContext::new(Pde::CYLINDER, &constants, 32, &sensors, Some(&disk.into())).unwrap();
        let disk_pixels = disk.points(32).count();
        let PerChannel { a, u } = PerChannel::from_fn(|channel| context.seen(&constants, channel));
        assert_eq!((a.len(), u.len()), (disk_pixels, disk_pixels + 1));
        assert_eq!(a[0].value, constants.a.store(0.0));
        let spot = Spot::of_point(Pde::CYLINDER, 32, 0.3, 0.2);
        assert!(u.contains(&Seen { spot, value: constants.u.store(0.25), trust: 1.0 }));
        assert_eq!(u.iter().filter(|seen| seen.spot == Spot::pixel(20, 16)).count(), 1);
        let noisy = context.clone().with_noise(PerChannel::both(0.01)).seen(&constants, Channel::U);
        assert_eq!(noisy.iter().filter(|seen| seen.trust == 0.5).count(), 2, "its sensors");
        assert_eq!(
            noisy.iter().filter(|seen| seen.trust == 1.0).count(),
            disk_pixels - 1,
            "the rest of the disk"
        );
        let fields = vec![0.5; 32 * 32];
        let carried = context.carried(Pde::CYLINDER, &constants, PerChannel::both(&fields));
        assert_eq!(carried.seen(&constants, Channel::U), u);
    }

    #[test]
    fn pixels_say_all_of_sensors_that_have_one_each() {
        let constants = Constants::generated(Pde::POISSON);
        let is_off_grid = |places: &[Place]| {
            let sensor = |place: &Place| Sensor { channel: Channel::A, place: *place, value: 0.1 };
            let sensors: Vec<Sensor> = places.iter().map(sensor).collect();
            UserContext::new(Pde::POISSON, &constants, 32, &sensors, None).unwrap().is_off_grid()
        };
        assert!(!is_off_grid(&[Place::Index(3, 4), Place::Index(3, 5)]));
        assert!(is_off_grid(&[Place::Index(3, 4), Place::Index(3, 4)]));
        assert!(is_off_grid(&[Place::Index(3, 4), Place::Point(0.5, 0.51)]));
    }
}
