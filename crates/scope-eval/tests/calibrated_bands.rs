//! Bands calibrated on some records hold what they promise on others.

#![allow(clippy::unwrap_used)]

use rayon::prelude::*;
use scope_data::{
    Constants,
    observation::{Condition, ContextMasks, Mask, MaskSampler, Namespace, TEST_MASK_SEED},
};
use scope_eval::{ExactRecovery, Recovery, calibration::Calibration};
use scope_pde::{Generator, Identity, Pde, Split};

const SIZE: usize = 32;

/// What was seen of a record, and the method's errors.
fn recovered(method: &ExactRecovery, condition: Condition, record: u64) -> (ContextMasks, [Vec<f32>; 2]) {
    let pde = method.pde();
    let identity = Identity { pde, seed: 3, split: Split::Test, resolution: SIZE };
    let truth = Generator::new(identity).unwrap().record(record).unwrap();
    let masks = MaskSampler::new(pde, TEST_MASK_SEED, SIZE).masks(Namespace::Test, record, condition, None);
    let constants = method.constants();
    let mut context = vec![0.0; 4 * SIZE * SIZE];
    let (a, u) = context.split_at_mut(2 * SIZE * SIZE);
    let see = |out: &mut [f32], field: &[f64], mask: &Mask, scaling: scope_data::Scaling| {
        for point in mask.points() {
            out[point] = scaling.store(field[point]);
            out[SIZE * SIZE + point] = 1.0;
        }
    };
    see(a, &truth.a, &masks.a, constants.a);
    see(u, &truth.u, &masks.u, constants.u);
    let fields = method.recover(&context).unwrap().pop().unwrap();
    let apart = |got: &[f32], truth: &[f64]| got.iter().zip(truth).map(|(x, y)| x - *y as f32).collect();
    (masks, [apart(&fields.a, &truth.a), apart(&fields.u, &truth.u)])
}

/// 400 records to calibrate on, 400 fresh ones to test: coverage within two points of what is promised.
#[test]
fn bands_cover_fresh_records_as_promised() {
    let method = ExactRecovery::new(Pde::Poisson, Constants::generated(Pde::Poisson), SIZE).unwrap();
    for condition in ["forward/uniform/500", "inverse/cluster/1024"] {
        let condition: Condition = condition.parse().unwrap();
        let all: Vec<_> = (0..800u64).into_par_iter().map(|k| recovered(&method, condition, k)).collect();
        let (known, fresh) = all.split_at(400);
        let mut calibration = Calibration::default();
        known.iter().for_each(|(masks, [a, u])| calibration.add(masks, [a, u]));
        for level in [0.68, 0.95] {
            let bands = calibration.bands(level).unwrap();
            let mut mean = [0.0; 2];
            for (masks, [a, u]) in fresh {
                let covered = bands.coverage(masks, [a, u]);
                mean.iter_mut().zip(covered).for_each(|(mean, share)| *mean += share / fresh.len() as f64);
            }
            for share in mean {
                assert!((share - level).abs() < 0.02, "{condition} {level}: {mean:?}");
            }
        }
        // Near sensors errors are smaller, and bands say so.
        let bands = calibration.bands(0.95).unwrap();
        let observed = if condition.to_string().starts_with("forward") { bands.a } else { bands.u };
        assert!(observed[0] < 0.01 * observed[3] && observed[3] < observed[5], "{observed:?}");
    }
}
