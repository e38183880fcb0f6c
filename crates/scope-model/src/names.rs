//! Things that are chosen by name.

use crate::error::ModelError;

/// The one of that name, or a sentence with all names. `what` says what they are, as in "head".
pub(crate) fn named<T: Copy, const N: usize>(
    what: &str,
    all: [T; N],
    name_of: fn(T) -> &'static str,
    name: &str,
) -> Result<T, ModelError> {
    all.into_iter().find(|one| name_of(*one) == name).ok_or_else(|| {
        let known = all.map(name_of).join(", ");
        ModelError::Config(format!("no {what} is called \"{name}\"; there are {known}"))
    })
}
