//! Recovery as a service: sensors in a request, fields in the answer, and the page that shows them.
//!
//! A [`Server`] listens, and answers until it is asked to stop. Requests are read and answers written on one thread and
//! its helpers; fields are computed on another, the engine, which takes what waits and never waits for more. An answer
//! is the one that `scope recover` gives for the same sensors, in every bit, whatever else was computed beside it.

mod access;
mod body;
mod encode;
mod engine;
mod error;
mod inference;
mod limits;
mod metrics;
mod models;
mod page;
mod recover;
mod refusal;
mod routes;
mod server;
mod stream;
mod tensors;

pub use error::ServeError;
pub use limits::Limits;
pub use models::Models;
pub use server::{Options, Server};
