//! Measurements between pixels, carried to the pixels that they count for.
//!
//! A network reads values on pixels. A sensor at a spot s, nearest to pixel p, says v = f(s), which is not f(p). With
//! fields g recovered from the values as they are, v + g(p) - g(s) is nearer to f(p): only the error of g's slope is
//! left, over half a pixel.

use scope_pde::Pde;

use super::{
    place::{STENCIL_POINTS, Stencil},
    sensors::{Placed, UserContext},
};
use crate::{Channel, Constants, PerChannel};

impl UserContext {
    /// How many sensors lie between pixels.
    pub fn between_pixels(&self) -> usize {
        let between = |sensor: &&Placed| sensor.spot.at.iter().any(|at| at.fract() != 0.0);
        self.sensors.iter().filter(between).count()
    }

    /// The same sensors with other values, one each, in the order of `sensors`.
    pub fn with_values(&self, constants: &Constants, values: &[f64]) -> Self {
        let mut other = self.seen_as(constants, values);
        other.sensors.iter_mut().zip(values).for_each(|(sensor, value)| sensor.value = *value);
        other
    }

    /// Whether its sensors measure the same at the same places as others, whatever the values are.
    pub fn has_places_of(&self, others: &[Placed]) -> bool {
        let place = |sensor: &Placed| (sensor.channel, sensor.spot.at);
        self.sensors.iter().map(place).eq(others.iter().map(place))
    }

    /// With pixels' values carried from the sensors' spots by fields \[rows, columns\] of a and of u, in physical
    /// units, that were recovered.
    pub fn carried(&self, pde: Pde, constants: &Constants, fields: PerChannel<&[f32]>) -> Self {
        let shape = self.masks.shape();
        let carried = |sensor: &Placed| {
            let field = |point: usize| f64::from(fields[sensor.channel][point]);
            let stencil = Stencil::new(pde, sensor.channel, shape, sensor.spot, STENCIL_POINTS);
            sensor.value + field(sensor.spot.nearest(shape)) - stencil.sum(field)
        };
        let values: Vec<f64> = self.sensors.iter().map(carried).collect();
        self.seen_as(constants, &values)
    }

    /// With other values of the measured pixels, those of one pixel averaged.
    fn seen_as(&self, constants: &Constants, values: &[f64]) -> Self {
        let mut seen = self.clone();
        let shape = self.masks.shape();
        for channel in Channel::BOTH {
            let mut sums = vec![0.0; shape.points()];
            let mut counts = vec![0.0; shape.points()];
            let own = self.sensors.iter().zip(values).filter(|(sensor, _)| sensor.channel == channel);
            for (sensor, value) in own {
                sums[sensor.spot.nearest(shape)] += value;
                counts[sensor.spot.nearest(shape)] += 1.0;
            }
            let scaling = constants[channel];
            for point in self.measured[channel].points() {
                seen.values[channel][point] = scaling.store(sums[point] / counts[point]);
            }
        }
        seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::{Place, Sensor};

    const SIZE: usize = 32;

    /// A field that six points squared know everywhere.
    fn field(x: f64, y: f64) -> f64 {
        0.004 * (x / 31.0).powi(3) * (1.0 - y / 31.0).powi(2) - 0.002 * x / 31.0
    }

    fn context(constants: &Constants) -> UserContext {
        let sensors = [(0.3, 0.52), (0.31, 0.525), (0.999, 0.001), (0.7, 0.7)].map(|(x, y)| Sensor {
            channel: Channel::U,
            place: Place::Point(x, y),
            value: field(31.0 * x, 31.0 * y),
        });
        UserContext::new(Pde::POISSON, constants, SIZE, &sensors, None).unwrap()
    }

    #[test]
    fn by_the_true_field_values_are_carried_to_the_pixels_own() {
        let constants = Constants::generated(Pde::POISSON);
        let context = context(&constants);
        let truth: Vec<f32> =
            (0..SIZE * SIZE).map(|at| field((at / SIZE) as f64, (at % SIZE) as f64) as f32).collect();
        let carried =
            context.carried(Pde::POISSON, &constants, PerChannel { a: &[0.0; SIZE * SIZE], u: &truth });
        assert_eq!((context.between_pixels(), carried.sensors), (4, context.sensors.clone()));
        for point in context.measured.u.points() {
            let [before, after, truth] =
                [context.values.u[point], carried.values.u[point], constants.u.store(truth[point].into())];
            assert!(
                (after - truth).abs() < 1e-6 && (before - truth).abs() > 1e-4,
                "{before} {after} {truth}"
            );
        }
    }

    #[test]
    fn sensors_say_what_they_are_told_to() {
        let constants = Constants::generated(Pde::POISSON);
        let context = context(&constants);
        let values: Vec<f64> = context.sensors.iter().map(|sensor| sensor.value).collect();
        assert_eq!(context.with_values(&constants, &values), context);
        let doubled: Vec<f64> = values.iter().map(|value| 2.0 * value).collect();
        let other = context.with_values(&constants, &doubled);
        assert_eq!(other.sensors[1].value, 2.0 * context.sensors[1].value);
        assert_eq!((other.masks, other.measured), (context.masks, context.measured));
    }
}
