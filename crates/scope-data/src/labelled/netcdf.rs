//! NetCDF's classic format with 64-bit offsets: a header that says where everything is, then the arrays. All is big
//! endian, and everything begins at a multiple of four bytes.

use std::io::{self, Error, ErrorKind};

use super::{Attributes, LabelledArrays, Values, Variable};

const MAGIC: &[u8] = b"CDF\x02";
const DIMENSIONS: u32 = 10;
const VARIABLES: u32 = 11;
const ATTRIBUTES: u32 = 12;
const CHARACTERS: u32 = 2;

pub(super) fn bytes(arrays: &LabelledArrays) -> io::Result<Vec<u8>> {
    // The header is as long whatever the offsets are, so that a first one without them tells where the arrays begin.
    let unplaced = vec![0; arrays.variables.len()];
    let mut next = header(arrays, &unplaced)?.len() as u64;
    let mut begins = Vec::new();
    let data: Vec<Vec<u8>> = arrays.variables.iter().map(|variable| big_endian(&variable.values)).collect();
    for bytes in &data {
        begins.push(next);
        next += bytes.len() as u64;
    }
    let mut file = header(arrays, &begins)?;
    data.iter().for_each(|bytes| file.extend(bytes));
    Ok(file)
}

fn header(arrays: &LabelledArrays, begins: &[u64]) -> io::Result<Vec<u8>> {
    let mut out = MAGIC.to_vec();
    out.extend(number(0)?); // Records along a dimension without end, of which there is none.
    out.extend(list(DIMENSIONS, arrays.dimensions.len())?);
    for (name, length) in &arrays.dimensions {
        out.extend(text(name)?);
        out.extend(number(*length)?);
    }
    out.extend(attributes(&arrays.attributes)?);
    out.extend(list(VARIABLES, arrays.variables.len())?);
    for (variable, begin) in arrays.variables.iter().zip(begins) {
        out.extend(described(variable, *begin)?);
    }
    Ok(out)
}

fn described(variable: &Variable, begin: u64) -> io::Result<Vec<u8>> {
    let mut out = text(&variable.name)?;
    out.extend(number(variable.dimensions.len())?);
    for dimension in &variable.dimensions {
        out.extend(number(*dimension)?);
    }
    out.extend(attributes(&variable.attributes)?);
    let (kind, bytes) = match &variable.values {
        Values::Bytes(values) => (1_u32, values.len()),
        Values::Single(values) => (5, 4 * values.len()),
        Values::Double(values) => (6, 8 * values.len()),
    };
    out.extend(kind.to_be_bytes());
    out.extend(number(bytes.next_multiple_of(4))?);
    out.extend(begin.to_be_bytes());
    Ok(out)
}

fn attributes(attributes: &Attributes) -> io::Result<Vec<u8>> {
    let mut out = list(ATTRIBUTES, attributes.len())?;
    for (name, value) in attributes {
        out.extend(text(name)?);
        out.extend(CHARACTERS.to_be_bytes());
        out.extend(text(value)?);
    }
    Ok(out)
}

/// The head of a list; one without entries is two zeros.
fn list(kind: u32, count: usize) -> io::Result<Vec<u8>> {
    let kind = if count == 0 { 0 } else { kind };
    Ok([kind.to_be_bytes(), number(count)?].concat())
}

/// A length, then the characters.
fn text(text: &str) -> io::Result<Vec<u8>> {
    let mut out = [&number(text.len())?, text.as_bytes()].concat();
    pad(&mut out);
    Ok(out)
}

fn number(number: usize) -> io::Result<[u8; 4]> {
    let fits = i32::try_from(number).map_err(|_| {
        Error::new(
            ErrorKind::InvalidInput,
            format!("{number} is more than NetCDF's classic format can count"),
        )
    })?;
    Ok(fits.to_be_bytes())
}

fn big_endian(values: &Values) -> Vec<u8> {
    let mut out: Vec<u8> = match values {
        Values::Bytes(values) => values.iter().map(|value| *value as u8).collect(),
        Values::Single(values) => values.iter().flat_map(|value| value.to_be_bytes()).collect(),
        Values::Double(values) => values.iter().flat_map(|value| value.to_be_bytes()).collect(),
    };
    pad(&mut out);
    out
}

fn pad(out: &mut Vec<u8>) {
    out.resize(out.len().next_multiple_of(4), 0);
}
