//! Why coordinates or units cannot be those of a problem.

use scope_pde::Pde;
use thiserror::Error;

/// Why a frame cannot be.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum FrameError {
    /// A noise that cannot be read.
    #[error(
        "expected a standard deviation, zero or more, in physical units, as in 0.01, or as a share of the field's own, as in 5%; or one \
         for a and one for u, as in 0.01,1e-4"
    )]
    Noise,
    /// A domain that cannot be read.
    #[error(
        "\"{0}\" is no domain: expected four numbers, where it begins and ends along x and along y, as in 0,500,0,500"
    )]
    Domain(String),
    /// An interval that is empty or endless.
    #[error(
        "the domain goes from {low} to {high} along {axis}: expected two finite numbers, the smaller one first"
    )]
    Interval {
        /// "x" or "y".
        axis: &'static str,
        /// Where the interval begins.
        low: f64,
        /// Where the interval ends.
        high: f64,
    },
    /// A domain that is a rectangle and no square.
    #[error(
        "the domain is {} by {}: the problem is posed on a square, and stretching a rectangle to one would make it another equation, with \
         other coefficients along x and y", sides[0], sides[1]
    )]
    NotSquare {
        /// The lengths of the sides along x and y.
        sides: [f64; 2],
    },
    /// A domain for a problem that has stated its own.
    #[error("the problem file of {0} states where its grid lies: leave the domain out")]
    StatedAlready(Pde),
    /// A scale that cannot be read.
    #[error(
        "\"{0}\" is no scale: expected some of length, a, u and coefficient, each once, with numbers other than zero and a length above \
         it, as in length=500,u=10; or u=auto, without a, to estimate it"
    )]
    Scale(String),
    /// Amplitudes that contradict the equation.
    #[error(
        "a = {a} and u = {u} do not go together: the equation makes a a multiple of {expected} then; leave one of them out, or state \
         the coefficient of your equation, coefficient * Lap u = a"
    )]
    Tied {
        /// The stated scale A of a.
        a: f64,
        /// The stated scale U of u.
        u: f64,
        /// The scale that the equation gives a: C U / L^2.
        expected: f64,
    },
    /// Two scales for one kind of value.
    #[error("a = {a} and u = {u} differ, though both fields of {pde} are in one unit: give one of them")]
    OneUnit {
        /// The problem.
        pde: Pde,
        /// The stated scale A of a.
        a: f64,
        /// The stated scale U of u.
        u: f64,
    },
    /// An estimate of an amplitude that is fixed.
    #[error("the amplitude of {0} is not free, so there is none to estimate: its equation is not linear")]
    NoFreeAmplitude(Pde),
    /// An amplitude that is still to be estimated.
    #[error("the amplitude is to be estimated from the readings first")]
    NotEstimated,
    /// A problem of one's own, whose equation is not known here.
    #[error("the equation of {0} is not known, so its values cannot be scaled: scale them in your data")]
    UnknownEquation(Pde),
    /// One of two scales that do not follow from each other.
    #[error("{0} needs the scales of both a and u: neither follows from the other, as in a=2,u=0.5")]
    BothNeeded(Pde),
    /// A coefficient for an equation that has none.
    #[error("the equation of {0} has no coefficient that could be stated: leave it out")]
    Coefficient(Pde),
    /// A sign that a nonlinear problem does not allow for.
    #[error("scales of {0} are positive: a change of sign is another problem")]
    Negative(Pde),
    /// Scales whose products overflow.
    #[error("the scales are too large or too small for each other")]
    Extreme,
    /// A value on the edge of a problem whose u is zero there, or which has no edge.
    #[error(
        "{0} has no value on the edge that could be chosen: its equation is another when a constant is added to u"
    )]
    Edge(Pde),
    /// A value on the edge of a problem whose file says what it is.
    #[error("the problem file of {0} says what is known on the edge: leave the value on the edge out")]
    EdgeOfFile(Pde),
    /// A value on the edge that is no number.
    #[error("the value on the edge is not finite")]
    EdgeNotFinite,
}
