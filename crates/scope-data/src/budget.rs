//! How much memory a foreign file may take.

use thiserror::Error;

/// What a byte of a file may become in memory.
const MEMORY_PER_BYTE: u64 = 10;
/// What any file may take, however short it is.
const BASE_MEMORY: u64 = 64 << 20;
/// The part of it that readers keep for buffers of their own.
const BUFFER_MEMORY: u64 = 4 << 20;

/// The memory that may still be taken for a file: ten times its length and 64 MB in all. Readers spend it before they
/// unpack anything, so that a short file that states an absurd content is refused at once.
#[derive(Debug)]
pub(crate) struct Budget {
    length: u64,
    left: u64,
}

/// A file that would take more memory than it may.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "it takes more than {} bytes of memory, the most for a file of {length} bytes (ten times its length and 64 MB)",
    limit(*length)
)]
pub(crate) struct OverBudget {
    length: u64,
}

fn limit(length: u64) -> u64 {
    length.saturating_mul(MEMORY_PER_BYTE).saturating_add(BASE_MEMORY)
}

impl Budget {
    /// The budget of a file of so many bytes.
    pub(crate) fn of_file(length: u64) -> Self {
        Self { length, left: limit(length) - BUFFER_MEMORY }
    }

    /// Takes so many bytes away, if they are there.
    pub(crate) fn spend(&mut self, bytes: u64) -> Result<(), OverBudget> {
        self.left = self.left.checked_sub(bytes).ok_or(OverBudget { length: self.length })?;
        Ok(())
    }

    /// Takes so many elements of some bytes each away, if they are there.
    pub(crate) fn spend_elements(&mut self, elements: usize, width: usize) -> Result<(), OverBudget> {
        self.spend((elements as u64).saturating_mul(width as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_spent_is_counted_in_total() {
        let mut budget = Budget::of_file(1000);
        budget.spend(60 << 20).unwrap();
        budget.spend_elements(1000, 8).unwrap();
        budget.spend(2000).unwrap();
        let refusal = budget.spend(1).unwrap_err().to_string();
        assert!(refusal.contains("67118864 bytes"), "{refusal}");
    }

    #[test]
    fn absurd_sizes_do_not_overflow() {
        assert!(Budget::of_file(1000).spend_elements(usize::MAX, 8).is_err());
        assert!(Budget::of_file(u64::MAX).spend(u64::MAX - BUFFER_MEMORY).is_ok());
    }
}
