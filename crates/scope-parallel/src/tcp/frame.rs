//! What goes over a connection: frames of a kind, a number, a length and so many bytes.

use std::{
    io::{self, ErrorKind, Read, Write},
    time::Duration,
};

/// The longest message that is taken in: more than any gradient.
const MOST_BYTES: u64 = 1 << 38;
/// Bytes of the longest message of an abort.
const MOST_TEXT: u64 = 1 << 16;

const HEARTBEAT: u64 = 0;
const MESSAGE: u64 = 1;
const ABORT: u64 = 2;

/// What one rank sends another at a time.
#[derive(Debug, PartialEq)]
pub(super) enum Frame {
    Heartbeat,
    Message { exchange: u64, bytes: Vec<u8> },
    Abort(String),
}

impl Frame {
    pub(super) fn write(&self, to: &mut impl Write) -> io::Result<()> {
        match self {
            Frame::Heartbeat => write(to, HEARTBEAT, 0, &[]),
            Frame::Message { exchange, bytes } => write_message(to, *exchange, bytes),
            Frame::Abort(why) => write(to, ABORT, 0, why.as_bytes()),
        }
    }

    /// Waits for a frame.
    pub(super) fn read(from: &mut impl Read) -> io::Result<Self> {
        let mut header = [0; 24];
        from.read_exact(&mut header)?;
        let word = |k: usize| u64::from_le_bytes(std::array::from_fn(|byte| header[8 * k + byte]));
        let [kind, exchange, length] = [word(0), word(1), word(2)];
        let most = match kind {
            HEARTBEAT => 0,
            MESSAGE => MOST_BYTES,
            ABORT => MOST_TEXT,
            _ => return Err(io::Error::new(ErrorKind::InvalidData, "it sends what no rank sends")),
        };
        if length > most {
            return Err(io::Error::new(ErrorKind::InvalidData, format!("it announces {length} bytes")));
        }
        // Read as it comes: what is announced and never sent takes no memory.
        let mut bytes = Vec::new();
        from.take(length).read_to_end(&mut bytes)?;
        if (bytes.len() as u64) < length {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        Ok(match kind {
            MESSAGE => Frame::Message { exchange, bytes },
            ABORT => Frame::Abort(String::from_utf8_lossy(&bytes).into_owned()),
            _ => Frame::Heartbeat,
        })
    }
}

/// Writes a message that is not copied first.
pub(super) fn write_message(to: &mut impl Write, exchange: u64, bytes: &[u8]) -> io::Result<()> {
    write(to, MESSAGE, exchange, bytes)
}

fn write(to: &mut impl Write, kind: u64, exchange: u64, bytes: &[u8]) -> io::Result<()> {
    let mut header = [0; 24];
    for (to, word) in header.chunks_exact_mut(8).zip([kind, exchange, bytes.len() as u64]) {
        to.copy_from_slice(&word.to_le_bytes());
    }
    to.write_all(&header)?;
    to.write_all(bytes)
}

/// What a failure to hear or to be heard means.
pub(super) fn described(error: &io::Error, silence: Duration) -> String {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => {
            format!("nothing was heard of it for {} seconds", silence.as_secs())
        }
        ErrorKind::UnexpectedEof
        | ErrorKind::ConnectionReset
        | ErrorKind::ConnectionAborted
        | ErrorKind::BrokenPipe => "its connection is closed: the process has ended".to_owned(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_read_as_they_were_written_and_others_are_refused() {
        let frames = [
            Frame::Heartbeat,
            Frame::Message { exchange: 7, bytes: vec![1, 2, 3] },
            Frame::Abort("no room".to_owned()),
            Frame::Message { exchange: 8, bytes: Vec::new() },
        ];
        let mut bytes = Vec::new();
        frames.iter().for_each(|frame| frame.write(&mut bytes).unwrap());
        let mut rest = bytes.as_slice();
        for frame in &frames {
            assert_eq!(Frame::read(&mut rest).unwrap(), *frame);
        }
        assert!(Frame::read(&mut rest).is_err());
        assert!(Frame::read(&mut &bytes[..30]).is_ok());
        assert!(Frame::read(&mut &bytes[24..50]).is_err());
        let header = |words: [u64; 3]| words.map(u64::to_le_bytes).concat();
        for words in [[9, 0, 0], [HEARTBEAT, 0, 1], [ABORT, 0, MOST_TEXT + 1], [MESSAGE, 0, u64::MAX]] {
            assert!(Frame::read(&mut header(words).as_slice()).is_err());
        }
        // Bytes that are announced and do not come.
        assert!(Frame::read(&mut header([MESSAGE, 0, MOST_BYTES]).as_slice()).is_err());
    }
}
