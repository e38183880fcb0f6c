//! Where sensors are, and how a field between its pixels follows from them.

use scope_pde::{
    GridShape, Pde,
    descriptor::{FieldKind, GridPoints, KnownPoints, KnownRegion},
};

use crate::Channel;

/// So near to a pixel, in pixels, a place is the pixel's: values differ by less than rounding to f32.
const ON_PIXEL: f64 = 1e-6;

/// A field between its pixels is taken for the polynomial through so many of them squared.
pub const STENCIL_POINTS: usize = 6;

/// Where a sensor is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Place {
    /// Row and column of the grid.
    Index(usize, usize),
    /// A point of the unit square: x along axis 0, y along axis 1.
    Point(f64, f64),
}

/// A place on a problem's grid, counted in pixels along each axis: (3, 4) is a pixel, (3.5, 4) midway to the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spot {
    /// Pixels along axis 0 and axis 1, from 0 to S - 1 on S points, or to less than S where the problem is periodic.
    pub at: [f64; 2],
}

impl Spot {
    /// The place of a pixel.
    pub fn pixel(i: usize, j: usize) -> Self {
        Self { at: [i as f64, j as f64] }
    }

    /// A point of the unit square, as each problem's grid has it.
    pub fn of_point(pde: Pde, shape: impl Into<GridShape>, x: f64, y: f64) -> Self {
        let GridShape { rows, columns } = shape.into();
        let along = |x: f64, points: GridPoints, size: usize| {
            let at = points.index(x, size);
            let near = at.round();
            let at = if (at - near).abs() <= ON_PIXEL { near } else { at };
            if points.is_periodic() { at.rem_euclid(size as f64) } else { at }
        };
        let [first, second] = pde.descriptor().grid;
        Self { at: [along(x, first, rows), along(y, second, columns)] }
    }

    /// Its point of the unit square: what [`Self::of_point`] makes it of.
    pub fn point(&self, pde: Pde, shape: impl Into<GridShape>) -> [f64; 2] {
        let GridShape { rows, columns } = shape.into();
        let [first, second] = pde.descriptor().grid;
        let [i, j] = self.at;
        [first.coordinate(i, rows), second.coordinate(j, columns)]
    }

    /// The nearest pixel, i columns + j.
    pub fn nearest(&self, shape: impl Into<GridShape>) -> usize {
        let shape = shape.into();
        // A periodic place beyond the last pixel may be nearest to the first.
        let along = |axis: usize| (self.at[axis] + 0.5).floor() as usize % shape.lengths()[axis];
        shape.point(along(0), along(1))
    }
}

/// How the value at a place follows from pixels: sum_p w_p f(p).
#[derive(Clone, Debug, PartialEq)]
pub struct Stencil {
    /// Pixels i columns + j and their weights.
    pub weights: Vec<(usize, f64)>,
}

impl Stencil {
    /// The polynomial through `points` x `points` pixels about a spot, of degree `points` - 1 along each axis; a field
    /// of two values is what it is on the nearest pixel. A field may jump to what it always is in a region, as at a
    /// coast: of such points none counts for a place beside them, and the polynomial has fewer points there.
    pub fn new(pde: Pde, channel: Channel, shape: impl Into<GridShape>, spot: Spot, points: usize) -> Self {
        let shape = shape.into();
        match pde.descriptor().fields[channel].kind {
            FieldKind::TwoValued { .. } => return Self { weights: vec![(spot.nearest(shape), 1.0)] },
            FieldKind::Continuous | FieldKind::Absent => {}
        }
        let ends_meet = pde.periodic();
        match pde.descriptor().known_region {
            KnownRegion::Fixed(known) => Self::beside(&known, ends_meet, shape, spot, points),
            _ => Self::polynomial(ends_meet, shape, spot, points),
        }
    }

    /// The polynomial through all of so many points squared; through one, the value on the nearest pixel.
    fn polynomial(ends_meet: [bool; 2], shape: GridShape, spot: Spot, points: usize) -> Self {
        if points <= 1 {
            return Self { weights: vec![(spot.nearest(shape), 1.0)] };
        }
        let [rows, columns] = [0, 1].map(|axis| {
            let size = shape.lengths()[axis];
            along(spot.at[axis], size, points.min(size), ends_meet[axis])
        });
        let row = |&(i, wi): &(usize, f64)| {
            columns.iter().map(move |&(j, wj)| (shape.point(i, j), wi * wj)).collect::<Vec<_>>()
        };
        Self { weights: rows.iter().flat_map(row).collect() }
    }

    /// The polynomial of the highest degree that needs no known point; next to these, the mean of the pixels around
    /// that are not known, by their weights in a bilinear polynomial. A place whose own pixel is known has its value.
    fn beside(
        known: &KnownPoints,
        ends_meet: [bool; 2],
        shape: GridShape,
        spot: Spot,
        points: usize,
    ) -> Self {
        let on_pixel = spot.at.iter().all(|at| at.fract() == 0.0);
        if on_pixel || known.contains(spot.nearest(shape)) {
            return Self::polynomial(ends_meet, shape, spot, 1);
        }
        let fewer =
            (2..=points).rev().step_by(2).map(|points| Self::polynomial(ends_meet, shape, spot, points));
        let is_free = |stencil: &Self| !stencil.weights.iter().any(|(point, _)| known.contains(*point));
        if let Some(free) = fewer.into_iter().find(is_free) {
            return free;
        }
        let mut around = Self::polynomial(ends_meet, shape, spot, points.min(2));
        around.weights.retain(|(point, _)| !known.contains(*point));
        let sum: f64 = around.weights.iter().map(|(_, weight)| weight).sum();
        around.weights.iter_mut().for_each(|(_, weight)| *weight /= sum);
        around
    }

    /// What a field is there.
    pub fn value(&self, field: &[f64]) -> f64 {
        self.sum(|point| field[point])
    }

    /// sum_p w_p f(p).
    pub fn sum(&self, field: impl Fn(usize) -> f64) -> f64 {
        self.weights.iter().map(|(point, weight)| weight * field(*point)).sum()
    }

    /// The pixel, if there is but one.
    pub fn single(&self) -> Option<usize> {
        match self.weights[..] {
            [(point, _)] => Some(point),
            _ => None,
        }
    }
}

/// Lagrange's weights w_k = prod_(m != k) (t - m) / (k - m) of so many pixels about t, which move inwards at an edge.
fn along(t: f64, size: usize, points: usize, periodic: bool) -> Vec<(usize, f64)> {
    if t.fract() == 0.0 {
        return vec![(t as usize, 1.0)];
    }
    let first = t.floor() as i64 - (points as i64 - 1) / 2;
    let first = if periodic { first } else { first.clamp(0, (size - points) as i64) };
    let nodes = first..first + points as i64;
    let weight = |k: i64| -> f64 {
        nodes.clone().filter(|m| *m != k).map(|m| (t - m as f64) / (k - m) as f64).product()
    };
    nodes.clone().map(|k| (k.rem_euclid(size as i64) as usize, weight(k))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SIZE: usize = 16;

    fn pixel(pde: Pde, x: f64, y: f64) -> (usize, usize) {
        let point = Spot::of_point(pde, 128, x, y).nearest(128);
        (point / 128, point % 128)
    }

    #[test]
    fn coordinates_fall_on_each_problem_s_own_pixels() {
        for pde in [Pde::POISSON, Pde::HELMHOLTZ] {
            assert_eq!(pixel(pde, 0.0, 1.0), (0, 127));
            assert_eq!(pixel(pde, 1.4 / 127.0, 1.6 / 127.0), (1, 2));
        }
        for pde in [Pde::DARCY, Pde::CYLINDER] {
            assert_eq!(pixel(pde, 0.0, 1.0), (0, 127));
            assert_eq!(pixel(pde, 1.99 / 128.0, 2.0 / 128.0), (1, 2));
        }
        assert_eq!(pixel(Pde::NAVIER_STOKES, 0.0, 1.0), (0, 0));
        assert_eq!(pixel(Pde::NAVIER_STOKES, 127.6 / 128.0, 1.4 / 128.0), (0, 1));
    }

    #[test]
    fn a_coordinate_written_with_nine_digits_is_its_pixel_s() {
        assert_eq!(Spot::of_point(Pde::POISSON, 128, 0.330708661, 0.5).at[0], 42.0);
    }

    #[test]
    fn a_place_s_point_is_the_one_it_was_made_of() {
        for pde in Pde::ALL {
            let [x, y] = Spot::of_point(pde, 128, 0.3, 0.875).point(pde, 128);
            assert!((x - 0.3).abs() < 1e-12 && (y - 0.875).abs() < 1e-12, "{pde}");
        }
    }

    /// A field on 32 x 40 points, of which the columns from 20 on are known.
    fn coast() -> Pde {
        let known = (0..32 * 40).map(|point| point % 40 >= 20);
        let mask = scope_pde::MaskSpec::of_points(known);
        let mask = serde_json::to_string(&mask).unwrap();
        let text = format!(
            r#"{{"name": "coast", "fields": {{"u": {{"name": "temperature"}}}}, "grid": {{"rows": 32, "columns": 40}},
                "known": {{"mask": {mask}, "value": 0}}}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn no_known_point_counts_for_a_place_beside_it() {
        let pde = coast();
        let field: Vec<f64> = (0..32 * 40)
            .map(|point| if point % 40 < 20 { 280.0 + (point % 40) as f64 } else { 0.0 })
            .collect();
        let value = |at: [f64; 2]| Stencil::new(pde, Channel::U, [32, 40], Spot { at }, 6).value(&field);
        for column in [3.3, 16.7, 17.2, 18.5] {
            assert!(
                (value([7.4, column]) - 280.0 - column).abs() < 1e-9,
                "column {column}: {}",
                value([7.4, column])
            );
        }
        // Half a pixel from the coast only the pixels before it are left.
        assert!((value([7.4, 19.4]) - 299.0).abs() < 1e-9);
        assert_eq!(value([7.4, 19.6]), 0.0, "a place whose pixel is known");
    }

    #[test]
    fn two_values_are_not_mixed() {
        let spot = Spot { at: [3.4, 5.6] };
        assert_eq!(Stencil::new(Pde::DARCY, Channel::A, SIZE, spot, 6).single(), Some(3 * SIZE + 6));
        assert_eq!(Stencil::new(Pde::DARCY, Channel::U, SIZE, spot, 6).weights.len(), 36);
    }

    proptest! {
        /// Six points give back every polynomial of degree five, up to the very edge.
        #[test]
        fn polynomials_are_interpolated_exactly(
            x in 0.0..15.0_f64, y in 0.0..15.0_f64, p in 0..6_i32, q in 0..6_i32,
        ) {
            let f = |x: f64, y: f64| (x / 15.0).powi(p) * (y / 15.0).powi(q);
            let field: Vec<f64> = (0..SIZE * SIZE).map(|at| f((at / SIZE) as f64, (at % SIZE) as f64)).collect();
            let stencil = Stencil::new(Pde::POISSON, Channel::U, SIZE, Spot { at: [x, y] }, 6);
            prop_assert!((stencil.value(&field) - f(x, y)).abs() < 1e-11);
        }

        /// A periodic field has no edge: a wave is as good across it as elsewhere.
        #[test]
        fn waves_are_interpolated_across_the_seam(x in 0.0..16.0_f64, y in 0.0..16.0_f64) {
            let f = |x: f64, y: f64| (std::f64::consts::TAU * x / 16.0).sin() + (std::f64::consts::TAU * y / 16.0).cos();
            let field: Vec<f64> = (0..SIZE * SIZE).map(|at| f((at / SIZE) as f64, (at % SIZE) as f64)).collect();
            let stencil = Stencil::new(Pde::NAVIER_STOKES, Channel::A, SIZE, Spot { at: [x, y] }, 6);
            prop_assert!((stencil.value(&field) - f(x, y)).abs() < 1e-4);
        }
    }
}
