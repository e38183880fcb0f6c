//! Two values in a list: no more and no fewer.

use serde::{Deserialize, Deserializer, de::Error};

/// Reads a list of two. An array's own reader leaves out what comes after the second, and says nothing.
pub(super) fn deserialize<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<[T; 2], D::Error> {
    let all = Vec::<T>::deserialize(deserializer)?;
    let length = all.len();
    all.try_into().map_err(|_| Error::invalid_length(length, &"two of them"))
}

/// The same, of a key that may be left out.
pub(super) fn if_any<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<[T; 2]>, D::Error> {
    deserialize(deserializer).map(Some)
}
