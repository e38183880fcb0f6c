//! Matrix products as the library is asked for them.

use std::fmt;

use crate::dtype::Dtype;

/// Which of a layer's three products: all matrices are row-major.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// out \[m, n\] = x \[m, k\] W \[n, k\]^T.
    Forward,
    /// out \[m, n\] = h \[m, k\] W \[k, n\].
    Input,
    /// out \[m, n\] = h \[k, m\]^T x \[k, n\].
    Weight,
    /// So many products with one matrix, whose rows are padded to a multiple of eight numbers: out\[t\] \[m, n\] =
    /// A \[m, k\] x\[t\] \[k, n\].
    Along(usize),
    /// The same with the matrix transposed, A \[k, m\], and its rows padded.
    AlongTurned(usize),
    /// So many products of two matrices each: out\[t\] \[m, n\] = A\[t\] \[m, k\] x\[t\] \[k, n\].
    Pairs(usize),
    /// The same with the second transposed: out\[t\] \[m, n\] = A\[t\] \[m, k\] x\[t\] \[n, k\]^T.
    PairsTurned(usize),
}

impl Kind {
    /// How many products it is.
    pub(crate) fn times(self) -> usize {
        match self {
            Kind::Forward | Kind::Input | Kind::Weight => 1,
            Kind::Along(times) | Kind::AlongTurned(times) | Kind::Pairs(times) | Kind::PairsTurned(times) => {
                times
            }
        }
    }

    /// How far apart numbers of each factor of a product \[m, n\] over k lie: along its rows of the result, and along
    /// the sum.
    pub(crate) fn strides(self, [m, n, k]: [usize; 3]) -> [[usize; 2]; 2] {
        match self {
            Kind::Forward | Kind::PairsTurned(_) => [[k, 1], [k, 1]],
            Kind::Input | Kind::Pairs(_) => [[k, 1], [1, n]],
            Kind::Weight => [[1, m], [1, n]],
            Kind::Along(_) => [[k.next_multiple_of(8), 1], [1, n]],
            Kind::AlongTurned(_) => [[1, m.next_multiple_of(8)], [1, n]],
        }
    }
}

/// Everything an algorithm is chosen by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Shape {
    pub(crate) kind: Kind,
    pub(crate) m: usize,
    pub(crate) n: usize,
    pub(crate) k: usize,
    /// The precision of both factors.
    pub(crate) input: Dtype,
    pub(crate) out: Dtype,
    /// Whether a bias \[n\] of the result's kind is added.
    pub(crate) bias: bool,
    /// Whether a matrix of the result's kind is added.
    pub(crate) add: bool,
    /// That matrix has so many rows, again and again; zero: as many as the result.
    pub(crate) period: usize,
}

impl fmt::Display for Shape {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, m, n, k, input, out: result, bias, add, period } = self;
        write!(out, "{kind:?} {m} {n} {k} {input} {result} {bias} {add}")?;
        if *period > 0 { write!(out, " every {period}") } else { Ok(()) }
    }
}

/// Addresses of one product. `add` may be `out` itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operands {
    /// The left factor: x or h.
    pub(crate) left: u64,
    /// The right factor: W or x.
    pub(crate) right: u64,
    pub(crate) bias: u64,
    pub(crate) add: u64,
    pub(crate) out: u64,
}
