//! The tests of the library as its users call it, in one program.

#![allow(clippy::panic, clippy::unwrap_used)]

mod own_problem;
mod recovery;
