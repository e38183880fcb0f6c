//! Hostile bytes for every reader of foreign files.
//!
//! [`TARGETS`] names the readers. Each takes any bytes and must return: no panic, no abort, and no more memory than ten
//! times the bytes and 64 MB ([`within_memory`]). One set of targets serves two ways of looking for trouble:
//!
//! - `cargo test -p scope-fuzz` damages the seeds of each target a few thousand times, the same way every time;
//! - `fuzz/` runs them under libFuzzer for as long as one likes; `docs/nightly-checks.md` says how.
//!
//! [`bombs`] are short files that unpack to very much. This crate is for tests only: it makes its own files, and fails
//! loudly.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod bombs;
mod damage;
mod matlab;
mod memory;
mod scratch;
mod seeds;
mod targets;

pub use damage::damaged;
pub use memory::{Counting, within_memory};
pub use targets::{TARGETS, Target, target};
