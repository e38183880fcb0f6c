//! The two fields of a pair, and one value for each of them.

use std::ops::{Index, IndexMut};

use serde::{Deserialize, Serialize};

/// One of the two fields of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Channel {
    /// The input field.
    A,
    /// The response field.
    U,
}

impl Channel {
    /// The two channels, in the order they are stored.
    pub const BOTH: [Channel; 2] = [Channel::A, Channel::U];

    /// The name in files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Channel::A => "a",
            Channel::U => "u",
        }
    }

    /// The place among both: 0 for a and 1 for u, as arrays of fields \[2, S, S\] have them.
    pub fn position(self) -> usize {
        match self {
            Channel::A => 0,
            Channel::U => 1,
        }
    }
}

/// One value for each of the two fields. In files it is a table with the keys `a` and `u`; where a file format has
/// an array of two, [`as_array`] writes and reads that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PerChannel<T> {
    /// The value of the input field.
    pub a: T,
    /// The value of the response field.
    pub u: T,
}

/// Both fields in physical units, \[S, S\] each, row after row.
pub type Fields<T = f32> = PerChannel<Vec<T>>;

impl<T> PerChannel<T> {
    /// What a function gives for each channel, a before u.
    pub fn from_fn(mut value: impl FnMut(Channel) -> T) -> Self {
        Self { a: value(Channel::A), u: value(Channel::U) }
    }

    /// What a function gives for each channel, or its first error.
    pub fn try_from_fn<E>(mut value: impl FnMut(Channel) -> Result<T, E>) -> Result<Self, E> {
        Ok(Self { a: value(Channel::A)?, u: value(Channel::U)? })
    }

    /// The same value for both.
    pub fn both(value: T) -> Self
    where
        T: Clone,
    {
        Self { a: value.clone(), u: value }
    }

    /// Each value turned into another.
    pub fn map<V>(self, mut change: impl FnMut(T) -> V) -> PerChannel<V> {
        PerChannel { a: change(self.a), u: change(self.u) }
    }

    /// Each value with the one that another pair has for its channel.
    pub fn zip<V>(self, other: PerChannel<V>) -> PerChannel<(T, V)> {
        PerChannel { a: (self.a, other.a), u: (self.u, other.u) }
    }

    /// Both values, borrowed.
    pub fn each_ref(&self) -> PerChannel<&T> {
        PerChannel { a: &self.a, u: &self.u }
    }

    /// Both values, borrowed to be changed.
    pub fn each_mut(&mut self) -> PerChannel<&mut T> {
        PerChannel { a: &mut self.a, u: &mut self.u }
    }

    /// Both values, a before u.
    pub fn into_array(self) -> [T; 2] {
        [self.a, self.u]
    }

    /// Both values, a before u.
    pub fn iter(&self) -> std::array::IntoIter<&T, 2> {
        self.each_ref().into_array().into_iter()
    }

    /// Both values with their channels, a before u.
    pub fn with_channels(self) -> [(Channel, T); 2] {
        [(Channel::A, self.a), (Channel::U, self.u)]
    }
}

impl<T> PerChannel<Option<T>> {
    /// Whether neither has a value.
    pub fn is_unknown(&self) -> bool {
        self.a.is_none() && self.u.is_none()
    }
}

impl<T> Index<Channel> for PerChannel<T> {
    type Output = T;

    fn index(&self, channel: Channel) -> &T {
        match channel {
            Channel::A => &self.a,
            Channel::U => &self.u,
        }
    }
}

impl<T> IndexMut<Channel> for PerChannel<T> {
    fn index_mut(&mut self, channel: Channel) -> &mut T {
        match channel {
            Channel::A => &mut self.a,
            Channel::U => &mut self.u,
        }
    }
}

impl<T> IntoIterator for PerChannel<T> {
    type Item = T;
    type IntoIter = std::array::IntoIter<T, 2>;

    fn into_iter(self) -> Self::IntoIter {
        self.into_array().into_iter()
    }
}

impl<'a, T> IntoIterator for &'a PerChannel<T> {
    type Item = &'a T;
    type IntoIter = std::array::IntoIter<&'a T, 2>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<T> From<[T; 2]> for PerChannel<T> {
    fn from([a, u]: [T; 2]) -> Self {
        Self { a, u }
    }
}

/// For `#[serde(with = "as_array")]`: a pair as an array of two, a before u.
pub mod as_array {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::PerChannel;

    /// Writes \[a, u\].
    pub fn serialize<T: Serialize, S: Serializer>(
        pair: &PerChannel<T>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        [&pair.a, &pair.u].serialize(serializer)
    }

    /// Reads \[a, u\].
    pub fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<PerChannel<T>, D::Error> {
        <[T; 2]>::deserialize(deserializer).map(PerChannel::from)
    }
}

/// For `#[serde(default, with = "known_values", skip_serializing_if = "PerChannel::is_unknown")]`: a table that has
/// a key only where there is a value.
pub mod known_values {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::PerChannel;

    #[derive(Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Known<T> {
        #[serde(default = "none", skip_serializing_if = "Option::is_none")]
        a: Option<T>,
        #[serde(default = "none", skip_serializing_if = "Option::is_none")]
        u: Option<T>,
    }

    fn none<T>() -> Option<T> {
        None
    }

    /// Writes the keys that have a value.
    pub fn serialize<T: Serialize, S: Serializer>(
        pair: &PerChannel<Option<T>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        Known { a: pair.a.as_ref(), u: pair.u.as_ref() }.serialize(serializer)
    }

    /// Reads what there is.
    pub fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<PerChannel<Option<T>>, D::Error> {
        Known::deserialize(deserializer).map(|Known { a, u }| PerChannel { a, u })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_under_their_channel_and_in_order() {
        let mut names = PerChannel::from_fn(Channel::name);
        assert_eq!(names, PerChannel { a: "a", u: "u" });
        assert_eq!(names.iter().copied().collect::<Vec<_>>(), ["a", "u"]);
        assert!(names.with_channels().iter().all(|(channel, name)| channel.name() == *name));
        assert_eq!(Channel::BOTH.map(Channel::position), [0, 1]);
        names[Channel::U] = "response";
        assert_eq!(names.zip(PerChannel::both(1)).u, ("response", 1));
        assert_eq!(
            PerChannel::try_from_fn(|channel| if channel == Channel::A { Ok(1) } else { Err(2) }),
            Err(2)
        );
    }

    #[test]
    fn files_have_a_table_or_an_array() {
        #[derive(Debug, PartialEq, Serialize, Deserialize)]
        struct File {
            table: PerChannel<f64>,
            #[serde(with = "as_array")]
            array: PerChannel<f64>,
            #[serde(default, with = "known_values", skip_serializing_if = "PerChannel::is_unknown")]
            known: PerChannel<Option<f64>>,
        }
        let pair = PerChannel { a: 0.5, u: 2.0 };
        let file = File { table: pair, array: pair, known: PerChannel { a: None, u: Some(1.0) } };
        let text = r#"{"table":{"a":0.5,"u":2.0},"array":[0.5,2.0],"known":{"u":1.0}}"#;
        assert_eq!(serde_json::to_string(&file).unwrap(), text);
        assert_eq!(serde_json::from_str::<File>(text).unwrap(), file);
        let unknown = File { known: PerChannel::default(), ..file };
        let text = r#"{"table":{"a":0.5,"u":2.0},"array":[0.5,2.0]}"#;
        assert_eq!(serde_json::to_string(&unknown).unwrap(), text);
        assert_eq!(serde_json::from_str::<File>(text).unwrap(), unknown);
        for wrong in [r#"{"a":1.0}"#, r#"{"a":1.0,"u":1.0,"v":1.0}"#] {
            assert!(serde_json::from_str::<PerChannel<f64>>(wrong).is_err(), "{wrong}");
        }
    }
}
