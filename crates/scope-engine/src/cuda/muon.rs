//! Muon on a GPU: the steps of Newton and Schulz as products of many matrices of one size at once, in bf16 with f32
//! sums.

use std::collections::BTreeMap;

use super::{
    Cuda, Memory,
    gemm::{Kind, Operands, Shape},
    kernels::{Grid, MUON},
};
use crate::{
    dtype::Dtype,
    error::EngineError,
    optim::{
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
struct HiddenGroup {
    m: usize,
    n: usize,
    count: usize,
    /// A matrix in four words: where it begins, in two, its rows and its columns.
    table: Tensor,
}

/// The groups of the matrices that are orthogonalised here, and of those that another GPU orthogonalises.
#[derive(Debug)]
pub(crate) struct HiddenGroups {
    own: Vec<HiddenGroup>,
    others: Vec<HiddenGroup>,
}

impl HiddenGroups {
    /// Groups matrices by size; `table` brings words to the GPU.
    pub(crate) fn of(
        own: &[HiddenMatrix],
        others: &[HiddenMatrix],
        table: impl Fn(&[u32]) -> Result<Tensor, EngineError>,
    ) -> Result<Self, EngineError> {
        Ok(Self { own: HiddenGroup::of(own, &table)?, others: HiddenGroup::of(others, &table)? })
    }
}

impl HiddenGroup {
    /// Groups matrices by size; `table` brings words to the GPU.
    fn of(
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

    /// Blocks of the first pass over each matrix.
    fn chunks(&self) -> usize {
        (self.m * self.n).div_ceil(CHUNK)
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
        let groups = params.hidden_groups(self.update.paths, self.update.share)?;
        for group in groups.own.iter().skip(1).step_by(2) {
            cuda.on_side_stream(&[self.norm], || one(group))?;
        }
        groups.own.iter().step_by(2).try_for_each(one)?;
        groups.others.iter().try_for_each(|group| self.momentum(cuda, group).map(drop))?;
        cuda.join_streams()
    }

    /// Takes a step of the momentum; the sums of squares of each chunk of the direction that follows from it.
    fn momentum(&self, cuda: &Cuda, group: &HiddenGroup) -> Result<Memory, EngineError> {
        let chunks = group.chunks();
        let partial = cuda.memory(group.count * chunks * size_of::<f64>())?;
        let arguments = [
            (&self.moments.first).into(),
            self.gradients.flat().into(),
            (&group.table).into(),
            (&partial).into(),
            self.norm.into(),
            (self.settings.momentum as f32).into(),
            (self.update.max_norm as f32).into(),
        ];
        let grid = Grid { blocks: [chunks, group.count], ..Grid::of(1, 256) };
        cuda.launch(MUON, "muon_momentum", grid, &arguments)?;
        Ok(partial)
    }

    /// Takes a step of the momentum; X \[count, m, n\] is what is to be orthogonalised.
    fn direction(&self, cuda: &Cuda, group: &HiddenGroup) -> Result<Tensor, EngineError> {
        let partial = self.momentum(cuda, group)?;
        let x = group.room(cuda, group.n)?;
        let arguments = [
            (&x).into(),
            (&self.moments.first).into(),
            self.gradients.flat().into(),
            (&group.table).into(),
            (&partial).into(),
            self.norm.into(),
            group.chunks().into(),
            group.m.into(),
            group.n.into(),
            (self.settings.momentum as f32).into(),
            (self.update.max_norm as f32).into(),
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
