//! The archives that numpy calls .npz: zip files with one array each.
//!
//! The directory at the end lists the entries; sizes are taken from there, and nothing is believed that the
//! bytes do not bear out.

use std::io::Read;

use flate2::{Crc, read::DeflateDecoder};

/// How such a file begins.
pub(super) const MAGIC: &[u8] = b"PK\x03\x04";

const DIRECTORY_END: &[u8] = b"PK\x05\x06";
const DIRECTORY_ENTRY: &[u8] = b"PK\x01\x02";
/// Bytes of the end record, of an entry of the directory, and of the header before an entry's data.
const END_LENGTH: usize = 22;
const ENTRY_LENGTH: usize = 46;
const LOCAL_LENGTH: usize = 30;
/// The end record may be followed by a comment of at most this many bytes.
const LONGEST_COMMENT: usize = 65_535;
/// The largest array that is unpacked.
const MOST_BYTES: usize = 1 << 30;
/// A size of this value is kept elsewhere, in a format for files beyond 4 GB.
const ELSEWHERE: usize = 0xffff_ffff;

const STORED: usize = 0;
const DEFLATED: usize = 8;

/// One file of an archive.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) name: String,
    method: usize,
    crc: usize,
    packed: usize,
    size: usize,
    offset: usize,
}

/// Lists the files of an archive.
pub(super) fn entries(archive: &[u8]) -> Result<Vec<Entry>, String> {
    let from = archive.len().saturating_sub(END_LENGTH + LONGEST_COMMENT);
    let end = archive[from..].windows(DIRECTORY_END.len()).rposition(|window| window == DIRECTORY_END);
    let end = end.map(|end| from + end).filter(|end| end + END_LENGTH <= archive.len());
    let end = end.ok_or("the archive has no directory: it is cut short")?;
    let count = number(archive, end + 10, 2)?;
    let mut at = number(archive, end + 16, 4)?;
    let mut entries = Vec::new();
    for _ in 0..count {
        let signature = archive.get(at..at.saturating_add(DIRECTORY_ENTRY.len()));
        if signature != Some(DIRECTORY_ENTRY) {
            return Err("the archive's directory is damaged".into());
        }
        let [name, extra, comment] =
            [number(archive, at + 28, 2)?, number(archive, at + 30, 2)?, number(archive, at + 32, 2)?];
        let text = archive.get(at + ENTRY_LENGTH..at + ENTRY_LENGTH + name);
        let text = text.ok_or("the archive ends inside its directory")?;
        entries.push(Entry {
            name: String::from_utf8_lossy(text).into_owned(),
            method: number(archive, at + 10, 2)?,
            crc: number(archive, at + 16, 4)?,
            packed: number(archive, at + 20, 4)?,
            size: number(archive, at + 24, 4)?,
            offset: number(archive, at + 42, 4)?,
        });
        at += ENTRY_LENGTH + name + extra + comment;
    }
    Ok(entries)
}

/// A little-endian number.
fn number(bytes: &[u8], at: usize, width: usize) -> Result<usize, String> {
    let field = bytes.get(at..at.saturating_add(width)).ok_or("the archive ends inside its directory")?;
    Ok(field.iter().rev().fold(0, |value, byte| value << 8 | usize::from(*byte)))
}

impl Entry {
    /// Unpacks the file, and checks its length and its checksum.
    pub(super) fn unpack(&self, archive: &[u8]) -> Result<Vec<u8>, String> {
        let refuse = |problem: &str| Err(format!("\"{}\" {problem}", self.name));
        if [self.packed, self.size, self.offset].contains(&ELSEWHERE) || self.size > MOST_BYTES {
            return refuse("is larger than 1 GB unpacked: split it into several files");
        }
        let extra = number(archive, self.offset + 26, 2)? + number(archive, self.offset + 28, 2)?;
        let begin = self.offset + LOCAL_LENGTH + extra;
        let Some(packed) = archive.get(begin..begin + self.packed) else {
            return refuse("ends beyond the archive");
        };
        let mut bytes = Vec::new();
        let read = match self.method {
            STORED => packed.take(self.size as u64 + 1).read_to_end(&mut bytes),
            DEFLATED => DeflateDecoder::new(packed).take(self.size as u64 + 1).read_to_end(&mut bytes),
            other => return refuse(&format!("is packed by method {other}, expected numpy's own")),
        };
        let mut crc = Crc::new();
        crc.update(&bytes);
        match read.is_ok() && bytes.len() == self.size && crc.sum() as usize == self.crc {
            true => Ok(bytes),
            false => refuse("is damaged: its content does not have the length and checksum of the directory"),
        }
    }
}
