//! Local polynomial fits of the sensors: value, slope and curvature at every pixel, from what is measured around it.

use crate::{
    cpu,
    device::kernel,
    error::{EngineError, require_shape},
    params::ParamId,
    tape::{Tape, Var},
};

/// The basis of a fit, as powers of x and y: that of degree two is its beginning. Each function is x^k y^l / (k! l!).
pub(crate) const BASIS: [(usize, usize); 15] = [
    (0, 0),
    (1, 0),
    (0, 1),
    (2, 0),
    (1, 1),
    (0, 2),
    (3, 0),
    (2, 1),
    (1, 2),
    (0, 3),
    (4, 0),
    (3, 1),
    (2, 2),
    (1, 3),
    (0, 4),
];

/// The factor 1 / (k! l!) of each function of the basis.
pub(crate) const BASIS_FACTORS: [f64; BASIS.len()] = {
    const FACTORIALS: [f64; 5] = [1.0, 1.0, 2.0, 6.0, 24.0];
    let mut factors = [1.0; BASIS.len()];
    let mut function = 0;
    while function < BASIS.len() {
        let (k, l) = BASIS[function];
        factors[function] = 1.0 / (FACTORIALS[k] * FACTORIALS[l]);
        function += 1;
    }
    factors
};

/// The most powers of one axis that moments need: of degree four, up to the eighth.
pub(crate) const POWERS: usize = 9;

/// How much a pixel of a known edge counts beside a sensor. Edges are dense where sensors are few: at full weight a fit
/// would follow the edge and not the sensors beside it.
pub(crate) const EDGE_WEIGHT: f64 = 0.01;

/// A sensor farther away than this many scales does not count. The ridge is so small that weights of exp(-25) still
/// matter where there is nothing closer; exp(-32) of the next one does not, in single precision.
const REACH: f64 = 8.0;

/// The most fields whose edges may be known, and whose coefficients may have a ridge each: as many numbers a kernel
/// takes for them.
pub(crate) const MOST_FIELDS: usize = 4;

/// Normalised coefficients are clamped to plus and minus this.
pub(crate) const CLAMP: f32 = 5.0;

/// A pivot of the normal equations is at least this, so that a fit without a ridge to too few sensors stays finite.
pub(crate) const LEAST_PIVOT: f64 = 1e-12;

/// How sensors are fitted.
///
/// At points p and for every scale s, the readings v_q of one field at the measured pixels q are fitted by a
/// polynomial, of degree two
///
/// c0 + c1 x + c2 y + c3 x^2/2 + c4 xy + c5 y^2/2, (x, y) = (q - p)/s, x along axis 0,
///
/// minimising sum over q of exp(-|q - p|^2 / 2 s^2) (v_q - fit)^2 + sum over k of ridge_k c_k^2. Degree four goes on
/// with x^3/6, x^2 y/2 and so on. Points are the pixels, or the centres of squares of `stride` pixels a side.
#[derive(Clone, Debug, PartialEq)]
pub struct LocalFit {
    /// The scales, in pixels.
    pub scales: Vec<f64>,
    /// The degree of the polynomials: two or four.
    pub degree: usize,
    /// Pixels from one point to the next.
    pub stride: usize,
    /// What the square of a coefficient costs: two numbers, for value and slopes and for all higher coefficients, or
    /// one for every channel of the fits (scale, field, coefficient).
    pub ridge: Vec<f64>,
    /// Whether the ends of axis 0 and of axis 1 meet: differences then wrap.
    pub periodic: [bool; 2],
    /// For each field the value that is known all along the edge of the grid, on its outermost pixels, if there is one;
    /// none at all may be left out. Where a field has a sensor, these pixels count as sensors of that value and of
    /// little weight, whatever is measured there, since next to an edge the sensors lie to one side. A field without a
    /// sensor is not fitted: its edge would tell the same of every sample.
    pub edges: Vec<Option<f64>>,
}

/// One function x^k y^l / (k! l!) of a fit's basis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BasisFunction {
    /// k and l.
    pub powers: [usize; 2],
    /// 1 / (k! l!).
    pub factor: f64,
}

impl LocalFit {
    /// How much a pixel of a known edge counts beside a sensor.
    pub const EDGE_WEIGHT: f64 = EDGE_WEIGHT;
    /// Normalised coefficients are clamped to plus and minus this.
    pub const CLAMP: f32 = CLAMP;
    /// A pivot of the normal equations is at least this.
    pub const LEAST_PIVOT: f64 = LEAST_PIVOT;

    /// The functions of the basis, in the order of the coefficients: with [`Self::pixel_weights`] and
    /// [`Self::channel_ridges`] all that another program needs to compute the same fits.
    pub fn basis(&self) -> Vec<BasisFunction> {
        let function = |at: usize| BasisFunction { powers: BASIS[at].into(), factor: BASIS_FACTORS[at] };
        (0..self.coefficients()).map(function).collect()
    }

    /// The ridge of every channel of a context with so many fields.
    pub fn channel_ridges(&self, fields: usize) -> Vec<f64> {
        let planes = (0..self.scales.len()).flat_map(|scale| (0..fields).map(move |field| (scale, field)));
        let of = |(scale, field)| self.ridges(scale, field, fields).into_iter().take(self.coefficients());
        planes.flat_map(of).collect()
    }

    /// W_k(q - p) = exp(-d^2 / 2 s^2) (d / s)^k of sensors on the pixels q of an axis for the points p: for powers k up
    /// to twice the degree, \[powers, points, pixels\], zero out of reach.
    pub fn pixel_weights(&self, scale: f64, grid: [usize; 2], axis: usize) -> Vec<f64> {
        cpu::local_fit::pixel_weights(self, scale, grid, axis)
    }

    /// Coefficients of one fit.
    pub(crate) fn coefficients(&self) -> usize {
        (self.degree + 1) * (self.degree + 2) / 2
    }

    /// Coefficients per point of a context with so many fields.
    pub fn channels(&self, fields: usize) -> usize {
        self.scales.len() * fields * self.coefficients()
    }

    /// Where a point lies along an axis, in pixels.
    pub(crate) fn place(&self, point: usize) -> f64 {
        (self.stride * point) as f64 + (self.stride - 1) as f64 / 2.0
    }

    /// What is known along the edge of a field.
    pub(crate) fn edge(&self, field: usize) -> Option<f64> {
        self.edges.get(field).copied().flatten()
    }

    /// The ridge of each coefficient of one of so many fields at the scale of a number.
    pub(crate) fn ridges(&self, scale: usize, field: usize, fields: usize) -> [f64; BASIS.len()] {
        let first = (scale * fields + field) * self.coefficients();
        std::array::from_fn(|function| match self.ridge[..] {
            [low, high] => {
                let (k, l) = BASIS[function];
                if k + l > 1 { high } else { low }
            }
            // A fit of degree two has no functions beyond its own.
            _ => self.ridge.get(first + function).copied().unwrap_or(0.0),
        })
    }

    /// Refuses a list of ridges that is not of so many fields.
    pub fn require_ridges(&self, fields: usize) -> Result<(), EngineError> {
        let channels = self.channels(fields);
        if self.ridge.len() == 2 || self.ridge.len() == channels && fields <= MOST_FIELDS {
            return Ok(());
        }
        Err(EngineError::LocalFit(format!(
            "there are two ridges, or one for each of the {channels} channels of {fields} fields ({MOST_FIELDS} at \
             most), not {}",
            self.ridge.len()
        )))
    }

    /// How far along an axis a sensor counts: up to the first number of pixels, which is included, and, where the ends
    /// meet, to less than half of the axis.
    pub(crate) fn limits(&self, scale: f64, axis: usize, length: usize) -> [f64; 2] {
        [(REACH * scale).ceil(), if self.periodic[axis] { length as f64 / 2.0 } else { f64::INFINITY }]
    }

    /// Whether such fits can be computed, and if not, why.
    pub fn check(&self) -> Result<(), EngineError> {
        let possible = |scale: &f64| scale.is_finite() && (0.1..=1e4).contains(scale);
        if self.scales.is_empty() || !self.scales.iter().all(possible) {
            let problem = format!("scales are of 0.1 to 10000 pixels, not {:?}", self.scales);
            return Err(EngineError::LocalFit(problem));
        }
        if !self.ridge.iter().all(|ridge| ridge.is_finite() && *ridge >= 0.0) {
            let problem = format!("a ridge is finite and not negative, not {:?}", self.ridge);
            return Err(EngineError::LocalFit(problem));
        }
        if ![2, 4].contains(&self.degree) || !(1..=64).contains(&self.stride) {
            let problem = format!(
                "fits have degree 2 or 4 and points 1 to 64 pixels apart, not degree {} and {} pixels",
                self.degree, self.stride
            );
            return Err(EngineError::LocalFit(problem));
        }
        let mut known = self.edges.iter().flatten().peekable();
        if known.peek().is_some() && self.periodic.contains(&true) {
            return Err(EngineError::LocalFit("a grid whose ends meet has no edge to know".to_owned()));
        }
        if self.edges.len() > MOST_FIELDS || known.any(|value| !value.is_finite()) {
            let problem =
                format!("edges of {MOST_FIELDS} fields at most are known, and finite, not {:?}", self.edges);
            return Err(EngineError::LocalFit(problem));
        }
        Ok(())
    }
}

/// W_k = exp(-t^2 / 2) t^k for k = 0 to 8 and t = d/s: the factors of one axis in the moments of a fit.
pub(crate) fn factors(t: f64) -> [f64; POWERS] {
    let mut weight = libm::exp(-t * t / 2.0);
    std::array::from_fn(|_| {
        let power = weight;
        weight *= t;
        power
    })
}

/// The sizes of contexts to be fitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FitSizes {
    pub(crate) batch: usize,
    pub(crate) fields: usize,
    pub(crate) height: usize,
    pub(crate) width: usize,
}

impl FitSizes {
    fn of(context: &Var, stride: usize) -> Result<Self, EngineError> {
        let whole = |side: usize| side > 0 && side.is_multiple_of(stride);
        match *context.shape() {
            [batch, channels, height, width]
                if channels % 2 == 0 && whole(height) && whole(width) && context.node().is_none() =>
            {
                Ok(Self { batch, fields: channels / 2, height, width })
            }
            _ => Err(EngineError::shape(
                "local fits",
                "the context",
                format!(
                    "[batch, values and masks in turn, height, width], sides multiples of {stride}, without gradients"
                ),
                context.shape(),
            )),
        }
    }

    pub(crate) fn pixels(self) -> usize {
        self.height * self.width
    }

    /// Points along both axes.
    pub(crate) fn points(self, stride: usize) -> [usize; 2] {
        [self.height / stride, self.width / stride]
    }

    /// Whether a pixel is one of the outermost.
    pub(crate) fn is_edge(self, row: usize, column: usize) -> bool {
        row == 0 || row + 1 == self.height || column == 0 || column + 1 == self.width
    }

    /// Whether a place is that of one of the outermost pixels.
    pub(crate) fn on_edge_pixel(self, [row, column]: [f64; 2]) -> bool {
        row.fract() == 0.0 && column.fract() == 0.0 && self.is_edge(row as usize, column as usize)
    }

    /// Where the outermost pixels are.
    pub(crate) fn edge_pixels(self) -> impl Iterator<Item = [f64; 2]> {
        let places = (0..self.height).flat_map(move |row| (0..self.width).map(move |column| (row, column)));
        places
            .filter(move |(row, column)| self.is_edge(*row, *column))
            .map(|(row, column)| [row as f64, column as f64])
    }
}

impl Tape<'_> {
    /// The coefficients of local fits, channel (scale, field, coefficient). With a normaliser \[channels\] each is
    /// divided by its number there and clamped to +-5; without one they are as they were fitted. A context is data:
    /// nothing flows back to it.
    ///
    /// # Shapes
    /// context \[batch, 2 fields, height, width\] with values, zero where nothing is measured, and masks in turn; fits
    /// \[batch, coefficients scales fields, height / stride, width / stride\].
    pub fn local_fits(
        &self,
        context: &Var,
        fit: &LocalFit,
        normaliser: Option<ParamId>,
    ) -> Result<Var, EngineError> {
        fit.check()?;
        let sizes = FitSizes::of(context, fit.stride)?;
        fit.require_ridges(sizes.fields)?;
        if let Some(id) = normaliser {
            let shape = &self.params().layout().param(id).shape;
            require_shape("local fits", "the normaliser", shape, &[fit.channels(sizes.fields)])?;
        }
        let value = kernel!(self.device(), local_fit::fits(self, sizes, fit, context.value(), normaliser))?;
        Ok(self.input(value))
    }
}
