//! Local fits of sensors where they are: against the fits of a grid, against sums written out, and what must hold of
//! them.

use std::sync::Arc;

use scope_engine::{Cpu, Device, Dtype, FitPoint, Layout, LocalFit, Params, Tape, Tensor};

/// A number from 0 to 1 that looks like chance.
fn chance(seed: usize) -> f64 {
    let mixed = (seed as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    ((mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 11) as f64 / (1_u64 << 53) as f64
}

/// Points between pixels that read whatever is asked of them.
fn scattered(count: usize, size: [usize; 2], value: impl Fn([f64; 2]) -> f64) -> Vec<FitPoint> {
    let point = |k: usize| {
        let at = [0, 1].map(|axis| chance(3 * k + axis) * (size[axis] - 1) as f64);
        FitPoint { at, value: value(at), weight: 1.0 }
    };
    (0..count).map(point).collect()
}

fn wavy(at: [f64; 2]) -> f64 {
    (0.4 * at[0]).sin() + (0.3 * at[1] + 0.2 * at[0]).cos()
}

fn fit(scales: &[f64], ridge: [f64; 2], periodic: [bool; 2]) -> LocalFit {
    LocalFit { scales: scales.to_vec(), degree: 2, stride: 1, ridge: ridge.to_vec(), periodic, edges: vec![] }
}

fn require_near(got: &[f64], expected: &[f64], within: f64) {
    assert_eq!(got.len(), expected.len());
    for (k, (got, expected)) in got.iter().zip(expected).enumerate() {
        assert!(
            (got - expected).abs() <= within * expected.abs().max(1.0),
            "{k}: {got}, expected {expected}"
        );
    }
}

/// The fits of a context, computed on the grid.
fn on_the_grid(points: &[Vec<FitPoint>], [height, width]: [usize; 2], fit: &LocalFit) -> Vec<f64> {
    let mut context = vec![0.0; 2 * points.len() * height * width];
    for (field, points) in points.iter().enumerate() {
        for FitPoint { at, value, weight } in points {
            let at = 2 * field * height * width + at[0] as usize * width + at[1] as usize;
            context[at] = value * weight;
            context[at + height * width] = *weight;
        }
    }
    let device = Device::Cpu(Cpu::new(2));
    let params = Params::from_flat::<f64>(&device, Arc::new(Layout::new()), &[]).unwrap();
    let tape = Tape::inference(&params, Dtype::F64);
    let shape = [1, 2 * points.len(), height, width];
    let context = tape.input(Tensor::from_slice(&device, &shape, &context).unwrap());
    tape.local_fits(&context, fit, None).unwrap().value().to_vec().unwrap()
}

#[test]
fn on_pixels_they_are_those_of_the_grid() {
    let size = [22, 36];
    let field = |first: usize| {
        let points = (0..90).map(|k| (first + 37 * k) % (22 * 36)).map(|at| FitPoint {
            at: [(at / 36) as f64, (at % 36) as f64],
            value: chance(at),
            weight: [1.0, 0.25][at % 2],
        });
        points.rev().collect::<Vec<_>>()
    };
    let points = [field(0), field(11), Vec::new()];
    for periodic in [[false, false], [true, false], [true, true]] {
        let mut fit = fit(&[1.5, 4.0], [1e-4, 1e-6], periodic);
        if periodic[1] {
            fit.degree = 4;
            fit.stride = 2;
        }
        if periodic == [false, false] {
            fit.edges = vec![None, Some(0.6), Some(0.6)];
        }
        let got = fit.of_points(&Cpu::new(2), size, &points, None).unwrap();
        assert_eq!(got, on_the_grid(&points, size, &fit));
        assert!(got.iter().any(|x| *x != 0.0));
    }
}

#[test]
fn without_a_ridge_quadratics_are_exact() {
    let size = [24, 20];
    let scale = 2.5;
    let truth = [0.3, -0.7, 0.2, 0.4, -0.5, 0.6];
    let value = |at: [f64; 2]| {
        let [x, y] = at.map(|at| at / scale);
        let basis = [1.0, x, y, x * x / 2.0, x * y, y * y / 2.0];
        truth.iter().zip(basis).map(|(c, b)| c * b).sum::<f64>()
    };
    let points = [scattered(300, size, value)];
    let got = fit(&[scale], [0.0; 2], [false; 2]).of_points(&Cpu::new(2), size, &points, None).unwrap();
    let pixels = size[0] * size[1];
    for k in 0..pixels {
        let [i, j] = [k / size[1], k % size[1]].map(|at| at as f64);
        let x = i / scale;
        let y = j / scale;
        let expected = [value([i, j]), -0.7 + 0.4 * x - 0.5 * y, 0.2 - 0.5 * x + 0.6 * y, 0.4, -0.5, 0.6];
        for (c, expected) in expected.iter().enumerate() {
            let got = got[c * pixels + k];
            assert!(
                (got - expected).abs() < 1e-9,
                "coefficient {c} at ({i}, {j}): {got}, expected {expected}"
            );
        }
    }
}

/// The fit at one pixel, as its definition says it: the normal equations, summed sensor by sensor, by elimination.
fn written_out(points: &[FitPoint], size: [usize; 2], fit: &LocalFit, pixel: [usize; 2]) -> [f64; 6] {
    let scale = fit.scales[0];
    let mut rows = [[0.0; 7]; 6];
    for (k, (row, ridge)) in rows.iter_mut().zip(fit.channel_ridges(1)).enumerate() {
        row[k] = ridge;
    }
    for point in points {
        let [x, y] = [0, 1].map(|axis| {
            let apart = point.at[axis] - pixel[axis] as f64;
            let length = size[axis] as f64;
            let turns = if fit.periodic[axis] { (apart / length).round() } else { 0.0 };
            (apart - turns * length) / scale
        });
        let weight = point.weight * (-(x * x + y * y) / 2.0).exp();
        let basis = [1.0, x, y, x * x / 2.0, x * y, y * y / 2.0, point.value];
        for (row, left) in rows.iter_mut().zip(basis) {
            row.iter_mut().zip(basis).for_each(|(sum, right)| *sum += weight * left * right);
        }
    }
    for k in 0..6 {
        for other in (0..6).filter(|other| *other != k) {
            let factor = rows[other][k] / rows[k][k];
            let pivot = rows[k];
            rows[other].iter_mut().zip(pivot).for_each(|(x, y)| *x -= factor * y);
        }
    }
    std::array::from_fn(|k| rows[k][6] / rows[k][k])
}

#[test]
fn they_are_what_the_definition_says() {
    // With a scale of 5, all but the pixel opposite is within reach where ends meet.
    for (size, scale) in [([17, 22], 1.5), ([18, 15], 5.0)] {
        for periodic in [[false, false], [true, false], [true, true]] {
            let mut points = scattered(120, size, wavy);
            points.iter_mut().enumerate().for_each(|(k, point)| point.weight = 0.5 + chance(7 * k));
            let fit = fit(&[scale], [1e-3, 1e-3], periodic);
            let got = fit.of_points(&Cpu::new(1), size, &[points.clone()], None).unwrap();
            let pixels = size[0] * size[1];
            for k in 0..pixels {
                let expected = written_out(&points, size, &fit, [k / size[1], k % size[1]]);
                let got: Vec<f64> = (0..6).map(|c| got[c * pixels + k]).collect();
                require_near(&got, &expected, 1e-8);
            }
        }
    }
}

/// Where ends meet, sensors that are moved along an axis have fits that are moved along it.
#[test]
fn on_periodic_axes_differences_wrap() {
    let size = [20, 24];
    let points = scattered(80, size, wavy);
    let move_point = |point: &FitPoint| {
        let at = [(point.at[0] + 17.0).rem_euclid(20.0), (point.at[1] + 13.0).rem_euclid(24.0)];
        FitPoint { at, ..*point }
    };
    let moved: Vec<FitPoint> = points.iter().map(move_point).collect();
    let fit = fit(&[2.0, 7.0], [1e-4, 1e-6], [true; 2]);
    let [still, moved] =
        [points, moved].map(|points| fit.of_points(&Cpu::new(1), size, &[points], None).unwrap());
    let back: Vec<f64> = (0..moved.len())
        .map(|k| {
            let plane = k / 480;
            let i = k / 24 % 20;
            let j = k % 24;
            moved[plane * 480 + (i + 17) % 20 * 24 + (j + 13) % 24]
        })
        .collect();
    require_near(&back, &still, 1e-7);
}

#[test]
fn they_depend_neither_on_the_threads_nor_on_the_order() {
    let size = [40, 33];
    let points = [scattered(150, size, wavy), scattered(9, size, wavy)];
    let fit = fit(&[1.5, 4.0], [1e-4, 1e-6], [true, false]);
    let alone = fit.of_points(&Cpu::new(1), size, &points, None).unwrap();
    let turned = points.map(|points| points.into_iter().rev().collect());
    for threads in [2, 3, 7] {
        assert_eq!(fit.of_points(&Cpu::new(threads), size, &turned, None).unwrap(), alone);
    }
}

#[test]
fn several_sensors_at_one_place_all_count() {
    let size = [16, 16];
    let place = [6.3, 9.8];
    let fit = fit(&[2.0], [1e-4, 1e-6], [false; 2]);
    let of = |readings: &[(f64, f64)]| {
        let mut points = scattered(30, size, wavy);
        points.extend(readings.iter().map(|(value, weight)| FitPoint {
            at: place,
            value: *value,
            weight: *weight,
        }));
        fit.of_points(&Cpu::new(1), size, &[points], None).unwrap()
    };
    require_near(&of(&[(0.2, 1.0), (0.6, 1.0)]), &of(&[(0.4, 2.0)]), 1e-9);
    assert_ne!(of(&[(0.4, 2.0)]), of(&[(0.4, 1.0)]));
    assert_eq!(of(&[(0.4, 0.0)]), of(&[]));
}

#[test]
fn divisors_divide_and_clamp() {
    let size = [16, 16];
    let points = [scattered(40, size, wavy)];
    let fit = fit(&[2.0], [1e-4, 1e-6], [false; 2]);
    let plain = fit.of_points(&Cpu::new(1), size, &points, None).unwrap();
    let divisors = [1.0, 0.5, 2.0, 0.01, 0.1, 3.0];
    let got = fit.of_points(&Cpu::new(1), size, &points, Some(&divisors)).unwrap();
    let expected: Vec<f64> =
        plain.iter().enumerate().map(|(k, x)| (x / divisors[k / 256]).clamp(-5.0, 5.0)).collect();
    assert_eq!(got, expected);
    assert!(fit.of_points(&Cpu::new(1), size, &points, Some(&divisors[1..])).is_err());
}

#[test]
fn readings_off_the_grid_are_refused() {
    let fit = fit(&[2.0], [1e-4, 1e-6], [true, false]);
    let good = FitPoint { at: [15.9, 15.0], value: 1.0, weight: 1.0 };
    let of = |point: FitPoint| fit.of_points(&Cpu::new(1), [16, 16], &[vec![point]], None);
    assert!(of(good).is_ok());
    for at in [[16.0, 3.0], [3.0, 16.0], [-0.1, 3.0], [f64::NAN, 3.0]] {
        let refused = of(FitPoint { at, ..good }).unwrap_err().to_string();
        assert!(refused.contains("is no reading on a grid of [16, 16] pixels"), "{refused}");
    }
    assert!(of(FitPoint { value: f64::INFINITY, ..good }).is_err());
}
