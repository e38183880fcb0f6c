//! A request that is not answered as asked: a status and a sentence.

use axum::{
    Json,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::json;

/// Why a request is refused; `{"error": "a sentence"}` in the answer.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) sentence: String,
}

impl Refusal {
    pub(crate) fn new(status: StatusCode, sentence: impl Into<String>) -> Self {
        Self { status, sentence: sentence.into() }
    }

    /// Something in the request that cannot be read.
    pub(crate) fn bad(sentence: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, sentence)
    }

    /// Something in the request that can be read and not be used.
    pub(crate) fn unusable(sentence: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, sentence)
    }

    /// More than is allowed.
    pub(crate) fn too_large(sentence: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, sentence)
    }

    /// Something that went wrong on this side.
    pub(crate) fn fault(sentence: impl ToString) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, sentence.to_string())
    }

    /// What computes has failed, and nothing that is asked for will be computed.
    pub(crate) fn no_engine() -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "the engine that computes fields has ended by a fault: start the service again",
        )
    }

    /// The service is to end.
    pub(crate) fn stopping() -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "the service is stopping: ask again later")
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(json!({ "error": self.sentence }))).into_response();
        let headers = response.headers_mut();
        match self.status {
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
            }
            StatusCode::UNAUTHORIZED => {
                let ask = HeaderValue::from_static("Basic realm=\"scope\", charset=\"UTF-8\"");
                headers.insert(header::WWW_AUTHENTICATE, ask);
            }
            _ => {}
        }
        response
    }
}
