//! Mistakes that the command line alone shows, whatever files hold: exit code 2 tells them from work that failed.

use std::{error::Error, fmt};

/// Arguments that make no sense, or not together.
#[derive(Debug)]
pub(crate) struct Misuse(String);

impl Misuse {
    /// A library's or one's own word on what is wrong with an argument.
    pub(crate) fn of(why: impl fmt::Display) -> Self {
        Self(why.to_string())
    }
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Misuse {}
