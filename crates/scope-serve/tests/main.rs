//! The service, asked over real connections.
#![allow(clippy::unwrap_used, clippy::panic)]

mod answers;
mod client;
mod inference;
mod refusals;
mod stopping;
