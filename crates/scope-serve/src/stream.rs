//! A connection's stream, kept beside what hyper does with it: a head that does not come in time is answered too.

use std::{
    io,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
};

use serde_json::json;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};

/// A stream with two holders: hyper, and whoever answers where hyper gives up.
#[derive(Clone)]
pub(crate) struct SharedStream(Arc<Mutex<State>>);

struct State {
    stream: TcpStream,
    /// Whether something was read that nothing has answered yet.
    has_begun: bool,
}

impl SharedStream {
    pub(crate) fn new(stream: TcpStream) -> Self {
        Self(Arc::new(Mutex::new(State { stream, has_begun: false })))
    }

    /// Tells a client whose head did not arrive within so many seconds. One that asked for nothing is told nothing: its
    /// connection was idle.
    pub(crate) fn refuse_slow_head(&self, seconds: u64) {
        let State { stream, has_begun } = &*self.lock();
        if *has_begun {
            let body =
                json!({ "error": format!("the head of the request did not arrive within {seconds} s") });
            let body = body.to_string();
            let head = "HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-type: application/json";
            let answer = format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
            // So little fits a connection that nothing was written to; where it does not, nobody listens.
            let _ = stream.try_write(answer.as_bytes());
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AsyncRead for SharedStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut state = self.lock();
        let before = buffer.filled().len();
        let read = Pin::new(&mut state.stream).poll_read(context, buffer);
        state.has_begun |= buffer.filled().len() > before;
        read
    }
}

impl AsyncWrite for SharedStream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let mut state = self.lock();
        state.has_begun = false;
        Pin::new(&mut state.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut state = self.lock();
        state.has_begun = false;
        Pin::new(&mut state.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.lock().stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.lock().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.lock().stream).poll_shutdown(context)
    }
}
