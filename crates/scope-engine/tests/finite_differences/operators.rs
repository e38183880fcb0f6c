//! The operations that operators are made of.

use scope_engine::{
    Activation, AxisMap, BatchNorm, Device, Dtype, Epilogue, Layout, Linear, Params, Tape, Tensor, Var,
};

use super::{Case, noise};

fn without_parameters(
    inputs: &[&[usize]],
    run: impl Fn(&Tape<'_>, &[Var]) -> Result<Var, scope_engine::EngineError>,
) {
    let inputs = inputs.iter().map(|shape| shape.to_vec()).collect();
    Case { layout: Layout::new(), inputs, run: &run }.check();
}

#[test]
fn activations() {
    without_parameters(&[&[3, 7]], |tape, x| tape.activate(&x[0], Activation::Gelu));
    without_parameters(&[&[3, 7]], |tape, x| tape.activate(&x[0], Activation::LeakyRelu(0.01)));
}

#[test]
fn factors_and_offsets_of_channels() {
    for scales in [true, false] {
        let mut layout = Layout::new();
        let each = layout.root().offset("each", &[3]);
        let run = |tape: &Tape<'_>, x: &[Var]| {
            if scales { tape.scale_channels(&x[0], each) } else { tape.shift_channels(&x[0], each) }
        };
        Case { layout, inputs: vec![vec![2, 5, 3]], run: &run }.check();
    }
}

/// The second sample keeps its first channel only; noise has no zeros, and weights are rounded to some.
#[test]
fn chosen_channels_and_absolute_differences() {
    let device = Device::cpu(1);
    let weights = Tensor::from_slice(&device, &[2, 2], &[0.5, 2.0, 3.0, 0.0]).unwrap();
    let target = Tensor::from_slice(&device, &[2, 2, 3], &noise(7, 12)).unwrap();
    without_parameters(&[&[2, 2, 3]], |tape, x| tape.choose(&x[0], &target, &weights));
    without_parameters(&[&[2, 2, 3]], |tape, x| tape.mean_absolute(&x[0], &target, &weights));
}

#[test]
fn a_weighted_absolute_difference_is_what_it_says() {
    let device = Device::cpu(1);
    let params = Params::zeros(&device, std::sync::Arc::new(Layout::new())).unwrap();
    let tape = Tape::inference(&params, Dtype::F32);
    let tensor = |shape: &[usize], values: &[f32]| Tensor::from_slice(&device, shape, values).unwrap();
    let x = tape.input(tensor(&[2, 2, 2], &[1.0, 3.0, 9.0, 9.0, 9.0, 9.0, 0.0, -2.0]));
    let target = tensor(&[2, 2, 2], &[0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 4.0, -2.0]);
    // Means 1.5 and 2 of the channels that count, times 2 and 5, over two samples.
    let loss = tape.mean_absolute(&x, &target, &tensor(&[2, 2], &[2.0, 0.0, 0.0, 5.0])).unwrap();
    assert_eq!(loss.value().to_vec::<f32>().unwrap(), [6.5]);
}

/// A layer without a bias has no gradient for the zero in its place.
#[test]
fn layers_without_a_bias() {
    let mut layout = Layout::new();
    let mut root = layout.root();
    let linear = Linear::declare_without_bias(root.scope("linear"), &[3, 2]);
    let conv = Linear::declare_without_bias(root.scope("conv"), &[2, 3, 3, 3]);
    let places = [linear.bias, conv.bias].map(|id| layout.param(id).range.clone());
    assert_eq!(layout.count(""), 6 + 54);
    let device = Device::cpu(1);
    let params = Params::from_flat(&device, std::sync::Arc::new(layout), &noise(3, 256)[..]).unwrap();
    let tape = Tape::recording(&params).unwrap();
    let x = tape.input(Tensor::from_slice(&device, &[1, 2, 2, 2], &noise(4, 8)).unwrap());
    let y = tape.linear(&x, linear, Epilogue::Plain).unwrap();
    let z = tape.conv3x3(&y, conv, Epilogue::Plain).unwrap();
    let mut gradients = scope_engine::Gradients::zeros(&params).unwrap();
    let seed = Tensor::from_slice(&device, z.shape(), &noise(5, 8)).unwrap();
    tape.backward_from(&[(&z, seed)], &mut gradients).unwrap();
    let flat = gradients.flat().to_vec::<f64>().unwrap();
    assert!(places.into_iter().flatten().all(|place| flat[place] == 0.0));
    assert!(flat.iter().any(|x| *x != 0.0));
}

#[test]
fn convolutions_with_a_stride() {
    for (side, stride, [height, width, c]) in [(3, 2, [6, 4, 3]), (5, 2, [4, 4, 2]), (3, 1, [3, 2, 2])] {
        let mut layout = Layout::new();
        let mut root = layout.root();
        let weight = root.weight("weight", &[2, side, side, c]);
        let layer = Linear { weight, bias: root.offset("bias", &[2]) };
        let run = |tape: &Tape<'_>, x: &[Var]| tape.strided_conv(&x[0], layer, stride, Epilogue::Plain);
        Case { layout, inputs: vec![vec![2, height, width, c]], run: &run }.check();
    }
}

#[test]
fn frames() {
    without_parameters(&[&[2, 3, 4, 2]], |tape, x| tape.crop_or_pad(&x[0], [5, 6]));
    without_parameters(&[&[2, 3, 4, 2]], |tape, x| tape.crop_or_pad(&x[0], [2, 5]));
}

#[test]
fn joined_values() {
    without_parameters(&[&[2, 3, 4], &[2, 3, 2]], |tape, x| tape.concat(&x[0], &x[1]));
}

#[test]
fn maps_along_each_axis() {
    let band = AxisMap::new(5, 4, |i, j| if i.abs_diff(j) < 2 { noise(i as u64, 4)[j] } else { 0.0 });
    for axis in 0..3 {
        let mut shape = [3, 2, 6];
        shape[axis] = 4;
        without_parameters(&[&shape], |tape, x| tape.map_axis(&x[0], axis, &band));
    }
}

#[test]
fn mixed_modes() {
    let mut layout = Layout::new();
    let weight = layout.root().weight("weight", &[2, 2, 2, 3, 5]);
    let run = |tape: &Tape<'_>, x: &[Var]| tape.mix_modes(&x[0], weight);
    Case { layout, inputs: vec![vec![2, 4, 6]], run: &run }.check();
}

#[test]
fn expansions_and_projections() {
    let mut layout = Layout::new();
    let offset = layout.root().offset("offset", &[2]);
    let run = |tape: &Tape<'_>, x: &[Var]| tape.expansion(&x[0], &x[1], offset);
    Case { layout, inputs: vec![vec![3, 2, 5], vec![7, 5]], run: &run }.check();
    let mut layout = Layout::new();
    let weight = layout.root().weight("weight", &[6, 5]);
    let run = |tape: &Tape<'_>, x: &[Var]| tape.project(&x[0], weight);
    Case { layout, inputs: vec![vec![2, 3, 5]], run: &run }.check();
}

#[test]
fn slices() {
    let mut layout = Layout::new();
    // One head within the bounds of its temperature and one beyond.
    let temperature = layout.root().offset("temperature", &[2]);
    let run = |tape: &Tape<'_>, x: &[Var]| {
        let weights = tape.slice_weights(&x[0], temperature)?;
        let pooled = tape.pool_slices(&weights, &x[1])?;
        tape.spread_slices(&weights, &pooled)
    };
    Case { layout, inputs: vec![vec![2, 6, 2, 3], vec![2, 6, 8]], run: &run }.check();
}

/// A batch normalisation is checked on its trained parameters and its input; its running statistics get none.
#[test]
fn batch_norm() {
    let mut layout = Layout::new();
    let norm = BatchNorm::declare(layout.root().scope("norm"), 3);
    let run = |tape: &Tape<'_>, x: &[Var]| tape.batch_norm(&x[0], norm);
    Case { layout, inputs: vec![vec![2, 5, 3]], run: &run }.check();
}

#[test]
fn running_statistics_follow_what_was_seen() {
    let device = Device::cpu(2);
    let mut layout = Layout::new();
    let norm = BatchNorm::declare(layout.root().scope("norm"), 2);
    let mut values = vec![0.0_f32; layout.len()];
    for (id, value) in [(norm.norm.weight, 1.0), (norm.running_var, 1.0)] {
        values[layout.param(id).range.clone()].fill(value);
    }
    let mut params = Params::from_flat(&device, std::sync::Arc::new(layout), &values).unwrap();
    let x = [1.0_f32, -2.0, 3.0, 4.0, 5.0, 1.0];
    let input = || Tensor::from_slice(&device, &[3, 2], &x).unwrap();
    let observed = {
        let tape = Tape::recording(&params).unwrap();
        let y = tape.batch_norm(&tape.input(input()), norm).unwrap();
        let y = y.value().to_vec::<f32>().unwrap();
        assert!((y[0] + 1.5_f32.sqrt()).abs() < 1e-4 && y[2].abs() < 1e-6, "{y:?}");
        tape.batch_statistics()
    };
    let scalar = |x: f32| Tensor::from_slice(&device, &[1], &[x]).unwrap();
    params.update_running_statistics(&observed, &scalar(f32::NAN)).unwrap();
    assert_eq!(params.flat().to_vec::<f32>().unwrap(), values, "a void step changes nothing");
    params.update_running_statistics(&observed, &scalar(1.0)).unwrap();
    let flat = params.flat().to_vec::<f32>().unwrap();
    let running = |id| &flat[params.layout().param(id).range.clone()];
    // Means 3 and 1, variances 4 and 9, divided by one less than the count.
    for (got, expected) in running(norm.running_mean).iter().zip([0.3, 0.1]) {
        assert!((got - expected).abs() < 1e-6, "{got}");
    }
    for (got, expected) in running(norm.running_var).iter().zip([1.3, 1.8]) {
        assert!((got - expected).abs() < 1e-6, "{got}");
    }
    // An inference tape uses them, whatever the batch.
    let tape = Tape::inference(&params, Dtype::F32);
    let y = tape.batch_norm(&tape.input(input()), norm).unwrap().value().to_vec::<f32>().unwrap();
    assert!((y[0] - 0.7 / (1.3_f32 + 1e-5).sqrt()).abs() < 1e-6, "{y:?}");
    assert_eq!(params.layout().count(""), 4);
}

#[test]
fn pixels_have_their_coordinates() {
    let device = Device::cpu(1);
    let params = Params::zeros(&device, std::sync::Arc::new(Layout::new())).unwrap();
    let tape = Tape::inference(&params, Dtype::F32);
    let x: Vec<f32> = (0..12).map(|k| k as f32).collect();
    let x = tape.input(Tensor::from_slice(&device, &[1, 2, 2, 3], &x).unwrap());
    let y = tape.pixels(&x).unwrap();
    assert_eq!(y.shape(), [1, 2, 3, 4]);
    let y = y.value().to_vec::<f32>().unwrap();
    assert_eq!(y[4..8], [1.0, 7.0, 0.0, 0.5]);
    assert_eq!(y[20..24], [5.0, 11.0, 1.0, 1.0]);
    let tape = Tape::recording(&params).unwrap();
    let tracked = tape.tracked(Tensor::from_slice(&device, &[1, 1, 2, 2], &[0.0_f32; 4]).unwrap());
    assert!(tape.pixels(&tracked).is_err());
}
