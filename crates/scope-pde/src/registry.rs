//! What is found by name: what is built in, and what a program declares at run time.

use std::sync::{PoisonError, RwLock};

/// A descriptor with a name that files and command lines use.
pub trait Named: Sized + Sync + 'static {
    /// The name on the command line and in files.
    fn name(&self) -> &'static str;

    /// Where descriptors of this type are looked up.
    fn registry() -> &'static Registry<Self>;
}

/// Descriptors by name. Built-in ones come first and in a fixed order; others are added by [`Registry::declare`] and
/// stay for as long as the program runs.
pub struct Registry<T: Named> {
    built_in: &'static [&'static T],
    declared: RwLock<Vec<&'static T>>,
}

/// Why a descriptor was not declared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// The name cannot stand in a file, a path or a condition.
    #[error("'{0}' is no name: expected lower-case letters, digits, '_' and '-', a letter first")]
    Name(String),
    /// Something else has the name.
    #[error("'{0}' is declared already, and as something else")]
    Taken(&'static str),
}

impl<T: Named> Registry<T> {
    /// A registry that knows what is built in.
    pub const fn new(built_in: &'static [&'static T]) -> Self {
        Self { built_in, declared: RwLock::new(Vec::new()) }
    }

    /// Adds a descriptor. The same one may be declared again; another one of the same name is refused, so that a name
    /// means one thing throughout a program.
    pub fn declare(&self, descriptor: &'static T) -> Result<(), RegistryError> {
        let name = descriptor.name();
        if !is_name(name) {
            return Err(RegistryError::Name(name.to_owned()));
        }
        let mut declared = self.declared.write().unwrap_or_else(PoisonError::into_inner);
        let known = self.built_in.iter().chain(declared.iter()).find(|known| known.name() == name);
        match known {
            Some(known) if std::ptr::eq(*known, descriptor) => Ok(()),
            Some(_) => Err(RegistryError::Taken(name)),
            None => {
                declared.push(descriptor);
                Ok(())
            }
        }
    }

    /// The descriptor of a name.
    pub fn find(&self, name: &str) -> Option<&'static T> {
        self.all().into_iter().find(|known| known.name() == name)
    }

    /// Everything there is: what is built in, then what was declared, in that order.
    pub fn all(&self) -> Vec<&'static T> {
        let declared = self.declared.read().unwrap_or_else(PoisonError::into_inner);
        self.built_in.iter().chain(declared.iter()).copied().collect()
    }

    /// The place among what is built in; none for what was declared.
    pub fn rank(&self, name: &str) -> Option<usize> {
        self.built_in.iter().position(|known| known.name() == name)
    }
}

fn is_name(name: &str) -> bool {
    let other =
        |letter: u8| letter.is_ascii_lowercase() || letter.is_ascii_digit() || b"_-".contains(&letter);
    name.bytes().next().is_some_and(|first| first.is_ascii_lowercase()) && name.bytes().all(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Thing(&'static str);

    impl Named for Thing {
        fn name(&self) -> &'static str {
            self.0
        }

        fn registry() -> &'static Registry<Self> {
            static THINGS: Registry<Thing> = Registry::new(&ALL_BUILT_IN);
            &THINGS
        }
    }

    static BUILT_IN: Thing = Thing("built-in");
    static ALL_BUILT_IN: [&Thing; 1] = [&BUILT_IN];
    static OTHER: Thing = Thing("other");
    static SECOND_OTHER: Thing = Thing("other");
    static BAD: [Thing; 4] = [Thing(""), Thing("a/b"), Thing("1st"), Thing("Upper")];

    #[test]
    fn a_name_means_one_thing() {
        let registry = Registry::new(&ALL_BUILT_IN);
        assert_eq!(registry.declare(&OTHER), Ok(()));
        assert_eq!(registry.declare(&OTHER), Ok(()));
        assert_eq!(registry.declare(&SECOND_OTHER), Err(RegistryError::Taken("other")));
        assert_eq!(
            registry.all().iter().map(|thing| thing.name()).collect::<Vec<_>>(),
            ["built-in", "other"]
        );
        assert!(std::ptr::eq(registry.find("other").unwrap(), &OTHER));
        assert!(registry.find("third").is_none());
        assert_eq!([registry.rank("built-in"), registry.rank("other")], [Some(0), None]);
    }

    #[test]
    fn names_fit_files_and_conditions() {
        let registry = Registry::new(&[]);
        for bad in &BAD {
            assert_eq!(registry.declare(bad), Err(RegistryError::Name(bad.0.to_owned())));
        }
    }
}
