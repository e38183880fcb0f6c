//! The operators of the auxiliary study against PyTorch (`reference/auxiliary.py` made the golden files), and against
//! the paper's counts. Parameters and inputs follow from the formula that the script has, so that golden files hold
//! results only.

use std::path::Path;

use safetensors::SafeTensors;
use scope_engine::{Device, Dtype, Gradients, Tape, Tensor};
use scope_model::{Architecture, Auxiliary, FieldModel, parameter_counts, parameter_elements};

#[test]
fn the_papers_counts_of_auxiliary_operators() {
    let real = |auxiliary: Auxiliary| -> usize {
        parameter_counts(&auxiliary.architecture(128)).unwrap().iter().map(|part| part.parameters).sum()
    };
    let elements = |auxiliary: Auxiliary| parameter_elements(&auxiliary.architecture(128)).unwrap();
    assert_eq!(Auxiliary::ALL.map(real), [9_522_113, 13_239_987, 4_740_101, 5_281_721]);
    assert_eq!(Auxiliary::ALL.map(elements), [4_803_521, 13_239_987, 4_740_101, 5_281_721]);
}

#[test]
fn impossible_auxiliary_sizes_are_named() {
    for (auxiliary, resolution, problem) in [
        (
            Auxiliary::Fno,
            14,
            "aux-fno: 16 modes must be an even number, and need a grid of 16 points at least",
        ),
        (
            Auxiliary::Unet,
            40,
            "aux-unet: a grid of 40 x 40 cannot be halved 4 times; at most 8 times, and to whole points",
        ),
        (Auxiliary::DeepOnet, 0, "aux-deeponet: a size of 0 is outside 1 to 4096"),
    ] {
        assert_eq!(auxiliary.architecture(resolution).validate().unwrap_err().to_string(), problem);
    }
    let mut wrong = Auxiliary::Unet.architecture(32);
    let Architecture::Auxiliary(config) = &mut wrong else { panic!("an auxiliary operator") };
    config.units.u.deviation = 0.0;
    assert!(wrong.validate().unwrap_err().to_string().contains("the units of u"));
}

#[test]
fn an_auxiliary_architecture_is_read_as_it_was_written() {
    for auxiliary in Auxiliary::ALL {
        let architecture = auxiliary.architecture(32);
        let text = serde_json::to_string(&architecture).unwrap();
        assert_eq!(serde_json::from_str::<Architecture>(&text).unwrap(), architecture, "{text}");
        assert_eq!(architecture.name(), auxiliary.name());
    }
}

/// Numbers between -1 and 1 that look random: the same as in the script.
fn numbers(seed: u32, count: usize) -> Vec<f32> {
    let mix = |k: u32| {
        let mut h = k.wrapping_mul(2_654_435_761) ^ seed.wrapping_mul(40_503);
        h = (h ^ (h >> 15)).wrapping_mul(2_246_822_519);
        h = (h ^ (h >> 13)).wrapping_mul(3_266_489_917);
        (f64::from(h ^ (h >> 16)) / 2_147_483_648.0 - 1.0) as f32
    };
    (0..count as u32).map(mix).collect()
}

/// Of a parameter, by its name.
fn seed_of(name: &str) -> u32 {
    name.bytes().fold(7, |seed, byte| (seed * 31 + u32::from(byte)) % 65_521)
}

/// The model with the script's parameters.
fn model(architecture: &Architecture, device: &Device) -> FieldModel {
    let mut model = FieldModel::zeros(architecture.clone(), device).unwrap();
    let layout = model.params.layout().clone();
    let mut flat = vec![0.0_f32; layout.len()];
    for param in layout.params() {
        let (module, last) = param.name.rsplit_once('.').unwrap_or(("", &param.name));
        let norm = module.rsplit('.').next().is_some_and(|part| part.starts_with("bn"));
        let mean = if norm && matches!(last, "weight" | "running_var") { 1.0 } else { 0.0 };
        let of = |x: &f32| if last == "zero" { 0.0 } else { (mean + 0.3 * f64::from(*x)) as f32 };
        let values = numbers(seed_of(&param.name), param.range.len());
        flat[param.range.clone()].copy_from_slice(&values.iter().map(of).collect::<Vec<_>>());
    }
    model.params.set_flat(Tensor::from_slice(device, &[flat.len()], &flat).unwrap()).unwrap();
    model
}

/// (M a, M, M u, M) of three samples.
fn context(size: usize) -> Vec<f32> {
    let pixels = size * size;
    let values = numbers(1, 6 * pixels);
    let chosen = numbers(2, 6 * pixels);
    let channel = |(values, chosen): (&[f32], &[f32])| {
        let masks: Vec<f32> = chosen.iter().map(|x| if f64::from(*x) > 0.2 { 1.0 } else { 0.0 }).collect();
        let seen: Vec<f32> = values.iter().zip(&masks).map(|(x, m)| x * m).collect();
        [seen, masks].concat()
    };
    values.chunks(pixels).zip(chosen.chunks(pixels)).flat_map(channel).collect()
}

/// |got - golden| <= 1e-4 |golden|.
fn compare(what: &str, got: &[f32], expected: &[f32]) {
    assert_eq!(got.len(), expected.len(), "{what}");
    let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|x| x * x).sum::<f64>().sqrt();
    let apart = norm(&mut got.iter().zip(expected).map(|(a, b)| f64::from(*a) - f64::from(*b)));
    let size = norm(&mut expected.iter().map(|x| f64::from(*x)));
    assert!(apart <= 1e-4 * size, "{what} is off by {apart:.2e} of {size:.2e}");
}

#[test]
fn auxiliary_fields_and_gradients_equal_pytorchs() {
    equal_pytorchs(&Device::cpu(2));
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn auxiliary_fields_and_gradients_equal_pytorchs_on_a_card() {
    equal_pytorchs(&Device::cuda(0).unwrap());
}

fn equal_pytorchs(device: &Device) {
    for case in ["fno", "deeponet", "unet", "cno"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/aux_{case}.safetensors"));
        let bytes = std::fs::read(path).unwrap();
        let (_, header) = SafeTensors::read_metadata(&bytes).unwrap();
        let said = |key: &str| header.metadata().as_ref().unwrap()[key].clone();
        let golden = |name: &str| -> Vec<f32> {
            let file = SafeTensors::deserialize(&bytes).unwrap();
            let Ok(view) = file.tensor(name) else { return Vec::new() };
            view.data().as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
        };
        let architecture: Architecture = serde_json::from_str(&said("config")).unwrap();
        let size = architecture.resolution().rows;
        let mut model = model(&architecture, device);
        let tensor = |channels: usize, values: &[f32]| {
            Tensor::from_slice(device, &[3, channels, size, size], values).unwrap()
        };
        let context = tensor(4, &context(size));
        let tape = Tape::recording_in(&model.params, Dtype::F32).unwrap();
        let fields = model.network.forward(&tape, &tape.input(context.clone())).unwrap();
        compare(&format!("{case}: fields"), &fields.value().to_vec::<f32>().unwrap(), &golden("fields"));
        let mut gradients = Gradients::zeros(&model.params).unwrap();
        let seed = tensor(2, &numbers(3, 6 * size * size));
        tape.backward_from(&[(&fields, seed)], &mut gradients).unwrap();
        let observed = tape.batch_statistics();
        drop(tape);
        let flat = gradients.flat().to_vec::<f32>().unwrap();
        let layout = model.params.layout().clone();
        let names: Vec<String> = serde_json::from_str(&said("names")).unwrap();
        let largest = golden("gradients").chunks(2).map(|pair| pair[1]).fold(0.0, f32::max);
        for (name, pair) in names.iter().zip(golden("gradients").chunks(2)) {
            let values = &flat[layout.param(layout.find(name).unwrap()).range.clone()];
            let weights = numbers(11, values.len());
            let projection: f64 =
                values.iter().zip(&weights).map(|(x, w)| f64::from(*x) * f64::from(*w)).sum();
            let norm = values.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
            // A bias before a batch norm has no effect: its gradient is made of rounding errors.
            let limit = 1e-4 * f64::from(pair[1]) * (values.len() as f64).sqrt() + 1e-5 * f64::from(largest);
            for (got, expected) in [projection, norm].into_iter().zip(pair) {
                let apart = (got - f64::from(*expected)).abs();
                assert!(apart <= limit, "{case}: gradient of {name} is {got}, expected {expected}");
            }
        }
        let untold = layout.params().iter().filter(|param| param.trained && !names.contains(&param.name));
        for param in untold {
            // The block that the published CNO registers and never uses.
            assert!(case == "cno" && param.name.starts_with("joined.2."), "{}", param.name);
            assert!(flat[param.range.clone()].iter().all(|x| *x == 0.0));
        }
        let one = Tensor::from_slice(device, &[1], &[1.0_f32]).unwrap();
        model.params.update_running_statistics(&observed, &one).unwrap();
        let flat = model.params.flat().to_vec::<f32>().unwrap();
        let mut modules: Vec<&str> =
            layout.params().iter().filter_map(|param| param.name.strip_suffix(".running_mean")).collect();
        modules.retain(|module| !(case == "cno" && module.starts_with("joined.2.")));
        modules.sort_unstable();
        let of = |name: String| flat[layout.param(layout.find(&name).unwrap()).range.clone()].to_vec();
        let after: Vec<f32> = modules
            .iter()
            .flat_map(|module| ["running_mean", "running_var"].map(|kind| of(format!("{module}.{kind}"))))
            .flatten()
            .collect();
        compare(&format!("{case}: running statistics"), &after, &golden("after"));
        let tape = Tape::inference(&model.params, Dtype::F32);
        let fields = model.network.forward(&tape, &tape.input(context)).unwrap();
        compare(
            &format!("{case}: evaluated"),
            &fields.value().to_vec::<f32>().unwrap(),
            &golden("evaluated"),
        );
    }
}
