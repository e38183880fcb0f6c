//! The dataset folder: `fields.npy`, `meta.json` and, for the cylinder, `geometry.npy`, or for
//! problems of one's own whose records have known regions, `known.npy`.

mod fields_file;
mod merge;
mod meta;
mod reader;
mod regions;
mod stamp;
mod verification_cache;
mod writer;

pub use merge::merge;
pub use meta::{ChannelMeta, Meta, Origin, Shard};
pub use reader::Dataset;
pub use writer::{DatasetWriter, Plan};

/// Float32 \[N, 2, S, S\], stored coordinates.
const FIELDS: &str = "fields.npy";
/// Float64 \[N, 3\]: cx, cy, r.
const GEOMETRY: &str = "geometry.npy";
/// Bytes \[N, rows, columns / 8\]: a bit for each point, the lowest first, set where a record of a problem of one's own
/// is known.
const KNOWN: &str = "known.npy";
const META: &str = "meta.json";
