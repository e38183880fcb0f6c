//! Local fits of the sensors against golden values, and what must hold of them.

use crate::golden;

use std::sync::Arc;

use golden::Golden;

use scope_engine::{Cpu, Device, Element, Isa, Layout, LocalFit, Params, Tape, Tensor};

/// The coefficients \[6 scales fields, height, width\] of one context.
fn fitted<T: Element>(device: &Device, context: &[T], shape: [usize; 4], fit: &LocalFit) -> Vec<T> {
    let params = Params::from_flat::<T>(device, Arc::new(Layout::new()), &[]).unwrap();
    let tape = Tape::inference(&params, T::DTYPE);
    let context = tape.input(Tensor::from_slice(device, &shape, context).unwrap());
    tape.local_fits(&context, fit, None).unwrap().value().to_vec().unwrap()
}

fn fit(scale: f64, ridge: [f64; 2], periodic: bool) -> LocalFit {
    LocalFit {
        scales: vec![scale],
        degree: 2,
        stride: 1,
        ridge: ridge.to_vec(),
        periodic: [periodic; 2],
        edges: vec![],
    }
}

#[test]
fn recipe_golden_local_fits_agree_with_numpy() {
    for case in Golden::all("jets_") {
        let array = |name: &str| case.get(name);
        let name = &case.name;
        let shape = &array("value").shape;
        let value = &array("value").values;
        let mask = &array("mask").values;
        let expected = &array("coefficients").values;
        let every = case.find("every").map_or(1, |every| every.values[0] as usize);
        let fit = fit(array("scale").values[0], [1e-4, 1e-6], false);
        let seen = value.iter().zip(mask).map(|(value, mask)| (value * mask) as f32);
        let context: Vec<f32> = seen.chain(mask.iter().map(|mask| *mask as f32)).collect();
        for isa in Isa::available() {
            let device = Device::Cpu(Cpu::with_isa(2, isa));
            let got = fitted(&device, &context, [1, 2, shape[0], shape[1]], &fit);
            let kept = value.len().div_ceil(every);
            assert_eq!(got.len() / value.len() * kept, expected.len(), "{name}: coefficients");
            for (k, (got, expected)) in got.chunks(value.len()).zip(expected.chunks(kept)).enumerate() {
                let lowest = expected.iter().copied().fold(f64::INFINITY, f64::min);
                let range = expected.iter().copied().fold(f64::NEG_INFINITY, f64::max) - lowest;
                let worst = got
                    .iter()
                    .step_by(every)
                    .zip(expected)
                    .map(|(got, expected)| (f64::from(*got) - expected).abs())
                    .fold(0.0, f64::max);
                assert!(worst <= 1e-5 * range, "{} {isa:?}: coefficient {k} by {worst} of {range}", name);
            }
        }
    }
}

/// A field that is quadratic is found exactly, whatever is measured of it.
#[test]
fn without_a_ridge_quadratics_are_exact() {
    let side = 24_usize;
    let scale = 2.5;
    let at = |i: usize, j: usize| {
        let x = i as f64 / scale;
        let y = j as f64 / scale;
        [0.3, -0.7, 0.2, 0.4, -0.5, 0.6]
            .iter()
            .zip([1.0, x, y, x * x / 2.0, x * y, y * y / 2.0])
            .map(|(c, b)| c * b)
            .sum::<f64>()
    };
    // Two of three pixels, in no order that a line or a column would miss.
    let mask: Vec<f64> =
        (0..side * side).map(|k| f64::from(!(k * 7 + k / side * 5).is_multiple_of(3))).collect();
    let value = (0..side * side).map(|k| at(k / side, k % side) * mask[k]);
    let context: Vec<f64> = value.chain(mask.iter().copied()).collect();
    let device = Device::Cpu(Cpu::new(2));
    let got = fitted(&device, &context, [1, 2, side, side], &fit(scale, [0.0; 2], false));
    for k in 0..side * side {
        let i = k / side;
        let j = k % side;
        let x = i as f64 / scale;
        let y = j as f64 / scale;
        let expected = [at(i, j), -0.7 + 0.4 * x - 0.5 * y, 0.2 - 0.5 * x + 0.6 * y, 0.4, -0.5, 0.6];
        for (c, expected) in expected.iter().enumerate() {
            let got = got[c * side * side + k];
            assert!(
                (got - expected).abs() < 1e-9,
                "coefficient {c} at ({i}, {j}): {got}, expected {expected}"
            );
        }
    }
}

fn scattered(side: usize, sensors: usize) -> Vec<f32> {
    let mut context = vec![0.0; 2 * side * side];
    for k in 0..sensors {
        let at = (k * 7919 + k * k * 31) % (side * side);
        context[at] = ((k * 37) % 101) as f32 / 50.0 - 1.0;
        context[side * side + at] = 1.0;
    }
    context
}

/// Where ends meet, a context that is moved along an axis has fits that are moved along it.
#[test]
fn on_periodic_axes_differences_wrap() {
    let side = 20;
    let device = Device::Cpu(Cpu::new(1));
    let context = scattered(side, 60);
    let moved: Vec<f32> = (0..context.len())
        .map(|k| {
            let plane = k / (side * side);
            let i = k / side % side;
            let j = k % side;
            context[plane * side * side + (i + 3) % side * side + (j + 11) % side]
        })
        .collect();
    let fit = fit(2.0, [1e-4, 1e-6], true);
    let [still, moved] = [context, moved].map(|context| fitted(&device, &context, [1, 2, side, side], &fit));
    for (k, got) in moved.iter().enumerate() {
        let plane = k / (side * side);
        let i = k / side % side;
        let j = k % side;
        let expected = still[plane * side * side + (i + 3) % side * side + (j + 11) % side];
        assert!((got - expected).abs() <= 1e-4 * expected.abs().max(1.0), "{k}: {got}, expected {expected}");
    }
}

#[test]
fn a_sample_depends_on_neither_its_batch_nor_the_threads() {
    let side = 40;
    let samples = [0, 5, 300, side * side].map(|sensors| scattered(side, sensors));
    let fit = LocalFit {
        scales: vec![1.5, 4.0],
        degree: 2,
        stride: 1,
        ridge: vec![1e-4, 1e-6],
        periodic: [true, false],
        edges: vec![],
    };
    let together = fitted(&Device::Cpu(Cpu::new(2)), &samples.concat(), [4, 2, side, side], &fit);
    for (sample, together) in samples.iter().zip(together.chunks(12 * side * side)) {
        let alone = fitted(&Device::Cpu(Cpu::new(1)), sample, [1, 2, side, side], &fit);
        assert_eq!(alone, together);
    }
    assert!(together.iter().all(|x| x.is_finite()));
    assert!(together[..12 * side * side].iter().all(|x| *x == 0.0), "nothing measured, nothing fitted");
}

/// Readings and masks times weights c make the fit that minimises sum c w (v - fit)^2 + ridge: its slope vanishes in
/// every coefficient.
#[test]
fn weighted_readings_are_fitted_by_weighted_least_squares() {
    let side = 20_usize;
    let scale = 2.0;
    let ridge = [1e-3, 1e-4];
    let pixels = side * side;
    let plain: Vec<f64> = scattered(side, 120).into_iter().map(f64::from).collect();
    let weight = |q: usize| [1.0, 0.4, 0.05, 0.002][q * 7 % 4];
    let context: Vec<f64> = plain.iter().enumerate().map(|(k, x)| x * weight(k % pixels)).collect();
    let device = Device::Cpu(Cpu::new(1));
    let got = fitted(&device, &context, [1, 2, side, side], &fit(scale, ridge, false));
    let basis = |q: usize, p: usize| {
        let apart = |q: usize, p: usize| (q as f64 - p as f64) / scale;
        let x = apart(q / side, p / side);
        let y = apart(q % side, p % side);
        ([1.0, x, y, x * x / 2.0, x * y, y * y / 2.0], (-(x * x + y * y) / 2.0).exp())
    };
    for p in (0..pixels).step_by(13) {
        let mut slope: Vec<f64> = (0..6).map(|k| ridge[k / 3] * got[k * pixels + p]).collect();
        for q in (0..pixels).filter(|q| plain[pixels + q] == 1.0) {
            let (b, near) = basis(q, p);
            let off = plain[q] - (0..6).map(|k| got[k * pixels + p] * b[k]).sum::<f64>();
            (0..6).for_each(|k| slope[k] -= weight(q) * near * off * b[k]);
        }
        assert!(slope.iter().all(|slope| slope.abs() < 1e-9), "pixel {p}: {slope:?}");
    }
}

/// Beside sensors, a known edge counts as if it were measured, whatever the context says of it; a field without a
/// sensor has none.
#[test]
fn a_known_edge_is_a_line_of_sensors() {
    let size = 20;
    let value = -0.4;
    let is_edge = |at: usize| [at / size, at % size].iter().any(|x| *x == 0 || *x == size - 1);
    let sensor = |at: usize| at.is_multiple_of(7) || at == 0;
    let field = |at: usize| (at as f64 * 0.13).sin();
    let plane = |of: &dyn Fn(usize) -> f64| (0..size * size).map(of).collect::<Vec<f64>>();
    let nothing = plane(&|_| 0.0);
    let seen =
        [plane(&|at| if sensor(at) { field(at) } else { 0.0 }), plane(&|at| f64::from(u8::from(sensor(at))))];
    let weight = 0.01;
    let written = [
        plane(&|at| {
            if is_edge(at) {
                weight * value
            } else if sensor(at) {
                field(at)
            } else {
                0.0
            }
        }),
        plane(&|at| if is_edge(at) { weight } else { f64::from(u8::from(sensor(at))) }),
    ];
    let open = fit(2.5, [1e-4, 1e-6], false);
    let known = LocalFit { edges: vec![Some(value), Some(value)], ..open.clone() };
    let context =
        |of: &[Vec<f64>; 2]| [of[0].clone(), of[1].clone(), nothing.clone(), nothing.clone()].concat();
    let device = Device::Cpu(Cpu::new(2));
    let fits = |fit: &LocalFit, of: &[Vec<f64>; 2]| fitted(&device, &context(of), [1, 4, size, size], fit);
    let got = fits(&known, &seen);
    assert!(got == fits(&open, &written));
    assert!(got != fits(&open, &seen));
    assert!(got[got.len() / 2..].iter().all(|x| *x == 0.0));
}

/// A field that is quartic is found exactly by fits of degree four, at the centres of squares of pixels too.
#[test]
fn without_a_ridge_quartics_are_exact_at_every_point() {
    let side = 24_usize;
    let scale = 4.0;
    let stride = 4_usize;
    let powers: Vec<(i32, i32)> = (0..=4).flat_map(|d| (0..=d).map(move |l| (d - l, l))).collect();
    let factorial = |n: i32| f64::from((1..=n).product::<i32>());
    let truth: Vec<f64> = (0..15).map(|k| (f64::from(k) * 1.7).sin()).collect();
    // The polynomial and its derivatives by x and y, in scales from the middle of the grid.
    let at = |x: f64, y: f64, by: (i32, i32)| -> f64 {
        let term = |(c, (k, l)): (&f64, &(i32, i32))| match (k - by.0, l - by.1) {
            (k, l) if k >= 0 && l >= 0 => c * x.powi(k) * y.powi(l) / (factorial(k) * factorial(l)),
            _ => 0.0,
        };
        truth.iter().zip(&powers).map(term).sum()
    };
    let middle = |pixels: f64| (pixels - 11.5) / scale;
    let mask: Vec<f64> =
        (0..side * side).map(|k| f64::from(!(k * 7 + k / side * 5).is_multiple_of(3))).collect();
    let value =
        (0..side * side).map(|k| at(middle((k / side) as f64), middle((k % side) as f64), (0, 0)) * mask[k]);
    let context: Vec<f64> = value.chain(mask.iter().copied()).collect();
    let fit = LocalFit { degree: 4, stride, ..fit(scale, [0.0; 2], false) };
    let got = fitted(&Device::Cpu(Cpu::new(2)), &context, [1, 2, side, side], &fit);
    let points = side / stride;
    for (k, got) in got.iter().enumerate() {
        let function = k / (points * points);
        let i = k / points % points;
        let j = k % points;
        let place = |point: usize| middle((stride * point) as f64 + 1.5);
        let expected = at(place(i), place(j), powers[function]);
        assert!((got - expected).abs() < 1e-7, "{function} at ({i}, {j}): {got}, expected {expected}");
    }
}

/// A ridge for every channel is that of its own field and scale; the same two numbers written out for all channels
/// change no bit.
#[test]
fn every_channel_may_have_a_ridge_of_its_own() {
    let side = 24;
    let device = Device::Cpu(Cpu::new(1));
    let plain: Vec<f64> = scattered(side, 90).into_iter().map(f64::from).collect();
    let context = [plain.clone(), plain].concat(); // The same sensors for two fields.
    let with = |ridge: Vec<f64>| LocalFit { scales: vec![2.0, 4.0], ridge, ..fit(1.0, [0.0; 2], false) };
    let fits = |fit: &LocalFit| fitted(&device, &context, [1, 4, side, side], fit);
    let two = with(vec![1e-3, 1e-2]);
    let written_out = with(two.channel_ridges(2));
    assert_eq!(written_out.ridge.len(), 24);
    assert_eq!(fits(&two), fits(&written_out));

    let mut ridge = two.channel_ridges(2);
    ridge[18..].fill(0.5); // the second field at the second scale
    let changed = fits(&with(ridge));
    let each = 6 * side * side;
    let heavy = fits(&with(vec![0.5, 0.5]));
    assert_eq!(changed[..3 * each], fits(&two)[..3 * each]);
    assert_eq!(changed[3 * each..], heavy[3 * each..]);

    let tape_error = with(vec![0.1; 7]).require_ridges(2).unwrap_err().to_string();
    assert!(tape_error.contains("one for each of the 24 channels"), "{tape_error}");
}
