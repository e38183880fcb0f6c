//! A bounds-checked view of FlatBuffers tables: as much as Arrow's metadata needs.
//!
//! A table starts with a signed offset back to its vtable, which lists for each field where in the table it
//! is (0: absent). Offsets to other objects are unsigned and relative to their own place. Every access is
//! checked; hostile bytes give `None`.

/// A table at a place in a buffer.
#[derive(Clone, Copy)]
pub(super) struct Table<'a> {
    buffer: &'a [u8],
    at: usize,
}

/// A vector: the place of its first element and their number.
#[derive(Clone, Copy)]
pub(super) struct Vector<'a> {
    buffer: &'a [u8],
    at: usize,
    pub(super) len: usize,
}

impl<'a> Table<'a> {
    /// The table a buffer begins with.
    pub(super) fn root(buffer: &'a [u8]) -> Option<Self> {
        Some(Self { buffer, at: follow(buffer, 0)? })
    }

    /// Where a field is, if it is present.
    fn field(&self, index: usize) -> Option<usize> {
        let back = i32::from_le_bytes(bytes(self.buffer, self.at)?);
        let vtable = usize::try_from(i64::try_from(self.at).ok()? - i64::from(back)).ok()?;
        let length = u16::from_le_bytes(bytes(self.buffer, vtable)?);
        let entry = 4 + 2 * index;
        if entry + 2 > usize::from(length) {
            return None;
        }
        let offset = u16::from_le_bytes(bytes(self.buffer, vtable + entry)?);
        (offset != 0).then_some(self.at + usize::from(offset))
    }

    pub(super) fn u8(&self, index: usize) -> Option<u8> {
        self.buffer.get(self.field(index)?).copied()
    }

    pub(super) fn i16(&self, index: usize) -> Option<i16> {
        Some(i16::from_le_bytes(bytes(self.buffer, self.field(index)?)?))
    }

    pub(super) fn i32(&self, index: usize) -> Option<i32> {
        Some(i32::from_le_bytes(bytes(self.buffer, self.field(index)?)?))
    }

    pub(super) fn i64(&self, index: usize) -> Option<i64> {
        Some(i64::from_le_bytes(bytes(self.buffer, self.field(index)?)?))
    }

    pub(super) fn table(&self, index: usize) -> Option<Table<'a>> {
        Some(Table { buffer: self.buffer, at: follow(self.buffer, self.field(index)?)? })
    }

    pub(super) fn text(&self, index: usize) -> Option<&'a str> {
        let vector = self.vector(index)?;
        let end = vector.at.checked_add(vector.len)?;
        std::str::from_utf8(self.buffer.get(vector.at..end)?).ok()
    }

    pub(super) fn vector(&self, index: usize) -> Option<Vector<'a>> {
        let at = follow(self.buffer, self.field(index)?)?;
        let len = u32::from_le_bytes(bytes(self.buffer, at)?);
        Some(Vector { buffer: self.buffer, at: at + 4, len: usize::try_from(len).ok()? })
    }
}

impl<'a> Vector<'a> {
    /// An element of a vector of tables.
    pub(super) fn table(&self, index: usize) -> Option<Table<'a>> {
        let at = self.at.checked_add(index.checked_mul(4)?)?;
        (index < self.len).then_some(())?;
        Some(Table { buffer: self.buffer, at: follow(self.buffer, at)? })
    }

    /// An element of a vector of pairs of i64.
    pub(super) fn pair(&self, index: usize) -> Option<(i64, i64)> {
        let at = self.at.checked_add(index.checked_mul(16)?)?;
        (index < self.len).then_some(())?;
        let word = |at| Some(i64::from_le_bytes(bytes(self.buffer, at)?));
        Some((word(at)?, word(at.checked_add(8)?)?))
    }
}

fn bytes<const N: usize>(buffer: &[u8], at: usize) -> Option<[u8; N]> {
    buffer.get(at..at.checked_add(N)?)?.try_into().ok()
}

/// The target of the offset at a place.
fn follow(buffer: &[u8], at: usize) -> Option<usize> {
    let offset = u32::from_le_bytes(bytes(buffer, at)?);
    let target = at.checked_add(usize::try_from(offset).ok()?)?;
    (target < buffer.len()).then_some(target)
}
