//! Muon against golden values, and what must hold of its steps.

use crate::golden;

use std::sync::Arc;

use golden::Golden;
use scope_engine::{
    AdamW, Device, Element, Gradients, Layout, Moments, Muon, Optimizer, Params, StepScalars, Tensor, Update,
};

/// Three steps of one weight.
struct Steps(Golden);

impl Steps {
    fn all() -> Vec<Self> {
        Golden::all("muon_").into_iter().map(Self).collect()
    }

    /// The largest error over the weights after each step: |ours - golden| relative to |golden|, and to how far the
    /// golden ones have moved.
    fn errors<T: Element>(
        &self,
        device: &Device,
        number: impl Fn(f64) -> T,
        wide: impl Fn(&T) -> f64,
    ) -> [f64; 2] {
        let numbers = |values: &[f64]| -> Vec<T> { values.iter().map(|value| number(*value)).collect() };
        let weight = self.0.get("weight");
        let mut layout = Layout::new();
        let id = layout.root().weight("weight", &weight.shape);
        layout.root().hidden(id, self.0.get("parts").values[0] as usize);
        let count = weight.values.len();
        let padded = |values: &[f64]| {
            let mut all = numbers(values);
            all.resize(count.next_multiple_of(64), number(0.0));
            all
        };
        let mut params = Params::from_flat(device, Arc::new(layout), &padded(&weight.values)).unwrap();
        let mut moments = Moments::zeros(&params).unwrap();
        let adamw = AdamW { decay: self.0.get("decay").values[0], ..AdamW::default() };
        let optimizer = Optimizer { adamw, muon: Some(Muon::default()) };
        let gradients = &self.0.get("gradients").values;
        let after = &self.0.get("after").values;
        assert_eq!(gradients.len(), after.len(), "{}: steps", self.0.name);
        let steps = gradients.chunks(count).zip(after.chunks(count));
        let mut worst = [0.0_f64; 2];
        for (step, (gradient, after)) in (1..).zip(steps) {
            let gradients = Gradients::from_flat(&params, &padded(gradient)).unwrap();
            let scalars = StepScalars::new(device, &adamw, step, self.0.get("rate").values[0], 1.0).unwrap();
            let update = Update { scalars: &scalars, max_norm: f64::INFINITY, paths: &[""], share: None };
            optimizer.step(&mut params, &gradients, &mut moments, update).unwrap();
            let ours: Vec<f64> = params.flat().to_vec::<T>().unwrap().iter().map(&wide).collect();
            let nothing = vec![0.0; count];
            let sizes = [nothing, weight.values.clone()].map(|from| distance(&from, after));
            for (worst, size) in worst.iter_mut().zip(sizes) {
                *worst = worst.max(distance(&ours, after) / size);
            }
        }
        worst
    }
}

/// The Euclidean distance of what the shorter one has.
fn distance(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| (x - y).powi(2)).sum::<f64>().sqrt()
}

#[test]
fn recipe_golden_steps_of_muon_are_reached() {
    let device = Device::cpu(2);
    for case in Steps::all() {
        let [double, _] = case.errors(&device, |x| x, |x| *x);
        let [single, _] = case.errors(&device, |x| x as f32, |x| f64::from(*x));
        assert!(double <= 1e-6 && single <= 1e-6, "{}: {double:e} in f64, {single:e} in f32", case.0.name);
    }
}

#[test]
fn recipe_golden_steps_of_muon_are_reached_on_a_gpu_within_rounding() {
    let Ok(gpu) = Device::cuda(0) else { return };
    for case in Steps::all() {
        // Newton and Schulz in bf16 are off by 1.1e-2 to 1.5e-2 of a step.
        let [_, moved] = case.errors(&gpu, |x| x as f32, |x| f64::from(*x));
        assert!(moved <= 3e-2, "{}: {moved:e}", case.0.name);
    }
}

/// Parameters of which one is three hidden matrices, and what two steps with random-looking gradients make of them.
fn two_steps(threads: usize, optimizer: &Optimizer) -> [Vec<f32>; 4] {
    let device = Device::cpu(threads);
    let mut layout = Layout::new();
    let mut root = layout.root();
    let qkv = root.weight("qkv", &[150, 70]);
    root.hidden(qkv, 3);
    root.weight("first", &[20, 30]);
    root.offset("bias", &[20]);
    let numbers = |seed: u32| -> Vec<f32> {
        let mut values = vec![0.0; 64 * (10_500_usize.div_ceil(64) + 600_usize.div_ceil(64) + 1)];
        for range in [0..10_500, 10_560..11_160, 11_200..11_220] {
            for at in range {
                let bits = (at as u32).wrapping_mul(2_654_435_761) ^ seed.wrapping_mul(0x9e37_79b9);
                values[at] = (bits.wrapping_mul(bits | 1) >> 8) as f32 / 16_777_216.0 - 0.5;
            }
        }
        values
    };
    let mut params = Params::from_flat(&device, Arc::new(layout), &numbers(1)).unwrap();
    let mut moments = Moments::zeros(&params).unwrap();
    for step in 1..=2 {
        let gradients = Gradients::from_flat(&params, &numbers(1 + step as u32)).unwrap();
        let scalars = StepScalars::new(&device, &optimizer.adamw, step, 1e-3, 1.0).unwrap();
        let update = Update { scalars: &scalars, max_norm: 1.0, paths: &[""], share: None };
        optimizer.step(&mut params, &gradients, &mut moments, update).unwrap();
    }
    let read = |tensor: &Tensor| tensor.to_vec::<f32>().unwrap();
    [numbers(1), read(params.flat()), read(&moments.first), read(&moments.second)]
}

#[test]
fn muon_takes_hidden_matrices_and_adamw_the_rest_whatever_the_threads() {
    let muon = Optimizer { muon: Some(Muon::default()), ..Optimizer::default() };
    let [before, after, first, second] = two_steps(1, &muon);
    let [_, plain, ..] = two_steps(1, &Optimizer::default());
    let hidden = 0..10_500;
    assert_eq!(after[hidden.end..], plain[hidden.end..], "the rest goes as without Muon");
    assert!(
        second[hidden.clone()].iter().all(|x| *x == 0.0) && first[hidden.clone()].iter().any(|x| *x != 0.0)
    );
    // 0.2 sqrt(70) X has entries of about 0.2 rate, as X has 50 nearly orthonormal rows of 70.
    let moved = hidden.clone().map(|k| f64::from(after[k] - before[k]).powi(2)).sum::<f64>();
    let typical = (moved / hidden.len() as f64).sqrt() / 2e-3;
    assert!((0.1..0.3).contains(&typical), "{typical}");
    for threads in [2, 3, 7] {
        let again = two_steps(threads, &muon);
        assert!(again == [before.clone(), after.clone(), first.clone(), second.clone()], "{threads} threads");
    }
}
