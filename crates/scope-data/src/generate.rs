//! Making a dataset folder with the solvers, on all threads, in bounded memory.

use std::{ops::Range, path::Path};

use rayon::prelude::*;
use scope_pde::{GENERATOR_VERSION, Generator, Identity, cylinder::Disk};

use crate::{
    constants::Constants,
    dataset::{DatasetWriter, Meta, Origin, Plan, Shard},
    error::DataError,
};

/// Records that are made together. Two such chunks are in memory at a time, 16 MB each at resolution 128.
const CHUNK: usize = 128;

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

/// Makes a set on the current rayon pool. `progress` hears how many records are done, and stops the work by
/// returning false.
pub fn generate(
    request: &Request,
    out: &Path,
    mut progress: impl FnMut(usize) -> bool + Send,
) -> Result<Meta, DataError> {
    let generator =
        Generator::new(request.identity).map_err(|error| DataError::Request(error.to_string()))?;
    let records = request.shard.map_or(0..request.count, |shard| shard.records());
    let Identity { pde, seed, split, resolution } = request.identity;
    let constants = Constants::generated(pde);
    let origin = Origin::Generated { seed, generator_version: GENERATOR_VERSION };
    let count = records.len();
    let plan = Plan { pde, split, resolution, count, constants, origin, shard: request.shard };
    let mut writer = DatasetWriter::create(out, plan)?;
    // While one chunk is written, the next is made.
    let mut written = 0;
    let mut ready: Vec<Stored> = Vec::new();
    let mut next = records.start;
    while next < records.end || !ready.is_empty() {
        let chunk = next..(next + CHUNK).min(records.end);
        next = chunk.end;
        let (made, wrote) = rayon::join(
            || make(&generator, &constants, chunk),
            || -> Result<bool, DataError> {
                for record in &ready {
                    writer.push(&record.values, record.disk)?;
                }
                written += ready.len();
                Ok(progress(written))
            },
        );
        if !wrote? {
            return Err(DataError::Interrupted);
        }
        ready = made?;
    }
    writer.finish()
}

/// A record in stored coordinates.
struct Stored {
    values: Vec<f32>,
    disk: Option<Disk>,
}

fn make(
    generator: &Generator,
    constants: &Constants,
    records: Range<usize>,
) -> Result<Vec<Stored>, DataError> {
    records
        .into_par_iter()
        .map(|index| {
            let index = index as u64;
            let record = generator.record(index).map_err(|source| DataError::Solver { index, source })?;
            let a = record.a.iter().map(|x| constants.a.store(*x));
            let u = record.u.iter().map(|x| constants.u.store(*x));
            Ok(Stored { values: a.chain(u).collect(), disk: record.disk })
        })
        .collect()
}
