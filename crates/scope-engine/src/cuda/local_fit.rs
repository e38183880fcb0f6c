//! Local polynomial fits on a GPU.

use super::{
    Cuda,
    kernels::{Arg, Grid, LOCAL_FIT},
    kind,
};
use crate::{
    dtype::Dtype,
    error::EngineError,
    ops::{FitSizes, LocalFit, MOST_EDGES, add},
    params::ParamId,
    tape::Tape,
    tensor::Tensor,
};

/// Points and threads in a block, and columns of pixels that it sums at a time: as in local_fit.cu.
const ROWS: usize = 8;
const COLUMNS: usize = 16;
const THREADS: usize = 256;
const CHUNK: usize = 64;

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
    let sensors = any_sensor(cuda, sizes, &context)?;
    let (known, edges) = edges(fit);
    let divisors = normaliser.map_or(0, |id| tape.params().address(id, Dtype::F32));
    let name = format!("local_fit_{}_{}", fit.degree, kind(tape.compute()));
    for (place, scale) in fit.scales.iter().enumerate() {
        let table = WeightTables::new(cuda, sizes, fit, *scale)?;
        let [ridge, ridge_curved] = fit.ridge;
        let doubles = [*scale, table.far, ridge, ridge_curved].map(|x| Arg::from(x.to_bits()));
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
        let arguments: Vec<Arg> = tensors.into_iter().chain(doubles).chain(numbers).collect();
        let blocks = [height.div_ceil(ROWS) * width.div_ceil(COLUMNS), sizes.batch * sizes.fields];
        let grid = Grid { blocks, threads: THREADS, shared: table.shared, early: false };
        cuda.launch(LOCAL_FIT, &name, grid, &arguments)?;
    }
    Ok(out)
}

/// Whether each field of each sample has a sensor, \[batch, fields\] words.
fn any_sensor(cuda: &Cuda, sizes: FitSizes, context: &Tensor) -> Result<Tensor, EngineError> {
    let rows = sizes.batch * sizes.fields;
    let sensors = Tensor::on_cuda(cuda, &[rows], Dtype::F32)?;
    let grid = Grid { blocks: [rows, 1], threads: THREADS, shared: 0, early: false };
    cuda.launch(LOCAL_FIT, "any_sensor", grid, &[context.into(), (&sensors).into(), sizes.pixels().into()])?;
    Ok(sensors)
}

/// Which fields' edges are known, a bit each, and what is known of them.
fn edges(fit: &LocalFit) -> (usize, [f32; MOST_EDGES]) {
    let known = (0..MOST_EDGES).filter(|field| fit.edge(*field).is_some()).map(|field| 1 << field).sum();
    (known, std::array::from_fn(|field| fit.edge(field).unwrap_or(0.0) as f32))
}

/// The tables of weights of one scale.
struct WeightTables {
    /// How far sensors count, in pixels.
    far: f64,
    /// How far they may lie from a point's first pixel, along both axes.
    reach: [usize; 2],
    /// Zeros at each end of a table: eight points of a block look into it beside each other.
    pad: usize,
    /// Bytes of shared memory of a block: the tables, and sums, or the moments that come after them.
    shared: usize,
}

impl WeightTables {
    fn new(cuda: &Cuda, sizes: FitSizes, fit: &LocalFit, scale: f64) -> Result<Self, EngineError> {
        let lengths = [sizes.height, sizes.width];
        let far = fit.limits(scale, 0, sizes.height)[0];
        let reach = [0, 1].map(|axis| {
            let most = if fit.periodic[axis] { lengths[axis] / 2 + fit.stride } else { lengths[axis] - 1 };
            (far as usize).saturating_add(fit.stride).min(most)
        });
        let pad = ROWS * (fit.stride + 1);
        let mask_powers = 2 * fit.degree + 1;
        let value_powers = fit.degree + 1;
        let sums = (mask_powers + value_powers) * ROWS * (CHUNK + 4);
        let moments = (mask_powers * (mask_powers + 1) / 2 + fit.coefficients()) * (ROWS * COLUMNS + 2);
        let tables = reach.map(|reach| mask_powers * (2 * (reach + pad) + 1)).iter().sum::<usize>();
        let shared = size_of::<f64>() * (sums.max(moments) + tables);
        let most = cuda.shared_memory();
        if shared > most {
            return Err(EngineError::LocalFit(format!(
                "weights over {reach:?} pixels need more than the {most} bytes of shared memory of this GPU: take smaller scales"
            )));
        }
        Ok(Self { far, reach, pad, shared })
    }
}
