//! Pairs of fields, the folders they are kept in, and how they get there.
//!
//! A [`Dataset`] is a plain numpy folder, verified when it is opened. [`generate()`] fills one from the solvers,
//! [`import()`] from other people's files, [`merge`] from shards, and [`check()`] compares one with what is
//! known of its distribution. [`observation`] says which points of a record are seen, [`schedule`] which
//! records are drawn when. [`sensors`] reads measurements of one's own, and [`frame`] says in
//! which coordinates and units they come.

#[cfg(not(target_endian = "little"))]
compile_error!("dataset files are little endian and read as they are");

mod atomic;
mod bounded_read;
mod budget;
mod check;
mod dataset;
pub mod draw;
mod error;
pub mod frame;
mod generate;
mod geometry;
mod import;
pub mod labelled;
pub mod npy;
pub mod npz;
pub mod observation;
mod pair;
mod problem_file;
mod record_region;
pub mod schedule;
pub mod sensors;
mod significant;

mod writable;

pub use atomic::{Lock, NotLocked, StagedFolder, open_unlinked, scratch_of, write_atomic};
pub use bounded_read::{open_regular, read_bounded, read_bounded_text};
pub use check::{ChannelReport, CheckReport, Estimate, LawReport, Reference, Source, check, z_limit};
pub use dataset::{ChannelMeta, Dataset, DatasetWriter, Meta, Origin, Plan, Shard, merge};
pub use error::DataError;
pub use generate::{Request, generate};
pub use import::{
    FieldSource, ForeignRecords, GeometryFiles, HeldOut, ImportRequest, OwnImport, OwnImported, SOURCES,
    SourceFile, Units, ZeroTargets, import, import_own,
};
pub use pair::Pair;
pub use problem_file::read_problem;
pub use record_region::RecordRegion;
pub use scope_pde::{Channel, Constants, Fields, GridShape, PerChannel, Scaling, as_array, known_values};
pub use significant::significant;
pub use writable::{require_writable, require_writable_folder};
