//! Local polynomial fits on a GPU.

use super::{
    Cuda,
    kernels::{Arg, Grid, LOCAL_FIT},
    kind,
};
use crate::{
    dtype::Dtype,
    error::EngineError,
    ops::{COEFFICIENTS, FitSizes, LocalFit, MOST_EDGES, add},
    params::ParamId,
    tape::Tape,
    tensor::Tensor,
};

/// Rows of pixels and threads in a block, sums that it keeps for each row, powers in a table, and zeros at each end of a table: as
/// in local_fit.cu.
const ROWS: usize = 8;
const THREADS: usize = 128;
const SUMS: usize = 8;
const POWERS: usize = 5;
const PAD: usize = 12;

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
    let shape = [sizes.batch, channels, sizes.height, sizes.width];
    let out = Tensor::on_cuda(cuda, &shape, tape.compute())?;
    let sensors = any_sensor(cuda, sizes, &context)?;
    let (known, edges) = edges(fit);
    let divisors = normaliser.map_or(0, |id| tape.params().address(id, Dtype::F32));
    let name = format!("local_fit_{}", kind(tape.compute()));
    for (place, scale) in fit.scales.iter().enumerate() {
        let reach = [fit.reach(*scale, 0, sizes.height), fit.reach(*scale, 1, sizes.width)];
        let block = Block::new(cuda, sizes, reach, fit.periodic[1])?;
        let [ridge, ridge_curved] = fit.ridge;
        let doubles = [*scale, ridge, ridge_curved].map(|x| Arg::from(x.to_bits()));
        let numbers = [
            sizes.fields,
            sizes.height,
            sizes.width,
            reach[0],
            reach[1],
            usize::from(fit.periodic[0]),
            usize::from(fit.periodic[1]),
            block.columns,
            usize::from(block.wraps),
            block.stride,
            place * sizes.fields * COEFFICIENTS,
            channels,
            known,
        ];
        let tensors = [(&context).into(), (&sensors).into(), divisors.into(), (&out).into()];
        let numbers = numbers.map(Arg::from).into_iter().chain(edges.map(Arg::from));
        let arguments: Vec<Arg> = tensors.into_iter().chain(doubles).chain(numbers).collect();
        let tiles = sizes.height.div_ceil(ROWS) * sizes.width.div_ceil(block.columns);
        let blocks = [tiles, sizes.batch * sizes.fields];
        let grid = Grid { blocks, threads: THREADS, shared: block.shared, early: false };
        cuda.launch(LOCAL_FIT, &name, grid, &arguments)?;
    }
    Ok(out)
}

/// Whether each field of each sample has a sensor, \[batch, fields\] words.
fn any_sensor(cuda: &Cuda, sizes: FitSizes, context: &Tensor) -> Result<Tensor, EngineError> {
    let rows = sizes.batch * sizes.fields;
    let sensors = Tensor::on_cuda(cuda, &[rows], Dtype::F32)?;
    let grid = Grid { blocks: [rows, 1], threads: 2 * THREADS, shared: 0, early: false };
    cuda.launch(LOCAL_FIT, "any_sensor", grid, &[context.into(), (&sensors).into(), sizes.pixels().into()])?;
    Ok(sensors)
}

/// Which fields' edges are known, a bit each, and what is known of them.
fn edges(fit: &LocalFit) -> (usize, [f32; MOST_EDGES]) {
    let known = (0..MOST_EDGES).filter(|field| fit.edge(*field).is_some()).map(|field| 1 << field).sum();
    (known, std::array::from_fn(|field| fit.edge(field).unwrap_or(0.0) as f32))
}

/// What a block of threads works on.
struct Block {
    /// Columns of pixels.
    columns: usize,
    /// Whether it has all columns of a periodic axis: those beyond its ends are then at its other end, not stored again.
    wraps: bool,
    /// Numbers from one row of sums to the next.
    stride: usize,
    /// Bytes of shared memory.
    shared: usize,
}

impl Block {
    /// As many columns as fit: all of them, if the grid is not wide.
    fn new(cuda: &Cuda, sizes: FitSizes, reach: [usize; 2], periodic: bool) -> Result<Self, EngineError> {
        let width = sizes.width.next_multiple_of(8);
        let table = |reach: usize| POWERS * (2 * (reach + PAD) + 1);
        // Axes that reach equally far have one table.
        let tables = if reach[0] == reach[1] { table(reach[0]) } else { table(reach[0]) + table(reach[1]) };
        let of = |columns: usize| {
            let wraps = periodic && columns == sizes.width;
            let kept = columns + 2 * reach[1].next_multiple_of(4);
            let kept = if periodic && !wraps { kept } else { kept.min(width) };
            // Four lanes of eight rows read without conflicts where rows are 4 beyond a multiple of 16 apart.
            let stride = kept.next_multiple_of(16) + 4;
            Self { columns, wraps, stride, shared: size_of::<f64>() * (SUMS * ROWS * stride + tables) }
        };
        let widths = [128, 64, 32, 16, 8].into_iter().map(|columns: usize| of(columns.min(width)));
        widths.into_iter().find(|block| block.shared <= cuda.shared_memory()).ok_or_else(|| {
            let most = cuda.shared_memory();
            EngineError::LocalFit(format!(
                "sums over {reach:?} pixels need more than the {most} bytes of shared memory of this GPU: take smaller scales"
            ))
        })
    }
}
