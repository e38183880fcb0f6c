//! How a batch is cut into parts, which rank computes which, and in which order they are summed.
//!
//! The parts are the leaves of a binary tree: the node of the parts from a to b is the sum of its two halves. A rank
//! has neighbouring parts, and sums those of the largest whole nodes among them itself; what is left of the tree is
//! summed from all ranks' nodes. So the sum is the same in every bit for any number of ranks, and each sends hardly
//! more than one sum.

use std::ops::Range;

use crate::{
    communicator::{Communicator, all_gather, numbers_in},
    error::ParallelError,
};

/// Parts of a batch over ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Division {
    parts: usize,
    ranks: usize,
}

/// The sum of some neighbouring parts.
#[derive(Clone, Debug)]
pub struct Piece {
    /// The neighbouring parts that are summed.
    pub parts: Range<usize>,
    /// The sum of these parts.
    pub sum: Vec<f32>,
}

/// The k-th of n nearly equal pieces of a length.
fn piece_of(k: usize, n: usize, length: usize) -> Range<usize> {
    k * length / n..(k + 1) * length / n
}

impl Division {
    /// So many parts over so many ranks; every rank must have one.
    pub fn new(parts: usize, ranks: usize) -> Result<Self, ParallelError> {
        if ranks == 0 || parts < ranks {
            return Err(ParallelError::Division(format!(
                "{parts} parts of a batch cannot be divided among {ranks} processes: there must be a part for each"
            )));
        }
        Ok(Self { parts, ranks })
    }

    /// The parts of a rank.
    pub fn parts_of(&self, rank: usize) -> Range<usize> {
        piece_of(rank, self.ranks, self.parts)
    }

    /// The rows of a batch that a part is.
    pub fn rows(&self, part: usize, batch: usize) -> Range<usize> {
        piece_of(part, self.parts, batch)
    }

    /// The rows of a batch that a rank has.
    pub fn rows_of(&self, rank: usize, batch: usize) -> Range<usize> {
        let parts = self.parts_of(rank);
        self.rows(parts.start, batch).start..self.rows(parts.end - 1, batch).end
    }

    /// The largest whole nodes of the tree among the parts of a rank, in order.
    pub(crate) fn nodes_of(&self, rank: usize) -> Vec<Range<usize>> {
        let own = self.parts_of(rank);
        let mut found = Vec::new();
        let mut open: Vec<Range<usize>> = std::iter::once(0..self.parts).collect();
        while let Some(node) = open.pop() {
            let inside = own.start <= node.start && node.end <= own.end;
            let apart = node.end <= own.start || own.end <= node.start;
            if inside {
                found.push(node);
            } else if !apart {
                let [left, right] = halves(&node);
                open.extend([right, left]);
            }
        }
        found
    }

    /// The sum of a rank's parts as pieces, each of which is a whole node; `of` computes a part's own.
    pub fn pieces<E>(
        &self,
        rank: usize,
        mut of: impl FnMut(usize) -> Result<Vec<f32>, E>,
    ) -> Result<Vec<Piece>, E> {
        let sum = |node: Range<usize>| Ok(Piece { sum: sum_of(node.clone(), &mut of)?, parts: node });
        self.nodes_of(rank).into_iter().map(sum).collect()
    }

    /// The sum of all parts from the pieces of all ranks. Each rank sums a slice of the numbers, and all are given to
    /// all.
    pub fn sum(&self, ranks: &mut dyn Communicator, own: Vec<Piece>) -> Result<Vec<f32>, ParallelError> {
        let length = own.first().map_or(0, |piece| piece.sum.len());
        if self.ranks == 1 {
            let whole = own.into_iter().next();
            return Ok(whole.map_or_else(Vec::new, |piece| piece.sum));
        }
        let outgoing: Vec<Vec<f32>> = (0..self.ranks)
            .map(|to| {
                let slice = piece_of(to, self.ranks, length);
                own.iter().flat_map(|piece| &piece.sum[slice.clone()]).copied().collect()
            })
            .collect();
        let messages: Vec<&[u8]> = outgoing.iter().map(|numbers| bytemuck::cast_slice(numbers)).collect();
        let received = ranks.exchange(&messages)?;
        let width = piece_of(ranks.rank(), self.ranks, length).len();
        let slice = self.sum_slices(&received, width)?;
        let mut total = Vec::with_capacity(length);
        for slice in all_gather(ranks, bytemuck::cast_slice(&slice))? {
            total.extend(numbers_in(&slice));
        }
        Ok(total)
    }

    /// The sum of one slice of all parts, from what each rank sent of its pieces.
    fn sum_slices(&self, received: &[Vec<u8>], width: usize) -> Result<Vec<f32>, ParallelError> {
        let mut slices: Vec<(Range<usize>, Vec<f32>)> = Vec::new();
        for (rank, bytes) in received.iter().enumerate() {
            let numbers: Vec<f32> = numbers_in(bytes).collect();
            let nodes = self.nodes_of(rank);
            if numbers.len() != width * nodes.len() {
                let problem = format!("it sent {} numbers instead of {}", numbers.len(), width * nodes.len());
                return Err(ParallelError::OutOfStep { rank, problem });
            }
            let slice = |k: usize| numbers[k * width..(k + 1) * width].to_vec();
            slices.extend(nodes.into_iter().enumerate().map(|(k, node)| (node, slice(k))));
        }
        Ok(sum_up(0..self.parts, &mut slices))
    }
}

/// The two halves of a node, of which the first has the odd part.
fn halves(node: &Range<usize>) -> [Range<usize>; 2] {
    let middle = node.start + node.len().div_ceil(2);
    [node.start..middle, middle..node.end]
}

/// The sum of a node whose parts are computed one after the other.
fn sum_of<E>(node: Range<usize>, of: &mut impl FnMut(usize) -> Result<Vec<f32>, E>) -> Result<Vec<f32>, E> {
    if node.len() == 1 {
        return of(node.start);
    }
    let [left, right] = halves(&node);
    let mut sum = sum_of(left, of)?;
    add(&mut sum, &sum_of(right, of)?);
    Ok(sum)
}

/// The sum of a node from known nodes, which together are all of the tree's leaves.
fn sum_up(node: Range<usize>, known: &mut Vec<(Range<usize>, Vec<f32>)>) -> Vec<f32> {
    if let Some(place) = known.iter().position(|(range, _)| *range == node) {
        return known.swap_remove(place).1;
    }
    let [left, right] = halves(&node);
    let mut sum = sum_up(left, known);
    add(&mut sum, &sum_up(right, known));
    sum
}

fn add(sum: &mut [f32], other: &[f32]) {
    for (sum, other) in sum.iter_mut().zip(other) {
        *sum += other;
    }
}

#[cfg(test)]
mod tests {
    use std::{convert::Infallible, thread};

    use super::*;
    use crate::threads::Threads;

    /// Numbers whose sum depends on the order.
    fn numbers(part: usize) -> Vec<f32> {
        (0..37).map(|k| ((part * 37 + k) as f32 * 0.7).sin() * 10_f32.powi((part % 5) as i32)).collect()
    }

    fn total(parts: usize, ranks: usize) -> Vec<Vec<u32>> {
        let division = Division::new(parts, ranks).unwrap();
        thread::scope(|scope| {
            let started: Vec<_> = Threads::ranks(ranks)
                .into_iter()
                .map(|mut rank| {
                    scope.spawn(move || {
                        let pieces =
                            division.pieces(rank.rank(), |part| Ok::<_, Infallible>(numbers(part))).unwrap();
                        let sum = division.sum(&mut rank, pieces).unwrap();
                        sum.iter().map(|x| x.to_bits()).collect()
                    })
                })
                .collect();
            started.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }

    #[test]
    fn the_sum_has_the_same_bits_for_any_number_of_ranks() {
        for parts in [1, 2, 5, 8, 12] {
            let alone = total(parts, 1).swap_remove(0);
            for ranks in 1..=parts.min(8) {
                assert!(total(parts, ranks).iter().all(|sum| *sum == alone), "{parts} over {ranks}");
            }
        }
        // The order matters for these numbers, so the test above can fail.
        let mut in_line = numbers(0);
        (1..8).for_each(|part| add(&mut in_line, &numbers(part)));
        assert!(in_line.iter().map(|x| x.to_bits()).ne(total(8, 1).swap_remove(0)));
    }

    #[test]
    fn parts_and_rows_are_all_there_once_and_powers_of_two_send_one_sum() {
        for (parts, ranks, batch) in [(8, 1, 32), (8, 2, 32), (8, 3, 125), (8, 8, 8), (7, 4, 30)] {
            let division = Division::new(parts, ranks).unwrap();
            let all: Vec<usize> = (0..ranks).flat_map(|rank| division.rows_of(rank, batch)).collect();
            assert!(all.into_iter().eq(0..batch));
            let nodes: Vec<usize> = (0..ranks).flat_map(|rank| division.nodes_of(rank)).flatten().collect();
            assert!(nodes.into_iter().eq(0..parts));
        }
        let single =
            |ranks| (0..ranks).all(|rank| Division::new(8, ranks).unwrap().nodes_of(rank).len() == 1);
        assert!([1, 2, 4, 8].into_iter().all(single));
        assert!(Division::new(8, 9).is_err() && Division::new(8, 0).is_err());
    }
}
