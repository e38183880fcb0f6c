//! A set of grid points, one bit each.

use crate::npy::{Dtype, Header};

/// Points of an S x S grid; bit i S + j (of little-endian 64-bit words) says whether (i, j) is observed.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Mask {
    size: usize,
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
    /// No point.
    pub fn empty(size: usize) -> Self {
        Self { size, words: vec![0; words_for(size)] }
    }

    /// Every point.
    pub fn full(size: usize) -> Self {
        let mut mask = Self::empty(size);
        mask.words.fill(u64::MAX);
        mask.clear_padding();
        mask
    }

    /// The points for which `observed(i, j)` holds.
    pub fn from_fn(size: usize, observed: impl Fn(usize, usize) -> bool) -> Self {
        let mut mask = Self::empty(size);
        for point in 0..size * size {
            if observed(point / size, point % size) {
                mask.insert(point);
            }
        }
        mask
    }

    /// Grid points along each axis.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The bits, padded with zeros.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// The number of observed points.
    pub fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether the point i S + j is observed.
    pub fn contains(&self, point: usize) -> bool {
        self.words[point / 64] >> (point % 64) & 1 == 1
    }

    /// Observes the point i S + j; says whether it was not observed before.
    pub fn insert(&mut self, point: usize) -> bool {
        assert!(point < self.size * self.size, "a point of the grid");
        let word = &mut self.words[point / 64];
        let bit = 1 << (point % 64);
        let new = *word & bit == 0;
        *word |= bit;
        new
    }

    /// Adds the points of another mask of the same size.
    pub fn unite(&mut self, other: &Mask) {
        assert_eq!(self.size, other.size, "masks of one grid");
        self.words.iter_mut().zip(&other.words).for_each(|(word, other)| *word |= other);
    }

    /// The points that another mask of the same size has not.
    pub fn without(&self, other: &Mask) -> Self {
        assert_eq!(self.size, other.size, "masks of one grid");
        let words = self.words.iter().zip(&other.words).map(|(word, other)| word & !other).collect();
        Self { size: self.size, words }
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

    /// The share of observed points in each patch of `patch` x `patch`, \[S/patch, S/patch\].
    pub fn visibility(&self, patch: usize) -> Vec<f32> {
        assert!(self.size.is_multiple_of(patch), "whole patches");
        let side = self.size / patch;
        let mut counts = vec![0u32; side * side];
        for point in self.points() {
            counts[point / self.size / patch * side + point % self.size / patch] += 1;
        }
        counts.iter().map(|count| *count as f32 / (patch * patch) as f32).collect()
    }

    fn clear_padding(&mut self) {
        let used = self.size * self.size % 64;
        if let (true, Some(last)) = (used > 0, self.words.last_mut()) {
            *last &= (1 << used) - 1;
        }
    }
}

impl std::fmt::Debug for Mask {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "Mask({} of {} x {})", self.count(), self.size, self.size)
    }
}

/// A mask file: masks stacked as numpy booleans, \[masks, S, S\].
pub fn masks_to_npy(masks: &[&Mask]) -> Vec<u8> {
    let size = masks.first().map_or(0, |mask| mask.size());
    let mut bytes = Header::new(Dtype::Bool, &[masks.len(), size, size]).to_bytes();
    for mask in masks {
        bytes.extend((0..size * size).map(|point| u8::from(mask.contains(point))));
    }
    bytes
}

/// How many words hold the bits of an S x S grid.
pub fn words_for(size: usize) -> usize {
    (size * size).div_ceil(64)
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
