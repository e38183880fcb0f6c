//! Local polynomial fits on a GPU.

use super::{
    Cuda,
    kernels::{Arg, Grid, LOCAL_FIT},
    kind,
};
use crate::{
    dtype::Dtype,
    error::EngineError,
    ops::{FitSizes, LocalFit, MOST_FIELDS, add},
    params::ParamId,
    tape::Tape,
    tensor::Tensor,
};

/// Rows of points of a block, as in local_fit.cu, and how many columns it may have: the more, the fewer sums over rows
/// are made twice, and the more shared memory is wanted.
const ROWS: usize = 8;
const COLUMNS: [usize; 2] = [32, 16];
/// Threads that look for a sensor of a field.
const LOOKING: usize = 1024;

/// The coefficients of all contexts, in what the tape computes in; see [`Tape::local_fits`].
pub(crate) fn fits(
    cuda: &Cuda,
    tape: &Tape<'_>,
    sizes: FitSizes,
    fit: &LocalFit,
    context: &Tensor,
    normaliser: Option<ParamId>,
) -> Result<Tensor, EngineError> {
    let context = add::convert(context.clone(), Dtype::F32)?;
    let channels = fit.channels(sizes.fields);
    let [height, width] = sizes.points(fit.stride);
    let out = Tensor::on_cuda(cuda, &[sizes.batch, channels, height, width], tape.compute())?;
    let blocks = Blocks::new(cuda, sizes, fit)?;
    let constants = format!("COLUMNS={} DEGREE={}", blocks.columns, fit.degree);
    let sensors = any_sensor(cuda, &constants, sizes, &context)?;
    let (known, edges) = edges(fit);
    let divisors = normaliser.map_or(0, |id| tape.params().address(id, Dtype::F32));
    let name = format!("local_fit_{}", kind(tape.compute()));
    for (place, scale) in fit.scales.iter().enumerate() {
        let table = WeightTables::new(sizes, fit, *scale);
        let doubles = [*scale, table.far].map(|x| Arg::from(x.to_bits()));
        let ridges = Box::new(std::array::from_fn(|field| fit.ridges(place, field, sizes.fields)));
        let numbers = [
            sizes.fields,
            sizes.height,
            sizes.width,
            fit.stride,
            table.reach[0],
            table.reach[1],
            usize::from(fit.periodic[0]),
            usize::from(fit.periodic[1]),
            table.pad,
            place * sizes.fields * fit.coefficients(),
            channels,
            known,
        ];
        let tensors = [(&context).into(), (&sensors).into(), divisors.into(), (&out).into()];
        let numbers = numbers.map(Arg::from).into_iter().chain(edges.map(Arg::from));
        let arguments: Vec<Arg> =
            tensors.into_iter().chain(doubles).chain(numbers).chain([Arg::Ridges(ridges)]).collect();
        let grid = Grid {
            blocks: [height.div_ceil(ROWS) * width.div_ceil(blocks.columns), sizes.batch * sizes.fields],
            threads: blocks.threads(),
            shared: blocks.shared(&table),
            early: false,
        };
        cuda.launch_with(LOCAL_FIT, &constants, &name, grid, &arguments)?;
    }
    Ok(out)
}

/// Whether each field of each sample has a sensor, \[batch, fields\] words.
fn any_sensor(
    cuda: &Cuda,
    constants: &str,
    sizes: FitSizes,
    context: &Tensor,
) -> Result<Tensor, EngineError> {
    let rows = sizes.batch * sizes.fields;
    let sensors = Tensor::on_cuda(cuda, &[rows], Dtype::F32)?;
    let grid = Grid { blocks: [rows, 1], threads: LOOKING, shared: 0, early: false };
    let arguments = [context.into(), (&sensors).into(), sizes.pixels().into()];
    cuda.launch_with(LOCAL_FIT, constants, "any_sensor", grid, &arguments)?;
    Ok(sensors)
}

/// Which fields' edges are known, a bit each, and what is known of them.
fn edges(fit: &LocalFit) -> (usize, [f32; MOST_FIELDS]) {
    let known = (0..MOST_FIELDS).filter(|field| fit.edge(*field).is_some()).map(|field| 1 << field).sum();
    (known, std::array::from_fn(|field| fit.edge(field).unwrap_or(0.0) as f32))
}

/// How points are shared out among blocks.
#[derive(Clone, Copy)]
struct Blocks {
    degree: usize,
    /// Columns of points of a block.
    columns: usize,
}

impl Blocks {
    /// As many columns as shared memory allows at every scale.
    fn new(cuda: &Cuda, sizes: FitSizes, fit: &LocalFit) -> Result<Self, EngineError> {
        let most = cuda.shared_memory();
        let tables: Vec<WeightTables> =
            fit.scales.iter().map(|scale| WeightTables::new(sizes, fit, *scale)).collect();
        let fits = |blocks: &Self| tables.iter().all(|table| blocks.shared(table) <= most);
        COLUMNS.into_iter().map(|columns| Self { degree: fit.degree, columns }).find(fits).ok_or_else(|| {
            let reach = tables.iter().flat_map(|table| table.reach).max().unwrap_or(0);
            EngineError::LocalFit(format!(
                "weights over {reach} pixels need more than the {most} bytes of shared memory of this GPU: take \
                 smaller scales"
            ))
        })
    }

    /// Four warps sum the moments of eight columns.
    fn threads(self) -> usize {
        self.columns / 8 * 4 * 32
    }

    /// Bytes of shared memory: tables, and sums over rows of so many columns of pixels as there are warps of eight, or
    /// the moments that come after them with the pivots of every sixteen threads.
    fn shared(self, table: &WeightTables) -> usize {
        let mask_powers = 2 * self.degree + 1;
        let value_powers = self.degree + 1;
        let chunk = self.threads() / 32 * 8;
        let sums = (mask_powers + value_powers) * ROWS * (chunk + 4);
        let moments = mask_powers * (mask_powers + 1) / 2 + value_powers * (value_powers + 1) / 2;
        let solved = moments * (ROWS * self.columns + 2) + self.threads() / 16 * 34;
        size_of::<f64>() * (sums.max(solved) + mask_powers * table.entries())
    }
}

/// The tables of weights of one scale.
struct WeightTables {
    /// How far sensors count, in pixels.
    far: f64,
    /// How far they may lie from a point's first pixel, along both axes.
    reach: [usize; 2],
    /// Zeros at each end of a table: eight points of a block look into it beside each other.
    pad: usize,
}

impl WeightTables {
    fn new(sizes: FitSizes, fit: &LocalFit, scale: f64) -> Self {
        let lengths = [sizes.height, sizes.width];
        let far = fit.limits(scale, 0, sizes.height)[0];
        let reach = [0, 1].map(|axis| {
            let most = if fit.periodic[axis] { lengths[axis] / 2 + fit.stride } else { lengths[axis] - 1 };
            (far as usize).saturating_add(fit.stride).min(most)
        });
        Self { far, reach, pad: ROWS * (fit.stride + 1) }
    }

    /// Entries of both tables for one power.
    fn entries(&self) -> usize {
        self.reach.iter().map(|reach| 2 * (reach + self.pad) + 1).sum()
    }
}
