//! Handles on descriptors: what problems and mask families are passed around as.

use std::{
    cmp::Ordering,
    fmt,
    hash::{Hash, Hasher},
    ops::Deref,
};

use crate::registry::{Named, RegistryError};

/// A descriptor by reference. Two are equal when their names are; built-in ones come before others, in the order of
/// their registry, and others are ordered by name.
pub struct Handle<T: 'static>(&'static T);

impl<T: Named> Handle<T> {
    /// The handle of a descriptor that is in its registry.
    pub const fn new(descriptor: &'static T) -> Self {
        Self(descriptor)
    }

    /// Adds a descriptor to its registry. Another one of the same name is refused.
    pub fn declare(descriptor: &'static T) -> Result<Self, RegistryError> {
        T::registry().declare(descriptor)?;
        Ok(Self(descriptor))
    }

    /// The handle of a name, or the names there are.
    pub fn find(name: &str) -> Result<Self, Vec<&'static str>> {
        let known = T::registry();
        known.find(name).map(Self).ok_or_else(|| known.all().into_iter().map(T::name).collect())
    }

    /// The descriptor.
    pub const fn descriptor(self) -> &'static T {
        self.0
    }

    fn rank(self) -> (usize, &'static str) {
        (T::registry().rank(self.name()).unwrap_or(usize::MAX), self.name())
    }
}

impl<T> Clone for Handle<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Handle<T> {}

impl<T> Deref for Handle<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0
    }
}

impl<T: Named> PartialEq for Handle<T> {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl<T: Named> Eq for Handle<T> {}

impl<T: Named> Hash for Handle<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name().hash(state);
    }
}

impl<T: Named> Ord for Handle<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank().cmp(&other.rank())
    }
}

impl<T: Named> PartialOrd for Handle<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T: Named> fmt::Debug for Handle<T> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        self.name().fmt(f)
    }
}
