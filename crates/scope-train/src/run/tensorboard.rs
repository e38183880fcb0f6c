//! TensorBoard event files: length-prefixed protobuf records with checksums, written by hand because only three
//! messages of the format are needed.

use std::{
    fs::File,
    io::{ErrorKind, Write},
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use super::metrics::MetricsLine;
use crate::error::TrainError;

/// An event file, open for writing.
pub(crate) struct EventFile {
    path: PathBuf,
    file: File,
}

impl EventFile {
    /// Begins a file of its own for this process; TensorBoard joins all files of a folder.
    pub(crate) fn create(folder: &Path) -> Result<Self, TrainError> {
        let mut second = now() as u64;
        let (path, file) = loop {
            let name = format!("events.out.tfevents.{second}.{}.scope", std::process::id());
            let path = folder.join(name);
            match File::create_new(&path) {
                // Of an earlier run of this process, or somebody else's.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => second += 1,
                made => {
                    let file = made.map_err(TrainError::io("create", &path))?;
                    break (path, file);
                }
            }
        };
        let mut events = Self { path, file };
        events.write(&[double(1, now()), bytes(3, b"brain.Event:2")].concat())?;
        Ok(events)
    }

    /// Adds what a step measured.
    pub(crate) fn add(&mut self, line: &MetricsLine) -> Result<(), TrainError> {
        let report = &line.report;
        let mut values: Vec<(String, f64)> = vec![
            ("alpha".to_owned(), report.alpha),
            ("gradient/norm".to_owned(), report.norm),
            ("rate".to_owned(), report.learning_rate),
        ];
        values.extend(
            report.losses.iter().map(|(component, loss)| (format!("loss/{}", component.letter()), *loss)),
        );
        values.extend(
            report
                .norms
                .iter()
                .map(|(component, [all, _])| (format!("gradient/{}", component.letter()), *all)),
        );
        values.extend(report.latent_std.map(|std| ("latent_spread".to_owned(), std)));
        let summary: Vec<u8> = values
            .iter()
            .flat_map(|(tag, value)| bytes(1, &[bytes(1, tag.as_bytes()), float(2, *value as f32)].concat()))
            .collect();
        self.write(&[double(1, now()), varint_field(2, line.draws), bytes(5, &summary)].concat())
    }

    /// Writes a record: length, checksum of the length, data, checksum of the data.
    fn write(&mut self, data: &[u8]) -> Result<(), TrainError> {
        let length = (data.len() as u64).to_le_bytes();
        let sums = [masked_crc(&length), masked_crc(data)].map(u32::to_le_bytes);
        let record = [&length[..], &sums[0], data, &sums[1]].concat();
        self.file.write_all(&record).map_err(TrainError::io("write", &self.path))
    }
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64())
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
    out
}

/// A field's key: its number and its wire type.
fn key(field: u64, wire: u64) -> Vec<u8> {
    varint(field << 3 | wire)
}

fn varint_field(field: u64, value: u64) -> Vec<u8> {
    [key(field, 0), varint(value)].concat()
}

fn double(field: u64, value: f64) -> Vec<u8> {
    [key(field, 1), value.to_le_bytes().to_vec()].concat()
}

fn bytes(field: u64, value: &[u8]) -> Vec<u8> {
    [key(field, 2), varint(value.len() as u64), value.to_vec()].concat()
}

fn float(field: u64, value: f32) -> Vec<u8> {
    [key(field, 5), value.to_le_bytes().to_vec()].concat()
}

/// CRC-32C, rotated and offset as the format wants it.
fn masked_crc(data: &[u8]) -> u32 {
    let crc = !data.iter().fold(!0_u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0x82F6_3B78 & (crc & 1).wrapping_neg()))
    });
    crc.rotate_right(15).wrapping_add(0xA282_EAD8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_of_the_format() {
        // CRC-32C of "123456789" is 0xE3069283 (RFC 3720, B.4).
        let crc = masked_crc(b"123456789").wrapping_sub(0xA282_EAD8).rotate_left(15);
        assert_eq!(crc, 0xE306_9283);
    }

    #[test]
    fn records_are_framed() {
        let folder = tempfile::tempdir().unwrap();
        let events = EventFile::create(folder.path()).unwrap();
        let file = std::fs::read(&events.path).unwrap();
        let length = u64::from_le_bytes(file[..8].try_into().unwrap()) as usize;
        assert_eq!(file.len(), 8 + 4 + length + 4);
        assert!(file.windows(13).any(|window| window == b"brain.Event:2"));
        assert_eq!(varint(300), [0xAC, 0x02]);
    }
}
