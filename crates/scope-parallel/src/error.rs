//! What can go wrong between processes.

use thiserror::Error;

/// An error of this crate.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ParallelError {
    /// Variables of a launcher that cannot be meant so.
    #[error("{0}")]
    Launch(String),
    /// Work that cannot be divided so.
    #[error("{0}")]
    Division(String),
    /// The ranks did not find each other.
    #[error("the {size} processes did not find each other at {address}: {reason}")]
    Rendezvous {
        /// How many there should be.
        size: usize,
        /// Where they meet.
        address: String,
        /// What went wrong.
        reason: String,
    },
    /// A rank that is not heard of any more.
    #[error("rank {rank} of {size} is lost: {reason}")]
    Lost {
        /// The number of the rank, from 0.
        rank: usize,
        /// The number of all ranks.
        size: usize,
        /// How that was noticed.
        reason: String,
    },
    /// A rank that said why it ends.
    #[error("rank {rank} of {size} has stopped: {why}")]
    Stopped {
        /// The number of the rank, from 0.
        rank: usize,
        /// The number of all ranks.
        size: usize,
        /// What it said.
        why: String,
    },
    /// A message that is not the one expected: the ranks do not do the same.
    #[error(
        "rank {rank} does something else than this one ({problem}): all must run the same program with the same \
         arguments"
    )]
    OutOfStep {
        /// The number of the rank, from 0.
        rank: usize,
        /// How its message differs from what was expected.
        problem: String,
    },
}
