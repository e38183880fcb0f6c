//! Whether imported records are the released ones, as far as what is known of those tells.

use scope_pde::Split;

use crate::dataset::Meta;

/// Points along each axis of released records.
const RELEASED_SIZE: usize = 128;

/// The zero targets of an imported set beside those of the released one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ZeroTargets {
    /// The same.
    AsReleased {
        /// Which ones, in words.
        zeros: String,
    },
    /// Other ones: the records are others, or in another order.
    Other {
        /// Those of the released set.
        released: String,
        /// Those of this one.
        found: String,
    },
}

impl ZeroTargets {
    /// Of a set that has as many records as the released split has, of a problem with zero targets; no other can be
    /// judged.
    pub fn of(meta: &Meta) -> Option<Self> {
        let released = meta.pde.descriptor().distribution.released()?;
        let count = match meta.split {
            Split::Train => released.records,
            Split::Test => released.test_records,
        };
        let known = released.zero_u.train > 0 || !released.zero_u.test.is_empty();
        if !known || meta.count != count || meta.resolution != RELEASED_SIZE.into() {
            return None;
        }
        let found = &meta.u.zero_records;
        let as_released = meta.a.zero_records.is_empty()
            && match meta.split {
                Split::Train => found.len() == released.zero_u.train,
                Split::Test => found == released.zero_u.test,
            };
        let zeros = match meta.split {
            Split::Train => format!("{} records with a u of zeros", released.zero_u.train),
            Split::Test => format!("u of zeros in records {:?}", released.zero_u.test),
        };
        if as_released {
            return Some(Self::AsReleased { zeros });
        }
        let of_a = meta.a.zero_records.len();
        let listed = match meta.split {
            Split::Train => format!("{} records", found.len()),
            Split::Test => format!("records {found:?}"),
        };
        Some(Self::Other { released: zeros, found: format!("u of zeros in {listed}, a of zeros in {of_a}") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is known of a set of the cylinder, by its split, number of records and zeros of u.
    fn meta(split: &str, count: usize, zeros: &[usize]) -> Meta {
        let hash = "0".repeat(64);
        let channel = |zeros: &[usize]| serde_json::json!({ "mean": 1.8, "sigma": 1.0, "rms": 2.0, "zero_records": zeros });
        let text = serde_json::json!({
            "format": Meta::format_name(), "version": 1, "pde": "cylinder", "split": split, "count": count,
            "resolution": 128, "a": channel(&[]), "u": channel(zeros),
            "origin": { "kind": "imported", "source": "a test", "files": [] },
            "blake3": { "fields.npy": hash, "geometry.npy": hash }
        });
        serde_json::from_value(text).unwrap()
    }

    #[test]
    fn the_released_zeros_are_known() {
        let is_released = |meta: Meta| match ZeroTargets::of(&meta) {
            Some(ZeroTargets::AsReleased { .. }) => Some(true),
            Some(ZeroTargets::Other { .. }) => Some(false),
            None => None,
        };
        assert_eq!(is_released(meta("test", 1_000, &[39, 163, 710])), Some(true));
        assert_eq!(is_released(meta("test", 1_000, &[38, 163, 710])), Some(false));
        assert_eq!(is_released(meta("train", 14_000, &(0..76).collect::<Vec<_>>())), Some(true));
        assert_eq!(is_released(meta("train", 14_000, &[])), Some(false));
        assert_eq!(is_released(meta("train", 13_999, &[])), None, "a part says nothing of the whole");
    }
}
