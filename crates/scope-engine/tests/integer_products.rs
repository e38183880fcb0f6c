//! Linear layers that multiply integers of eight bits.

use std::sync::Arc;

use scope_engine::{
    Activations, Cpu, Device, Dtype, Epilogue, Isa, Layout, Linear, Params, QuantisedRows, Tape, Tensor,
    dequantise_int8,
};

fn numbers(seed: u32, count: usize) -> Vec<f32> {
    let hash = |k: u32| (k.wrapping_add(seed).wrapping_mul(2_654_435_761) >> 8) as f32 / 8_388_608.0 - 1.0;
    (0..count as u32).map(hash).collect()
}

/// A layer with a weight [n, k] of integers, and rows of activations for it; one of them is zero.
struct Setting {
    layer: Linear,
    params: Params,
    rows: QuantisedRows,
    x: Tensor,
    residual: Tensor,
}

const ROWS: usize = 37;

fn setting(device: &Device, size: [usize; 2]) -> Setting {
    setting_with(device, size, Activations::Wide)
}

fn setting_with(device: &Device, [n, k]: [usize; 2], activations: Activations) -> Setting {
    let mut layout = Layout::new();
    let layer = Linear::declare(layout.root().scope("fc"), k, n);
    let integers: Vec<i8> = numbers(1, n * k).iter().map(|x| (127.0 * x) as i8).collect();
    let scales: Vec<f32> = numbers(2, n).iter().map(|x| 0.01 * (x + 1.5)).collect();
    let mut params = Params::zeros(device, Arc::new(layout)).unwrap();
    let layout = params.layout().clone();
    params
        .write_flat(|flat| {
            let bytes: Vec<u8> = integers.iter().map(|q| q.cast_unsigned()).collect();
            let weight = layout.find("fc.weight").unwrap();
            dequantise_int8(&bytes, &scales, k, &mut flat[layout.param(weight).range.clone()]);
            let bias = layout.param(layout.find("fc.bias").unwrap()).range.clone();
            flat[bias].copy_from_slice(&numbers(3, n));
            Ok::<(), scope_engine::EngineError>(())
        })
        .unwrap();
    let mut x = numbers(4, ROWS * k);
    x[5 * k..6 * k].fill(0.0);
    let x = Tensor::from_slice(device, &[ROWS, k], &x).unwrap();
    let residual = Tensor::from_slice(device, &[ROWS, n], &numbers(5, ROWS * n)).unwrap();
    Setting { layer, params, rows: QuantisedRows::new(integers, scales, activations), x, residual }
}

impl Setting {
    /// Has the layer multiply integers.
    fn in_integers(mut self) -> Self {
        let weight = self.params.layout().find("fc.weight").unwrap();
        self.params.keep_integers(weight, self.rows.clone()).unwrap();
        self
    }

    fn run(&self) -> Vec<f32> {
        let tape = Tape::inference(&self.params, Dtype::F32);
        let residual = tape.input(self.residual.clone());
        let y = tape.linear(&tape.input(self.x.clone()), self.layer, Epilogue::Add(&residual)).unwrap();
        y.value().to_vec().unwrap()
    }
}

#[test]
fn results_are_equal_in_bits_on_every_instruction_set_and_with_any_number_of_threads() {
    for (activations, size) in [(Activations::Wide, [70, 90]), (Activations::Bytes, [70, 92])] {
        let expected = setting_with(&Device::cpu(1), size, activations).in_integers().run();
        for isa in Isa::available() {
            for threads in [1, 2, 3] {
                let device = Device::Cpu(Cpu::with_isa(threads, isa));
                let set = setting_with(&device, size, activations).in_integers();
                assert!(set.run() == expected, "{activations:?}, {isa:?} on {threads} threads");
            }
        }
    }
}

/// Half a step of 255 at most: a five-hundredth of a row's range, and more than activations of fourteen bits are off
/// by.
#[test]
fn activations_in_bytes_are_off_by_half_a_step() {
    for size in [[33, 64], [256, 1024]] {
        let exact = setting(&Device::cpu(2), size).run();
        let error = |activations| -> f64 {
            let rounded = setting_with(&Device::cpu(2), size, activations).in_integers().run();
            exact.iter().zip(rounded).map(|(x, y)| f64::from(x - y).powi(2)).sum()
        };
        let norm: f64 = exact.iter().map(|x| f64::from(*x).powi(2)).sum();
        let bytes = error(Activations::Bytes);
        let wide = error(Activations::Wide);
        assert!(bytes > wide && (bytes / norm).sqrt() < 6e-3, "{size:?}: {bytes} {wide}");
    }
}

#[test]
fn rounded_activations_are_off_by_a_ten_thousandth_of_their_row() {
    for size in [[33, 64], [256, 1024], [8, 4096]] {
        let set = setting(&Device::cpu(2), size);
        let exact = set.run();
        let rounded = set.in_integers().run();
        let error: f64 = exact.iter().zip(&rounded).map(|(x, y)| f64::from(x - y).powi(2)).sum();
        let norm: f64 = exact.iter().map(|x| f64::from(*x).powi(2)).sum();
        assert!(error > 0.0 && (error / norm).sqrt() < 2e-4, "{size:?}: {}", (error / norm).sqrt());
    }
}

/// Sums of 32 bits hold the largest weights times the largest activations.
#[test]
fn the_largest_sums_do_not_overflow() {
    let n = 3;
    let k = 4096;
    let mut set = setting(&Device::cpu(1), [n, k]);
    let ones = Tensor::from_slice(&Device::cpu(1), &[ROWS, k], &vec![1.0_f32; ROWS * k]).unwrap();
    set.rows = QuantisedRows::new(vec![-128; n * k], vec![1.0; n], Activations::Wide);
    set.x = ones;
    let bias = numbers(3, n);
    let residual = set.residual.to_vec::<f32>().unwrap();
    for (at, y) in set.in_integers().run().into_iter().enumerate() {
        let expected = -128.0 * k as f32 + bias[at % n] + residual[at];
        assert!((y / expected - 1.0).abs() < 1e-5, "{y} and {expected}");
    }
}

#[test]
fn layers_of_odd_width_and_those_whose_values_change_multiply_numbers() {
    let odd = setting(&Device::cpu(1), [16, 31]);
    let exact = odd.run();
    assert!(odd.in_integers().run() == exact);
    let set = setting(&Device::cpu(1), [16, 32]);
    let exact = set.run();
    let mut set = set.in_integers();
    let rounded = set.run();
    assert!(rounded != exact);
    let flat = set.params.flat().clone();
    set.params.set_flat(flat).unwrap();
    assert!(set.run() == exact);
    let wrong = QuantisedRows::new(vec![0; 64], vec![1.0; 2], Activations::Wide);
    let weight = set.params.layout().find("fc.weight").unwrap();
    assert!(set.params.keep_integers(weight, wrong).is_err());
}
