//! MATLAB files of versions 5 to 7: tagged elements, each variable possibly compressed.
//!
//! A file is a 128-byte header and a row of elements: 4 bytes of type, 4 of length, the data, padding to 8
//! bytes. A variable is a matrix element whose sub-elements are flags, dimensions, name and values, in
//! column-major order; the values may be stored in a smaller type than the variable's class.

use std::io::Read;

use flate2::read::ZlibDecoder;

use super::mat::{MAX_VARIABLES, Parsed, TakeValues, Variable};

const HEADER: usize = 128;
const MATRIX: u32 = 14;
const COMPRESSED: u32 = 15;
/// MATLAB's names have at most 63 characters.
const MAX_NAME: usize = 256;
const MAX_DIMENSIONS: usize = 8;
/// Values are handed on in pieces of this many.
const PIECE: usize = 1 << 16;

/// A file's variables and where they are.
pub(super) struct Mat5<'a> {
    entries: Vec<(Variable, Element<'a>)>,
}

/// A top-level element.
#[derive(Clone, Copy)]
struct Element<'a> {
    compressed: bool,
    data: &'a [u8],
}

impl<'a> Mat5<'a> {
    /// Lists the numeric variables of a file; of compressed ones only the beginning is expanded.
    pub(super) fn open(file: &'a [u8]) -> Parsed<Self> {
        if file.get(126..128) == Some(b"MI") {
            return Err("it was written on a big-endian machine, which is not supported".into());
        }
        let mut rest = file.get(HEADER..).ok_or("it ends inside its header")?;
        let mut entries = Vec::new();
        while let Some(tag) = rest.first_chunk::<8>() {
            let (kind, length) = split(*tag);
            let data = rest.get(8..8 + length).ok_or("it ends inside a variable")?;
            let compressed = match kind {
                COMPRESSED => true,
                MATRIX => false,
                _ => return Err(format!("it has an element of type {kind} where a variable should be")),
            };
            if entries.len() == MAX_VARIABLES {
                return Err(format!("it holds more than {MAX_VARIABLES} variables"));
            }
            let element = Element { compressed, data };
            if let Some(variable) = Matrix::open(element)?.header()? {
                entries.push((variable, element));
            }
            // Compressed elements are not padded.
            let padded = if compressed { length } else { length.next_multiple_of(8) };
            rest = rest.get(8 + padded..).unwrap_or_default();
        }
        Ok(Self { entries })
    }

    pub(super) fn variables(&self) -> impl Iterator<Item = &Variable> {
        self.entries.iter().map(|(variable, _)| variable)
    }

    /// Hands out the values of a variable in column-major order, from the `skip`-th on.
    pub(super) fn read(&self, name: &str, skip: usize, take: TakeValues) -> Parsed<()> {
        let entry = self.entries.iter().find(|(variable, _)| variable.name == name);
        let (variable, element) = entry.ok_or_else(|| format!("it has no variable '{name}'"))?;
        let mut matrix = Matrix::open(*element)?;
        matrix.header()?;
        matrix.values(variable.elements(), skip, take)
    }
}

/// Type and length of an element.
fn split(tag: [u8; 8]) -> (u32, usize) {
    let [a, b, c, d, e, f, g, h] = tag;
    (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]) as usize)
}

/// A variable being read from front to back.
struct Matrix<'a> {
    reader: Box<dyn Read + 'a>,
    /// The bytes that it says it unpacks to, and that are read of it at most; none where it is not compressed.
    unpacked: u64,
}

impl<'a> Matrix<'a> {
    fn open(element: Element<'a>) -> Parsed<Self> {
        if !element.compressed {
            return Ok(Self { reader: Box::new(element.data), unpacked: 0 });
        }
        let mut decoder = ZlibDecoder::new(element.data);
        match split(read_bytes(&mut decoder)?) {
            (MATRIX, length) => {
                let unpacked = length as u64;
                Ok(Self { reader: Box::new(decoder.take(unpacked)), unpacked })
            }
            (kind, _) => Err(format!("a compressed element is of type {kind}, expected a variable")),
        }
    }

    /// Flags, dimensions and name; `None` for what is not a plain array of numbers.
    fn header(&mut self) -> Parsed<Option<Variable>> {
        let flags = self.element(64)?;
        let class = flags.first().copied().unwrap_or(0);
        let complex = flags.get(1).is_some_and(|flags| flags & 0x08 != 0);
        let dimensions = self.element(4 * MAX_DIMENSIONS)?;
        let name = self.element(MAX_NAME)?;
        // Classes 6 to 15 are numbers: double, single, integers.
        if !(6..=15).contains(&class) || complex {
            return Ok(None);
        }
        let dimension = |bytes: &[u8; 4]| usize::try_from(i32::from_le_bytes(*bytes));
        let dimensions: Result<Vec<usize>, _> = dimensions.as_chunks::<4>().0.iter().map(dimension).collect();
        Ok(Some(Variable {
            name: String::from_utf8_lossy(&name).into_owned(),
            dimensions: dimensions.map_err(|_| "a variable has a negative dimension")?,
            unpacked: self.unpacked,
            buffers: 0,
        }))
    }

    /// A small sub-element, of at most `limit` bytes.
    fn element(&mut self, limit: usize) -> Parsed<Vec<u8>> {
        let (_, length, inline) = self.tag()?;
        if let Some(bytes) = inline {
            return Ok(bytes[..length].to_vec());
        }
        if length > limit {
            return Err(format!(
                "a part of a variable's header claims {length} bytes, expected at most {limit}"
            ));
        }
        let mut bytes = vec![0; length.next_multiple_of(8)];
        fill(&mut self.reader, &mut bytes)?;
        bytes.truncate(length);
        Ok(bytes)
    }

    /// Type and length; elements of up to four bytes carry them in the tag itself.
    fn tag(&mut self) -> Parsed<(u32, usize, Option<[u8; 4]>)> {
        let tag: [u8; 8] = read_bytes(&mut self.reader)?;
        let (kind, length) = split(tag);
        match kind >> 16 {
            0 => Ok((kind, length, None)),
            small @ 1..=4 => Ok((kind & 0xffff, small as usize, Some([tag[4], tag[5], tag[6], tag[7]]))),
            _ => Err("a variable's header is broken".into()),
        }
    }

    /// The values: `count` numbers, of which the first `skip` are passed over.
    fn values(&mut self, count: usize, skip: usize, take: TakeValues) -> Parsed<()> {
        let (kind, length, inline) = self.tag()?;
        let number = Number::of(kind)?;
        let width = number.width();
        if inline.is_some() || length / width != count {
            return Err(format!("a variable has {} values, its dimensions need {count}", length / width));
        }
        let mut bytes = vec![0; PIECE * width];
        let mut numbers = Vec::with_capacity(PIECE);
        let mut done = 0;
        while done < count {
            let piece = (count - done).min(PIECE);
            fill(&mut self.reader, &mut bytes[..piece * width])?;
            let skipped = skip.saturating_sub(done).min(piece);
            numbers.clear();
            numbers.extend(bytes[skipped * width..piece * width].chunks_exact(width).map(|b| number.read(b)));
            take(&numbers);
            done += piece;
        }
        Ok(())
    }
}

fn read_bytes<const N: usize>(reader: &mut impl Read) -> Parsed<[u8; N]> {
    let mut bytes = [0; N];
    fill(reader, &mut bytes)?;
    Ok(bytes)
}

fn fill(reader: &mut impl Read, bytes: &mut [u8]) -> Parsed<()> {
    reader.read_exact(bytes).map_err(|error| format!("a variable is cut short or damaged: {error}"))
}

/// The types that values are stored in, by their number in the format.
#[derive(Clone, Copy)]
enum Number {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    F32,
    F64,
    I64,
    U64,
}

impl Number {
    fn of(kind: u32) -> Parsed<Self> {
        Ok(match kind {
            1 => Number::I8,
            2 => Number::U8,
            3 => Number::I16,
            4 => Number::U16,
            5 => Number::I32,
            6 => Number::U32,
            7 => Number::F32,
            9 => Number::F64,
            12 => Number::I64,
            13 => Number::U64,
            kind => return Err(format!("a variable's values are of type {kind}, expected numbers")),
        })
    }

    fn width(self) -> usize {
        match self {
            Number::I8 | Number::U8 => 1,
            Number::I16 | Number::U16 => 2,
            Number::I32 | Number::U32 | Number::F32 => 4,
            Number::F64 | Number::I64 | Number::U64 => 8,
        }
    }

    fn read(self, bytes: &[u8]) -> f64 {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        let [b0, b1, b2, b3, ..] = word;
        match self {
            Number::I8 => i8::from_le_bytes([b0]).into(),
            Number::U8 => b0.into(),
            Number::I16 => i16::from_le_bytes([b0, b1]).into(),
            Number::U16 => u16::from_le_bytes([b0, b1]).into(),
            Number::I32 => i32::from_le_bytes([b0, b1, b2, b3]).into(),
            Number::U32 => u32::from_le_bytes([b0, b1, b2, b3]).into(),
            Number::F32 => f32::from_le_bytes([b0, b1, b2, b3]).into(),
            Number::F64 => f64::from_le_bytes(word),
            Number::I64 => i64::from_le_bytes(word) as f64,
            Number::U64 => u64::from_le_bytes(word) as f64,
        }
    }
}
