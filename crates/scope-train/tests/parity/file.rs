//! A case's file, and comparisons with what it holds.

use std::{
    cell::RefCell,
    collections::{BTreeSet, HashMap},
    path::{Path, PathBuf},
};

use safetensors::{Dtype, SafeTensors, tensor::TensorView};
use scope_data::Constants;
use scope_engine::Layout;
use scope_model::{DecoderConfig, ModelConfig, Transformer};
use serde_json::Value;

use super::{DECIDED, UPDATES};

/// A parity case.
pub(crate) struct Case {
    pub(crate) name: String,
    tensors: HashMap<String, Held>,
    /// Scalars and configuration.
    pub(crate) scalars: Value,
    /// The tensors and scalars that were asked for so far.
    used: RefCell<BTreeSet<String>>,
}

/// A tensor's numbers, flat.
struct Held {
    dtype: Dtype,
    data: Vec<u8>,
}

/// Every case of the folder in use.
pub(crate) fn cases() -> Vec<Case> {
    let kept = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/oracle");
    let folder = std::env::var_os("SCOPE_ORACLE").map_or(kept, PathBuf::from);
    assert!(folder.is_dir(), "{} is no folder", folder.display());
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "safetensors"))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "{} holds no cases", folder.display());
    files.iter().map(|file| Case::read(file)).collect()
}

/// The tensors of a file, and its scalars.
fn held(path: &Path) -> (HashMap<String, Held>, Value) {
    let bytes = std::fs::read(path).unwrap();
    let (_, header) = SafeTensors::read_metadata(&bytes).unwrap();
    let scalars = serde_json::from_str(&header.metadata().as_ref().unwrap()["scope"]).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let held = |view: &TensorView<'_>| Held { dtype: view.dtype(), data: view.data().to_vec() };
    (file.tensors().iter().map(|(name, view)| (name.clone(), held(view))).collect(), scalars)
}

/// "grad" of "grad/NAME", and "x" of "x".
fn kind_of(name: &str) -> &str {
    name.split('/').next().unwrap_or(name)
}

impl Case {
    fn read(path: &Path) -> Self {
        let (mut tensors, scalars) = held(path);
        // {"grad": "small_full/grad_F"}: grad/NAME equals grad_F/NAME of small_full, and only that is stored.
        let same = scalars.get("same").cloned().unwrap_or_else(|| Value::Object(Default::default()));
        let same: HashMap<String, String> = serde_json::from_value(same).unwrap();
        for (kind, place) in &same {
            let (case, theirs) = place.split_once('/').unwrap();
            let (others, _) = held(&path.with_file_name(format!("{case}.safetensors")));
            let own = tensors.len();
            let shared = others.into_iter().filter(|(name, _)| kind_of(name) == theirs);
            tensors.extend(shared.map(|(name, tensor)| (name.replacen(theirs, kind, 1), tensor)));
            assert!(tensors.len() > own, "{}: {place} is not there", path.display());
        }
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        Self { name, tensors, scalars, used: RefCell::default() }
    }

    /// Fails if the case holds a tensor or a measured scalar that nothing was compared with. Updates of parameters may
    /// be left out.
    pub(crate) fn require_all_used(&self, with_updates: bool) {
        let measured = |key: &str| {
            let is_result = ["L_", "n_"].iter().any(|start| key.starts_with(start))
                || ["alpha", "combined_norm_before_clip", "g_norm"].contains(&key);
            is_result && !key.ends_with("_bf16")
        };
        let scalars = self.scalars.as_object().unwrap().keys().filter(|key| measured(key));
        let used = self.used.borrow();
        let unused: Vec<&String> = self
            .tensors
            .keys()
            .filter(|name| with_updates || kind_of(name) != "after")
            .chain(scalars)
            .filter(|name| !used.contains(*name))
            .collect();
        assert!(unused.is_empty(), "{}: stored and not compared: {unused:?}", self.name);
    }

    fn note_use(&self, name: &str) {
        self.used.borrow_mut().insert(name.to_owned());
    }

    pub(crate) fn number(&self, key: &str) -> Option<f64> {
        self.note_use(key);
        self.scalars.get(key).and_then(Value::as_f64)
    }

    pub(crate) fn text(&self, key: &str) -> &str {
        self.scalars[key].as_str().unwrap()
    }

    /// A single-precision tensor, if the case holds it.
    pub(crate) fn tensor(&self, name: &str) -> Option<Vec<f32>> {
        self.note_use(name);
        let held = self.tensors.get(name)?;
        assert_eq!(held.dtype, Dtype::F32, "{}: {name}", self.name);
        Some(held.data.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect())
    }

    /// A tensor of bytes, if the case holds it.
    pub(crate) fn bytes(&self, name: &str) -> Option<Vec<u8>> {
        self.note_use(name);
        self.tensors.get(name).map(|held| held.data.clone())
    }

    /// The contexts \[batch, 4, pixels\]: given, or made from masks.
    pub(crate) fn contexts(&self, pixels: usize) -> Vec<f32> {
        self.tensor("y").unwrap_or_else(|| {
            let fields = self.tensor("x").unwrap();
            let masks = self.bytes("mask").unwrap();
            let channels = fields.chunks(pixels).zip(masks.chunks(pixels));
            channels
                .flat_map(|(field, mask)| {
                    let seen: Vec<f32> = mask.iter().map(|bit| f32::from(*bit)).collect();
                    let values: Vec<f32> = field.iter().zip(&seen).map(|(x, seen)| x * seen).collect();
                    [values, seen].concat()
                })
                .collect()
        })
    }

    pub(crate) fn config(&self) -> ModelConfig {
        let cfg = &self.scalars["cfg"];
        let size = |key: &str| cfg[key].as_u64().unwrap() as usize;
        let list = |key: &str| serde_json::from_value(cfg[key].clone()).unwrap();
        ModelConfig {
            resolution: size("grid").into(),
            patch: size("patch"),
            context_channels: 4,
            fields: 2,
            latent: size("latent"),
            expansion: size("ratio"),
            encoder: Transformer { width: size("width"), depth: size("depth"), heads: size("heads") },
            predictor: Transformer { width: size("pwidth"), depth: size("pdepth"), heads: size("pheads") },
            decoder: DecoderConfig { mlp: list("dec_mlp"), conv: list("dec_conv") },
            fits: None,
        }
    }

    pub(crate) fn constants(&self) -> Constants {
        let name = match self.text("pde") {
            "ns_bcs" => "cylinder",
            name => name,
        };
        Constants::released(name.parse().unwrap())
    }

    /// Compares a number that the case may hold.
    pub(crate) fn compare_number(&self, key: &str, ours: f64, limit: f64) {
        if let Some(expected) = self.number(key) {
            let error = (ours - expected).abs() / expected.abs().max(1e-12);
            assert!(error <= limit || ours == expected, "{}: {key}: {ours}, expected {expected}", self.name);
        }
    }

    /// Which numbers of a long tensor the case keeps: the first of every so many.
    pub(crate) fn every(&self, name: &str, whole: usize, kept: usize) -> usize {
        if kept == whole {
            return 1;
        }
        let every = self.number("every").map_or(1, |every| every as usize);
        assert_eq!(kept, whole.div_ceil(every), "{}: {name}", self.name);
        every
    }

    /// The L2 distance from a tensor that the case may hold. Where it keeps a part, as if the rest were apart as far.
    pub(crate) fn distance(&self, name: &str, ours: &[f32]) -> Option<f64> {
        let expected = self.tensor(name)?;
        let every = self.every(name, ours.len(), expected.len());
        let kept = ours.iter().step_by(every);
        let squares = kept.zip(&expected).map(|(a, b)| (f64::from(*a) - f64::from(*b)).powi(2));
        Some((squares.sum::<f64>() * ours.len() as f64 / expected.len() as f64).sqrt())
    }

    /// Compares a tensor that the case may hold, by relative L2 error.
    pub(crate) fn compare_tensor(&self, name: &str, ours: &[f32], limit: f64) {
        let Some(distance) = self.distance(name, ours) else { return };
        let expected = self.tensor(name).unwrap();
        let squares = expected.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>();
        let size = (squares * ours.len() as f64 / expected.len() as f64).sqrt();
        let case = &self.name;
        let relative = distance / size;
        assert!(distance <= limit * size, "{case}: {name}: relative error {relative:.2e}");
    }

    /// Sum, sum of squares, first and last element of each parameter after the step, where a case has only those.
    pub(crate) fn compare_checks(&self, layout: &Layout, flat: &[f32], gradient: &[f32], rate: f64) {
        let Some(checks) = self.scalars.get("after_checks_sum_sumsq_first_last") else { return };
        let checks = checks.as_object().unwrap();
        assert_eq!(checks.len(), layout.params().len(), "{}: checks of parameters", self.name);
        for param in layout.params() {
            let expected = checks[&param.name].as_array().unwrap();
            let expected: Vec<f64> = expected.iter().map(|x| x.as_f64().unwrap()).collect();
            let values: Vec<f64> = flat[param.range.clone()].iter().map(|x| f64::from(*x)).collect();
            let gradient = &gradient[param.range.clone()];
            let agree = |what: &str, ours: f64, expected: f64, limit: f64| {
                let case = &self.name;
                let name = &param.name;
                let apart = (ours - expected).abs();
                assert!(apart <= limit, "{case}: {what} of {name}: {ours}, expected {expected}");
            };
            let last = values.len() - 1;
            for (what, at, expected) in [("first", 0, expected[2]), ("last", last, expected[3])] {
                if gradient[at].abs() > DECIDED {
                    agree(what, values[at], expected, UPDATES * rate);
                }
            }
            // Elements whose gradient is rounding noise may step either way; the others must agree.
            let undecided = gradient.iter().filter(|g| g.abs() <= DECIDED).count() as f64;
            let largest = values.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
            let noise = UPDATES * rate + f64::from(f32::EPSILON) * largest;
            let slack = 2.0 * rate * undecided + noise * (values.len() as f64).sqrt();
            let squares: f64 = values.iter().map(|x| x * x).sum();
            agree("sum", values.iter().sum(), expected[0], slack);
            agree("sum of squares", squares, expected[1], 2.0 * (largest + rate) * slack);
        }
    }
}
