//! Writing a dataset folder, record by record, in bounded memory.

use std::{
    fs::File,
    io::{BufWriter, Write},
    path::{Path, PathBuf},
};

use blake3::Hasher;
use scope_pde::{GridShape, Pde, Split};

use super::{
    FIELDS, META,
    meta::{ChannelMeta, FORMAT_VERSION, Meta, Origin, Shard},
    regions::WrittenRegions,
};
use crate::{
    Constants, PerChannel, Scaling,
    atomic::StagedFolder,
    error::DataError,
    npy::{Dtype, Header},
    pair::Pair,
    record_region::RecordRegion,
};

/// What is known of a set before its first record.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The problem.
    pub pde: Pde,
    /// The split that the records belong to.
    pub split: Split,
    /// Grid points along each axis.
    pub resolution: GridShape,
    /// How many records will be pushed.
    pub count: usize,
    /// The constants of the stored coordinates.
    pub constants: Constants,
    /// Where the records come from.
    pub origin: Origin,
    /// Set when this is a part of a set.
    pub shard: Option<Shard>,
}

/// Writes a folder that appears whole at [`DatasetWriter::finish`] or not at all.
pub struct DatasetWriter {
    plan: Plan,
    staged: StagedFolder,
    fields: HashedFile,
    regions: WrittenRegions,
    totals: PerChannel<ChannelTotals>,
    pushed: usize,
}

impl DatasetWriter {
    /// Begins a folder at `out`.
    pub fn create(out: &Path, plan: Plan) -> Result<Self, DataError> {
        let mut staged = StagedFolder::create(out)?;
        let GridShape { rows, columns } = plan.resolution;
        let header = Header::new(Dtype::F32, &[plan.count, 2, rows, columns]);
        let fields = HashedFile::create(&mut staged, FIELDS, &header)?;
        Ok(Self {
            fields,
            staged,
            regions: WrittenRegions::new(plan.pde.descriptor().known_region),
            totals: plan.constants.map(ChannelTotals::new),
            pushed: 0,
            plan,
        })
    }

    /// Appends a record in stored coordinates, \[2, rows, columns\], with its region if its problem has any.
    pub fn push(&mut self, pair: &[f32], region: Option<&RecordRegion>) -> Result<(), DataError> {
        assert!(self.pushed < self.plan.count, "no more records than planned");
        let pair = Pair::new(pair, self.plan.resolution);
        pair.require_finite(self.pushed)?;
        for (channel, totals) in self.totals.each_mut().with_channels() {
            totals.add(self.pushed, pair.field(channel));
        }
        if !self.regions.push(region) {
            let what = if self.plan.pde.has_disk() { "disk" } else { "known region" };
            let Plan { pde, .. } = self.plan;
            return Err(DataError::Request(format!("record {} of the {pde} has no {what}", self.pushed)));
        }
        self.fields.write(bytemuck::cast_slice(pair.values()))?;
        self.pushed += 1;
        Ok(())
    }

    /// Adds a file of text that is no part of the records.
    pub(crate) fn attach(&mut self, name: &str, text: &str) -> Result<(), DataError> {
        self.staged.write(name, text.as_bytes())
    }

    /// Completes the folder.
    pub fn finish(mut self) -> Result<Meta, DataError> {
        let plan = self.plan;
        assert_eq!(self.pushed, plan.count, "as many records as planned");
        let mut blake3 = std::collections::BTreeMap::new();
        blake3.insert(FIELDS.to_owned(), self.fields.finish()?);
        if let Some((name, header, bytes)) = self.regions.finish(plan.count, plan.resolution) {
            let mut regions = HashedFile::create(&mut self.staged, name, &header)?;
            regions.write(&bytes)?;
            blake3.insert(name.to_owned(), regions.finish()?);
        }
        let values = plan.count * plan.resolution.points();
        let PerChannel { a, u } = self.totals.map(|totals| totals.finish(values));
        let meta = Meta {
            format: Meta::format_name(),
            version: FORMAT_VERSION,
            pde: plan.pde,
            split: plan.split,
            count: plan.count,
            resolution: plan.resolution,
            a,
            u,
            origin: plan.origin,
            shard: plan.shard,
            blake3,
        };
        self.staged.write(META, meta.to_text()?.as_bytes())?;
        self.staged.finish()?;
        Ok(meta)
    }
}

/// What is measured of a channel while it passes by. Sums run over records in order, so they do not depend
/// on who made them.
struct ChannelTotals {
    scaling: Scaling,
    squares: f64,
    zero_records: Vec<usize>,
}

impl ChannelTotals {
    fn new(scaling: Scaling) -> Self {
        Self { scaling, squares: 0.0, zero_records: Vec::new() }
    }

    fn add(&mut self, record: usize, values: &[f32]) {
        self.squares += values.iter().map(|x| self.scaling.physical(*x).powi(2)).sum::<f64>();
        if values.iter().all(|x| self.scaling.is_stored_zero(*x)) {
            self.zero_records.push(record);
        }
    }

    fn finish(self, values: usize) -> ChannelMeta {
        ChannelMeta {
            mean: self.scaling.mean,
            sigma: self.scaling.sigma,
            rms: (self.squares / values.max(1) as f64).sqrt(),
            zero_records: self.zero_records,
        }
    }
}

/// A file that is hashed while it is written.
struct HashedFile {
    path: PathBuf,
    file: BufWriter<File>,
    hasher: Hasher,
}

impl HashedFile {
    fn create(staged: &mut StagedFolder, name: &str, header: &Header) -> Result<Self, DataError> {
        let file = BufWriter::new(staged.create_file(name)?);
        let mut hashed = Self { path: staged.path(name), file, hasher: Hasher::new() };
        hashed.write(&header.to_bytes())?;
        Ok(hashed)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), DataError> {
        self.hasher.update(bytes);
        self.file.write_all(bytes).map_err(DataError::io("write", &self.path))
    }

    /// Makes the file durable; returns its hash.
    fn finish(mut self) -> Result<String, DataError> {
        let path = self.path;
        self.file.flush().map_err(DataError::io("write", &path))?;
        self.file.get_ref().sync_all().map_err(DataError::io("write", &path))?;
        Ok(self.hasher.finalize().to_hex().to_string())
    }
}
