//! Files that are served as they are: the page, and the models that it loads.

use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};

use crate::refusal::Refusal;

/// The built page, as `build.rs` found it.
const FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/page.rs"));

/// What `/` is.
const INDEX: &str = "index.html";

/// A file with the mark by which a browser knows that it has not changed.
pub(crate) struct Resource {
    pub(crate) name: String,
    bytes: Bytes,
    tag: String,
}

impl Resource {
    pub(crate) fn new(name: String, bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        let tag = format!("\"{}\"", blake3::hash(&bytes).to_hex());
        Self { name, bytes, tag }
    }

    /// The file, or a word that the one at hand is still right.
    pub(crate) fn answer(&self, request: &HeaderMap) -> Response {
        let known = request.get(header::IF_NONE_MATCH).and_then(|tags| tags.to_str().ok());
        let is_known = known.is_some_and(|tags| tags.split(',').any(|tag| tag.trim() == self.tag));
        let mut response = if is_known {
            StatusCode::NOT_MODIFIED.into_response()
        } else {
            Body::from(self.bytes.clone()).into_response()
        };
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind(&self.name)));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        if let Ok(tag) = HeaderValue::from_str(&self.tag) {
            headers.insert(header::ETAG, tag);
        }
        response
    }
}

/// The files of the page.
pub(crate) fn files() -> Vec<Resource> {
    FILES.iter().map(|(name, bytes)| Resource::new((*name).to_owned(), Bytes::from_static(bytes))).collect()
}

/// The file of a path.
pub(crate) fn find<'a>(
    mut files: impl Iterator<Item = &'a Resource>,
    path: &str,
) -> Result<&'a Resource, Refusal> {
    let name = if path.is_empty() { INDEX } else { path };
    let missing =
        || Refusal::new(StatusCode::NOT_FOUND, format!("there is no /{path} here: see /openapi.json"));
    files.find(|file| file.name == name).ok_or_else(missing)
}

/// What a browser is told that a file is.
fn kind(name: &str) -> &'static str {
    match name.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" => "application/json",
        "wasm" => "application/wasm",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "toml" | "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}
