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

    /// Gives `messages[r]` to each rank r; returns what each gave to this one, its own message included. Messages may
    /// be empty and of any length.
    fn exchange(&mut self, messages: &[&[u8]]) -> Result<Vec<Vec<u8>>, ParallelError>;

    /// Tells all others why this rank ends; they fail with it in what they do next. Nothing is to be exchanged after
    /// it.
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

/// Whether each of some things is so for any rank.
pub fn any<const N: usize>(
    ranks: &mut dyn Communicator,
    here: [bool; N],
) -> Result<[bool; N], ParallelError> {
    let told = all_gather(ranks, &here.map(u8::from))?;
    require_length(&told, N)?;
    Ok(std::array::from_fn(|k| told.iter().any(|flags| flags[k] != 0)))
}

/// The first rank whose message is not rank 0's, if there is one; messages are as long as this rank's.
pub fn first_unlike(ranks: &mut dyn Communicator, own: &[u8]) -> Result<Option<usize>, ParallelError> {
    let told = all_gather(ranks, own)?;
    require_length(&told, own.len())?;
    Ok(told.iter().position(|other| *other != told[0]))
}

/// Refuses messages that are not of the kind that all were to give.
fn require_length(told: &[Vec<u8>], length: usize) -> Result<(), ParallelError> {
    let other = told.iter().enumerate().find(|(_, message)| message.len() != length);
    other.map_or(Ok(()), |(rank, message)| {
        let problem = format!("it says {} bytes where {length} were to be said", message.len());
        Err(ParallelError::OutOfStep { rank, problem })
    })
}

/// The numbers that a message holds.
pub fn numbers_in(message: &[u8]) -> impl Iterator<Item = f32> {
    message.as_chunks().0.iter().map(|bytes| f32::from_ne_bytes(*bytes))
}
