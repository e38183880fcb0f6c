//! Muon on a GPU: the steps of Newton and Schulz as products of many matrices of one size at once, in bf16 with f32
//! sums.

use std::collections::BTreeMap;

use super::{
    Cuda,
    gemm::{Kind, Operands, Shape},
    kernels::{Arg, Grid, MUON},
};
use crate::{
    dtype::Dtype,
    error::EngineError,
    flat::{
        Moments, Muon, Update,
        muon::{COEFFICIENTS, EPSILON, STEPS},
    },
    params::{Gradients, HiddenMatrix, Params},
    tensor::Tensor,
};

/// Sides of matrices are padded with zeros to a multiple of this, as the library's products like them.
const SIDE: usize = 16;
/// Numbers that a block of the first pass takes, and the side of the tiles of the others, as in the kernels.
const CHUNK: usize = 4096;
const TILE: usize = 64;

/// Hidden matrices that go through the products together: all have m rows and n columns, m <= n, once those with more
/// rows than columns are transposed and all are padded.
#[derive(Debug)]
pub(crate) struct HiddenGroup {
    m: usize,
    n: usize,
    count: usize,
    /// A matrix in four words: where it begins, in two, its rows and its columns.
    table: Tensor,
}

impl HiddenGroup {
    /// Groups matrices by size; `table` brings words to the GPU.
    pub(crate) fn of(
        matrices: &[HiddenMatrix],
        table: impl Fn(&[u32]) -> Result<Tensor, EngineError>,
    ) -> Result<Vec<Self>, EngineError> {
        let mut groups: BTreeMap<[usize; 2], Vec<u32>> = BTreeMap::new();
        for HiddenMatrix { start, rows, columns } in matrices {
            let size = [rows.min(columns), rows.max(columns)].map(|side| side.next_multiple_of(SIDE));
            let words = [*start as u32, (*start as u64 >> 32) as u32, *rows as u32, *columns as u32];
            groups.entry(size).or_default().extend(words);
        }
        let group = |([m, n], words): ([usize; 2], Vec<u32>)| {
            Ok(Self { m, n, count: words.len() / 4, table: table(&words)? })
        };
        groups.into_iter().map(group).collect()
    }

    /// Blocks for every tile of every matrix.
    fn tiles(&self) -> Grid {
        let tiles = self.m.div_ceil(TILE) * self.n.div_ceil(TILE);
        Grid { blocks: [tiles, self.count], ..Grid::of(1, 256) }
    }

    fn room(&self, cuda: &Cuda, columns: usize) -> Result<Tensor, EngineError> {
        Tensor::on_cuda(cuda, &[self.count, self.m, columns], Dtype::Bf16)
    }
}

/// One step of the hidden matrices under the update's paths.
pub(super) struct MuonStep<'a> {
    pub(super) settings: &'a Muon,
    /// Weight decay, as of the optimizer beside it.
    pub(super) decay: f64,
    pub(super) gradients: &'a Gradients,
    pub(super) moments: &'a Moments,
    pub(super) update: Update<'a>,
    /// The norm of all gradients.
    pub(super) norm: &'a Tensor,
}

impl MuonStep<'_> {
    /// Changes the parameters.
    pub(super) fn apply(&self, cuda: &Cuda, params: &Params) -> Result<(), EngineError> {
        let one = |group: &HiddenGroup| {
            let x = self.direction(cuda, group)?;
            let x = orthogonalised(cuda, group, x)?;
            let arguments = [
                params.flat().into(),
                params.bf16_copy().into(),
                (&x).into(),
                (&group.table).into(),
                (&self.update.scalars.numbers).into(),
                self.norm.into(),
                group.m.into(),
                group.n.into(),
                (self.settings.rate_ratio as f32).into(),
                (self.decay as f32).into(),
            ];
            cuda.launch(MUON, "muon_update", group.tiles(), &arguments)
        };
        // A few dozen small matrices do not fill a GPU: every other group goes on the side stream.
        let groups = params.hidden_groups(self.update.paths)?;
        for group in groups.iter().skip(1).step_by(2) {
            cuda.on_side_stream(&[self.norm], || one(group))?;
        }
        groups.iter().step_by(2).try_for_each(one)?;
        cuda.join_streams()
    }

    /// Takes a step of the momentum; X \[count, m, n\] is what is to be orthogonalised.
    fn direction(&self, cuda: &Cuda, group: &HiddenGroup) -> Result<Tensor, EngineError> {
        let chunks = (group.m * group.n).div_ceil(CHUNK);
        let partial = cuda.memory(group.count * chunks * size_of::<f64>())?;
        let beta = Arg::from(self.settings.momentum as f32);
        let max_norm = Arg::from(self.update.max_norm as f32);
        let first = (&self.moments.first).into();
        let gradient = self.gradients.flat().into();
        let table = (&group.table).into();
        let grid = Grid { blocks: [chunks, group.count], ..Grid::of(1, 256) };
        let arguments = [first, gradient, table, (&partial).into(), self.norm.into(), beta, max_norm];
        cuda.launch(MUON, "muon_momentum", grid, &arguments)?;
        let x = group.room(cuda, group.n)?;
        let arguments = [
            (&x).into(),
            first,
            gradient,
            table,
            (&partial).into(),
            self.norm.into(),
            chunks.into(),
            group.m.into(),
            group.n.into(),
            beta,
            max_norm,
            (EPSILON as f32).into(),
        ];
        cuda.launch(MUON, "muon_direction", group.tiles(), &arguments)?;
        Ok(x)
    }
}

/// X = a X + (b A + c A^2) X with A = X X^T, five times.
fn orthogonalised(cuda: &Cuda, group: &HiddenGroup, x: Tensor) -> Result<Tensor, EngineError> {
    let HiddenGroup { m, n, count, .. } = *group;
    let [a, b, c] = COEFFICIENTS.map(|x| x as f32);
    let gram = group.room(cuda, m)?;
    let map = group.room(cuda, m)?;
    let mut x = x;
    let mut next = group.room(cuda, n)?;
    let shape = |kind, n, k, add| {
        let input = Dtype::Bf16;
        Shape { kind, m, n, k, input, out: input, bias: false, add, period: 0 }
    };
    let operands = |left: &Tensor, right: &Tensor, add: &Tensor, out: &Tensor| Operands {
        left: left.address(),
        right: right.address(),
        bias: 0,
        add: add.address(),
        out: out.address(),
    };
    for _ in 0..STEPS {
        cuda.product(shape(Kind::PairsTurned(count), m, n, false), operands(&x, &x, &gram, &gram))?;
        let squared = shape(Kind::Pairs(count), m, m, true);
        cuda.product_scaled(squared, operands(&gram, &gram, &gram, &map), [c, b])?;
        cuda.product_scaled(shape(Kind::Pairs(count), n, m, true), operands(&map, &x, &x, &next), [1.0, a])?;
        std::mem::swap(&mut x, &mut next);
    }
    Ok(x)
}
