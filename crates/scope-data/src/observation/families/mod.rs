//! One family a file. Each fills an empty mask with exactly so many points, from a stream alone.

pub(super) mod bernoulli;
pub(super) mod block;
pub(super) mod cluster;
pub(super) mod grid;
pub(super) mod lines;
pub(super) mod uniform;
