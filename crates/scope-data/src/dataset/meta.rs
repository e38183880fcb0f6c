//! `meta.json`: what a dataset folder holds.
//!
//! The file depends on the records alone, never on when, where or by how many threads they were made, so
//! that equal sets are equal in every byte.

use std::{collections::BTreeMap, path::Path};

use scope_pde::{GridShape, Pde, Split, descriptor::KnownRegion};
use serde::{Deserialize, Serialize};

use super::{FIELDS, GEOMETRY, KNOWN};
use crate::{Channel, Constants, Scaling, bounded_read::read_bounded, error::DataError};

/// The version of the folder layout that this program writes and reads.
pub(crate) const FORMAT_VERSION: u32 = 1;

const FORMAT: &str = "scope-dataset";
const KIND: &str = "meta.json of a dataset";
/// The most bytes of the file: every record of a large set may be listed as zero.
const MAX_BYTES: u64 = 16 << 20;
/// Letters of a BLAKE3 as `b3sum` prints it.
const HASH_LETTERS: usize = 64;

/// The content of `meta.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Meta {
    /// Always "scope-dataset".
    pub format: String,
    /// The version of the layout.
    pub version: u32,
    /// The problem.
    pub pde: Pde,
    /// The split that the records belong to.
    pub split: Split,
    /// The number of records in the folder.
    pub count: usize,
    /// Grid points along each axis.
    pub resolution: GridShape,
    /// The input channel.
    pub a: ChannelMeta,
    /// The response channel.
    pub u: ChannelMeta,
    /// Where the records come from.
    pub origin: Origin,
    /// Present when the folder is a part of a set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// BLAKE3 of each array file, as `b3sum` prints it.
    pub blake3: BTreeMap<String, String>,
}

/// One channel's constants and what was measured while writing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChannelMeta {
    /// stored = (physical - mean) / (2 sigma).
    pub mean: f64,
    /// The standard deviation that values are scaled by, as in the formula of `mean`.
    pub sigma: f64,
    /// The root mean square of the physical values of this set.
    pub rms: f64,
    /// Records whose channel is zero everywhere.
    pub zero_records: Vec<usize>,
}

impl ChannelMeta {
    /// The constants of the channel.
    pub fn scaling(&self) -> Scaling {
        Scaling { mean: self.mean, sigma: self.sigma }
    }
}

/// Where records come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Origin {
    /// Made by this program's solvers: fresh draws, not the released records.
    Generated {
        /// The seed of the set.
        seed: u64,
        /// The version of the generator.
        generator_version: u32,
    },
    /// Read from other people's files.
    Imported {
        /// What kind of files.
        source: String,
        /// Their names, without folders, in the order they were read.
        files: Vec<String>,
    },
}

impl Origin {
    /// Whether our own solvers made them: fresh draws, not the released records.
    pub fn is_generated(&self) -> bool {
        matches!(self, Origin::Generated { .. })
    }

    /// The origin in one line, for people and tables.
    pub fn describe(&self, pde: Pde) -> String {
        match self {
            Origin::Generated { seed, generator_version } => {
                let what = pde.descriptor().distribution.describe_generated();
                format!("generated: {what} (seed {seed}, generator version {generator_version})")
            }
            Origin::Imported { source, files } => format!("imported: {source}, {} file(s)", files.len()),
        }
    }
}

/// Which part of a set a folder is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shard {
    /// This part, from 1.
    pub part: usize,
    /// The number of parts.
    pub of: usize,
    /// The number of records in the whole set.
    pub total: usize,
}

impl Shard {
    /// The records of the set that belong to this part: contiguous, in order, of nearly equal number.
    pub fn records(&self) -> std::ops::Range<usize> {
        let edge = |part: usize| (part as u128 * self.total as u128 / self.of as u128) as usize;
        edge(self.part - 1)..edge(self.part)
    }
}

impl Meta {
    pub(crate) fn format_name() -> String {
        FORMAT.to_owned()
    }

    /// The constants of both channels.
    pub fn constants(&self) -> Constants {
        Constants { a: self.a.scaling(), u: self.u.scaling() }
    }

    /// What is said of a channel.
    pub fn channel(&self, channel: Channel) -> &ChannelMeta {
        match channel {
            Channel::A => &self.a,
            Channel::U => &self.u,
        }
    }

    /// Both channels with their names.
    pub fn channels(&self) -> [(&'static str, &ChannelMeta); 2] {
        Channel::BOTH.map(|channel| (channel.name(), self.channel(channel)))
    }

    /// Reads and checks the file.
    pub(crate) fn read(path: &Path) -> Result<Self, DataError> {
        let bytes = read_bounded(path, MAX_BYTES)?;
        let text = std::str::from_utf8(&bytes).map_err(|_| "it is not text in UTF-8".to_owned());
        text.and_then(Self::parse).map_err(|problem| DataError::malformed(path, KIND, problem))
    }

    fn parse(text: &str) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Version {
            format: String,
            version: u32,
        }
        let version: Version = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if version.format != FORMAT {
            return Err(format!("its format is '{}', expected '{FORMAT}'", version.format));
        }
        if version.version != FORMAT_VERSION {
            return Err(format!(
                "its version is {}, this program reads version {FORMAT_VERSION}: use the program that wrote it",
                version.version
            ));
        }
        let meta: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        meta.validate()?;
        Ok(meta)
    }

    fn validate(&self) -> Result<(), String> {
        self.pde.require_grid(self.resolution).map_err(|error| error.to_string())?;
        self.require_hashes()?;
        for (name, channel) in self.channels() {
            let usable = channel.mean.is_finite() && channel.sigma.is_finite() && channel.sigma > 0.0;
            if !usable || !channel.rms.is_finite() {
                return Err(format!("the constants of channel {name} must be finite and sigma positive"));
            }
            if channel.zero_records.iter().any(|record| *record >= self.count) {
                return Err(format!("zero_records of channel {name} name records beyond {}", self.count));
            }
        }
        match self.shard {
            Some(shard)
                if shard.part == 0 || shard.part > shard.of || shard.records().len() != self.count =>
            {
                Err(format!("shard {shard:?} does not hold {} records", self.count))
            }
            _ => Ok(()),
        }
    }

    /// The array files of the folder.
    fn arrays(&self) -> &'static [&'static str] {
        match self.pde.descriptor().known_region {
            KnownRegion::Disk => &[FIELDS, GEOMETRY],
            KnownRegion::PerRecord(_) => &[FIELDS, KNOWN],
            KnownRegion::Nowhere | KnownRegion::Fixed(_) => &[FIELDS],
        }
    }

    /// Refuses a table of hashes that is not of the folder's arrays, all of them and nothing else.
    fn require_hashes(&self) -> Result<(), String> {
        let arrays = self.arrays();
        if let Some(other) = self.blake3.keys().find(|name| !arrays.contains(&name.as_str())) {
            return Err(format!("blake3 names {other:?}, and the arrays of {} are {arrays:?}", self.pde));
        }
        for name in arrays {
            let hash = self.blake3.get(*name).ok_or_else(|| format!("blake3 lacks the hash of {name}"))?;
            let digit = |letter: u8| letter.is_ascii_digit() || (b'a'..=b'f').contains(&letter);
            if hash.len() != HASH_LETTERS || !hash.bytes().all(digit) {
                return Err(format!(
                    "blake3 of {name} is {hash:?}, expected {HASH_LETTERS} letters from 0 to f"
                ));
            }
        }
        Ok(())
    }

    /// BLAKE3 of the records, as `b3sum` prints it: what the set is known by.
    pub fn fields_hash(&self) -> &str {
        self.hash_of(FIELDS)
    }

    /// BLAKE3 of one of the folder's arrays; all of them are there in a meta.json that was read or written.
    pub(super) fn hash_of(&self, array: &str) -> &str {
        self.blake3.get(array).map_or("", String::as_str)
    }

    /// The text of the file.
    pub(crate) fn to_text(&self) -> Result<String, DataError> {
        let text = serde_json::to_string_pretty(self)
            .map_err(|error| DataError::Request(format!("meta.json cannot be written: {error}")))?;
        Ok(text + "\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_the_set_once() {
        for (total, of) in [(10, 4), (3, 5), (50_000, 7), (0, 2)] {
            let mut next = 0;
            for part in 1..=of {
                let records = Shard { part, of, total }.records();
                assert_eq!(records.start, next);
                next = records.end;
            }
            assert_eq!(next, total);
        }
    }

    #[test]
    fn versions_and_formats_are_told_apart() {
        let refusal = |text: &str| Meta::parse(text).unwrap_err();
        assert!(refusal("{}").contains("missing field"));
        assert!(refusal(r#"{"format": "zip", "version": 1}"#).contains("format is 'zip'"));
        assert!(refusal(r#"{"format": "scope-dataset", "version": 9}"#).contains("version is 9"));
        assert!(refusal("fields").contains("line 1"));
    }
}
