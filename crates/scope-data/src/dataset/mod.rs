//! The dataset folder: `fields.npy`, `meta.json` and, for the cylinder, `geometry.npy`.

mod fields_file;
mod merge;
mod meta;
mod reader;
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
const META: &str = "meta.json";
