//! Numbers that begin at a cache line: a vector that does not, and crosses into the next line, takes two reads.

use std::ops::{Deref, DerefMut, Range};

/// Bytes of a line.
const BYTES: usize = 64;

/// Doubles of a line.
pub(crate) const DOUBLES: usize = BYTES / size_of::<f64>();

/// A slice of numbers.
#[derive(Debug)]
pub(crate) struct CacheLines<T> {
    /// The numbers, somewhere in enough room for any beginning.
    room: Vec<T>,
    place: Range<usize>,
}

impl<T: Copy> CacheLines<T> {
    /// As many equal numbers.
    pub(crate) fn of(value: T, count: usize) -> Self {
        let room = vec![value; count + BYTES / size_of::<T>().max(1)];
        // Where no number begins at a line, or nobody can say, the first one will do.
        let first = room.as_ptr().align_offset(BYTES);
        let first = if first <= room.len() - count { first } else { 0 };
        Self { room, place: first..first + count }
    }

    /// The numbers of a slice.
    pub(crate) fn copied(numbers: &[T]) -> Self {
        let Some(first) = numbers.first() else { return Self { room: Vec::new(), place: 0..0 } };
        let mut copy = Self::of(*first, numbers.len());
        copy.copy_from_slice(numbers);
        copy
    }
}

impl<T: Copy> Clone for CacheLines<T> {
    fn clone(&self) -> Self {
        Self::copied(self)
    }
}

impl<T> Deref for CacheLines<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.room[self.place.clone()]
    }
}

impl<T> DerefMut for CacheLines<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.room[self.place.clone()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_begin_at_a_line_and_copies_of_them_too() {
        for count in [0, 1, 8, 133] {
            let numbers: Vec<f64> = (0..count).map(|k| k as f64).collect();
            let lines = CacheLines::copied(&numbers);
            let copy = lines.clone();
            assert!(*lines == numbers && *copy == numbers);
            assert!(
                count == 0 || [&lines, &copy].iter().all(|lines| lines.as_ptr().addr().is_multiple_of(BYTES))
            );
        }
    }
}
