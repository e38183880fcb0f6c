//! Protocol buffers, as far as writing a graph needs them: fields of numbers, bytes and messages
//! (<https://protobuf.dev/programming-guides/encoding>).

/// A message as it is encoded.
#[derive(Clone, Debug, Default)]
pub(crate) struct Message(Vec<u8>);

/// The kinds of fields that are written.
const VARINT: u64 = 0;
const LENGTH_DELIMITED: u64 = 2;
const FOUR_BYTES: u64 = 5;

impl Message {
    /// A whole number; a negative one as its two's complement.
    pub(crate) fn integer(mut self, field: u64, value: i64) -> Self {
        self.varint(field << 3 | VARINT);
        self.varint(value as u64);
        self
    }

    /// A number of single precision.
    pub(crate) fn float(mut self, field: u64, value: f32) -> Self {
        self.varint(field << 3 | FOUR_BYTES);
        self.0.extend(value.to_le_bytes());
        self
    }

    /// Bytes or text.
    pub(crate) fn bytes(mut self, field: u64, bytes: impl AsRef<[u8]>) -> Self {
        let bytes = bytes.as_ref();
        self.varint(field << 3 | LENGTH_DELIMITED);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    /// A message inside this one.
    pub(crate) fn message(self, field: u64, inner: Self) -> Self {
        self.bytes(field, inner.0)
    }

    /// Several values of one field.
    pub(crate) fn each<T>(
        self,
        values: impl IntoIterator<Item = T>,
        add: impl FnMut(Self, T) -> Self,
    ) -> Self {
        values.into_iter().fold(self, add)
    }

    /// What was written.
    pub(crate) fn finish(self) -> Vec<u8> {
        self.0
    }

    /// Seven bits a byte, the lowest first; all but the last have their highest bit set.
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The two examples of the format's own documentation, and a negative number of ten bytes.
    #[test]
    fn messages_are_those_of_the_documentation() {
        let inner = Message::default().integer(1, 150);
        assert_eq!(inner.clone().finish(), [0x08, 0x96, 0x01]);
        assert_eq!(Message::default().message(3, inner).finish(), [0x1a, 0x03, 0x08, 0x96, 0x01]);
        let text = Message::default().bytes(2, "testing").finish();
        assert_eq!(text, [0x12, 0x07, 0x74, 0x65, 0x73, 0x74, 0x69, 0x6e, 0x67]);
        let minus_one = Message::default().integer(1, -1).finish();
        assert_eq!(minus_one, [vec![0x08], vec![0xff; 9], vec![0x01]].concat());
    }
}
