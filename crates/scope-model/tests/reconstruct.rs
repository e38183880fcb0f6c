//! Contexts in, physical fields out.

use scope_data::Constants;
use scope_engine::Device;
use scope_model::{About, Fields, Model, Precision, Preset, Quantisation, Reconstructor};
use scope_pde::Pde;

fn contexts(count: usize, size: usize) -> Vec<f32> {
    (0..count * 4 * size * size).map(|k| ((k * 7919 % 1000) as f32 / 500.0 - 1.0) * 0.5).collect()
}

fn reconstructor(preset: Preset, size: usize, precision: Precision) -> Reconstructor {
    let model = Model::initial(preset.config(size), 3, &Device::cpu(2)).unwrap();
    Reconstructor::new(model, Pde::DARCY, Constants::released(Pde::DARCY), precision)
}

fn relative(exact: &[f32], other: &[f32], offset: f32) -> f64 {
    let apart: f64 = exact.iter().zip(other).map(|(a, b)| f64::from(a - b).powi(2)).sum();
    let size: f64 = exact.iter().map(|x| f64::from(x - offset).powi(2)).sum();
    (apart / size).sqrt()
}

#[test]
fn half_precision_stays_within_one_percent_on_the_base_model() {
    let contexts = contexts(1, 128);
    let run = |precision| reconstructor(Preset::Base, 128, precision).recover(&contexts).unwrap().remove(0);
    let exact = run(Precision::F32);
    let half = run(Precision::Bf16);
    // Without the mean, which both get exactly.
    assert!(relative(&exact.a, &half.a, 7.5) < 0.01, "{}", relative(&exact.a, &half.a, 7.5));
    assert!(relative(&exact.u, &half.u, 0.005_692_019_4) < 0.01);
}

/// What is stored in eight bits is multiplied so; of another file, nothing is.
#[test]
fn int8_gives_nearly_the_fields_of_single_precision_from_a_quantised_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    let pde = Pde::DARCY;
    let constants = Constants::released(pde);
    let model = Model::initial(Preset::Small.config(64), 3, &Device::cpu(2)).unwrap();
    let about = About { pde, constants, config: model.config.clone().into(), training: None };
    let contexts = contexts(1, 64);
    for quantisation in [Quantisation::Int8, Quantisation::F32] {
        model.save(&path, &about, quantisation).unwrap();
        let run = |precision| {
            let model = Reconstructor::open(&path, &Device::cpu(2), precision).unwrap();
            model.recover(&contexts).unwrap().remove(0)
        };
        let exact = run(Precision::F32);
        let other = run(Precision::Int8);
        assert_eq!(exact == other, quantisation == Quantisation::F32);
        // Without the mean, which both get exactly.
        let apart = [relative(&exact.a, &other.a, 7.5), relative(&exact.u, &other.u, 0.005_692_019_4)];
        assert!(apart.iter().all(|apart| *apart < 5e-3), "{quantisation:?}: {apart:?}");
    }
}

#[test]
fn fields_do_not_depend_on_the_batch_they_are_in() {
    let contexts = contexts(11, 40);
    let model = reconstructor(Preset::Tiny, 40, Precision::Bf16);
    let together = model.recover(&contexts).unwrap();
    let each = 4 * 40 * 40;
    let alone: Vec<Fields> =
        contexts.chunks(each).flat_map(|context| model.recover(context).unwrap()).collect();
    assert_eq!(together, alone);
    assert_eq!((together.len(), together[0].a.len()), (11, 1600));
}

#[test]
fn unusable_contexts_are_refused() {
    let model = reconstructor(Preset::Tiny, 32, Precision::F32);
    let wrong = model.recover(&[0.0; 100]).unwrap_err().to_string();
    assert_eq!(wrong, "a context has 100 numbers, but this model reads 4 x 32 x 32");
    let mut bad = contexts(2, 32);
    bad[4 * 1024 + 1024 + 33] = f32::INFINITY;
    let refused = model.recover(&bad).unwrap_err().to_string();
    assert_eq!(refused, "context 1 has a value that is not finite in channel 1, row 1, column 1");
    assert_eq!(model.recover(&[]).unwrap(), vec![]);
}
