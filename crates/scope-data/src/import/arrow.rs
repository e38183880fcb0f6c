//! Arrow IPC streams as Hugging Face `datasets` writes them, read in place.
//!
//! Columns: `id` int32 (optional), and `data`, nested lists of depth three with float64 or float32 values,
//! one \[2, S, S\] array a row. Metadata are FlatBuffers (schema numbers from the Arrow format's
//! Message.fbs and Schema.fbs); bodies are raw buffers. Batches may be of any size.

use std::path::{Path, PathBuf};

use memmap2::Mmap;

use super::{
    flatbuffer::Table,
    source::{Conversion, Take},
};
use crate::{Channel, error::DataError, npy::map_file};

const KIND: &str = "Arrow stream";
const CONTINUATION: u32 = u32::MAX;
/// Message.fbs: MessageHeader.
const SCHEMA: u8 = 1;
const RECORD_BATCH: u8 = 3;
/// Schema.fbs: Type.
const INT: u8 = 2;
const FLOATING_POINT: u8 = 3;
const LIST: u8 = 12;

type Parsed<T> = Result<T, String>;

/// One shard, its headers checked.
pub(super) struct ArrowFile {
    path: PathBuf,
    map: Mmap,
    schema: Schema,
    batches: Vec<Batch>,
    resolution: usize,
}

/// The columns.
#[derive(Clone, Copy, Debug)]
struct Schema {
    /// Whether the ids come before the data; `None` without ids.
    id_first: Option<bool>,
    /// float64 instead of float32.
    double: bool,
}

/// One record batch: where its rows are in the file.
#[derive(Clone, Debug)]
struct Batch {
    rows: usize,
    /// Byte ranges of the body's buffers, in the file.
    buffers: Vec<(usize, usize)>,
}

/// The columns of one batch.
struct Columns<'a> {
    ids: Option<&'a [u8]>,
    values: &'a [u8],
    /// The element of `values` where the first row begins.
    first: usize,
}

impl ArrowFile {
    /// Maps a shard and checks its framing, schema and the shape of its first row.
    pub(super) fn open(path: &Path) -> Result<Self, DataError> {
        let map = map_file(path)?;
        let malformed = |problem| DataError::malformed(path, KIND, problem);
        let (schema, batches) = read_messages(&map).map_err(malformed)?;
        let mut file = Self { path: path.to_owned(), map, schema, batches, resolution: 0 };
        file.resolution = file.find_resolution().map_err(malformed)?;
        Ok(file)
    }

    pub(super) fn rows(&self) -> usize {
        self.batches.iter().map(|batch| batch.rows).sum()
    }

    pub(super) fn resolution(&self) -> usize {
        self.resolution
    }

    /// Hands out every row; `first_id` is the id that the first row must have.
    pub(super) fn read(&self, first_id: usize, conversion: Conversion, take: Take) -> Result<(), DataError> {
        let mut id = first_id;
        let mut pair = vec![0.0; 2 * self.resolution * self.resolution];
        for batch in &self.batches {
            let columns = self.columns(batch).map_err(|p| DataError::malformed(&self.path, KIND, p))?;
            for row in 0..batch.rows {
                if let Some(ids) = columns.ids {
                    let got = i32::from_le_bytes(word(ids, row));
                    if usize::try_from(got) != Ok(id) {
                        let problem = format!("row {id} has id {got}: rows must be numbered in order");
                        return Err(DataError::malformed(&self.path, KIND, problem));
                    }
                }
                self.convert(&columns, row, conversion, &mut pair);
                take(&pair)?;
                id += 1;
            }
        }
        Ok(())
    }

    fn convert(&self, columns: &Columns, row: usize, conversion: Conversion, pair: &mut [f32]) {
        let length = pair.len();
        let first = columns.first + row * length;
        for (channel, field) in Channel::BOTH.into_iter().zip(pair.chunks_exact_mut(length / 2)) {
            let store = conversion.channel(channel);
            let first = first + channel.position() * length / 2;
            for (k, out) in field.iter_mut().enumerate() {
                let at = first + k;
                *out = store(if self.schema.double {
                    f64::from_le_bytes(word(columns.values, at))
                } else {
                    f32::from_le_bytes(word(columns.values, at)).into()
                });
            }
        }
    }

    /// S, from the first row of the file; a row must fit into the file before anything is allocated for it.
    fn find_resolution(&self) -> Parsed<usize> {
        let batch = self.batches.iter().find(|batch| batch.rows > 0).ok_or("it holds no rows")?;
        let outer = Offsets(self.buffer(batch, self.schema.data_buffer(1))?);
        let channels = Offsets(self.buffer(batch, self.schema.data_buffer(3))?);
        let first = outer.get(0)?;
        let size = channels.get(first + 1)?.checked_sub(channels.get(first)?);
        let fits = |size: &usize| {
            let values = size.checked_mul(*size).and_then(|pixels| pixels.checked_mul(2 * size_of::<f32>()));
            *size > 0 && values.is_some_and(|bytes| bytes <= self.map.len())
        };
        size.filter(fits).ok_or_else(|| "its rows are not [2, S, S] arrays".into())
    }

    /// The columns of a batch, every row a \[2, S, S\] array.
    fn columns(&self, batch: &Batch) -> Parsed<Columns<'_>> {
        let rows = batch.rows;
        let size = self.resolution;
        let level = |k: usize| Ok::<_, String>(Offsets(self.buffer(batch, self.schema.data_buffer(k))?));
        let first = level(1)?.require_steps(0, rows, 2)?;
        let first = level(3)?.require_steps(first, 2 * rows, size)?;
        let first = level(5)?.require_steps(first, 2 * rows * size, size)?;
        let values = self.buffer(batch, self.schema.data_buffer(7))?;
        let width = if self.schema.double { 8 } else { 4 };
        if values.len() / width < first + rows * 2 * size * size {
            return Err(format!("its values end before {rows} rows of [2, {size}, {size}]"));
        }
        let ids = self.schema.id_buffer().map(|at| self.buffer(batch, at)).transpose()?;
        if ids.is_some_and(|ids| ids.len() / 4 < rows) {
            return Err(format!("its ids end before {rows} rows"));
        }
        Ok(Columns { ids, values, first })
    }

    fn buffer(&self, batch: &Batch, index: usize) -> Parsed<&[u8]> {
        let (start, end) = batch.buffers.get(index).ok_or("a record batch lacks buffers")?;
        Ok(&self.map[*start..*end])
    }
}

impl Schema {
    /// A buffer of the data column: for each list level validity and offsets, then validity and values.
    fn data_buffer(&self, k: usize) -> usize {
        k + if self.id_first == Some(true) { 2 } else { 0 }
    }

    /// The values of the id column, which has validity and values.
    fn id_buffer(&self) -> Option<usize> {
        self.id_first.map(|first| if first { 1 } else { 9 })
    }
}

/// Offsets of a list level, int32.
struct Offsets<'a>(&'a [u8]);

impl Offsets<'_> {
    fn get(&self, index: usize) -> Parsed<usize> {
        let in_range = index < self.0.len() / 4;
        let offset = in_range.then(|| i32::from_le_bytes(word(self.0, index)));
        offset
            .and_then(|at| usize::try_from(at).ok())
            .ok_or_else(|| "its list offsets are out of range".into())
    }

    /// Checks that the lists `start ..= start + count` all have `step` elements; returns their first
    /// element.
    fn require_steps(&self, start: usize, count: usize, step: usize) -> Parsed<usize> {
        let first = self.get(start)?;
        for k in 0..=count {
            if self.get(start + k)? != first + k * step {
                return Err(format!(
                    "its rows are not all of one shape: a list has other than {step} elements"
                ));
            }
        }
        Ok(first)
    }
}

/// Reads the framing of a whole stream: the schema, then the record batches.
fn read_messages(file: &[u8]) -> Parsed<(Schema, Vec<Batch>)> {
    if file.starts_with(b"ARROW1") {
        return Err("it is an Arrow file, not a stream: save it with datasets' save_to_disk".into());
    }
    let mut at = 0;
    let mut schema = None;
    let mut batches = Vec::new();
    while let Some(message) = next_message(file, at)? {
        match (message.kind, schema) {
            (SCHEMA, None) => schema = Some(read_schema(message.header)?),
            (RECORD_BATCH, Some(_)) => batches.push(read_batch(&message)?),
            (kind, _) => return Err(format!("it holds a message of kind {kind} that does not belong there")),
        }
        at = message.end;
    }
    Ok((schema.ok_or("it is empty")?, batches))
}

struct Message<'a> {
    kind: u8,
    header: Table<'a>,
    /// The byte range of the body.
    body: usize,
    end: usize,
}

/// A message is a continuation mark, the length of its metadata, the metadata, and a body.
fn next_message(file: &[u8], at: usize) -> Parsed<Option<Message<'_>>> {
    if at == file.len() {
        return Ok(None);
    }
    let cut = || "it ends inside a message".to_owned();
    let mark =
        |at: usize| file.get(at..at + 4).map(|bytes| u32::from_le_bytes(word(bytes, 0))).ok_or_else(cut);
    if mark(at)? != CONTINUATION {
        return Err("it does not have an Arrow message where one should begin".into());
    }
    let length = mark(at + 4)? as usize;
    if length == 0 {
        return Ok(None);
    }
    let body = at + 8 + length;
    let metadata = file.get(at + 8..body).ok_or_else(cut)?;
    let bad = || "a message has broken metadata".to_owned();
    let message = Table::root(metadata).ok_or_else(bad)?;
    let kind = message.u8(1).ok_or_else(bad)?;
    let header = message.table(2).ok_or_else(bad)?;
    let body_length = usize::try_from(message.i64(3).unwrap_or(0)).map_err(|_| bad())?;
    let end = body.checked_add(body_length).filter(|end| *end <= file.len()).ok_or_else(cut)?;
    Ok(Some(Message { kind, header, body, end }))
}

fn read_schema(schema: Table) -> Parsed<Schema> {
    let bad = "its schema cannot be read";
    let fields = schema.vector(1).ok_or(bad)?;
    let columns: Option<Vec<Table>> = (0..fields.len.min(3)).map(|k| fields.table(k)).collect();
    let columns = columns.ok_or(bad)?;
    let names: Vec<&str> = columns.iter().map(|field| field.text(0).unwrap_or("")).collect();
    let (id_first, data) = match names.as_slice() {
        ["id", "data"] => (Some(true), columns[1]),
        ["data", "id"] => (Some(false), columns[0]),
        ["data"] => (None, columns[0]),
        _ => return Err(format!("its columns are {names:?}, expected \"id\" and \"data\"")),
    };
    let id = id_first.map(|first| columns[usize::from(!first)]);
    if id.is_some_and(|id| id.u8(2) != Some(INT) || id.table(3).and_then(|t| t.i32(0)) != Some(32)) {
        return Err("its column \"id\" is not int32".into());
    }
    Ok(Schema { id_first, double: read_nested_lists(data)? })
}

/// Checks list<list<list<float>>>; returns whether the floats are double.
fn read_nested_lists(mut field: Table) -> Parsed<bool> {
    let wrong = "its column \"data\" is not three nested lists of float32 or float64";
    for _depth in 0..3 {
        let inner = field.vector(5).and_then(|children| children.table(0));
        field = inner.filter(|_| field.u8(2) == Some(LIST)).ok_or(wrong)?;
    }
    // FloatingPoint.precision: 0 half (the default, left out), 1 single, 2 double.
    let precision = field.table(3).and_then(|float| float.i16(0));
    match (field.u8(2), precision) {
        (Some(FLOATING_POINT), Some(1)) => Ok(false),
        (Some(FLOATING_POINT), Some(2)) => Ok(true),
        _ => Err(wrong.into()),
    }
}

fn read_batch(message: &Message) -> Parsed<Batch> {
    let bad = "a record batch has broken metadata";
    let header = message.header;
    if header.table(3).is_some() {
        return Err(
            "its record batches are compressed, which is not supported: save them uncompressed".into()
        );
    }
    let rows = header.i64(0).unwrap_or(0);
    let rows = usize::try_from(rows).ok().filter(|rows| *rows <= message.end - message.body).ok_or(bad)?;
    let nodes = header.vector(1).ok_or(bad)?;
    for node in 0..nodes.len.min(8) {
        if nodes.pair(node).ok_or(bad)?.1 != 0 {
            return Err("it has null values, expected none".into());
        }
    }
    let buffers = header.vector(2).ok_or(bad)?;
    let range = |index: usize| {
        let (offset, length) = buffers.pair(index)?;
        let start = message.body.checked_add(usize::try_from(offset).ok()?)?;
        let end = start.checked_add(usize::try_from(length).ok()?)?;
        (end <= message.end).then_some((start, end))
    };
    let buffers: Option<Vec<_>> = (0..buffers.len.min(16)).map(range).collect();
    Ok(Batch { rows, buffers: buffers.ok_or("a record batch has buffers outside its body")? })
}

/// The `index`-th little-endian word of a buffer whose length was checked before.
fn word<const N: usize>(buffer: &[u8], index: usize) -> [u8; N] {
    let mut word = [0; N];
    word.copy_from_slice(&buffer[index * N..][..N]);
    word
}
