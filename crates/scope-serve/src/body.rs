//! The body of a request, within its limits.

use axum::{
    body::{Body, Bytes, to_bytes},
    http::{HeaderMap, StatusCode, header},
};

use crate::{limits::Limits, refusal::Refusal};

/// Reads a body. One that says that it is too long is refused before it arrives.
pub(crate) async fn read(limits: &Limits, headers: &HeaderMap, body: Body) -> Result<Bytes, Refusal> {
    let most = limits.body;
    let too_large =
        || Refusal::too_large(format!("the body has more than {most} bytes: ask for fewer at a time"));
    let stated = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    if stated.and_then(|length| length.parse().ok()).is_some_and(|length: u64| length > most as u64) {
        return Err(too_large());
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
    let read = tokio::time::timeout(limits.arrival, to_bytes(body, most)).await.map_err(slow)?;
    // What is no length is a connection that broke, which hears no answer anyway.
    read.map_err(|_| too_large())
}

/// The media type of a body, without its parameters.
pub(crate) fn kind(headers: &HeaderMap) -> String {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}
