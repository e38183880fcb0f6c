//! The body of a request, within its limits.

use std::{future::poll_fn, pin::Pin, sync::Arc};

use axum::{
    body::{Body, Bytes, HttpBody},
    http::{HeaderMap, StatusCode, header},
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{limits::Limits, refusal::Refusal};

/// The memory that all bodies together may take, in bytes.
pub(crate) struct BodyRoom(Arc<Semaphore>);

/// A body, which takes up room until it is dropped.
pub(crate) struct Received {
    pub(crate) bytes: Bytes,
    _room: OwnedSemaphorePermit,
}

impl BodyRoom {
    /// All of it is free.
    pub(crate) fn new(limits: &Limits) -> Self {
        Self(Arc::new(Semaphore::new(limits.bodies)))
    }

    /// How many bytes are held now.
    pub(crate) fn held(&self, limits: &Limits) -> usize {
        limits.bodies - self.0.available_permits()
    }

    /// Reads a body. One that says that it is too long is refused before it arrives.
    pub(crate) async fn read(
        &self,
        limits: &Limits,
        headers: &HeaderMap,
        body: Body,
    ) -> Result<Received, Refusal> {
        let stated = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
        let stated = stated.and_then(|length| length.parse().ok());
        if stated.is_some_and(|length: u64| length > limits.body as u64) {
            return Err(too_long(limits));
        }
        if headers.contains_key(header::CONTENT_ENCODING) {
            return Err(Refusal::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "the body is compressed: send it as it is, without content-encoding",
            ));
        }
        let slow = |_| {
            let seconds = limits.arrival.as_secs();
            Refusal::new(StatusCode::REQUEST_TIMEOUT, format!("the body did not arrive within {seconds} s"))
        };
        tokio::time::timeout(limits.arrival, self.gather(limits, body)).await.map_err(slow)?
    }

    /// Takes room for what has come, and not for what is announced: announcing costs a client nothing.
    async fn gather(&self, limits: &Limits, mut body: Body) -> Result<Received, Refusal> {
        let full = |_| {
            let sentence =
                format!("requests hold {} bytes of memory already: ask again later", limits.bodies);
            Refusal::new(StatusCode::TOO_MANY_REQUESTS, sentence)
        };
        let take = |bytes: usize| {
            let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
            Arc::clone(&self.0).try_acquire_many_owned(bytes).map_err(full)
        };
        let (mut bytes, mut room) = (Vec::new(), take(0)?);
        while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
            // A connection that broke hears no answer anyway.
            let frame = frame.map_err(|error| Refusal::bad(format!("the body broke off: {error}")))?;
            let Ok(data) = frame.into_data() else { continue };
            if bytes.len() + data.len() > limits.body {
                return Err(too_long(limits));
            }
            room.merge(take(data.len())?);
            bytes.extend_from_slice(&data);
        }
        Ok(Received { bytes: bytes.into(), _room: room })
    }
}

fn too_long(limits: &Limits) -> Refusal {
    Refusal::too_large(format!("the body has more than {} bytes: ask for fewer at a time", limits.body))
}

/// The media type of a body, without its parameters.
pub(crate) fn kind(headers: &HeaderMap) -> String {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}
