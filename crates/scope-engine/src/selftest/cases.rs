//! The operations, each in the sizes that take different paths through the kernels.

use super::Case;
use crate::{
    error::EngineError,
    ops::{Epilogue, Linear, Norm},
    params::Layout,
    tape::{Tape, Var},
};

/// The cases of all operations of SCOPE's networks.
pub(super) fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    for [m, k, n] in [[96, 64, 128], [512, 256, 512], [30, 7, 5], [300, 2, 24], [314, 200, 72]] {
        cases.extend(linear(m, k, n));
    }
    for sizes in [[1200, 128, 384, 256], [314, 72, 200, 136], [30, 16, 24, 8], [30, 7, 5, 3]] {
        cases.extend([false, true].map(|twice| gelu_to(sizes, twice)));
    }
    cases.extend([512, 256, 33].map(layer_norm));
    for [batch, tokens, heads, size] in [
        [2, 256, 3, 64],
        [2, 256, 2, 32],
        [2, 192, 2, 64],
        [2, 64, 2, 32],
        [32, 240, 8, 32],
        [2, 150, 2, 64],
        [2, 97, 1, 32],
        [2, 33, 3, 32],
        [2, 16, 2, 8],
        [2, 5, 1, 6],
        [17, 256, 8, 64],
        [67, 128, 1, 64],
    ] {
        cases.push(attention(batch, tokens, heads, size));
    }
    for [c, o] in [[2, 16], [16, 2], [24, 16], [2, 64], [64, 2], [2, 96], [96, 2]] {
        cases.extend(conv3x3(c, o));
    }
    cases.extend([[24, 64, 2], [2, 64, 2], [8, 352, 2], [24, 352, 16]].map(conv3x3_pair));
    cases.extend(layouts());
    cases.extend(losses());
    cases
}

/// A case without parameters.
pub(super) fn plain(
    name: &str,
    inputs: &[&[usize]],
    tracked: bool,
    forward: fn(&Tape<'_>, &[Var]) -> Result<Var, EngineError>,
) -> Case {
    let inputs = inputs.iter().map(|shape| shape.to_vec()).collect();
    Case { name: name.to_owned(), inputs, tracked, declare: Box::new(move |_| Box::new(forward)) }
}

/// Every epilogue of a linear layer.
fn linear(m: usize, k: usize, n: usize) -> Vec<Case> {
    let mut cases = Vec::new();
    for kind in ["plain", "wide", "gelu", "add", "add rows"] {
        let declare = move |layout: &mut Layout| -> super::Forward {
            let mut root = layout.root();
            let layer = Linear::declare(root.scope("layer"), k, n);
            let table = root.offset("table", &[m / 2, n]);
            Box::new(move |tape, inputs| {
                let epilogue = match kind {
                    "plain" => Epilogue::Plain,
                    "wide" => Epilogue::Wide,
                    "gelu" => Epilogue::Gelu,
                    "add" => Epilogue::Add(&inputs[1]),
                    _ => Epilogue::AddRows(table),
                };
                tape.linear(&inputs[0], layer, epilogue)
            })
        };
        let name = format!("linear {kind} {m}x{k}x{n}");
        let inputs = vec![vec![2, m / 2, k], vec![2, m / 2, n]];
        cases.push(Case { name, inputs, tracked: true, declare: Box::new(declare) });
    }
    cases
}

/// GELU whose value goes to another layer, or to two, the second of which finds a gradient that has its slope already.
fn gelu_to([m, k, n, o]: [usize; 4], twice: bool) -> Case {
    let declare = move |layout: &mut Layout| -> super::Forward {
        let mut root = layout.root();
        let layer = Linear::declare(root.scope("layer"), k, n);
        let [first, second] = ["first", "second"].map(|name| Linear::declare(root.scope(name), n, o));
        Box::new(move |tape, inputs| {
            let y = tape.linear(&inputs[0], layer, Epilogue::Gelu)?;
            let z = tape.linear(&y, first, Epilogue::Wide)?;
            if twice { tape.linear(&y, second, Epilogue::Add(&z)) } else { Ok(z) }
        })
    };
    let name = format!("linear gelu {m}x{k}x{n} to {o}{}", if twice { " twice" } else { "" });
    Case { name, inputs: vec![vec![2, m / 2, k]], tracked: true, declare: Box::new(declare) }
}

/// A normalisation on a branch beside the stream, so that its gradient meets another that has arrived; the layer
/// before takes its bias's gradient from the sums the normalisation leaves.
fn layer_norm(width: usize) -> Case {
    let declare = move |layout: &mut Layout| -> super::Forward {
        let mut root = layout.root();
        let layer = Linear::declare(root.scope("layer"), 24, width);
        let norm = Norm::declare(root.scope("norm"), width);
        Box::new(move |tape, inputs| {
            let x = tape.linear(&inputs[0], layer, Epilogue::Wide)?;
            tape.add(&tape.layer_norm(&x, norm)?, &x)
        })
    };
    let name = format!("layer norm {width}");
    Case { name, inputs: vec![vec![2, 301, 24]], tracked: true, declare: Box::new(declare) }
}

fn attention(batch: usize, tokens: usize, heads: usize, size: usize) -> Case {
    let declare = move |_: &mut Layout| -> super::Forward {
        Box::new(move |tape, inputs| tape.attention(&inputs[0], heads))
    };
    let name = format!("attention {tokens} tokens, {batch} times {heads} heads of {size}");
    let inputs = vec![vec![batch, tokens, 3 * heads * size]];
    Case { name, inputs, tracked: true, declare: Box::new(declare) }
}

/// A convolution with GELU, and one with a residual.
fn conv3x3(c: usize, o: usize) -> Vec<Case> {
    let mut cases = Vec::new();
    for kind in ["gelu", "add", "wide"] {
        let declare = move |layout: &mut Layout| -> super::Forward {
            let layer = Linear::declare_conv3x3(layout.root().scope("layer"), c, o);
            Box::new(move |tape, inputs| {
                let epilogue = match kind {
                    "gelu" => Epilogue::Gelu,
                    "add" => Epilogue::Add(&inputs[1]),
                    _ => Epilogue::Wide,
                };
                tape.conv3x3(&inputs[0], layer, epilogue)
            })
        };
        let name = format!("convolution {kind} {c} to {o}");
        let inputs = vec![vec![3, 20, 24, c], vec![3, 20, 24, o]];
        cases.push(Case { name, inputs, tracked: true, declare: Box::new(declare) });
    }
    cases
}

/// Two convolutions; what is between them need not fill a power of two of lanes.
fn conv3x3_pair([c, between, o]: [usize; 3]) -> Case {
    let declare = move |layout: &mut Layout| -> super::Forward {
        let mut root = layout.root();
        let first = Linear::declare_conv3x3(root.scope("first"), c, between);
        let second = Linear::declare_conv3x3(root.scope("second"), between, o);
        Box::new(move |tape, inputs| tape.conv3x3_pair(&inputs[0], [first, second], &inputs[1]))
    };
    // So many samples that both kinds of kernels for the second are taken.
    let inputs = vec![vec![90, 20, 16, c], vec![90, 20, 16, o]];
    let name = format!("convolutions {c} to {between} to {o}");
    Case { name, inputs, tracked: true, declare: Box::new(declare) }
}

fn layouts() -> Vec<Case> {
    vec![
        plain("patchify", &[&[3, 4, 16, 24]], true, |tape, inputs| tape.patchify(&inputs[0], 8)),
        plain("narrow patchify", &[&[3, 15, 6, 8]], true, |tape, inputs| tape.patchify(&inputs[0], 2)),
        plain("unpatchify", &[&[3, 4, 2 * 64]], true, |tape, inputs| tape.unpatchify(&inputs[0], 8, [2, 2])),
        plain("unpatchify to a rectangle", &[&[3, 6, 2 * 64]], true, |tape, inputs| {
            tape.unpatchify(&inputs[0], 8, [2, 3])
        }),
        plain("pool odd channels", &[&[3, 4, 16, 24]], false, |tape, inputs| {
            tape.pool_odd_channels(&inputs[0], 8)
        }),
        plain("channels first", &[&[3, 10, 12, 2]], true, |tape, inputs| tape.channels_first(&inputs[0])),
        plain("add", &[&[3, 77], &[3, 77]], true, |tape, inputs| tape.add(&inputs[0], &inputs[1])),
    ]
}

fn losses() -> Vec<Case> {
    vec![
        plain("mean distance", &[&[5, 2, 33, 31], &[5, 2, 33, 31], &[5, 2]], true, |tape, inputs| {
            tape.mean_distance(&inputs[0], inputs[1].value(), inputs[2].value())
        }),
        plain("mean absolute", &[&[5, 2, 33, 31], &[5, 2, 33, 31], &[5, 2]], true, |tape, inputs| {
            tape.mean_absolute(&inputs[0], inputs[1].value(), inputs[2].value())
        }),
        plain("mean square", &[&[5, 1000], &[5, 1000]], true, |tape, inputs| {
            tape.mean_square(&inputs[0], inputs[1].value())
        }),
        plain("spread floor", &[&[6, 50, 11]], true, |tape, inputs| tape.spread_floor(&inputs[0], 0.6)),
    ]
}
