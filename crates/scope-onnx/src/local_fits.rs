//! Local polynomial fits of the sensors as a graph, in double precision as everywhere.
//!
//! The moments of the mask and of the values are products with fixed matrices along both axes; the normal equations of
//! all points are solved together, by eliminating one coefficient after the other and going back.

use scope_engine::{BasisFunction, LocalFit, Params};
use scope_model::FitConfig;

use crate::{
    OnnxError,
    graph::{Attribute, Graph},
    layers::{DOUBLE, FLOAT},
};

/// Fields of a context.
const FIELDS: usize = 2;

/// The normalised coefficients \[batch, scales 2 coefficients, points, points\] of values \[batch, 2, rows, columns\],
/// zero where nothing is measured, and the mask.
pub(crate) fn graph(
    graph: &mut Graph,
    params: &Params,
    config: &FitConfig,
    values: &str,
) -> Result<String, OnnxError> {
    let fit = config.local_fit();
    let basis = fit.basis();
    let points = graph.grid.map(|length| length / fit.stride);
    let mask = graph.cast(Graph::MASK, DOUBLE);
    let values = graph.cast(values, DOUBLE);
    let [mask, values] = with_edges(graph, &fit, mask, values);
    let products = moments(graph, &fit, &mask, 2 * fit.degree + 1); // [batch, scales, 2, points, points, powers^2]
    let readings = moments(graph, &fit, &values, fit.degree + 1);
    let system = normal_equations(graph, &fit, &basis, [&products, &readings]);
    let coefficients = solve(graph, &system, basis.len()); // [batch, scales, 2, points, points, coefficients]
    let in_front = graph.transpose(&coefficients, &[0, 1, 2, 5, 3, 4]);
    let channels = fit.channels(FIELDS);
    let image = graph.reshape(&in_front, &[0, channels, points[0], points[1]]);
    let divisors = graph.parameter(params, "encoder.fits.normaliser")?;
    let divisors = graph.reshape(&divisors, &[1, channels, 1, 1]);
    let divisors = graph.cast(&divisors, DOUBLE);
    let normalised = graph.node("Div", &[&image, &divisors], &[]);
    let bounds = [-1.0, 1.0].map(|sign| graph.constant(&[], vec![sign * f64::from(LocalFit::CLAMP)]));
    let clamped = graph.node("Clip", &[&normalised, &bounds[0], &bounds[1]], &[]);
    Ok(graph.cast(&clamped, FLOAT))
}

/// Mask and values with the pixels of known edges as sensors of little weight, for fields that have a sensor: with e =
/// 1 on these pixels, m (1 - e) + w e and v (1 - e) + w x e.
fn with_edges(graph: &mut Graph, fit: &LocalFit, mask: String, values: String) -> [String; 2] {
    if fit.edges.iter().all(Option::is_none) {
        return [mask, values];
    }
    let [rows, columns] = graph.grid;
    let edge = |field: usize| fit.edges.get(field).copied().flatten();
    let outermost = |point: usize| {
        let [i, j] = [point / columns, point % columns];
        i == 0 || i + 1 == rows || j == 0 || j + 1 == columns
    };
    let pixels = (0..FIELDS).flat_map(|field| {
        let known = edge(field).is_some();
        (0..rows * columns).map(move |point| if known && outermost(point) { 1.0_f64 } else { 0.0 })
    });
    let pixels: Vec<f64> = pixels.collect();
    let pixels = graph.constant(&[1, FIELDS, rows, columns], pixels);
    let axes = graph.integers(&[2, 3]);
    let most = graph.node("ReduceMax", &[&mask, &axes], &[("keepdims", Attribute::Integer(1))]);
    let nothing = graph.constant(&[], vec![0.0_f64]);
    let has_sensor = graph.node("Greater", &[&most, &nothing], &[]);
    let has_sensor = graph.cast(&has_sensor, DOUBLE);
    let here = graph.node("Mul", &[&pixels, &has_sensor], &[]);
    let one = graph.constant(&[], vec![1.0_f64]);
    let elsewhere = graph.node("Sub", &[&one, &here], &[]);
    let value = |field: usize| edge(field).unwrap_or(0.0);
    let weights = [[LocalFit::EDGE_WEIGHT; FIELDS], [0, 1].map(|field| LocalFit::EDGE_WEIGHT * value(field))];
    let mut replaced = |tensor: String, weights: [f64; FIELDS]| {
        let weights = graph.constant(&[1, FIELDS, 1, 1], weights.to_vec());
        let kept = graph.node("Mul", &[&tensor, &elsewhere], &[]);
        let known = graph.node("Mul", &[&here, &weights], &[]);
        graph.node("Add", &[&kept, &known], &[])
    };
    [replaced(mask, weights[0]), replaced(values, weights[1])]
}

/// sum over pixels q of x_q W_k(q0 - p0) W_l(q1 - p1) for powers k and l below `powers`: images \[batch, 2, rows,
/// columns\] to \[batch, scales, 2, points, points, powers powers\].
fn moments(graph: &mut Graph, fit: &LocalFit, images: &str, powers: usize) -> String {
    let grid = graph.grid;
    let [rows, columns] = grid;
    let [across, along] = grid.map(|length| length / fit.stride);
    let scales = fit.scales.len();
    let weights = |axis: usize, each: usize| -> Vec<f64> {
        let of =
            |scale: &f64| fit.pixel_weights(*scale, grid, axis).into_iter().take(each).collect::<Vec<_>>();
        fit.scales.iter().flat_map(of).collect()
    };
    // [scales, 1, powers points, columns], turned for a product from the right.
    let right = weights(1, powers * along * columns);
    let right = turned(&right, scales, [powers * along, columns]);
    let right = graph.constant(&[scales, 1, columns, powers * along], right);
    let left = graph.constant(&[scales, 1, powers * across, rows], weights(0, powers * across * rows));
    let images = graph.reshape(images, &[0, 1, FIELDS, rows, columns]);
    let lines = graph.node("MatMul", &[&images, &right], &[]); // [batch, scales, 2, rows, powers points]
    let sums = graph.node("MatMul", &[&left, &lines], &[]); // [batch, scales, 2, powers points, powers points]
    // An axis of length 0 in a shape stands for the batch only as the first.
    let parted = graph.reshape(&sums, &[0, scales * FIELDS, powers, across, powers, along]);
    let parted = graph.transpose(&parted, &[0, 1, 3, 5, 2, 4]);
    graph.reshape(&parted, &[0, scales, FIELDS, across, along, powers * powers])
}

/// The transposes of `count` matrices \[rows, columns\] one after the other.
fn turned(matrices: &[f64], count: usize, [rows, columns]: [usize; 2]) -> Vec<f64> {
    let at = |k: usize| {
        let [matrix, place] = [k / (rows * columns), k % (rows * columns)];
        matrices[matrix * rows * columns + place % rows * columns + place / rows]
    };
    (0..count * rows * columns).map(at).collect()
}

/// The normal equations A c = b of every point as \[..., K, K + 1\]: A with its ridge, and b as the last column.
fn normal_equations(
    graph: &mut Graph,
    fit: &LocalFit,
    basis: &[BasisFunction],
    [products, readings]: [&str; 2],
) -> String {
    let count = basis.len();
    let degree = fit.degree;
    let last = ("axis", Attribute::Integer(-1));
    let mut of = |moments: &str, functions: Vec<([usize; 2], f64)>, powers: usize, shape: &[usize]| {
        let places = functions.iter().map(|([k, l], _)| (k * powers + l) as i64).collect::<Vec<_>>();
        let places = graph.constant(shape, places);
        let gathered = graph.node("Gather", &[moments, &places], std::slice::from_ref(&last));
        let factors = graph.constant(shape, functions.iter().map(|(_, factor)| *factor).collect::<Vec<_>>());
        graph.node("Mul", &[&gathered, &factors], &[])
    };
    let together = |one: &BasisFunction, other: &BasisFunction| {
        let [k, l] = [0, 1].map(|axis| one.powers[axis] + other.powers[axis]);
        ([k, l], one.factor * other.factor)
    };
    let pairs = basis.iter().flat_map(|one| basis.iter().map(move |other| together(one, other))).collect();
    let matrix = of(products, pairs, 2 * degree + 1, &[count, count]);
    let singles = basis.iter().map(|function| (function.powers, function.factor)).collect();
    let right = of(readings, singles, degree + 1, &[count, 1]);
    let ridges = diagonals(&fit.channel_ridges(FIELDS), count);
    let ridges = graph.constant(&[fit.scales.len(), FIELDS, 1, 1, count, count], ridges);
    let matrix = graph.node("Add", &[&matrix, &ridges], &[]);
    graph.node("Concat", &[&matrix, &right], &[last])
}

/// Matrices \[count, count\], one after the other, with so many of these numbers each on their diagonals.
fn diagonals(numbers: &[f64], count: usize) -> Vec<f64> {
    let entry = |k: usize| {
        let [matrix, row, column] = [k / (count * count), k / count % count, k % count];
        if row == column { numbers[matrix * count + row] } else { 0.0 }
    };
    (0..numbers.len() * count).map(entry).collect()
}

/// The solutions \[..., K\] of equations \[..., K, K + 1\] with symmetric positive matrices, as L D L^T c = b.
fn solve(graph: &mut Graph, system: &str, count: usize) -> String {
    let least = graph.constant(&[], vec![LocalFit::LEAST_PIVOT]);
    let mut rest = system.to_owned();
    // Of each eliminated coefficient: its pivot [..., 1, 1], and the rest of its row with the right side [..., 1, n].
    let mut eliminated = Vec::new();
    for step in 0..count {
        let n = count - step;
        let pivot = graph.part(&rest, &[(-2, 0, 1), (-1, 0, 1)]);
        let pivot = graph.node("Max", &[&pivot, &least], &[]);
        let row = graph.part(&rest, &[(-2, 0, 1), (-1, 1, n + 1)]);
        if n > 1 {
            let column = graph.part(&rest, &[(-2, 1, n), (-1, 0, 1)]);
            let factors = graph.node("Div", &[&column, &pivot], &[]);
            let change = graph.node("Mul", &[&factors, &row], &[]);
            let corner = graph.part(&rest, &[(-2, 1, n), (-1, 1, n + 1)]);
            rest = graph.node("Sub", &[&corner, &change], &[]);
        }
        eliminated.push((pivot, row));
    }
    // [..., 1, solved]: the last coefficients, in their order.
    let mut solved: Option<String> = None;
    for (after, (pivot, row)) in eliminated.iter().rev().enumerate() {
        let mut right = graph.part(row, &[(-1, after, after + 1)]);
        if let Some(known) = &solved {
            let own = graph.part(row, &[(-1, 0, after)]);
            let terms = graph.node("Mul", &[&own, known], &[]);
            let last = graph.integers(&[-1]);
            let sum = graph.node("ReduceSum", &[&terms, &last], &[("keepdims", Attribute::Integer(1))]);
            right = graph.node("Sub", &[&right, &sum], &[]);
        }
        let coefficient = graph.node("Div", &[&right, pivot], &[]);
        solved = Some(match solved {
            Some(known) => graph.node("Concat", &[&coefficient, &known], &[("axis", Attribute::Integer(-1))]),
            None => coefficient,
        });
    }
    let second_last = graph.integers(&[-2]);
    graph.node("Squeeze", &[&solved.unwrap_or_default(), &second_last], &[])
}
