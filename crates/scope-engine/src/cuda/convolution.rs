//! 3x3 convolutions as the library is asked for them.

/// Which of a layer's three convolutions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Pass {
    /// y from x and w.
    Forward,
    /// dx from dy and w.
    Input,
    /// dw from x and dy.
    Weight,
}

/// Everything a plan is chosen by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Shape {
    pub(crate) pass: Pass,
    pub(crate) batch: usize,
    pub(crate) height: usize,
    pub(crate) width: usize,
    /// Channels in, a multiple of eight.
    pub(crate) c: usize,
    /// Channels out, a multiple of eight.
    pub(crate) o: usize,
}

impl std::fmt::Display for Shape {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Shape { pass, batch, height, width, c, o } = self;
        write!(out, "{pass:?} {batch}x{height}x{width} {c}-{o}")
    }
}
