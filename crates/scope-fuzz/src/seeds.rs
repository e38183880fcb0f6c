//! Small true files, made here where that is possible: what the mutations begin with.

use std::{io::Write, path::Path};

use hdf5_pure::FileBuilder;
use scope_data::{
    Constants, DatasetWriter, Origin, PerChannel, Plan,
    npy::{Dtype, Header},
    npz::{Array, npz_bytes},
};
use scope_engine::Device;
use scope_linear::{About as FitAbout, LinearFit, Source};
use scope_model::{About, DecoderConfig, FitConfig, Model, ModelConfig, Quantisation, Transformer};
use scope_pde::{Pde, Split};
use scope_train::Recipe;
use tempfile::TempDir;
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

use crate::{
    matlab::{self, UINT8, Variable},
    scratch,
};

/// The least resolution that is read.
const SIZE: usize = 32;

fn fixture(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scope-data/tests/fixtures");
    std::fs::read(folder.join(name)).unwrap()
}

/// An array of small whole numbers.
fn array(dtype: Dtype, shape: &[usize]) -> Vec<u8> {
    let header = Header::new(dtype, shape);
    let mut bytes = header.to_bytes();
    for k in 0..header.elements().unwrap() {
        let value = (k % 2) as f64;
        match dtype {
            Dtype::F32 => bytes.extend_from_slice(&(value as f32).to_le_bytes()),
            Dtype::F64 => bytes.extend_from_slice(&value.to_le_bytes()),
            Dtype::I32 => bytes.extend_from_slice(&(value as i32).to_le_bytes()),
            Dtype::I64 => bytes.extend_from_slice(&(value as i64).to_le_bytes()),
            Dtype::U8 | Dtype::Bool => bytes.push(value as u8),
        }
    }
    bytes
}

pub(crate) fn npy() -> Vec<Vec<u8>> {
    vec![
        array(Dtype::U8, &[1, 2, SIZE, SIZE]),
        array(Dtype::F64, &[2, 3, 3]),
        array(Dtype::F32, &[4, 3, 3]),
        array(Dtype::I64, &[2, 2, 2, 2]),
    ]
}

pub(crate) fn npz() -> Vec<Vec<u8>> {
    let stored = |names: &[&str]| {
        let mut zip = ZipWriter::new(std::io::Cursor::new(Vec::new()));
        for name in names {
            let plain = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
            zip.start_file(format!("{name}.npy"), plain).unwrap();
            zip.write_all(&array(Dtype::U8, &[2, 3, 3])).unwrap();
        }
        zip.finish().unwrap().into_inner()
    };
    let values = (0..18).map(f64::from).collect();
    let packed = Array { name: "values".to_owned(), shape: vec![2, 3, 3], values };
    vec![stored(&["values"]), stored(&["values", "mask"]), npz_bytes(&[packed]).unwrap()]
}

pub(crate) fn mat5() -> Vec<Vec<u8>> {
    let values = vec![1; SIZE * SIZE];
    let dimensions = [1, SIZE as i32, SIZE as i32];
    let with = |compressed: bool| {
        let variable =
            |name| Variable { name, dimensions: &dimensions, values: &values, kind: UINT8, compressed };
        matlab::file(&[variable("f_data"), variable("phi_data")])
    };
    vec![with(false), with(true)]
}

pub(crate) fn mat73() -> Vec<Vec<u8>> {
    let values = vec![1.0f32; SIZE * SIZE];
    let shape = [SIZE as u64, SIZE as u64, 1];
    let with = |chunked: bool| {
        let mut builder = FileBuilder::new();
        for name in ["thresh_a_data", "thresh_p_data"] {
            let dataset = builder.create_dataset(name).with_f32_data(&values).with_shape(&shape);
            if chunked {
                dataset.with_chunks(&[8, SIZE as u64, 1]).with_deflate(6);
            }
        }
        builder.finish().unwrap()
    };
    vec![with(false), with(true), fixture("darcy_v73.mat")]
}

pub(crate) fn arrow() -> Vec<Vec<u8>> {
    vec![fixture("float32_hf/data-00000-of-00001.arrow")]
}

/// The first message of a stream, the schema, which has no body; and what follows it.
pub(crate) fn first_message(shard: &[u8]) -> (&[u8], &[u8]) {
    let length = u32::from_le_bytes(shard[4..8].try_into().unwrap()) as usize;
    shard.split_at(8 + length)
}

pub(crate) fn flatbuffer() -> Vec<Vec<u8>> {
    let shard = arrow().swap_remove(0);
    let (schema, rest) = first_message(&shard);
    let (batch, _) = first_message(rest);
    vec![schema[8..].to_vec(), batch[8..].to_vec()]
}

pub(crate) fn state_json() -> Vec<Vec<u8>> {
    vec![fixture("float32_hf/state.json")]
}

fn texts<const N: usize>(texts: [&str; N]) -> Vec<Vec<u8>> {
    texts.map(|text| text.as_bytes().to_vec()).to_vec()
}

pub(crate) fn table() -> Vec<Vec<u8>> {
    texts([
        "x,y,channel,value\n0.25,0.5,u,0.013\n0.5,0.75,a,-1.5\n",
        "problem;i;j;a;u\n# a comment\nfirst;0;3;1,5;\nsecond;4;5;;2,5e-3\n",
        "sep=\t\nx\ty\tu\n0.1\t0.2\t3\n",
        "# x y u\n0.1 0.2 3\n0.3 0.4 5\n",
        "0,1,a,1\n7,31,u,2\n",
        "\u{feff}\"x\",\"y\",\"u\"\r\n\"0.1\",\"0.2\",\"3\"\r\n",
    ])
}

pub(crate) fn json() -> Vec<Vec<u8>> {
    texts([
        "[{\"x\": 0.25, \"y\": 0.5, \"channel\": \"u\", \"value\": 0.013}]",
        "{\"problems\": [{\"name\": \"run 7\", \"geometry\": [40, 60, 10], \"sensors\": [{\"i\": 1, \"j\": 2, \
         \"channel\": \"a\", \"value\": 3}]}]}",
        "{\"geometry\": [1, 2, 3], \"sensors\": [{\"x\": 0, \"y\": 1, \"channel\": \"a\", \"value\": -1e3}]}",
    ])
}

/// The smallest model that there can be.
fn small_model() -> Model {
    let config = ModelConfig {
        resolution: 16.into(),
        patch: 8,
        context_channels: 4,
        fields: 2,
        latent: 4,
        expansion: 1,
        encoder: Transformer { width: 4, depth: 1, heads: 1 },
        predictor: Transformer { width: 4, depth: 1, heads: 1 },
        decoder: DecoderConfig { mlp: vec![], conv: vec![] },
        fits: Some(FitConfig {
            scales: vec![1.0],
            degree: 4,
            stride: 2,
            ridge: vec![1e-4, 1e-6],
            periodic: [true, false],
            edges: PerChannel::default(),
        }),
    };
    Model::initial(config, 1, &Device::cpu(1)).unwrap()
}

pub(crate) fn weights() -> Vec<Vec<u8>> {
    let model = small_model();
    let pde = Pde::POISSON;
    let constants = Constants::released(pde);
    let about = About { pde, constants, config: model.config.clone().into(), training: None };
    let folder = scratch::folder();
    let path = folder.path().join("model.safetensors");
    let written = |kind: Quantisation| {
        model.save(&path, &about, kind).unwrap();
        std::fs::read(&path).unwrap()
    };
    vec![written(Quantisation::F32), written(Quantisation::Int8)]
}

/// A fit of one mode on the smallest grid.
pub(crate) fn linear_fit() -> Vec<Vec<u8>> {
    let pde = Pde::POISSON;
    let source = Source {
        pde,
        resolution: SIZE.into(),
        constants: Constants::released(pde),
        blake3: "0".repeat(64),
        split: Split::Train,
        origin: Origin::Generated { seed: 1, generator_version: 1 },
    };
    let about = FitAbout {
        source,
        modes: 1,
        records: 20,
        held_out: 2,
        held_out_percent: [90.0, 95.0],
        calibration: 0,
    };
    let values = || vec![0.25; 2 * SIZE * SIZE];
    let fit =
        LinearFit { about, mean: values(), modes: values(), residual: values(), calibration: Vec::new() };
    let folder = scratch::folder();
    let path = folder.path().join("fit.safetensors");
    fit.write(&path).unwrap();
    vec![std::fs::read(&path).unwrap()]
}

/// A data set of one record of zeros.
pub(crate) fn data_set() -> TempDir {
    let folder = scratch::folder();
    let mut bytes = Header::new(Dtype::F32, &[1, 2, SIZE, SIZE]).to_bytes();
    bytes.resize(bytes.len() + 8 * SIZE * SIZE, 0);
    scratch::write(&folder.path().join("fields.npy"), &bytes);
    folder
}

pub(crate) fn meta_json() -> Vec<Vec<u8>> {
    let pde = Pde::POISSON;
    let origin = Origin::Imported { source: "numpy file".to_owned(), files: vec!["pairs.npy".to_owned()] };
    let constants = Constants::released(pde);
    let plan =
        Plan { pde, split: Split::Test, resolution: SIZE.into(), count: 1, constants, origin, shard: None };
    let folder = scratch::folder();
    let out = folder.path().join("set");
    let mut writer = DatasetWriter::create(&out, plan).unwrap();
    writer.push(&vec![0.0; 2 * SIZE * SIZE], None).unwrap();
    writer.finish().unwrap();
    vec![std::fs::read(out.join("meta.json")).unwrap()]
}

pub(crate) fn recipe() -> Vec<Vec<u8>> {
    Recipe::names().map(|name| Recipe::text(name).unwrap().into_bytes()).to_vec()
}

pub(crate) fn chart() -> Vec<Vec<u8>> {
    let charts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results/charts");
    ["poisson-minutes-forward", "poisson-base-inverse"]
        .map(|name| std::fs::read(charts.join(format!("{name}.chart.json"))).unwrap())
        .into()
}

pub(crate) fn card() -> Vec<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let short = std::fs::read_to_string(root.join("crates/scope-cli/tests/commands/card.toml")).unwrap();
    let short = short.replace("BLAKE3", &"0".repeat(64)).into_bytes();
    let with_bands = std::fs::read(root.join("models/poisson.toml")).unwrap();
    vec![short, with_bands]
}
