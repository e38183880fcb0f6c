//! Making a dataset folder with the solvers, on all threads, in bounded memory.

use std::{
    path::Path,
    sync::atomic::{AtomicUsize, Ordering},
};

use rayon::prelude::*;
use scope_pde::{GENERATOR_VERSION, Generator, Identity, cylinder::Disk};

use crate::{
    Constants,
    dataset::{DatasetWriter, Meta, Origin, Plan, Shard},
    error::DataError,
    record_region::RecordRegion,
};

/// Records that are made together. Two such chunks are in memory at a time, 32 MB each at resolution 128.
const CHUNK: usize = 256;

/// What to make.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// The records' coordinates, besides their index.
    pub identity: Identity,
    /// The number of records of the whole set.
    pub count: usize,
    /// Makes one part of the set only.
    pub shard: Option<Shard>,
}

/// Makes a set on the current rayon pool. `progress` hears from any thread how many records have been made,
/// and stops the work by returning false.
pub fn generate(
    request: &Request,
    out: &Path,
    progress: impl Fn(usize) -> bool + Sync,
) -> Result<Meta, DataError> {
    let generator =
        Generator::new(request.identity).map_err(|error| DataError::Request(error.to_string()))?;
    let records = request.shard.map_or(0..request.count, |shard| shard.records());
    let constants = Constants::generated(request.identity.pde);
    let mut writer = DatasetWriter::create(out, plan(request, records.len()))?;
    let made = AtomicUsize::new(0);
    let make = |index: usize| {
        let record = make(&generator, &constants, index as u64)?;
        let done = made.fetch_add(1, Ordering::Relaxed) + 1;
        if progress(done) { Ok(record) } else { Err(DataError::Interrupted) }
    };
    // While one chunk is written, the next is made.
    let mut ready: Vec<Stored> = Vec::new();
    let mut next = records.start;
    while next < records.end || !ready.is_empty() {
        let chunk = next..(next + CHUNK).min(records.end);
        next = chunk.end;
        let (following, written) = rayon::join(
            || chunk.into_par_iter().map(make).collect::<Result<Vec<Stored>, DataError>>(),
            || {
                ready.iter().try_for_each(|record| {
                    writer.push(&record.values, record.disk.map(RecordRegion::Disk).as_ref())
                })
            },
        );
        written?;
        ready = following?;
    }
    writer.finish()
}

fn plan(request: &Request, count: usize) -> Plan {
    let Identity { pde, seed, split, resolution } = request.identity;
    let origin = Origin::Generated { seed, generator_version: GENERATOR_VERSION };
    let constants = Constants::generated(pde);
    Plan { pde, split, resolution: resolution.into(), count, constants, origin, shard: request.shard }
}

/// A record in stored coordinates.
struct Stored {
    values: Vec<f32>,
    disk: Option<Disk>,
}

fn make(generator: &Generator, constants: &Constants, index: u64) -> Result<Stored, DataError> {
    let record = generator.record(index).map_err(|source| DataError::Solver { index, source })?;
    let channels = record.fields.zip(*constants);
    let values = channels.iter().flat_map(|(field, scaling)| field.iter().map(|x| scaling.store(*x)));
    Ok(Stored { values: values.collect(), disk: record.disk })
}
