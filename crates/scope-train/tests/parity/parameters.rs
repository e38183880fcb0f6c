//! Parameters of a case: stored, or a hash of seed, name and index.

use scope_engine::{Layout, Param};

use super::file::Case;

const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// The stream of numbers u in \[-1, 1) of a name.
struct Hashed(u64);

impl Hashed {
    fn new(name: &str, seed: u64) -> Self {
        let fnv1a = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3);
        Self(name.bytes().fold(0xCBF2_9CE4_8422_2325, fnv1a) ^ seed.wrapping_mul(GOLDEN))
    }

    fn at(&self, index: usize) -> f32 {
        let mut x = self.0.wrapping_add((index as u64 + 1).wrapping_mul(GOLDEN));
        x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^= x >> 31;
        ((x >> 40) as f64 * 2.0_f64.powi(-23) - 1.0) as f32
    }
}

impl Case {
    /// The flat parameters of a layout, `kind` being "" or "teacher".
    pub(crate) fn parameters(&self, layout: &Layout, kind: &str) -> Vec<f32> {
        let mut flat = vec![0.0; layout.len()];
        let last = layout.params().iter().rfind(|param| param.name.starts_with("decoder.mlp."));
        let last = last.map(|param| param.name.replace("bias", "weight"));
        for param in layout.params() {
            let stored = match kind {
                "teacher" => format!("teacher/{}", param.name.trim_start_matches("encoder.")),
                _ => format!("param/{}", param.name),
            };
            let hashed = || self.hashed(param, kind, last.as_deref());
            let values = self.tensor(&stored).unwrap_or_else(hashed);
            if values.len() == param.range.len() {
                flat[param.range.clone()].copy_from_slice(&values);
            }
        }
        flat
    }

    fn hashed(&self, param: &Param, kind: &str, last: Option<&str>) -> Vec<f32> {
        let seed = self.number("seed").unwrap() as u64;
        let name = param.name.as_str();
        let count = param.range.len();
        let own = Hashed::new(name, seed);
        let norm = name.contains(".ln") && name.ends_with("weight");
        let fan_in: usize = param.shape.iter().skip(1).product();
        let mut scale = 0.02;
        if param.shape.len() >= 2 && !name.ends_with("pos") {
            scale = 1.0 / (fan_in as f64).sqrt();
        }
        if name == "encoder.head.weight" {
            scale *= self.number("head_gain").unwrap_or(1.0);
        }
        if Some(name) == last {
            scale *= self.number("dec_gain").unwrap_or(1.0);
        }
        let scale = scale as f32;
        let mut values: Vec<f32> =
            (0..count).map(|k| if norm { 1.0 + 0.1 * own.at(k) } else { scale * own.at(k) }).collect();
        if kind == "teacher" {
            let beside = Hashed::new(&name.replacen("encoder.", "teacher.", 1), seed);
            values.iter_mut().enumerate().for_each(|(k, value)| *value += 0.01 * beside.at(k));
        }
        values
    }
}

#[test]
fn oracle_hash_gives_the_published_numbers() {
    let hashed = Hashed::new("encoder.patch.weight", 20_260_913);
    assert_eq!([0, 1, 2].map(|k| hashed.at(k)), [-0.347_791_08, 0.784_632_9, 0.184_956_91]);
}
