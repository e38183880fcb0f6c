//! Messages between ranks.

use std::fmt::Debug;

use crate::error::ParallelError;

/// What ranks tell each other. One operation carries all others: every rank gives every rank a message.
///
/// All ranks must make the same calls in the same order.
pub trait Communicator: Debug + Send {
    /// Which rank this is, from 0.
    fn rank(&self) -> usize;

    /// How many ranks there are.
    fn size(&self) -> usize;

    /// Gives `messages[r]` to each rank r; returns what each gave to this one, its own message included. Messages may be
    /// empty and of any length.
    fn exchange(&mut self, messages: &[&[u8]]) -> Result<Vec<Vec<u8>>, ParallelError>;

    /// Tells all others why this rank ends; they fail with it in what they do next. Nothing is to be exchanged after it.
    fn abort(&mut self, why: &str);
}

/// Everyone gives a message to all; returns them by rank.
pub fn all_gather(ranks: &mut dyn Communicator, own: &[u8]) -> Result<Vec<Vec<u8>>, ParallelError> {
    let messages = vec![own; ranks.size()];
    ranks.exchange(&messages)
}

/// Everyone gets rank 0's message; what others give is not sent.
pub fn broadcast(ranks: &mut dyn Communicator, message: &[u8]) -> Result<Vec<u8>, ParallelError> {
    let nothing: &[u8] = &[];
    let sent = if ranks.rank() == 0 { message } else { nothing };
    let mut received = ranks.exchange(&vec![sent; ranks.size()])?;
    Ok(received.swap_remove(0))
}

/// Whether something is so for any rank.
pub fn any(ranks: &mut dyn Communicator, here: bool) -> Result<bool, ParallelError> {
    let told = all_gather(ranks, &[u8::from(here)])?;
    Ok(told.iter().flatten().any(|flag| *flag != 0))
}

/// The numbers that a message holds.
pub fn numbers_in(message: &[u8]) -> impl Iterator<Item = f32> {
    message.as_chunks().0.iter().map(|bytes| f32::from_ne_bytes(*bytes))
}
