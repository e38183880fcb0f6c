//! The token that requests must show where others can reach the service.

use axum::http::{HeaderMap, header};

use crate::error::ServeError;

/// The fewest letters of a token.
const FEWEST: usize = 16;
/// The name beside which a browser's password prompt takes the token.
const USER: &str = "scope";

/// What an `Authorization` header may be, by hash: equal hashes are told in constant time.
pub(crate) struct Access([blake3::Hash; 2]);

impl Access {
    /// A token, given as `Bearer TOKEN`, or by a browser as the password of the user `scope`.
    pub(crate) fn new(token: &str) -> Result<Self, ServeError> {
        let shown = token.bytes().filter(u8::is_ascii_graphic).count();
        if shown < FEWEST || shown != token.len() {
            return Err(ServeError::Token(shown, FEWEST));
        }
        let basic = base64(format!("{USER}:{token}").as_bytes());
        Ok(Self([hash("bearer", token), hash("basic", &basic)]))
    }

    /// Whether a request may pass.
    pub(crate) fn admits(&self, headers: &HeaderMap) -> bool {
        let shown = headers.get(header::AUTHORIZATION).and_then(|shown| shown.to_str().ok());
        let Some((scheme, credentials)) = shown.and_then(|shown| shown.split_once(' ')) else { return false };
        let shown = hash(&scheme.to_ascii_lowercase(), credentials.trim());
        self.0.iter().fold(false, |found, expected| found | (*expected == shown))
    }
}

/// What is compared: the name of a scheme, which is the same in capitals (RFC 9110, section 11.1), and credentials.
fn hash(scheme: &str, credentials: &str) -> blake3::Hash {
    blake3::hash(format!("{scheme} {credentials}").as_bytes())
}

/// Base64 with padding (RFC 4648).
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let word = (0..3).fold(0, |word, k| word << 8 | u32::from(chunk.get(k).copied().unwrap_or(0)));
        for k in 0..4 {
            let letter = LETTERS[(word >> (18 - 6 * k) & 63) as usize];
            text.push(if k <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of RFC 4648, section 10.
    #[test]
    fn base64_is_the_standard_s() {
        let of = ["", "f", "fo", "foo", "foob", "fooba", "foobar"].map(|text| base64(text.as_bytes()));
        assert_eq!(of, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"]);
    }
}
