//! Short files that unpack to very much, or that lead a reader in circles.

use std::{
    io::{Cursor, Write},
    path::Path,
};

use hdf5_pure::FileBuilder;
use scope_data::npy::{Dtype, Header};
use scope_pde::Pde;
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

use crate::matlab::{self, DOUBLE, UINT8, Variable};

/// A file made to do harm.
#[derive(Clone, Debug)]
pub struct Bomb {
    /// What it is called.
    pub name: &'static str,
    /// Who reads it.
    pub reader: Reader,
    /// The file.
    pub bytes: Vec<u8>,
    /// Words of the answer that it must get.
    pub answer: &'static str,
}

/// The readers that bombs are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// `scope recover --sensors`.
    Sensors,
    /// `scope data import`.
    Import(Pde),
}

/// The answer to what takes too much memory.
const TOO_MUCH: &str = "ten times its length and 64 MB";

/// All bombs.
pub fn all() -> Vec<Bomb> {
    let sensors = |name, bytes, answer| Bomb { name, reader: Reader::Sensors, bytes, answer };
    let import = |name, pde, bytes, answer| Bomb { name, reader: Reader::Import(pde), bytes, answer };
    let zeros = zeros_npz(true);
    vec![
        sensors("zeros.npz", zeros.clone(), "numpy.savez instead of savez_compressed"),
        sensors("unwanted.npz", unwanted_npz(&zeros), "expected an array called values"),
        sensors("overlapping.npz", overlapping_npz(&zeros), "its files overlap"),
        sensors("duplicate.npz", duplicate_npz(&zeros), "two files of one name"),
        sensors("lying.npz", lying_npz(&zeros), "larger than its declared"),
        sensors("problems.csv", many_problems_csv(), "split it into several files"),
        sensors("problems.json", empty_problems_json(), "split it into several files"),
        import("zeros_v7.mat", Pde::POISSON, zeros_v7(&[1, 4096, 4096], "f_data"), "-nocompression"),
        import("times_v7.mat", Pde::NAVIER_STOKES, times_v7(), TOO_MUCH),
        import(
            "duplicate_v7.mat",
            Pde::POISSON,
            zeros_v7(&[1, 32, 32], "phi_data"),
            "two variables 'phi_data'",
        ),
        import("zeros_v73.mat", Pde::DARCY, zeros_v73(&[2048, 2048, 2], &[8, 2048, 2]), TOO_MUCH),
        import("chunk_v73.mat", Pde::DARCY, zeros_v73(&[1448, 1448, 1], &[1448, 1448, 1]), TOO_MUCH),
        import("circles_v73.mat", Pde::DARCY, circles_v73(), "its index runs in circles"),
    ]
}

/// An array of zeros, 120 MB, in an archive of 570 kB; or in one of 120 MB, as it should be.
pub fn zeros_npz(compressed: bool) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let method = if compressed { CompressionMethod::Deflated } else { CompressionMethod::Stored };
    let level = compressed.then_some(1);
    let quick = SimpleFileOptions::default().compression_method(method).compression_level(level);
    zip.start_file("values.npy", quick).unwrap();
    let zeros = vec![0; 1 << 20];
    zip.write_all(&Header::new(Dtype::U8, &[120 * 32, 2, 128, 128]).to_bytes()).unwrap();
    (0..120).for_each(|_| zip.write_all(&zeros).unwrap());
    zip.finish().unwrap().into_inner()
}

/// Where the directory of an archive without a comment begins, and its only entry.
fn directory(archive: &[u8]) -> (usize, Vec<u8>) {
    let end = archive.len() - 22;
    let at = u32::from_le_bytes(archive[end + 16..end + 20].try_into().unwrap()) as usize;
    (at, archive[at..end].to_vec())
}

/// An archive with its only entry replaced by others.
fn with_entries(archive: &[u8], entries: &[Vec<u8>]) -> Vec<u8> {
    let (at, _) = directory(archive);
    let mut end = archive[archive.len() - 22..].to_vec();
    let count = (entries.len() as u16).to_le_bytes();
    let size = (entries.iter().map(Vec::len).sum::<usize>() as u32).to_le_bytes();
    end[8..10].copy_from_slice(&count);
    end[10..12].copy_from_slice(&count);
    end[12..16].copy_from_slice(&size);
    [&archive[..at], &entries.concat(), &end].concat()
}

/// The same under a name that nobody asks for.
fn unwanted_npz(archive: &[u8]) -> Vec<u8> {
    let at = archive.windows(6).position(|name| name == b"values").unwrap();
    let (_, mut entry) = directory(archive);
    entry[46..52].copy_from_slice(b"secret");
    let mut renamed = with_entries(archive, &[entry]);
    renamed[at..at + 6].copy_from_slice(b"secret");
    renamed
}

/// Forty entries with the bytes of one.
fn overlapping_npz(archive: &[u8]) -> Vec<u8> {
    let (_, entry) = directory(archive);
    let named = |k: u8| {
        let mut entry = entry.clone();
        // The name follows 46 bytes; all have one length.
        entry[46..48].copy_from_slice(&[b'a' + k / 20, b'a' + k % 20]);
        entry
    };
    with_entries(archive, &(0..40).map(named).collect::<Vec<_>>())
}

/// Two entries of one name.
fn duplicate_npz(archive: &[u8]) -> Vec<u8> {
    let (_, entry) = directory(archive);
    with_entries(archive, &[entry.clone(), entry])
}

/// An entry that states 100 bytes and unpacks to 120 MB.
fn lying_npz(archive: &[u8]) -> Vec<u8> {
    let (_, mut entry) = directory(archive);
    entry[24..28].copy_from_slice(&100u32.to_le_bytes());
    with_entries(archive, &[entry])
}

/// Two compressed variables of zeros; the second is `phi_data`.
fn zeros_v7(dimensions: &[i32], first: &str) -> Vec<u8> {
    let count: i32 = dimensions.iter().product();
    let values = vec![0; count as usize];
    let variable = |name| Variable { name, dimensions, values: &values, kind: UINT8, compressed: true };
    let mut variables = vec![variable(first), variable("phi_data")];
    if first == "phi_data" {
        variables.push(variable("f_data"));
    }
    matlab::file(&variables)
}

/// A record of 32 x 32 points at so many times that passing them over takes long.
fn times_v7() -> Vec<u8> {
    let values = vec![0; 8 * 32 * 32 * 9000];
    let a = Variable {
        name: "a",
        dimensions: &[1, 32, 32],
        values: &values[..8 * 32 * 32],
        kind: DOUBLE,
        compressed: true,
    };
    let u = Variable {
        name: "u",
        dimensions: &[1, 32, 32, 9000],
        values: &values,
        kind: DOUBLE,
        compressed: true,
    };
    matlab::file(&[a, u])
}

/// Two datasets of zeros.
fn zeros_v73(shape: &[u64], chunk: &[u64]) -> Vec<u8> {
    let values = vec![0.0f32; shape.iter().product::<u64>() as usize];
    let mut builder = FileBuilder::new();
    for name in ["thresh_a_data", "thresh_p_data"] {
        let dataset = builder.create_dataset(name).with_f32_data(&values).with_shape(shape);
        dataset.with_chunks(chunk).with_deflate(1);
    }
    builder.finish().unwrap()
}

/// A true file whose root group is found through sixty nodes, each of which names the next one twice: 2^60 ways.
fn circles_v73() -> Vec<u8> {
    const BLOCK: u64 = 512;
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scope-data/tests/fixtures/darcy_v73.mat");
    let mut bytes = std::fs::read(path).unwrap();
    let tree = bytes.windows(5).position(|at| at == b"TREE\0").unwrap() as u64 - BLOCK;
    let mut next = tree;
    for level in 1..=60u8 {
        let at = bytes.len() as u64 - BLOCK;
        bytes.extend_from_slice(b"TREE");
        bytes.extend_from_slice(&[0, level, 2, 0]);
        bytes.extend_from_slice(&[0xff; 16]);
        for word in [0, next, 0, next, 8] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        next = at;
    }
    // Whoever knew the tree now knows the last node; the header knows the new length.
    let length = (bytes.len() as u64 - BLOCK).to_le_bytes();
    for at in (BLOCK as usize..BLOCK as usize + 512).rev() {
        if bytes[at..at + 8] == tree.to_le_bytes() {
            bytes[at..at + 8].copy_from_slice(&next.to_le_bytes());
        }
    }
    bytes[BLOCK as usize + 40..BLOCK as usize + 48].copy_from_slice(&length);
    bytes
}

/// Short rows of which each is a problem of its own, 8 MB.
fn many_problems_csv() -> Vec<u8> {
    let rows = (0..700_000).map(|k| format!("0,1,1,{k:x}\n"));
    std::iter::once("x,y,u,problem\n".to_owned()).chain(rows).collect::<String>().into_bytes()
}

/// Problems without sensors, 6 MB.
fn empty_problems_json() -> Vec<u8> {
    let empty = "{\"sensors\":[]},".repeat(400_000);
    let last = "{\"sensors\":[{\"i\":0,\"j\":0,\"channel\":\"u\",\"value\":1}]}";
    format!("{{\"problems\":[{empty}{last}]}}").into_bytes()
}
