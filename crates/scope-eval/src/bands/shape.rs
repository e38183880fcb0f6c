//! How errors vary over the grid: a product of factors, fitted to sums over cells.

use scope_data::PerChannel;
use scope_model::bands::{AXIS_CELLS, ChannelBands, DISTANCE_CELLS, Places};

use super::digits;

/// Rounds of fitting; a handful suffices.
const ROUNDS: usize = 30;
/// A place with a smaller share of all pixels cannot tell its factor.
const FEWEST: f64 = 1e-4;
/// No factor is smaller: a cell where errors vanish still needs a width.
const LEAST: f64 = 1e-4;

/// Sums of |error| and numbers of pixels by number of sensors, cell along x, cell along y and cells of distance to the
/// measured channels' sensors.
#[derive(Clone, Debug)]
pub(super) struct Sums {
    /// Cells along each of these, the last running fastest.
    extents: Vec<usize>,
    errors: Vec<f64>,
    pixels: Vec<f64>,
}

/// One of the cells: its place in each direction, and what it holds.
struct Cell {
    places: Vec<usize>,
    errors: f64,
    pixels: f64,
}

impl Sums {
    /// For so many numbers of sensors, with a or u measured or both.
    pub(super) fn new(numbers: usize, measured: PerChannel<bool>) -> Self {
        let mut extents = vec![numbers, AXIS_CELLS, AXIS_CELLS];
        extents.extend(measured.into_iter().filter(|measured| *measured).map(|_| DISTANCE_CELLS));
        let cells = extents.iter().product();
        Self { extents, errors: vec![0.0; cells], pixels: vec![0.0; cells] }
    }

    /// Adds one record's errors, seen with the `number`-th number of sensors, as shares of their mean: easy records say
    /// as much of the shape as hard ones.
    pub(super) fn add(&mut self, number: usize, places: &Places, errors: &[f32]) {
        let size = mean_size(errors).max(f64::MIN_POSITIVE);
        let [rows, columns] = &places.axes;
        for (at, error) in errors.iter().enumerate() {
            let row = rows[at / columns.len()].cell;
            let column = columns[at % columns.len()].cell;
            let mut cell = (number * AXIS_CELLS + row) * AXIS_CELLS + column;
            for distances in places.distances.iter().flatten() {
                cell = cell * DISTANCE_CELLS + distances[at].cell;
            }
            self.errors[cell] += f64::from(error.abs()) / size;
            self.pixels[cell] += 1.0;
        }
    }

    /// The factors f for which the products of one factor a direction have the sums of the errors along every direction
    /// (iterative proportional fitting: f <- f * sum of errors / sum of products, one direction after the other).
    fn factors(&self, visited: &[Cell]) -> Vec<Vec<f64>> {
        let mut factors: Vec<Vec<f64>> = self.extents.iter().map(|extent| vec![1.0; *extent]).collect();
        for _ in 0..ROUNDS {
            for direction in 0..self.extents.len() {
                let mut sums = vec![[0.0; 2]; self.extents[direction]];
                for Cell { places, errors, pixels } in visited {
                    let product: f64 = places.iter().zip(&factors).map(|(place, of)| of[*place]).product();
                    let [of_errors, fitted] = &mut sums[places[direction]];
                    *of_errors += errors;
                    *fitted += pixels * product;
                }
                for (factor, [errors, fitted]) in factors[direction].iter_mut().zip(sums) {
                    if fitted > 0.0 {
                        *factor = (*factor * errors / fitted).max(f64::MIN_POSITIVE);
                    }
                }
            }
        }
        factors
    }

    /// The cells that hold any pixel.
    fn visited(&self) -> Vec<Cell> {
        let visited = (0..self.pixels.len()).filter(|cell| self.pixels[*cell] > 0.0);
        let of = |cell: usize| {
            let mut places = vec![0; self.extents.len()];
            let mut rest = cell;
            for (place, extent) in places.iter_mut().zip(&self.extents).rev() {
                *place = rest % extent;
                rest /= extent;
            }
            Cell { places, errors: self.errors[cell], pixels: self.pixels[cell] }
        };
        visited.map(of).collect()
    }

    /// The fitted factors, each one on average over pixels, and no widths yet.
    pub(super) fn shape(&self, measured: PerChannel<bool>) -> ChannelBands {
        let visited = self.visited();
        let factors = self.factors(&visited);
        let mut directions = (1..factors.len()).map(|direction| {
            let mut weights = vec![0.0; self.extents[direction]];
            visited.iter().for_each(|cell| weights[cell.places[direction]] += cell.pixels);
            normalised(&factors[direction], &weights)
        });
        let mut next = || directions.next().unwrap_or_default();
        let along_x = next();
        let along_y = next();
        let PerChannel { a: from_a, u: from_u } = measured.map(|measured| measured.then(&mut next));
        ChannelBands {
            widths: [Vec::new(), Vec::new()],
            along_x,
            along_y,
            from_a,
            from_u,
            by_misfit_of_a: None,
            by_misfit_of_u: None,
        }
    }
}

/// The mean of |error|.
pub(super) fn mean_size(errors: &[f32]) -> f64 {
    errors.iter().map(|error| f64::from(error.abs())).sum::<f64>() / errors.len().max(1) as f64
}

/// Divided by their mean over pixels, to three digits; places with hardly any pixels take the factor of the place
/// before.
fn normalised(factors: &[f64], weights: &[f64]) -> Vec<f64> {
    let pixels: f64 = weights.iter().sum();
    let mean = factors.iter().zip(weights).map(|(factor, weight)| factor * weight).sum::<f64>() / pixels;
    let mut last = 1.0;
    let scaled = factors.iter().zip(weights).map(|(factor, weight)| {
        if *weight > FEWEST * pixels {
            last = (factor / mean).max(LEAST);
        }
        digits::nearest(last, 3)
    });
    scaled.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use scope_data::observation::{ContextMasks, Mask, Task};
    use scope_model::bands::{axis_cells, distance_cells};

    /// Errors that are such a product are fitted exactly, but for three digits, however large those of one record are.
    #[test]
    fn products_are_found_again() {
        let size = 64;
        let axis = axis_cells(size);
        let mask = Mask::from_fn(size, |i, j| [130, 1000, 2222, 4000].contains(&(i * size + j)));
        let cells = distance_cells(&mask);
        let x = |cell: usize| 1.0 + 0.3 * cell as f64;
        let y = |cell: usize| 2.0 / (1.0 + cell as f64);
        let d = |cell: usize| 0.1 + cell as f64;
        let mut masks = ContextMasks::empty(size);
        masks.seen.u = mask;
        let places = Places::of(&masks, Task::Inverse, false);
        let measured = PerChannel { a: false, u: true };
        let mut sums = Sums::new(2, measured);
        for number in 0..2 {
            let error = |at: usize| {
                let sign = if at.is_multiple_of(3) { -1.0 } else { 1.0 };
                sign * (1.0 + number as f64) * x(axis[at / size]) * y(axis[at % size]) * d(cells[at])
            };
            let errors: Vec<f32> = (0..size * size).map(|at| error(at) as f32).collect();
            sums.add(number, &places, &errors);
        }
        let bands = sums.shape(measured);
        assert_eq!(bands.from_a, None);
        let fits = |found: &[f64], of: &dyn Fn(usize) -> f64, visited: &[usize]| {
            let ratio = |cell: usize| found[cell] / of(cell);
            visited.iter().all(|cell| (ratio(*cell) / ratio(visited[0]) - 1.0).abs() < 0.01)
        };
        assert!(fits(&bands.along_x, &x, &axis) && fits(&bands.along_y, &y, &axis), "{bands:?}");
        assert!(fits(&bands.from_u.unwrap(), &d, &cells));
    }

    #[test]
    fn places_with_hardly_any_pixels_take_the_factor_before() {
        assert_eq!(normalised(&[2.0, 5.0, 6.0], &[1e5, 1.0, 1e5]), [0.5, 0.5, 1.5]);
    }
}
