//! The operators against PyTorch (`reference/operators.py` made the golden files), and against the paper's counts.

use std::{cell::RefCell, collections::BTreeSet, path::Path};

use safetensors::SafeTensors;
use scope_data::Constants;
use scope_engine::{Device, Dtype, Gradients, Tape, Tensor};
use scope_model::{
    About, Architecture, FieldModel, Model, Operator, Precision, Quantisation, Reconstructor,
    operators::DeepOnetConfig, parameter_counts,
};
use scope_pde::Pde;

#[test]
fn the_papers_counts() {
    let count = |architecture: Architecture| -> usize {
        parameter_counts(&architecture).unwrap().iter().map(|part| part.parameters).sum()
    };
    let counts = Operator::ALL.map(|operator| count(operator.architecture(128)));
    assert_eq!(counts, [5_029_946, 4_977_354, 4_774_776, 4_792_482]);
    for other in [DeepOnetConfig::fourier(128), DeepOnetConfig::normalised(128)] {
        assert_eq!(count(Architecture::DeepOnet(other)), 4_977_354);
    }
}

#[test]
fn impossible_sizes_are_named() {
    for (operator, resolution, problem) in [
        (Operator::Fno, 16, "fno: 14 modes need a grid of 19 points at least, with 9 of padding"),
        (Operator::DeepOnet, 40, "deeponet: a grid of 40 x 40 is not a multiple of 16"),
        (Operator::Cno, 8, "cno: a grid of 8 x 8 cannot be halved 3 times to two points or more"),
        (Operator::Transolver, 0, "transolver: a size of 0 is outside 1 to 4096"),
    ] {
        assert_eq!(operator.architecture(resolution).validate().unwrap_err().to_string(), problem);
    }
}

/// A golden file.
struct Golden {
    bytes: Vec<u8>,
    architecture: Architecture,
    /// The tensors that were asked for so far.
    used: RefCell<BTreeSet<String>>,
}

impl Golden {
    fn read(case: &str) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{case}.safetensors"));
        let bytes = std::fs::read(path).unwrap();
        let (_, header) = SafeTensors::read_metadata(&bytes).unwrap();
        let config = &header.metadata().as_ref().unwrap()["config"];
        let architecture = serde_json::from_str(config).unwrap();
        Self { bytes, architecture, used: RefCell::default() }
    }

    /// Fails if the file holds a tensor that nothing was compared with.
    fn require_all_used(&self, case: &str) {
        let used = self.used.borrow();
        let file = SafeTensors::deserialize(&self.bytes).unwrap();
        let unused: Vec<&str> = file.names().into_iter().filter(|name| !used.contains(*name)).collect();
        assert!(unused.is_empty(), "{case}: stored and not compared: {unused:?}");
    }

    fn tensor(&self, name: &str) -> (Vec<usize>, Vec<f32>) {
        self.used.borrow_mut().insert(name.to_owned());
        let file = SafeTensors::deserialize(&self.bytes).unwrap();
        let view = file.tensor(name).map_err(|error| format!("{name}: {error}")).unwrap();
        let values = view.data().as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        (view.shape().to_vec(), values)
    }

    fn on(&self, device: &Device, name: &str) -> Tensor {
        let (shape, values) = self.tensor(name);
        Tensor::from_slice(device, &shape, &values).unwrap()
    }

    /// The model with the golden parameters; each must be there in our shape.
    fn model(&self, device: &Device) -> FieldModel {
        let mut model = FieldModel::zeros(self.architecture.clone(), device).unwrap();
        let layout = model.params.layout().clone();
        let mut flat = vec![0.0_f32; layout.len()];
        for param in layout.params() {
            let (shape, values) = self.tensor(&format!("param.{}", param.name));
            assert_eq!(shape, param.shape, "{}", param.name);
            flat[param.range.clone()].copy_from_slice(&values);
        }
        model.params.set_flat(Tensor::from_slice(device, &[flat.len()], &flat).unwrap()).unwrap();
        model
    }

    /// |got - golden| <= 1e-4 |golden|.
    fn compare(&self, case: &str, name: &str, got: &[f32]) {
        let (_, expected) = self.tensor(name);
        assert_eq!(got.len(), expected.len(), "{case}: {name}");
        let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|x| x * x).sum::<f64>().sqrt();
        let difference = norm(&mut got.iter().zip(&expected).map(|(a, b)| f64::from(*a) - f64::from(*b)));
        let size = norm(&mut expected.iter().map(|x| f64::from(*x)));
        // A bias before a batch norm has no effect: its gradient is made of rounding errors.
        let limit = if size < 1e-6 { 1e-3 } else { 1e-4 * size };
        assert!(difference <= limit, "{case}: {name} is off by {difference:.2e} of {size:.2e}");
    }
}

#[test]
fn forward_and_gradients_equal_pytorchs() {
    equal_pytorchs(&Device::cpu(2));
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn forward_and_gradients_equal_pytorchs_on_a_card() {
    equal_pytorchs(&Device::cuda(0).unwrap());
}

/// Fields, gradients, running statistics and fields by them, in single precision.
fn equal_pytorchs(device: &Device) {
    for case in ["fno", "deeponet", "deeponet_normalised", "cno", "transolver"] {
        let golden = Golden::read(case);
        let mut model = golden.model(device);
        let tape = Tape::recording_in(&model.params, Dtype::F32).unwrap();
        let fields = model.network.forward(&tape, &tape.input(golden.on(device, "context"))).unwrap();
        golden.compare(case, "fields", &fields.value().to_vec::<f32>().unwrap());
        let mut gradients = Gradients::zeros(&model.params).unwrap();
        tape.backward_from(&[(&fields, golden.on(device, "seed"))], &mut gradients).unwrap();
        let observed = tape.batch_statistics();
        drop(tape);
        let flat = gradients.flat().to_vec::<f32>().unwrap();
        for param in model.params.layout().params().iter().filter(|param| param.trained) {
            golden.compare(case, &format!("gradient.{}", param.name), &flat[param.range.clone()]);
        }
        let one = Tensor::from_slice(device, &[1], &[1.0_f32]).unwrap();
        model.params.update_running_statistics(&observed, &one).unwrap();
        let flat = model.params.flat().to_vec::<f32>().unwrap();
        for param in model.params.layout().params().iter().filter(|param| !param.trained) {
            golden.compare(case, &format!("after.{}", param.name), &flat[param.range.clone()]);
        }
        let tape = Tape::inference(&model.params, Dtype::F32);
        let fields = model.network.forward(&tape, &tape.input(golden.on(device, "context"))).unwrap();
        golden.compare(case, "evaluated", &fields.value().to_vec::<f32>().unwrap());
        golden.require_all_used(case);
    }
}

/// Kernels for bf16 are others than those for single precision. PyTorch's own bf16 is off by up to 2% in fields of such
/// sizes, by 2% in gradients, and by 13% in those of CNO; what is wrong is off by 100%.
#[test]
#[ignore = "needs an NVIDIA GPU"]
fn in_bf16_a_card_is_near_pytorch() {
    let device = Device::cuda(0).unwrap();
    for (case, limit) in [("fno", 0.06), ("deeponet", 0.06), ("cno", 0.4), ("transolver", 0.06)] {
        let golden = Golden::read(case);
        let model = golden.model(&device);
        let tape = Tape::recording_in(&model.params, Dtype::Bf16).unwrap();
        let fields = model.network.forward(&tape, &tape.input(golden.on(&device, "context"))).unwrap();
        let mut gradients = Gradients::zeros(&model.params).unwrap();
        tape.backward_from(&[(&fields, golden.on(&device, "seed"))], &mut gradients).unwrap();
        let off = relative_error(&fields.value().to_vec::<f32>().unwrap(), &golden.tensor("fields").1);
        assert!(off < 0.06, "{case}: fields are off by {off:.3}");
        let flat = gradients.flat().to_vec::<f32>().unwrap();
        let mut got = Vec::new();
        let mut expected = Vec::new();
        for param in model.params.layout().params().iter().filter(|param| param.trained) {
            got.extend_from_slice(&flat[param.range.clone()]);
            expected.extend(golden.tensor(&format!("gradient.{}", param.name)).1);
        }
        let off = relative_error(&got, &expected);
        assert!(off < limit, "{case}: gradients are off by {off:.3}");
    }
}

/// |got - expected| / |expected|.
fn relative_error(got: &[f32], expected: &[f32]) -> f64 {
    assert_eq!(got.len(), expected.len());
    let difference = |(a, b): (&f32, &f32)| (f64::from(*a) - f64::from(*b)).powi(2);
    let size: f64 = expected.iter().map(|x| f64::from(*x).powi(2)).sum();
    (got.iter().zip(expected).map(difference).sum::<f64>() / size).sqrt()
}

#[test]
fn weight_files_hold_operators_too() {
    let folder = tempfile::tempdir().unwrap();
    let device = Device::cpu(2);
    let path = folder.path().join("model.safetensors");
    for case in ["fno", "deeponet", "cno", "transolver"] {
        let golden = Golden::read(case);
        let model = golden.model(&device);
        let pde = Pde::POISSON;
        let config = golden.architecture.clone();
        let about = About { pde, constants: Constants::released(pde), config, training: None };
        model.save(&path, &about, Quantisation::F32).unwrap();
        let (back, said) = FieldModel::load(&path, &device).unwrap();
        assert_eq!(said, about);
        assert!(back.params.flat().to_vec::<f32>().unwrap() == model.params.flat().to_vec::<f32>().unwrap());
        let refused = Model::load(&path, &device).unwrap_err().to_string();
        assert!(refused.contains(&format!("it holds a model of kind {case}, expected scope")), "{refused}");
        let one = Reconstructor::open(&path, &device, Precision::F32).unwrap();
        let (_, contexts) = golden.tensor("context");
        let together = one.recover(&contexts).unwrap();
        let each = contexts.len() / 3;
        let alone: Vec<_> = contexts.chunks(each).flat_map(|context| one.recover(context).unwrap()).collect();
        assert!(together == alone, "{case}: a record's result depends on its batch");
        // The processor's half precision stays close.
        let half = Reconstructor::open(&path, &device, Precision::Bf16).unwrap().recover(&contexts).unwrap();
        let distance =
            |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f32>().sqrt();
        let size = distance(&together[0].u, &vec![0.0; together[0].u.len()]);
        assert!(distance(&together[0].u, &half[0].u) < 0.05 * size, "{case}");
    }
}

#[test]
fn initial_parameters_are_the_originals() {
    let device = Device::cpu(1);
    let of = |operator: Operator| {
        let model = FieldModel::initial(operator.architecture(32), 1, &device).unwrap();
        let flat = model.params.flat().to_vec::<f32>().unwrap();
        let layout = model.params.layout().clone();
        move |name: &str| flat[layout.param(layout.find(name).unwrap()).range.clone()].to_vec()
    };
    let fno = of(Operator::Fno);
    let spectral = fno("layers.0.spectral.weight");
    assert!(spectral.iter().all(|x| (0.0..=1.0 / 1600.0).contains(x)));
    let transolver = of(Operator::Transolver);
    assert_eq!(transolver("blocks.3.temperature"), [0.5; 8]);
    assert!(transolver("blocks.3.fc1.bias").iter().all(|x| *x == 0.0));
    let weights = transolver("blocks.3.fc1.weight");
    let spread = (weights.iter().map(|x| x * x).sum::<f32>() / weights.len() as f32).sqrt();
    assert!((spread - 0.02).abs() < 0.001, "{spread}");
    assert!(transolver("blocks.3.conv_x.bias").iter().all(|x| x.abs() <= 1.0 / 1440_f32.sqrt()));
    let cno = of(Operator::Cno);
    assert!(cno("neck.1.bn0.weight").iter().all(|x| *x == 1.0));
    assert!(cno("neck.1.bn0.running_var").iter().all(|x| *x == 1.0));
    assert!(cno("neck.1.bn0.running_mean").iter().all(|x| *x == 0.0));
    assert!(of(Operator::DeepOnet)("offset").iter().all(|x| *x == 0.0));
}
