//! Trivial answers from the same sensors: what a method adds shows beside them.
//!
//! The nearest sensor's value; and cubic radial basis functions, s(x) = sum_k w_k |x - x_k|^3 + c_0 + c^T x with sum_k
//! w_k = 0 and sum_k w_k x_k = 0, through the sensors about each block of pixels (scipy's
//! `RBFInterpolator(kernel="cubic", neighbors=64)` has the same through those about each point).

use scope_data::{Channel, Constants, Fields, Scaling};
use scope_model::Interpolation;
use scope_pde::Pde;

/// Cubic interpolation goes through so many sensors about a block of pixels.
const NEIGHBOURS: usize = 64;
/// The largest side of such a block.
const LARGEST_BLOCK: usize = 16;
/// A pivot with a smaller share of the largest entry is rounding error.
const SMALLEST_PIVOT: f64 = 1e-11;

/// Fields in physical units from the sensors of a context \[4, rows, columns\].
pub(crate) fn interpolate(
    how: Interpolation,
    pde: Pde,
    constants: &Constants,
    shape: [usize; 2],
    context: &[f32],
) -> Fields {
    let pixels = shape[0] * shape[1];
    Fields::from_fn(|channel| {
        let first = if channel == Channel::A { 0 } else { 2 * pixels };
        let sensors =
            Sensors::new(&context[first..][..2 * pixels], shape, pde.periodic(), constants[channel]);
        let mean = constants[channel].mean as f32;
        sensors.interpolate(how).unwrap_or_else(|| vec![mean; pixels])
    })
}

/// The sensors of one field.
struct Sensors {
    shape: [usize; 2],
    periodic: [bool; 2],
    places: Vec<[f64; 2]>,
    values: Vec<f64>,
}

/// Pixels that share their neighbours.
struct Block {
    /// First row and column, and those after the last.
    from: [usize; 2],
    to: [usize; 2],
}

/// A sensor as a block sees it.
#[derive(Clone, Copy)]
struct Neighbour {
    number: usize,
    /// Rows and columns from the middle of the block, the shorter way round where ends meet.
    at: [f64; 2],
}

impl Neighbour {
    fn distance(&self) -> f64 {
        self.at[0].hypot(self.at[1])
    }
}

impl Sensors {
    /// The sensors of a field \[2, rows, columns\]: what is seen, times how far it can be trusted, and that.
    fn new(seen: &[f32], shape: [usize; 2], periodic: [bool; 2], scaling: Scaling) -> Self {
        let (values, mask) = seen.split_at(seen.len() / 2);
        let points: Vec<usize> = (0..mask.len()).filter(|point| mask[*point] != 0.0).collect();
        let place = |point: &usize| [(point / shape[1]) as f64, (point % shape[1]) as f64];
        let value = |point: &usize| scaling.physical(values[*point] / mask[*point]);
        Self {
            shape,
            periodic,
            places: points.iter().map(place).collect(),
            values: points.iter().map(value).collect(),
        }
    }

    /// The interpolated field; none where there are no sensors.
    fn interpolate(&self, how: Interpolation) -> Option<Vec<f32>> {
        if self.places.is_empty() {
            return None;
        }
        let mut field = vec![0.0; self.shape[0] * self.shape[1]];
        for block in self.blocks() {
            let about = self.about(&block);
            let cubic = match how {
                Interpolation::Nearest => None,
                Interpolation::Cubic => Cubic::new(&about[..about.len().min(NEIGHBOURS)], &self.values),
            };
            let middle = block.middle();
            for i in block.from[0]..block.to[0] {
                for j in block.from[1]..block.to[1] {
                    let at = [i as f64 - middle[0], j as f64 - middle[1]];
                    let value = match &cubic {
                        Some(cubic) => cubic.value(at),
                        None => self.values[nearest(&about, at)],
                    };
                    field[i * self.shape[1] + j] = value as f32;
                }
            }
        }
        Some(field)
    }

    /// Blocks that their neighbours reach beyond, however many sensors there are.
    fn blocks(&self) -> Vec<Block> {
        let pixels = (self.shape[0] * self.shape[1]) as f64;
        let covered = NEIGHBOURS as f64 * pixels / self.places.len() as f64;
        let side = (covered.sqrt() / 2.0).clamp(2.0, LARGEST_BLOCK as f64) as usize;
        let [rows, columns] = self.shape;
        let block =
            |i: usize, j: usize| Block { from: [i, j], to: [(i + side).min(rows), (j + side).min(columns)] };
        let across = |i: usize| (0..columns).step_by(side).map(move |j| block(i, j));
        (0..rows).step_by(side).flat_map(across).collect()
    }

    /// The sensors that may be nearest to any pixel of a block or among its neighbours, the nearest to its middle
    /// first.
    fn about(&self, block: &Block) -> Vec<Neighbour> {
        let middle = block.middle();
        let seen = |(number, place): (usize, &[f64; 2])| {
            let along = |axis: usize| {
                let apart = place[axis] - middle[axis];
                let length = self.shape[axis] as f64;
                if self.periodic[axis] { apart - length * (apart / length).round() } else { apart }
            };
            Neighbour { number, at: [along(0), along(1)] }
        };
        let mut all: Vec<Neighbour> = self.places.iter().enumerate().map(seen).collect();
        let order = |x: &Neighbour, y: &Neighbour| {
            x.distance().total_cmp(&y.distance()).then(x.number.cmp(&y.number))
        };
        let least = all.iter().map(Neighbour::distance).fold(f64::INFINITY, f64::min);
        if all.len() > NEIGHBOURS {
            all.select_nth_unstable_by(NEIGHBOURS - 1, order);
        }
        let radius = (middle[0] - block.from[0] as f64).hypot(middle[1] - block.from[1] as f64);
        let mut number = 0;
        all.retain(|sensor| {
            number += 1;
            number <= NEIGHBOURS || sensor.distance() <= least + 2.0 * radius
        });
        all.sort_by(order);
        all
    }
}

impl Block {
    fn middle(&self) -> [f64; 2] {
        [0, 1].map(|axis| (self.from[axis] + self.to[axis] - 1) as f64 / 2.0)
    }
}

/// The number of the sensor nearest to a place, the first of several.
fn nearest(about: &[Neighbour], at: [f64; 2]) -> usize {
    let square = |sensor: &Neighbour| (sensor.at[0] - at[0]).powi(2) + (sensor.at[1] - at[1]).powi(2);
    let best = about.iter().min_by(|x, y| square(x).total_cmp(&square(y)).then(x.number.cmp(&y.number)));
    best.map_or(0, |sensor| sensor.number)
}

/// Cubic radial basis functions and a plane.
struct Cubic {
    places: Vec<[f64; 2]>,
    /// The weights of the sensors, then of 1, x and y.
    weights: Vec<f64>,
    /// Places are in units of this.
    unit: f64,
}

impl Cubic {
    /// The spline through some sensors; none where they are too few, or all on one line.
    fn new(about: &[Neighbour], values: &[f64]) -> Option<Self> {
        let unit = about.iter().map(Neighbour::distance).fold(1.0, f64::max);
        let places: Vec<[f64; 2]> = about.iter().map(|sensor| sensor.at.map(|x| x / unit)).collect();
        let n = places.len() + 3;
        let mut matrix = vec![0.0; n * n];
        for (i, at) in places.iter().enumerate() {
            for (j, other) in places.iter().enumerate() {
                matrix[i * n + j] = cube(*at, *other);
            }
            for (k, x) in [1.0, at[0], at[1]].into_iter().enumerate() {
                matrix[i * n + places.len() + k] = x;
                matrix[(places.len() + k) * n + i] = x;
            }
        }
        let mut weights: Vec<f64> = about.iter().map(|sensor| values[sensor.number]).collect();
        weights.resize(n, 0.0);
        solve(&mut matrix, &mut weights).then_some(Self { places, weights, unit })
    }

    fn value(&self, at: [f64; 2]) -> f64 {
        let at = at.map(|x| x / self.unit);
        let (weights, plane) = self.weights.split_at(self.places.len());
        let sum: f64 = self.places.iter().zip(weights).map(|(place, weight)| weight * cube(at, *place)).sum();
        sum + plane[0] + plane[1] * at[0] + plane[2] * at[1]
    }
}

/// The cube of a distance: |x - y|^3.
fn cube(x: [f64; 2], y: [f64; 2]) -> f64 {
    let square = (x[0] - y[0]).powi(2) + (x[1] - y[1]).powi(2);
    square * square.sqrt()
}

/// Solves A x = b by elimination with pivoting, in place; says whether A is regular.
fn solve(a: &mut [f64], b: &mut [f64]) -> bool {
    let n = b.len();
    let largest = a.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    for k in 0..n {
        let pivot = (k..n).max_by(|i, j| a[i * n + k].abs().total_cmp(&a[j * n + k].abs())).unwrap_or(k);
        if a[pivot * n + k].abs() <= SMALLEST_PIVOT * largest {
            return false;
        }
        b.swap(k, pivot);
        (k..n).for_each(|j| a.swap(k * n + j, pivot * n + j));
        let (top, below) = a.split_at_mut((k + 1) * n);
        let row = &top[k * n..];
        for (i, other) in below.chunks_exact_mut(n).enumerate() {
            let share = other[k] / row[k];
            other[k..].iter_mut().zip(&row[k..]).for_each(|(x, y)| *x -= share * y);
            b[k + 1 + i] -= share * b[k];
        }
    }
    for k in (0..n).rev() {
        let known: f64 = (k + 1..n).map(|j| a[k * n + j] * b[j]).sum();
        b[k] = (b[k] - known) / a[k * n + k];
    }
    true
}

#[cfg(test)]
mod tests {
    use scope_data::PerChannel;

    use super::*;

    const SHAPE: [usize; 2] = [24, 40];

    /// A context of u that shows a function at so many scattered pixels.
    fn context(count: usize, constants: &Constants, f: impl Fn(f64, f64) -> f64) -> Vec<f32> {
        let pixels = SHAPE[0] * SHAPE[1];
        let mut context = vec![0.0; 4 * pixels];
        for k in 0..count {
            let point = k * 577 % pixels;
            let value = f((point / SHAPE[1]) as f64, (point % SHAPE[1]) as f64);
            context[2 * pixels + point] = constants.u.store(value);
            context[3 * pixels + point] = 1.0;
        }
        context
    }

    fn interpolated(how: Interpolation, pde: Pde, count: usize, f: impl Fn(f64, f64) -> f64) -> Vec<f32> {
        let constants = Constants::generated(pde);
        let fields = interpolate(how, pde, &constants, SHAPE, &context(count, &constants, f));
        assert!(fields.a.iter().all(|value| *value == constants.a.mean as f32), "a is not measured");
        fields.u
    }

    #[test]
    fn a_plane_is_interpolated_exactly_from_any_number_of_sensors() {
        let plane = |x: f64, y: f64| 0.001 * (0.5 + 0.1 * x - 0.02 * y);
        for count in [4, 60, 500, 960] {
            let field = interpolated(Interpolation::Cubic, Pde::POISSON, count, plane);
            for (point, value) in field.iter().enumerate() {
                let expected = plane((point / SHAPE[1]) as f64, (point % SHAPE[1]) as f64);
                assert!((f64::from(*value) - expected).abs() < 1e-7, "{count}: {point} {value} {expected}");
            }
        }
    }

    #[test]
    fn the_nearest_sensor_is_the_nearest_of_all_round_the_ends_too() {
        for (pde, count) in [(Pde::POISSON, 3), (Pde::POISSON, 200), (Pde::NAVIER_STOKES, 30)] {
            let label = |x: f64, y: f64| x * SHAPE[1] as f64 + y;
            let field = interpolated(Interpolation::Nearest, pde, count, label);
            let sensors: Vec<usize> = (0..count).map(|k| k * 577 % field.len()).collect();
            let square = |point: usize, sensor: usize| -> f64 {
                let along = |axis: usize, x: usize, y: usize| {
                    let apart = x.abs_diff(y);
                    let short = if pde.periodic()[axis] { apart.min(SHAPE[axis] - apart) } else { apart };
                    (short as f64).powi(2)
                };
                along(0, point / SHAPE[1], sensor / SHAPE[1]) + along(1, point % SHAPE[1], sensor % SHAPE[1])
            };
            for (point, value) in field.iter().enumerate() {
                let least = sensors.iter().map(|sensor| square(point, *sensor)).fold(f64::INFINITY, f64::min);
                assert_eq!(square(point, value.round() as usize), least, "{pde} {count} {point}");
            }
        }
    }

    #[test]
    fn few_sensors_and_sensors_on_a_line_give_the_nearest() {
        let f = |x: f64, y: f64| 0.001 * (x - y);
        let [cubic, nearest] =
            [Interpolation::Cubic, Interpolation::Nearest].map(|how| interpolated(how, Pde::POISSON, 2, f));
        assert_eq!(cubic, nearest);
        let constants = Constants::generated(Pde::POISSON);
        let nothing = vec![0.0; 4 * SHAPE[0] * SHAPE[1]];
        let fields = interpolate(Interpolation::Cubic, Pde::POISSON, &constants, SHAPE, &nothing);
        let means: PerChannel<f32> = fields.map(|field| field[7]);
        assert_eq!(means, constants.map(|scaling| scaling.mean as f32));
    }
}
