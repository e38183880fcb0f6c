//! Processes that compute one thing together.
//!
//! A [`Launch`] says which rank this process is, from the variables of whoever started it. A [`Communicator`] carries
//! messages between ranks: over TCP ([`Tcp`]), between the threads of one process ([`Threads`]), or with the feature
//! `mpi` through MPI. A [`Division`] cuts a batch into parts, gives each rank its share, and sums what they compute in
//! an order that does not depend on the number of ranks.

mod communicator;
mod division;
mod error;
mod launch;
mod mailbox;
#[cfg(feature = "mpi")]
mod mpi;
mod tcp;
mod threads;

pub use communicator::{Communicator, all_gather, any, broadcast, first_unlike, numbers_in};
pub use division::{Division, Piece};
pub use error::ParallelError;
pub use launch::{Launch, Rendezvous};
#[cfg(feature = "mpi")]
pub use mpi::Mpi;
pub use tcp::Tcp;
pub use threads::Threads;
