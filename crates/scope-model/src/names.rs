//! Things that are chosen by name.

use thiserror::Error;

/// A name that nothing of its kind has.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("no {what} is called \"{name}\"; there are {known}")]
pub struct UnknownName {
    /// What it was to be the name of, as in "head".
    pub what: &'static str,
    /// The name given.
    pub name: String,
    /// The names there are.
    pub known: String,
}

/// The one of that name, of all there are. `what` says what they are, as in "head".
pub fn named<T: Copy, const N: usize>(
    what: &'static str,
    all: [T; N],
    name_of: fn(T) -> &'static str,
    name: &str,
) -> Result<T, UnknownName> {
    let unknown = || UnknownName { what, name: name.to_owned(), known: all.map(name_of).join(", ") };
    all.into_iter().find(|one| name_of(*one) == name).ok_or_else(unknown)
}
