//! The readers, each as a function of bytes.

use std::path::Path;

use scope_data::{
    Channel, DataError, Dataset, ForeignRecords, ImportRequest,
    npy::{Header, NpyArray},
    npz::read_npz,
    sensors::SensorFile,
};
use scope_engine::Device;
use scope_eval::report::read_chart;
use scope_exact::{FieldPrior, NO_NOISE, Reading};
use scope_linear::{LinearFit, LinearPrior};
use scope_model::{Card, Model, WeightFile};
use scope_pde::{Pde, Split};
use scope_train::Recipe;
use tempfile::TempDir;

use crate::{
    scratch::{self, file},
    seeds,
};

/// A reader and files that it reads.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name, here and under libFuzzer.
    pub name: &'static str,
    /// Reads any bytes, and must return: whether they were accepted.
    pub read: fn(&[u8]) -> bool,
    /// Files that it reads without a complaint.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

/// Every reader of foreign files.
pub const TARGETS: [Target; 15] = [
    Target { name: "npy", read: npy, seeds: seeds::npy },
    Target { name: "npz", read: npz, seeds: seeds::npz },
    Target { name: "mat5", read: mat5, seeds: seeds::mat5 },
    Target { name: "mat73", read: mat73, seeds: seeds::mat73 },
    Target { name: "arrow", read: arrow, seeds: seeds::arrow },
    Target { name: "flatbuffer", read: flatbuffer, seeds: seeds::flatbuffer },
    Target { name: "state_json", read: state_json, seeds: seeds::state_json },
    Target { name: "table", read: sensors, seeds: seeds::table },
    Target { name: "json", read: sensors, seeds: seeds::json },
    Target { name: "weights", read: weights, seeds: seeds::weights },
    Target { name: "linear_fit", read: linear_fit, seeds: seeds::linear_fit },
    Target { name: "meta_json", read: meta_json, seeds: seeds::meta_json },
    Target { name: "recipe", read: recipe, seeds: seeds::recipe },
    Target { name: "card", read: card, seeds: seeds::card },
    Target { name: "chart", read: chart, seeds: seeds::chart },
];

/// The target of a name.
pub fn target(name: &str) -> Target {
    *TARGETS.iter().find(|target| target.name == name).expect("a target of that name")
}

/// A file of measurements of any kind.
fn sensors(bytes: &[u8]) -> bool {
    let Ok(file) = SensorFile::parse("fuzzed".to_owned(), bytes.to_vec()) else { return false };
    for problem in 0..file.len().min(3) {
        if let Ok(set) = file.set(problem) {
            let _ = set.sensors.first().map(|_| set.label(0));
        }
    }
    true
}

/// Records of a file that is imported.
fn records(from: &Path, pde: Pde) -> Result<(), DataError> {
    let split = Split::Test;
    let request = ImportRequest { pde, split, from: vec![from.to_owned()], geometry: None, units: None };
    ForeignRecords::open(&request)?.read(|pair, _| {
        assert!(!pair.is_empty());
        Ok(())
    })
}

fn npy(bytes: &[u8]) -> bool {
    if let Ok((header, _)) = Header::parse(bytes) {
        let _ = header.elements();
        let _ = NpyArray::parse(bytes).map(|array| array.as_f32().map(<[f32]>::len));
    }
    let accepted = sensors(bytes);
    records(file(bytes).path(), Pde::HELMHOLTZ).is_ok() || accepted
}

fn npz(bytes: &[u8]) -> bool {
    let accepted = sensors(bytes);
    read_npz(file(bytes).path(), |_| true).is_ok() && accepted
}

fn mat5(bytes: &[u8]) -> bool {
    records(file(bytes).path(), Pde::POISSON).is_ok()
}

fn mat73(bytes: &[u8]) -> bool {
    records(file(bytes).path(), Pde::DARCY).is_ok()
}

/// The name of a shard in a folder of Hugging Face's.
const SHARD: &str = "data-00000-of-00001.arrow";

fn folder_of_shard(state: &[u8], shard: &[u8]) -> TempDir {
    let folder = scratch::folder();
    scratch::write(&folder.path().join("state.json"), state);
    scratch::write(&folder.path().join(SHARD), shard);
    folder
}

fn arrow(bytes: &[u8]) -> bool {
    let state = format!("{{\"_data_files\": [{{\"filename\": \"{SHARD}\"}}]}}");
    records(folder_of_shard(state.as_bytes(), bytes).path(), Pde::POISSON).is_ok()
}

fn state_json(bytes: &[u8]) -> bool {
    let shard = seeds::arrow().swap_remove(0);
    records(folder_of_shard(bytes, &shard).path(), Pde::POISSON).is_ok()
}

/// Metadata of a message in a stream whose framing is right.
fn flatbuffer(bytes: &[u8]) -> bool {
    let shard = seeds::arrow().swap_remove(0);
    let (schema, rest) = seeds::first_message(&shard);
    let length = (bytes.len() as u32).to_le_bytes();
    let message = [&[0xff; 4][..], &length, bytes].concat();
    let after = &rest[seeds::first_message(rest).0.len()..];
    // In the place of the schema, and in that of the metadata of the first batch.
    let accepted = arrow(&[&message[..], rest].concat());
    arrow(&[schema, &message, after].concat()) || accepted
}

fn weights(bytes: &[u8]) -> bool {
    let Ok(file) = WeightFile::parse(Path::new("fuzzed"), bytes.to_vec()) else { return false };
    let _ = (file.quantisation(), file.hash());
    Model::from_file(file, &Device::cpu(1)).is_ok()
}

fn linear_fit(bytes: &[u8]) -> bool {
    let Ok(fit) = LinearFit::parse(Path::new("fuzzed"), bytes) else { return false };
    let prior = LinearPrior::new(fit);
    let reading = Reading::of_pixel(Channel::U, 40, prior.resolution(), 0.0);
    let _ = prior.given(&[reading], NO_NOISE).and_then(|posterior| posterior.mean());
    true
}

fn meta_json(bytes: &[u8]) -> bool {
    let folder = seeds::data_set();
    scratch::write(&folder.path().join("meta.json"), bytes);
    let Ok(set) = Dataset::open(folder.path()) else { return false };
    let meta = set.meta();
    let _ = (meta.origin.describe(meta.pde), meta.constants(), meta.shard.map(|shard| shard.records()));
    for record in 0..set.len().min(2) {
        let _ = (set.pair(record).map(|pair| pair.a().len()), set.disk(record));
    }
    set.verify().is_ok()
}

fn recipe(bytes: &[u8]) -> bool {
    let file = file(bytes);
    let Ok(recipe) = Recipe::resolve(&file.path().display().to_string(), &[]) else { return false };
    let _ = (recipe.stages(), recipe.for_head());
    recipe.with_settings(&["batch=8".to_owned()]).is_ok()
}

fn card(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    Card::parse(Path::new("fuzzed"), &text).is_ok()
}

fn chart(bytes: &[u8]) -> bool {
    let file = file(bytes);
    read_chart(file.path()).is_ok_and(|chart| chart.draw().to_svg().is_ok())
}
