//! Several backward passes over one tape, and results that do not depend on threads.

use std::sync::Arc;

use scope_engine::{
    Cpu, Device, Dtype, EngineError, Epilogue, Gradients, Isa, Layout, Linear, Moments, Norm, Optimizer,
    ParamId, Params, StepScalars, Tape, Tensor, Update, Var,
};

/// A network of every kind of layer, on 4 x 4 tokens.
struct Net {
    patch: Linear,
    positions: ParamId,
    norm: Norm,
    qkv: Linear,
    proj: Linear,
    fc: Linear,
    conv: Linear,
    last: Linear,
}

impl Net {
    fn declare(layout: &mut Layout) -> Self {
        let mut root = layout.root();
        Self {
            patch: Linear::declare(root.scope("patch"), 4 * 64, 32),
            positions: root.offset("pos", &[16, 32]),
            norm: Norm::declare(root.scope("norm"), 32),
            qkv: Linear::declare(root.scope("qkv"), 32, 96),
            proj: Linear::declare(root.scope("proj"), 32, 32),
            fc: Linear::declare(root.scope("fc"), 32, 128),
            conv: Linear::declare_conv3x3(root.scope("conv"), 2, 40),
            last: Linear::declare_conv3x3(root.scope("last"), 40, 2),
        }
    }

    /// Latents and fields.
    fn forward(&self, tape: &Tape<'_>, context: &Tensor) -> Result<(Var, Var), EngineError> {
        let tokens = tape.patchify(&tape.input(context.clone()), 8)?;
        let x = tape.linear(&tokens, self.patch, Epilogue::AddRows(self.positions))?;
        let qkv = tape.linear(&tape.layer_norm(&x, self.norm)?, self.qkv, Epilogue::Plain)?;
        let x = tape.linear(&tape.attention(&qkv, 2)?, self.proj, Epilogue::Add(&x))?;
        let field = tape.unpatchify(&tape.linear(&x, self.fc, Epilogue::Wide)?, 8, [4, 4])?;
        let h = tape.conv3x3(&field, self.conv, Epilogue::Gelu)?;
        let y = tape.conv3x3(&h, self.last, Epilogue::Add(&field))?;
        Ok((x, tape.channels_first(&y)?))
    }
}

fn numbers(seed: u32, count: usize) -> Vec<f32> {
    let hash = |k: u32| (k.wrapping_add(seed).wrapping_mul(2_654_435_761) >> 8) as f32 / 8_388_608.0 - 1.0;
    (0..count as u32).map(hash).collect()
}

struct Setting {
    net: Net,
    params: Params,
    context: Tensor,
    target: Tensor,
    weights: Tensor,
}

fn setting(device: &Device) -> Setting {
    let mut layout = Layout::new();
    let net = Net::declare(&mut layout);
    let flat: Vec<f32> = numbers(1, layout.len()).iter().map(|x| 0.2 * x).collect();
    let params = Params::from_flat(device, Arc::new(layout), &flat).unwrap();
    let tensor = |seed, shape: &[usize]| {
        Tensor::from_slice(device, shape, &numbers(seed, shape.iter().product())).unwrap()
    };
    let context = tensor(2, &[3, 4, 32, 32]);
    let target = tensor(3, &[3, 2, 32, 32]);
    Setting { net, params, context, target, weights: tensor(4, &[3, 2]) }
}

/// The bits of outputs, losses, gradients of two losses, and parameters after a step.
fn everything(device: &Device) -> Vec<u32> {
    let mut set = setting(device);
    let mut first = Gradients::zeros(&set.params).unwrap();
    let mut second = Gradients::zeros(&set.params).unwrap();
    let tape = Tape::recording(&set.params).unwrap();
    let (z, y) = set.net.forward(&tape, &set.context).unwrap();
    let distance = tape.mean_distance(&y, &set.target, &set.weights).unwrap();
    let spread = tape.spread_floor(&z, 1.0).unwrap();
    tape.backward(&[(&distance, 1.0)], &mut first).unwrap();
    tape.backward(&[(&spread, 0.25)], &mut second).unwrap();
    let values = [z.value(), y.value(), distance.value(), spread.value(), first.flat(), second.flat()];
    let mut all: Vec<f32> = values.iter().flat_map(|tensor| tensor.to_vec::<f32>().unwrap()).collect();
    drop(tape);
    let capped = first.add_capped(&[&second], &["", "qkv"]).unwrap();
    let mut moments = Moments::zeros(&set.params).unwrap();
    let mut teacher = set.params.prefix("patch").unwrap();
    let optimizer = Optimizer::default();
    let paths = &[""][..];
    let scalars = StepScalars::new(device, &optimizer.adamw, 1, 1e-3, 0.9).unwrap();
    let update = Update { scalars: &scalars, max_norm: 0.1, paths, share: None };
    let norm = optimizer.step(&mut set.params, &first, &mut moments, update).unwrap();
    teacher.update_ema(&set.params, &scalars, &norm).unwrap();
    for tensor in [&capped.norms, &capped.alpha, &norm, set.params.flat(), &moments.second, teacher.flat()] {
        all.extend(tensor.to_vec::<f32>().unwrap());
    }
    all.into_iter().map(f32::to_bits).collect()
}

#[test]
fn results_are_equal_in_bits_for_any_number_of_threads() {
    for isa in Isa::available() {
        let one = everything(&Device::Cpu(Cpu::with_isa(1, isa)));
        for threads in [2, 3, 8] {
            let more = everything(&Device::Cpu(Cpu::with_isa(threads, isa)));
            assert!(one == more, "{isa:?} with {threads} threads");
        }
    }
}

#[test]
fn instruction_sets_agree_to_rounding() {
    let reference = everything(&Device::Cpu(Cpu::with_isa(1, Isa::Portable)));
    for isa in Isa::available() {
        let other = everything(&Device::Cpu(Cpu::with_isa(2, isa)));
        let pairs = reference.iter().zip(&other).map(|(a, b)| (f32::from_bits(*a), f32::from_bits(*b)));
        let (error, size) = pairs.fold((0.0, 0.0), |(error, size), (a, b)| {
            (error + f64::from(a - b).powi(2), size + f64::from(a).powi(2))
        });
        assert!((error / size).sqrt() < 1e-5, "{isa:?}: {}", (error / size).sqrt());
    }
}

/// A layer of more outputs than a task of a product takes rows: 600 are more than the 256 of the longest strip, and no
/// multiple of any tile.
#[test]
fn gradients_of_wide_layers_agree_on_every_instruction_set() {
    let gradient = |isa: Isa| {
        let device = Device::Cpu(Cpu::with_isa(2, isa));
        let mut layout = Layout::new();
        let layer = Linear::declare(layout.root().scope("wide"), 24, 600);
        let flat = numbers(7, layout.len());
        let params = Params::from_flat(&device, Arc::new(layout), &flat).unwrap();
        let tape = Tape::recording(&params).unwrap();
        let x = tape.input(Tensor::from_slice(&device, &[40, 24], &numbers(1, 40 * 24)).unwrap());
        let target = Tensor::from_slice(&device, &[40, 600], &numbers(2, 40 * 600)).unwrap();
        let y = tape.linear(&x, layer, Epilogue::Wide).unwrap();
        let loss = tape.mean_square(&y, &target).unwrap();
        let mut gradients = Gradients::zeros(&params).unwrap();
        tape.backward(&[(&loss, 1.0)], &mut gradients).unwrap();
        gradients.flat().to_vec::<f32>().unwrap()
    };
    let reference = gradient(Isa::Portable);
    let largest = reference.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
    for isa in Isa::available() {
        let apart = reference.iter().zip(gradient(isa)).fold(0.0_f32, |most, (a, b)| most.max((a - b).abs()));
        assert!(apart <= 1e-5 * largest, "{isa:?}: {apart:e} of {largest:e}");
    }
}

#[test]
fn a_tape_used_twice_equals_two_tapes() {
    let device = Device::cpu(2);
    let set = setting(&device);
    let gradient = |tape: &Tape<'_>, loss: &Var| {
        let mut gradients = Gradients::zeros(&set.params).unwrap();
        tape.backward(&[(loss, 1.0)], &mut gradients).unwrap();
        gradients.flat().to_vec::<f32>().unwrap()
    };
    let losses = |tape: &Tape<'_>| {
        let (z, y) = set.net.forward(tape, &set.context).unwrap();
        let distance = tape.mean_distance(&y, &set.target, &set.weights).unwrap();
        (distance, tape.spread_floor(&z, 1.0).unwrap())
    };
    let shared = Tape::recording(&set.params).unwrap();
    let (distance, spread) = losses(&shared);
    let twice = [gradient(&shared, &distance), gradient(&shared, &spread), gradient(&shared, &distance)];
    let one = Tape::recording(&set.params).unwrap();
    let two = Tape::recording(&set.params).unwrap();
    let alone = [gradient(&one, &losses(&one).0), gradient(&two, &losses(&two).1)];
    assert!(twice[0] == alone[0] && twice[1] == alone[1] && twice[2] == alone[0]);
}

#[test]
fn a_sample_does_not_depend_on_its_batch() {
    let device = Device::cpu(2);
    let set = setting(&device);
    for compute in [Dtype::F32, Dtype::Bf16] {
        let tape = Tape::inference(&set.params, compute);
        let run =
            |context: &Tensor| set.net.forward(&tape, context).unwrap().1.value().to_vec::<f32>().unwrap();
        let together = run(&set.context);
        for (sample, context) in set.context.to_vec::<f32>().unwrap().chunks(4 * 1024).enumerate() {
            let alone = run(&Tensor::from_slice(&device, &[1, 4, 32, 32], context).unwrap());
            assert!(alone == together[sample * 2048..][..2048], "{compute}, sample {sample}");
        }
    }
}

#[test]
fn half_precision_stays_close_on_every_instruction_set() {
    for isa in Isa::available() {
        let set = setting(&Device::Cpu(Cpu::with_isa(2, isa)));
        let run = |compute| {
            let tape = Tape::inference(&set.params, compute);
            set.net.forward(&tape, &set.context).unwrap().1.value().to_vec::<f32>().unwrap()
        };
        let exact = run(Dtype::F32);
        let half = run(Dtype::Bf16);
        let error: f32 = exact.iter().zip(&half).map(|(a, b)| (a - b).powi(2)).sum();
        let size: f32 = exact.iter().map(|x| x.powi(2)).sum();
        assert!((error / size).sqrt() < 0.01, "{isa:?}: {}", (error / size).sqrt());
    }
}

#[test]
fn mistakes_are_named() {
    let device = Device::cpu(1);
    let set = setting(&device);
    let tape = Tape::inference(&set.params, Dtype::F32);
    let x = tape.input(Tensor::from_slice(&device, &[2, 5], &[0.0_f32; 10]).unwrap());
    let error = tape.linear(&x, set.net.fc, Epilogue::Plain).unwrap_err();
    assert_eq!(error.to_string(), "linear: the weight has shape [128, 32], expected [128, 5]");
    let mut gradients = Gradients::zeros(&set.params).unwrap();
    assert_eq!(
        tape.backward(&[(&x.reshape(&[10]).unwrap(), 1.0)], &mut gradients).unwrap_err().to_string(),
        "backward: a loss has shape [10], expected [1]"
    );
    let loss = tape.mean_square(&x, x.value()).unwrap();
    assert_eq!(tape.backward(&[(&loss, 1.0)], &mut gradients).unwrap_err(), EngineError::NotRecording);
    assert!(Tensor::from_slice(&device, &[3], &[1.0_f32]).is_err());
    assert!(x.value().to_vec::<f64>().is_err());
}

#[test]
fn a_step_with_an_infinite_gradient_changes_nothing() {
    let device = Device::cpu(2);
    let mut set = setting(&device);
    let mut teacher = set.params.prefix("patch").unwrap();
    let mut gradients = Gradients::zeros(&set.params).unwrap();
    let tape = Tape::recording(&set.params).unwrap();
    let (_, y) = set.net.forward(&tape, &set.context).unwrap();
    let seed = Tensor::from_slice(&device, y.shape(), &vec![f32::INFINITY; y.value().len()]).unwrap();
    tape.backward_from(&[(&y, seed)], &mut gradients).unwrap();
    drop(tape);
    let bits = |tensor: &Tensor| -> Vec<u32> {
        tensor.to_vec::<f32>().unwrap().into_iter().map(f32::to_bits).collect()
    };
    let mut moments = Moments::zeros(&set.params).unwrap();
    let before = [bits(set.params.flat()), bits(&moments.first), bits(teacher.flat())];
    let optimizer = Optimizer::default();
    let scalars = StepScalars::new(&device, &optimizer.adamw, 1, 1e-3, 0.9).unwrap();
    let update = Update { scalars: &scalars, max_norm: 1.0, paths: &[""], share: None };
    let norm = optimizer.step(&mut set.params, &gradients, &mut moments, update).unwrap();
    teacher.update_ema(&set.params, &scalars, &norm).unwrap();
    assert!(!norm.to_vec::<f32>().unwrap()[0].is_finite());
    assert!(before == [bits(set.params.flat()), bits(&moments.first), bits(teacher.flat())]);
}
