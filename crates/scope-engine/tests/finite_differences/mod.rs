//! Every operation's gradient against central finite differences, in double precision.

mod operators;

use std::sync::Arc;

use scope_engine::{
    Device, EngineError, Epilogue, Gradients, Layout, Linear, Norm, Params, Tape, Tensor, Var,
};

/// Deterministic numbers in (-1, 1).
fn noise(seed: u64, count: usize) -> Vec<f64> {
    let hash = |k: u64| {
        let mut x = (seed << 32 | k).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((x ^ x >> 31) >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    };
    (0..count as u64).map(hash).collect()
}

/// A function of parameters and inputs, built on a tape.
type Function<'a> = dyn Fn(&Tape<'_>, &[Var]) -> Result<Var, EngineError> + 'a;

struct Case<'a> {
    layout: Layout,
    inputs: Vec<Vec<usize>>,
    run: &'a Function<'a>,
}

impl Case<'_> {
    /// Compares every partial derivative of a random projection of the output.
    fn check(self) {
        let device = Device::cpu(2);
        let layout = Arc::new(self.layout);
        let flat = noise(1, layout.len());
        let inputs: Vec<Vec<f64>> = self
            .inputs
            .iter()
            .enumerate()
            .map(|(k, shape)| noise(2 + k as u64, shape.iter().product()))
            .collect();
        let evaluate = |flat: &[f64], inputs: &[Vec<f64>]| {
            let params = Params::from_flat(&device, layout.clone(), flat).unwrap();
            let tape = Tape::recording(&params).unwrap();
            let vars: Vec<Var> = inputs
                .iter()
                .zip(&self.inputs)
                .map(|(values, shape)| tape.tracked(Tensor::from_slice(&device, shape, values).unwrap()))
                .collect();
            let out = (self.run)(&tape, &vars).unwrap();
            let seed = noise(99, out.value().len());
            let value: f64 =
                out.value().to_vec::<f64>().unwrap().iter().zip(&seed).map(|(out, seed)| out * seed).sum();
            let mut gradients = Gradients::zeros(&params).unwrap();
            let seed = Tensor::from_slice(&device, out.shape(), &seed).unwrap();
            tape.backward_from(&[(&out, seed)], &mut gradients).unwrap();
            let of_input = |var: &Var| gradients.input(var).map(|g| g.to_vec::<f64>().unwrap());
            let of_inputs: Vec<Option<Vec<f64>>> = vars.iter().map(of_input).collect();
            (value, gradients.flat().to_vec::<f64>().unwrap(), of_inputs)
        };
        let (_, of_params, of_inputs) = evaluate(&flat, &inputs);
        let step = 1e-5;
        let difference = |at: &mut dyn FnMut(f64) -> f64| (at(step) - at(-step)) / (2.0 * step);
        let agree = |exact: f64, numeric: f64, what: String| {
            assert!((exact - numeric).abs() <= 1e-6 * (1.0 + numeric.abs()), "{what}: {exact} and {numeric}");
        };
        for param in layout.params() {
            for index in param.range.clone() {
                let numeric = difference(&mut |by| {
                    let mut moved = flat.clone();
                    moved[index] += by;
                    evaluate(&moved, &inputs).0
                });
                agree(of_params[index], numeric, format!("{}[{}]", param.name, index - param.range.start));
            }
        }
        for (which, gradient) in of_inputs.iter().enumerate() {
            let gradient = gradient.as_ref().unwrap();
            for (index, exact) in gradient.iter().enumerate() {
                let numeric = difference(&mut |by| {
                    let mut moved = inputs.clone();
                    moved[which][index] += by;
                    evaluate(&flat, &moved).0
                });
                agree(*exact, numeric, format!("input {which}[{index}]"));
            }
        }
    }
}

/// A layer declared in a fresh layout.
fn layer(k: usize, n: usize) -> (Layout, Linear) {
    let mut layout = Layout::new();
    let linear = Linear::declare(layout.root().scope("layer"), k, n);
    (layout, linear)
}

#[test]
fn linear() {
    let (layout, linear) = layer(5, 11);
    Case { layout, inputs: vec![vec![2, 3, 5]], run: &|tape, x| tape.linear(&x[0], linear, Epilogue::Plain) }
        .check();
}

#[test]
fn linear_with_gelu() {
    let (layout, linear) = layer(7, 9);
    Case { layout, inputs: vec![vec![3, 7]], run: &|tape, x| tape.linear(&x[0], linear, Epilogue::Gelu) }
        .check();
}

#[test]
fn linear_with_residual() {
    let (layout, linear) = layer(4, 6);
    let run = |tape: &Tape<'_>, x: &[Var]| tape.linear(&x[0], linear, Epilogue::Add(&x[1]));
    Case { layout, inputs: vec![vec![3, 4], vec![3, 6]], run: &run }.check();
}

#[test]
fn linear_with_positions() {
    let (mut layout, linear) = layer(4, 6);
    let positions = layout.root().offset("pos", &[3, 6]);
    let run = |tape: &Tape<'_>, x: &[Var]| tape.linear(&x[0], linear, Epilogue::AddRows(positions));
    Case { layout, inputs: vec![vec![2, 3, 4]], run: &run }.check();
}

#[test]
fn layer_norm() {
    let mut layout = Layout::new();
    let norm = Norm::declare(layout.root().scope("norm"), 6);
    Case { layout, inputs: vec![vec![4, 6]], run: &|tape, x| tape.layer_norm(&x[0], norm) }.check();
}

#[test]
fn layer_norm_beside_a_residual() {
    let mut layout = Layout::new();
    let norm = Norm::declare(layout.root().scope("norm"), 6);
    let linear = Linear::declare(layout.root().scope("layer"), 6, 6);
    let run = |tape: &Tape<'_>, x: &[Var]| {
        let h = tape.layer_norm(&x[0], norm)?;
        tape.linear(&h, linear, Epilogue::Add(&x[0]))
    };
    Case { layout, inputs: vec![vec![35, 6]], run: &run }.check();
}

#[test]
fn attention() {
    for (tokens, heads, size) in [(5, 2, 4), (17, 1, 6)] {
        let inputs = vec![vec![2, tokens, 3 * heads * size]];
        let run = |tape: &Tape<'_>, x: &[Var]| tape.attention(&x[0], heads);
        Case { layout: Layout::new(), inputs, run: &run }.check();
    }
}

#[test]
fn convolution() {
    // Few outputs, many, and an odd number of channels.
    for (c, o) in [(3, 2), (2, 9), (5, 4)] {
        let mut layout = Layout::new();
        let conv = Linear::declare_conv3x3(layout.root().scope("conv"), c, o);
        let run = |tape: &Tape<'_>, x: &[Var]| tape.conv3x3(&x[0], conv, Epilogue::Plain);
        Case { layout, inputs: vec![vec![2, 5, 4, c]], run: &run }.check();
    }
}

#[test]
fn convolution_with_gelu_and_residual() {
    let mut layout = Layout::new();
    let first = Linear::declare_conv3x3(layout.root().scope("first"), 2, 3);
    let second = Linear::declare_conv3x3(layout.root().scope("second"), 3, 2);
    let run = |tape: &Tape<'_>, x: &[Var]| {
        let h = tape.conv3x3(&x[0], first, Epilogue::Gelu)?;
        tape.conv3x3(&h, second, Epilogue::Add(&x[0]))
    };
    // More rows than one task of a weight gradient takes.
    Case { layout, inputs: vec![vec![1, 19, 3, 2]], run: &run }.check();
}

#[test]
fn sums_and_layouts() {
    let run = |tape: &Tape<'_>, x: &[Var]| {
        let tokens = tape.patchify(&x[0], 2)?;
        let image = tape.unpatchify(&tape.add(&tokens, &x[1])?, 2, [2, 3])?;
        tape.channels_first(&image)
    };
    Case { layout: Layout::new(), inputs: vec![vec![2, 3, 4, 6], vec![2, 6, 12]], run: &run }.check();
}

#[test]
fn losses() {
    let device = Device::cpu(1);
    let target = Tensor::from_slice(&device, &[3, 2, 2, 2], &noise(50, 24)).unwrap();
    let weights = Tensor::from_slice(&device, &[3, 2], &noise(51, 6)).unwrap();
    let inputs = vec![vec![3, 2, 2, 2]];
    let layout = Layout::new;
    let distance = |tape: &Tape<'_>, x: &[Var]| tape.mean_distance(&x[0], &target, &weights);
    Case { layout: layout(), inputs: inputs.clone(), run: &distance }.check();
    let square = |tape: &Tape<'_>, x: &[Var]| tape.mean_square(&x[0], &target);
    Case { layout: layout(), inputs: inputs.clone(), run: &square }.check();
    let spread = |tape: &Tape<'_>, x: &[Var]| tape.spread_floor(&x[0], 0.7);
    Case { layout: layout(), inputs, run: &spread }.check();
}
