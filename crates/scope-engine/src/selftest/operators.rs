//! The operations that operators are made of.

use super::{Case, cases::plain};
use crate::{
    error::EngineError,
    ops::{Activation, AxisMap, BatchNorm, Epilogue, Linear},
    params::Layout,
    tape::{Tape, Var},
    tensor::Tensor,
};

/// The cases of the operations that only other operators use.
pub(super) fn all() -> Vec<Case> {
    let mut cases = vec![
        plain("gelu alone", &[&[3, 1001]], true, |tape, x| tape.activate(&x[0], Activation::Gelu)),
        plain("leaky relu", &[&[3, 1001]], true, |tape, x| tape.activate(&x[0], Activation::LeakyRelu(0.01))),
        plain("pixels", &[&[3, 4, 12, 16]], false, |tape, x| tape.pixels(&x[0])),
        plain("pad around", &[&[3, 12, 16, 40]], true, |tape, x| {
            tape.crop_or_pad(&tape.rounded(&x[0])?, [15, 21])
        }),
        plain("crop and pad", &[&[3, 12, 16, 3]], true, |tape, x| {
            tape.crop_or_pad(&tape.rounded(&x[0])?, [15, 9])
        }),
        plain("choose", &[&[3, 2, 12, 17], &[3, 2, 12, 17]], true, |tape, x| {
            let weights = Tensor::from_slice(tape.device(), &[3, 2], &[1.0_f32, 0.0, 2.0, 3.0, 0.0, 4.0])?;
            tape.choose(&x[0], x[1].value(), &weights)
        }),
        plain("concat", &[&[3, 40, 26], &[3, 40, 52]], true, |tape, x| tape.concat(&x[0], &x[1])),
    ];
    // Rows that the library takes, and rows that are padded for it; few and many numbers in each.
    cases.extend([strided(5, 6, 32), strided(3, 32, 64), strided(3, 3, 6), strided(1, 6, 16)]);
    // Dense and banded, long rows and short ones, of widths that vectors fit and do not.
    for (m, n, axis, shape) in [
        (56, 37, 1, [2, 37, 5, 8]),
        (28, 74, 2, [2, 3, 74, 40]),
        (32, 16, 1, [2, 16, 4, 26]),
        (16, 32, 2, [2, 4, 32, 26]),
    ] {
        cases.push(map(m, n, axis, shape));
    }
    cases.extend([mix(40, 40, 20), mix(3, 5, 4)]);
    cases.extend([26, 208, 300].map(batch_norm));
    cases.extend([
        per_channel(64, true),
        per_channel(25, true),
        per_channel(48, false),
        per_channel(25, false),
    ]);
    cases.extend([without_bias(25, 50), without_bias(64, 64)]);
    cases.extend([expansion(256, 96), expansion(7, 30)]);
    cases.push(project());
    // As many rows as pixels of a batch, where a grid of blocks has an end; and rows that no vector fits.
    cases.extend([linear(1_100_000, 6, 2), linear(270_000, 3, 16), linear(700, 150, 32), linear(700, 40, 2)]);
    cases.extend([slices(8, 32, 20), slices(2, 5, 6)]);
    cases
}

fn map(m: usize, n: usize, axis: usize, shape: [usize; 4]) -> Case {
    let declare = move |_: &mut Layout| -> super::Forward {
        let banded = m.max(n) == 2 * m.min(n);
        let near = move |i: usize, j: usize| (i * n / m).abs_diff(j) < 4;
        let map = AxisMap::new(m, n, move |i, j| {
            if !banded || near(i, j) { ((3 * i + 7 * j) % 11) as f64 / 11.0 - 0.4 } else { 0.0 }
        });
        Box::new(move |tape, inputs| tape.map_axis(&tape.rounded(&inputs[0])?, axis, &map))
    };
    let name = format!("map {n} to {m} along axis {axis}");
    Case { name, inputs: vec![shape.to_vec()], tracked: true, declare: Box::new(declare) }
}

/// A case with parameters.
fn with(
    name: String,
    inputs: Vec<Vec<usize>>,
    declare: impl Fn(&mut Layout) -> super::Forward + 'static,
) -> Case {
    Case { name, inputs, tracked: true, declare: Box::new(declare) }
}

fn strided(side: usize, c: usize, o: usize) -> Case {
    with(format!("strided {side} x {side}, {c} to {o}"), vec![vec![3, 12, 16, c]], move |layout| {
        let mut root = layout.root();
        let weight = root.weight("weight", &[o, side, side, c]);
        let layer = Linear { weight, bias: root.offset("bias", &[o]) };
        Box::new(move |tape, inputs| tape.strided_conv(&inputs[0], layer, 2, Epilogue::Gelu))
    })
}

fn mix(c: usize, o: usize, modes: usize) -> Case {
    with(format!("mixing {modes} modes, {c} to {o}"), vec![vec![19, modes, 2 * c]], move |layout| {
        let weight = layout.root().weight("weight", &[modes, 2, c, o]);
        Box::new(move |tape, inputs| tape.mix_modes(&tape.rounded(&inputs[0])?, weight))
    })
}

fn batch_norm(n: usize) -> Case {
    with(format!("batch norm {n}"), vec![vec![3, 333, n]], move |layout| {
        let norm = BatchNorm::declare(layout.root().scope("norm"), n);
        Box::new(move |tape, inputs| tape.batch_norm(&inputs[0], norm))
    })
}

/// A factor or an offset for each channel.
fn per_channel(n: usize, scales: bool) -> Case {
    let name = format!("{} {n} channels", if scales { "scale" } else { "shift" });
    with(name, vec![vec![3, 333, n]], move |layout| {
        let each = layout.root().offset("each", &[n]);
        Box::new(move |tape, inputs| {
            if scales { tape.scale_channels(&inputs[0], each) } else { tape.shift_channels(&inputs[0], each) }
        })
    })
}

/// A convolution and a transposed one, as a U-Net has them.
fn without_bias(c: usize, o: usize) -> Case {
    with(format!("without bias {c} to {o}"), vec![vec![2, 8, 12, c]], move |layout| {
        let mut root = layout.root();
        let conv = Linear::declare_without_bias(root.scope("conv"), &[o, c, 3, 3]);
        let up = Linear::declare_without_bias(root.scope("up"), &[4 * o, o]);
        Box::new(move |tape, inputs| {
            let y = tape.conv3x3(&inputs[0], conv, Epilogue::Plain)?;
            let y = tape.linear(&y.reshape(&[2, 96, o])?, up, Epilogue::Plain)?;
            tape.unpatchify(&y, 2, [8, 12])
        })
    })
}

fn expansion(k: usize, points: usize) -> Case {
    with(format!("expansion {k} at {points}"), vec![vec![4, 2, k], vec![points, k]], |layout| {
        let offset = layout.root().offset("offset", &[2]);
        Box::new(move |tape, inputs| tape.expansion(&inputs[0], &inputs[1], offset))
    })
}

fn linear(rows: usize, k: usize, n: usize) -> Case {
    with(format!("linear {k} to {n} of {rows} rows"), vec![vec![rows, k]], move |layout| {
        let layer = Linear::declare(layout.root().scope("layer"), k, n);
        Box::new(move |tape, inputs| tape.linear(&inputs[0], layer, Epilogue::Wide))
    })
}

fn project() -> Case {
    with("projection".to_owned(), vec![vec![6, 32, 20]], |layout| {
        let weight = layout.root().weight("weight", &[60, 20]);
        Box::new(move |tape, inputs| tape.project(&inputs[0], weight))
    })
}

/// A layer for all heads, weights, pooling and spreading.
fn slices(heads: usize, slices: usize, size: usize) -> Case {
    let inputs = vec![vec![2, 300, heads * size], vec![2, 300, heads * size]];
    with(format!("slices {heads} x {slices} of {size}"), inputs, move |layout| {
        let mut root = layout.root();
        let layer = Linear::declare(root.scope("layer"), size, slices);
        let temperature = root.offset("temperature", &[heads]);
        let run = move |tape: &Tape<'_>, inputs: &[Var]| -> Result<Var, EngineError> {
            let sliced = tape.slice(&inputs[0], &inputs[1], layer, temperature, heads)?;
            let tokens = sliced.tokens.clone();
            tape.spread(sliced, &tokens)
        };
        Box::new(run)
    })
}
