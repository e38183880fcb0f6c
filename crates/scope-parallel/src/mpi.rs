//! Ranks that are processes of an MPI job, whose messages go through MPI instead of connections of our own.
//!
//! A rank that is lost, or that ends without saying good-bye to MPI, makes the launcher end all others.

use mpi::{
    Count, Threading,
    datatype::{Partition, PartitionMut},
    environment::Universe,
    topology::SimpleCommunicator,
    traits::{Communicator as _, CommunicatorCollectives as _},
};

use crate::{communicator::Communicator, error::ParallelError};

/// A process of an MPI job.
pub struct Mpi {
    world: SimpleCommunicator,
    /// Says good-bye to MPI when it is dropped; gone once this rank has failed.
    universe: Option<Universe>,
}

// SAFETY: MPI was asked for calls from any one thread at a time, and a communicator is borrowed for each call.
#[allow(unsafe_code)]
unsafe impl Send for Mpi {}

impl std::fmt::Debug for Mpi {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "MPI rank {} of {}", self.world.rank(), self.world.size())
    }
}

impl Mpi {
    /// Joins the job that this process was started in, once in its life.
    pub fn connect() -> Result<Self, ParallelError> {
        let refuse = |problem: &str| ParallelError::Launch(problem.to_owned());
        let started = mpi::initialize_with_threading(Threading::Serialized);
        let (universe, threading) =
            started.ok_or_else(|| refuse("MPI was started before in this process"))?;
        if threading < Threading::Serialized {
            return Err(refuse("this MPI can be called from the first thread of a process only"));
        }
        Ok(Self { world: universe.world(), universe: Some(universe) })
    }
}

/// Where each of some messages begins when they lie one after the other.
fn starts(counts: &[Count]) -> Vec<Count> {
    let next = |at: &mut Count, count: &Count| {
        let start = *at;
        *at += count;
        Some(start)
    };
    counts.iter().scan(0, next).collect()
}

impl Communicator for Mpi {
    fn rank(&self) -> usize {
        self.world.rank() as usize
    }

    fn size(&self) -> usize {
        self.world.size() as usize
    }

    fn exchange(&mut self, messages: &[&[u8]]) -> Result<Vec<Vec<u8>>, ParallelError> {
        let most = Count::MAX as usize;
        let mut lengths = vec![0_u64; messages.len()];
        // A byte more than there is: Open MPI 4.1 mixes messages up where some are empty.
        let own: Vec<u64> = messages.iter().map(|message| message.len() as u64 + 1).collect();
        self.world.all_to_all_into(&own[..], &mut lengths[..]);
        let total = |lengths: &[u64]| lengths.iter().sum::<u64>() as usize;
        if total(&own).max(total(&lengths)) > most {
            return Err(ParallelError::Division(format!(
                "messages of {} bytes are more than MPI takes at once: use more processes, or a program without MPI",
                total(&own).max(total(&lengths))
            )));
        }
        let counts = |lengths: &[u64]| lengths.iter().map(|length| *length as Count).collect::<Vec<_>>();
        let [sent, received] = [counts(&own), counts(&lengths)];
        let outgoing: Vec<u8> =
            messages.iter().flat_map(|message| message.iter().copied().chain([0])).collect();
        let mut incoming = vec![0_u8; total(&lengths)];
        let from = Partition::new(&outgoing[..], sent.clone(), starts(&sent));
        let mut into = PartitionMut::new(&mut incoming[..], received.clone(), starts(&received));
        self.world.all_to_all_varcount_into(&from, &mut into);
        let mut rest = incoming.as_slice();
        let mut take = |length: &u64| {
            let (message, after) = rest.split_at(*length as usize);
            rest = after;
            message.split_last().map_or_else(Vec::new, |(_, message)| message.to_vec())
        };
        Ok(lengths.iter().map(&mut take).collect())
    }

    /// Nothing is said to MPI at the end, and the launcher ends the others.
    fn abort(&mut self, _: &str) {
        std::mem::forget(self.universe.take());
    }
}
