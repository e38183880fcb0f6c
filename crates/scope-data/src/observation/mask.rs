//! A set of grid points, one bit each.

use scope_pde::{GridShape, Pde, descriptor::KnownRegion};

use crate::npy::{Dtype, Header};

/// Points of a grid; bit i columns + j (of little-endian 64-bit words) says whether (i, j) is observed.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Mask {
    shape: GridShape,
    words: Vec<u64>,
}

/// The points whose bits are set in words, in order.
pub(super) fn points_of(words: &[u64]) -> impl Iterator<Item = usize> {
    words.iter().enumerate().flat_map(|(index, &word)| {
        let mut rest = word;
        std::iter::from_fn(move || {
            let bit = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
            rest &= rest - 1;
            Some(index * 64 + bit)
        })
    })
}

impl Mask {
    /// A mask that observes no point.
    pub fn empty(shape: impl Into<GridShape>) -> Self {
        let shape = shape.into();
        Self { shape, words: vec![0; words_for(shape)] }
    }

    /// Every point.
    pub fn full(shape: impl Into<GridShape>) -> Self {
        let mut mask = Self::empty(shape);
        mask.words.fill(u64::MAX);
        mask.clear_padding();
        mask
    }

    /// The points where every record of a problem has what is known, as on land.
    pub fn always_known(pde: Pde, shape: impl Into<GridShape>) -> Self {
        let mut mask = Self::empty(shape);
        if let KnownRegion::Fixed(known) = pde.descriptor().known_region {
            known.points().for_each(|point| {
                mask.insert(point);
            });
        }
        mask
    }

    /// The points for which `observed(i, j)` holds.
    pub fn from_fn(shape: impl Into<GridShape>, observed: impl Fn(usize, usize) -> bool) -> Self {
        let mut mask = Self::empty(shape);
        for point in 0..mask.shape.points() {
            let [i, j] = mask.shape.place(point);
            if observed(i, j) {
                mask.insert(point);
            }
        }
        mask
    }

    /// The points whose bits are set, the lowest of each byte first; as many bits as the grid has points, which are a
    /// multiple of eight.
    pub(crate) fn of_bits(shape: GridShape, bits: &[u8]) -> Self {
        let mut mask = Self::empty(shape);
        for (word, bytes) in mask.words.iter_mut().zip(bits.chunks(8)) {
            *word = bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
        }
        mask.clear_padding();
        mask
    }

    /// The grid's points along each axis.
    pub fn shape(&self) -> GridShape {
        self.shape
    }

    /// The bits, padded with zeros.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// The number of observed points.
    pub fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether the point i columns + j is observed.
    pub fn contains(&self, point: usize) -> bool {
        self.words[point / 64] >> (point % 64) & 1 == 1
    }

    /// Observes the point i columns + j; says whether it was not observed before.
    pub fn insert(&mut self, point: usize) -> bool {
        assert!(point < self.shape.points(), "a point of the grid");
        let word = &mut self.words[point / 64];
        let bit = 1 << (point % 64);
        let new = *word & bit == 0;
        *word |= bit;
        new
    }

    /// Adds the points of another mask of the same grid.
    pub fn unite(&mut self, other: &Mask) {
        assert_eq!(self.shape, other.shape, "masks of one grid");
        self.words.iter_mut().zip(&other.words).for_each(|(word, other)| *word |= other);
    }

    /// The points that another mask of the same grid has not.
    pub fn without(&self, other: &Mask) -> Self {
        assert_eq!(self.shape, other.shape, "masks of one grid");
        let words = self.words.iter().zip(&other.words).map(|(word, other)| word & !other).collect();
        Self { shape: self.shape, words }
    }

    /// Exchanges observed and unobserved points.
    pub(crate) fn invert(&mut self) {
        self.words.iter_mut().for_each(|word| *word = !*word);
        self.clear_padding();
    }

    /// The observed points in order.
    pub fn points(&self) -> impl Iterator<Item = usize> {
        points_of(&self.words)
    }

    /// The share of observed points in each patch of `patch` x `patch`, \[rows / patch, columns / patch\].
    pub fn visibility(&self, patch: usize) -> Vec<f32> {
        assert!(self.shape.is_multiple_of(patch), "whole patches");
        let patches = self.shape.divided(patch);
        let mut counts = vec![0u32; patches.points()];
        for point in self.points() {
            let [i, j] = self.shape.place(point);
            counts[patches.point(i / patch, j / patch)] += 1;
        }
        counts.iter().map(|count| *count as f32 / (patch * patch) as f32).collect()
    }

    fn clear_padding(&mut self) {
        let used = self.shape.points() % 64;
        if let (true, Some(last)) = (used > 0, self.words.last_mut()) {
            *last &= (1 << used) - 1;
        }
    }
}

impl std::fmt::Debug for Mask {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "Mask({} of {})", self.count(), self.shape)
    }
}

/// A mask file: masks stacked as numpy booleans, \[masks, rows, columns\].
pub fn masks_to_npy(masks: &[&Mask]) -> Vec<u8> {
    let shape = masks.first().map_or(GridShape::square(0), |mask| mask.shape());
    let mut bytes = Header::new(Dtype::Bool, &[masks.len(), shape.rows, shape.columns]).to_bytes();
    for mask in masks {
        bytes.extend((0..shape.points()).map(|point| u8::from(mask.contains(point))));
    }
    bytes
}

/// How many words hold the bits of a grid.
pub fn words_for(shape: impl Into<GridShape>) -> usize {
    shape.into().points().div_ceil(64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_beyond_the_grid_stay_clear() {
        // 34 x 34 = 18 words and four bits.
        let mut mask = Mask::full(34);
        assert_eq!((mask.count(), mask.words().len()), (34 * 34, 19));
        mask.invert();
        assert_eq!(mask.count(), 0);
    }

    #[test]
    fn points_come_back_in_order() {
        let mut mask = Mask::empty(32);
        for point in [900, 3, 64, 63] {
            assert!(mask.insert(point));
            assert!(!mask.insert(point));
        }
        assert_eq!(mask.points().collect::<Vec<_>>(), [3, 63, 64, 900]);
        assert!(mask.contains(64) && !mask.contains(65));
    }

    #[test]
    fn visibility_counts_each_patch() {
        // The upper left patch whole, and one point of the patch below it.
        let mut mask = Mask::from_fn(32, |i, j| i < 8 && j < 8);
        mask.insert(8 * 32 + 7);
        let visibility = mask.visibility(8);
        assert_eq!(
            (visibility.len(), visibility[0], visibility[1], visibility[4]),
            (16, 1.0, 0.0, 1.0 / 64.0)
        );
    }
}
