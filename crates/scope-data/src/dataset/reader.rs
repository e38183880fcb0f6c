//! Reading a dataset folder.

use std::{
    path::{Path, PathBuf},
    time::SystemTime,
};

use scope_pde::cylinder::Disk;

use super::{
    FIELDS, META,
    fields_file::FieldsFile,
    meta::Meta,
    regions::Regions,
    verification_cache::{VerificationCache, VerifiedFile},
};
use crate::{error::DataError, pair::Pair, record_region::RecordRegion};

/// A dataset folder, open for reading. Records are read from disk when they are used.
#[derive(Debug)]
pub struct Dataset {
    folder: PathBuf,
    meta: Meta,
    fields: FieldsFile,
    regions: Option<Regions>,
}

impl Dataset {
    /// Opens a folder to learn from it or to measure on it: it must have records, and every byte of its arrays must be
    /// what was written, every value finite. What was verified before, and has not changed since, is not read again.
    pub fn open(folder: &Path) -> Result<Self, DataError> {
        let set = Self::inspect(folder)?;
        if set.is_empty() {
            return Err(DataError::Empty(folder.to_owned()));
        }
        set.verify_once(&VerificationCache::of_user(), SystemTime::now())?;
        Ok(set)
    }

    /// Opens a folder to see what it holds, and checks kinds, shapes and sizes only. It may have no records, as a part
    /// of a set may; contents are checked by [`Dataset::verify`].
    pub fn inspect(folder: &Path) -> Result<Self, DataError> {
        if !folder.exists() {
            return Err(DataError::Missing(folder.to_owned()));
        }
        if !folder.join(META).exists() {
            return Err(DataError::malformed(folder, "dataset folder", format!("it holds no {META}")));
        }
        let meta = Meta::read(&folder.join(META))?;
        let fields = FieldsFile::open(&folder.join(FIELDS), meta.count, meta.resolution)?;
        let regions = Regions::read(folder, &meta)?;
        Ok(Self { folder: folder.to_owned(), meta, fields, regions })
    }

    /// What the folder holds.
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The number of records.
    pub fn len(&self) -> usize {
        self.meta.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A record. Panics when `index` is not below [`Dataset::len`], as slices do.
    pub fn pair(&self, index: usize) -> Result<Pair, DataError> {
        let mut values = vec![0.0; self.fields.record_length()];
        self.read(index, &mut values)?;
        Ok(Pair::new(values, self.meta.resolution))
    }

    /// Reads records into \[n, 2, rows, columns\] values, from number `first` on. Panics when there are not so many, as
    /// slices do. It is an error if the file has changed since it was opened.
    pub fn read(&self, first: usize, values: &mut [f32]) -> Result<(), DataError> {
        let each = self.fields.record_length();
        assert!(values.len().is_multiple_of(each), "whole records");
        assert!(first + values.len() / each <= self.len(), "records of the set");
        self.fields.read(first, values)
    }

    /// A record's obstacle; only the cylinder has one.
    pub fn disk(&self, index: usize) -> Option<Disk> {
        self.region(index)?.disk()
    }

    /// Where a record is known by itself, for problems whose records differ in that.
    pub fn region(&self, index: usize) -> Option<&RecordRegion> {
        self.regions.as_ref()?.of_records.get(index)
    }

    /// Checks every byte of the arrays against the hashes in `meta.json`, and that every value is finite,
    /// on all threads.
    pub fn verify(&self) -> Result<(), DataError> {
        self.verify_regions()?;
        self.verify_fields()
    }

    /// Verifies the set unless that was done before, and remembers it.
    fn verify_once(&self, cache: &VerificationCache, now: SystemTime) -> Result<(), DataError> {
        self.verify_regions()?;
        let verified_file =
            VerifiedFile::of(self.fields.path(), self.fields.stamp(), self.meta.fields_hash());
        if verified_file.as_ref().is_some_and(|verified_file| cache.holds(verified_file)) {
            return Ok(());
        }
        self.verify_fields()?;
        if let Some(verified_file) = verified_file {
            cache.add(verified_file, now);
        }
        Ok(())
    }

    fn verify_regions(&self) -> Result<(), DataError> {
        let Some(Regions { path, array, blake3, .. }) = &self.regions else { return Ok(()) };
        self.require_hash(path, array, blake3)
    }

    fn verify_fields(&self) -> Result<(), DataError> {
        let content = self.fields.content()?;
        self.require_hash(self.fields.path(), FIELDS, &content.blake3)?;
        content.fault.map_or(Ok(()), Err)
    }

    fn require_hash(&self, path: &Path, array: &str, got: &str) -> Result<(), DataError> {
        let expected = self.meta.hash_of(array);
        if got == expected {
            return Ok(());
        }
        Err(DataError::Changed { path: path.to_owned(), expected: expected.to_owned(), got: got.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, time::Duration};

    use scope_pde::{Identity, Pde, Split};

    use super::*;
    use crate::generate::{Request, generate};

    /// A set that is damaged, and said to have been verified since: it is believed where the cache is asked, and
    /// nowhere else.
    #[test]
    fn what_was_verified_is_not_read_again_when_it_is_opened() {
        let root = tempfile::tempdir().unwrap();
        let out = root.path().join("set");
        let identity = Identity { pde: Pde::POISSON, seed: 1, split: Split::Train, resolution: 32 };
        generate(&Request { identity, count: 2, shard: None }, &out, |_| true).unwrap();
        let cache = VerificationCache::in_folder(root.path());
        let later = SystemTime::now() + Duration::from_secs(60);
        Dataset::inspect(&out).unwrap().verify_once(&cache, later).unwrap();
        let mut bytes = fs::read(out.join(FIELDS)).unwrap();
        bytes[5000] ^= 1;
        // Another file in its place, which has another number.
        fs::write(root.path().join("damaged"), bytes).unwrap();
        fs::rename(root.path().join("damaged"), out.join(FIELDS)).unwrap();
        let set = Dataset::inspect(&out).unwrap();
        assert!(matches!(set.verify_once(&cache, later), Err(DataError::Changed { .. })));
        let verified_file = VerifiedFile::of(set.fields.path(), set.fields.stamp(), set.meta.fields_hash());
        cache.add(verified_file.unwrap(), later);
        set.verify_once(&cache, later).unwrap();
        assert!(matches!(set.verify(), Err(DataError::Changed { .. })));
    }
}
