//! Weight files: what is written comes back, and nothing else is taken.

use std::{
    collections::{BTreeMap, HashMap},
    path::Path,
};

use safetensors::{Dtype, tensor::TensorView};
use scope_data::Constants;
use scope_engine::bf16;
use scope_engine::{Device, Tape};
use scope_model::{About, FieldModel, LayerHessians, Model, ModelConfig, ModelError, Preset, Quantisation};
use scope_pde::Pde;

fn config() -> ModelConfig {
    Preset::Tiny.config(32)
}

fn about() -> About {
    About {
        pde: Pde::HELMHOLTZ,
        constants: Constants::released(Pde::HELMHOLTZ),
        config: config().into(),
        training: None,
    }
}

fn values(model: &Model) -> Vec<f32> {
    model.params.flat().to_vec().unwrap()
}

#[test]
fn weights_come_back_in_every_bit_or_rounded() {
    let folder = tempfile::tempdir().unwrap();
    let device = Device::cpu(1);
    let model = Model::initial(config(), 5, &device).unwrap();
    for kind in [Quantisation::F32, Quantisation::Bf16] {
        let path = folder.path().join("model.safetensors");
        model.save(&path, &about(), kind).unwrap();
        let (back, said) = Model::load(&path, &device).unwrap();
        assert_eq!(said, about());
        let expected: Vec<f32> = match kind {
            Quantisation::F32 => values(&model),
            _ => values(&model).iter().map(|x| bf16::from_f32(*x).to_f32()).collect(),
        };
        assert!(values(&back) == expected, "{kind:?}");
    }
}

/// The tensors of a file, by name.
fn tensors(path: &Path) -> BTreeMap<String, (Dtype, Vec<u8>)> {
    let bytes = std::fs::read(path).unwrap();
    let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    file.iter().map(|(name, view)| (name.to_owned(), (view.dtype(), view.data().to_vec()))).collect()
}

/// No weight is off by more than half a step of its row, vectors not at all, and a second rounding changes no number.
#[test]
fn quantised_rows_keep_their_bound() {
    let folder = tempfile::tempdir().unwrap();
    let device = Device::cpu(1);
    let mut model = Model::initial(config(), 5, &device).unwrap();
    let layout = model.params.layout().clone();
    let mut exact = values(&model);
    // A row of zeros has no scale.
    let head = layout.param(layout.find("encoder.head.weight").unwrap()).range.start;
    exact[head..head + 96].fill(0.0);
    let flat = scope_engine::Tensor::from_slice(&device, &[exact.len()], &exact).unwrap();
    model.params.set_flat(flat).unwrap();
    let path = folder.path().join("model.safetensors");
    for kind in [Quantisation::Int8, Quantisation::Int16] {
        model.save(&path, &about(), kind).unwrap();
        let first = tensors(&path);
        let (back, said) = Model::load(&path, &device).unwrap();
        assert_eq!(said, about());
        for param in layout.params() {
            let exact = &exact[param.range.clone()];
            let read = &values(&back)[param.range.clone()];
            let (width, steps) = match first[&param.name].0 {
                Dtype::I8 => (exact.len() / param.shape[0], 127.0),
                Dtype::I16 => (exact.len() / param.shape[0], 32767.0),
                other => {
                    assert_eq!((other, param.shape.len()), (Dtype::F32, 1), "{}", param.name);
                    (1, f32::INFINITY)
                }
            };
            for (exact, read) in exact.chunks(width).zip(read.chunks(width)) {
                let most = exact.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
                // The scales of eight bits are rounded to those of a bf16, by a 256th.
                let coarse = if steps == 127.0 { 1.0 + 1.0 / 256.0 } else { 1.0001 };
                let bound = most / (2.0 * steps) * coarse + most * f32::EPSILON;
                let bound = if steps.is_finite() { bound } else { 0.0 };
                assert!(exact.iter().zip(read).all(|(x, y)| (x - y).abs() <= bound), "{}", param.name);
            }
        }
        back.save(&path, &about(), kind).unwrap();
        let second = tensors(&path);
        assert!(first.iter().all(|(name, tensor)| name.ends_with(".scale") || second[name] == *tensor));
    }
}

/// Eight bits are for what is large; what contexts and fields touch has sixteen.
#[test]
fn delicate_weights_have_sixteen_bits() {
    let folder = tempfile::tempdir().unwrap();
    let device = Device::cpu(1);
    let model = Model::initial(config(), 5, &device).unwrap();
    let length = |kind| {
        let path = folder.path().join("model.safetensors");
        model.save(&path, &about(), kind).unwrap();
        (tensors(&path), std::fs::metadata(&path).unwrap().len() as f64)
    };
    let (eight, packed) = length(Quantisation::Int8);
    let sixteen = |name: &str| eight[name].0 == Dtype::I16;
    let wide = ["encoder.patch.weight", "encoder.pos", "predictor.pos", "decoder.conv.1.weight"];
    assert!(wide.into_iter().all(sixteen));
    let narrow = ["encoder.blocks.0.fc1.weight", "predictor.inp.weight", "decoder.mlp.0.weight"];
    assert!(!narrow.into_iter().any(sixteen));
    let (_, floats) = length(Quantisation::F32);
    assert!(packed < 0.36 * floats, "{}", packed / floats);
    let (all, half) = length(Quantisation::Int16);
    assert!(half < 0.55 * floats && all.values().all(|(dtype, _)| [Dtype::I16, Dtype::F32].contains(dtype)));
}

/// Contexts \[count, 4, 32, 32\] of smooth fields, of which every third point is seen.
fn contexts(count: usize) -> Vec<f32> {
    let value = |at: usize| {
        let record = at / 4096;
        let channel = at / 1024 % 4;
        let point = at % 1024;
        let seen = (point + record).is_multiple_of(3);
        let field =
            ((point / 32 + 3 * record) as f32 * 0.3).sin() + (point % 32 * (channel + 1)) as f32 * 0.02;
        if !seen {
            0.0
        } else if channel.is_multiple_of(2) {
            field
        } else {
            1.0
        }
    };
    (0..count * 4096).map(value).collect()
}

/// Rounded for what its layers are given, a model's fields change less than with every weight rounded to nearest, for
/// contexts that rounding has not seen too; sizes are the same.
#[test]
fn weights_are_rounded_for_their_inputs() {
    let folder = tempfile::tempdir().unwrap();
    let device = Device::cpu(1);
    let path = folder.path().join("model.safetensors");
    let known = contexts(12);
    let model = FieldModel::from(Model::initial(config(), 5, &device).unwrap());
    let hessians = LayerHessians::calibrate(&model, &known[..8 * 4096], &mut |_| {}).unwrap();
    let fields = |model: &FieldModel| {
        let context = scope_engine::Tensor::from_slice(&device, &[4, 4, 32, 32], &known[8 * 4096..]).unwrap();
        let tape = Tape::inference(&model.params, scope_engine::Dtype::F32);
        model.network.forward(&tape, &tape.input(context)).unwrap().value().to_vec::<f32>().unwrap()
    };
    let exact = fields(&model);
    let off = |path: &Path| {
        let packed = fields(&FieldModel::load(path, &device).unwrap().0);
        packed.iter().zip(&exact).map(|(x, y)| f64::from(x - y).powi(2)).sum::<f64>()
    };
    model.save(&path, &about(), Quantisation::Int8).unwrap();
    let nearest = off(&path);
    let length = std::fs::metadata(&path).unwrap().len();
    model.save_compensated(&hessians, &path, &about(), Quantisation::Int8).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().len(), length);
    assert!(off(&path) < 0.5 * nearest, "{} {nearest}", off(&path));
    assert!(matches!(
        LayerHessians::calibrate(&model, &[0.0; 5], &mut |_| {}),
        Err(ModelError::Context { got: 5, .. })
    ));
}

/// Files that were written before there were sixteen bits are read as they were meant.
#[test]
fn rows_of_eight_bits_alone_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    let model = changed(&path, |tensors| {
        let pos = tensors.iter().position(|(name, ..)| name == "encoder.pos").unwrap();
        let shape = tensors[pos].2.clone();
        tensors[pos] = ("encoder.pos".into(), Dtype::I8, shape.clone(), vec![129; shape[0] * shape[1]]);
        let scales = vec![0.5_f32; shape[0]].iter().flat_map(|x| x.to_le_bytes()).collect();
        tensors.push(("encoder.pos.scale".into(), Dtype::F32, vec![shape[0]], scales));
    });
    let model = model.unwrap();
    let layout = model.params.layout();
    let pos = layout.param(layout.find("encoder.pos").unwrap()).range.clone();
    assert!(values(&model)[pos].iter().all(|x| *x == -63.5));
}

#[test]
fn initial_parameters_depend_on_seed_and_name_only() {
    let device = Device::cpu(1);
    let make = |config: ModelConfig, seed| Model::initial(config, seed, &device).unwrap();
    assert!(values(&make(config(), 1)) == values(&make(config(), 1)));
    assert!(values(&make(config(), 1)) != values(&make(config(), 2)));
    let deeper = {
        let mut config = config();
        config.encoder.depth += 1;
        make(config, 1)
    };
    let one = |model: &Model, name: &str| {
        let layout = model.params.layout();
        values(model)[layout.param(layout.find(name).unwrap()).range.clone()].to_vec()
    };
    let name = "predictor.blocks.0.qkv.weight";
    assert!(one(&make(config(), 1), name) == one(&deeper, name));
}

#[test]
fn initial_values_follow_their_rules() {
    let model = Model::initial(Preset::Base.config(128), 1, &Device::cpu(1)).unwrap();
    let layout = model.params.layout();
    let values = values(&model);
    for param in layout.params() {
        let own = &values[param.range.clone()];
        let largest = own.iter().fold(0.0_f32, |largest, x| largest.max(x.abs()));
        let module = param.name.rsplit_once('.').unwrap().0;
        let weight = layout.find(&format!("{module}.weight")).map_or(param, |id| layout.param(id));
        let fan_in = weight.shape[1..].iter().product::<usize>().max(1) as f32;
        let bound = match param.name.rsplit('.').next().unwrap() {
            "pos" => 0.04,
            "weight" if param.shape.len() == 1 => 1.0,
            "bias" if module.contains("ln") || module.ends_with("qkv") => 0.0,
            _ if module.ends_with("qkv") => (6.0 / (param.shape[0] + param.shape[1]) as f32).sqrt(),
            _ => 1.0 / fan_in.sqrt(),
        };
        assert!(largest <= bound && largest >= 0.6 * bound, "{}: {largest}, bound {bound}", param.name);
    }
}

/// Tensors by name, kind, shape and bytes.
type Tensors = Vec<(String, Dtype, Vec<usize>, Vec<u8>)>;

/// Reads a file after one change to its tensors.
fn changed(path: &Path, change: impl Fn(&mut Tensors)) -> Result<Model, ModelError> {
    let device = Device::cpu(1);
    Model::initial(config(), 5, &device).unwrap().save(path, &about(), Quantisation::F32).unwrap();
    let bytes = std::fs::read(path).unwrap();
    let (_, header) = safetensors::SafeTensors::read_metadata(&bytes).unwrap();
    let metadata: Option<HashMap<String, String>> = header.metadata().clone();
    let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let mut tensors: Tensors = file
        .tensors()
        .into_iter()
        .map(|(name, view)| (name, view.dtype(), view.shape().to_vec(), view.data().to_vec()))
        .collect();
    tensors.sort_by(|a, b| a.0.cmp(&b.0));
    change(&mut tensors);
    let views = tensors
        .iter()
        .map(|(name, dtype, shape, data)| (name, TensorView::new(*dtype, shape.clone(), data).unwrap()));
    std::fs::write(path, safetensors::serialize(views, metadata).unwrap()).unwrap();
    Ok(Model::load(path, &device)?.0)
}

/// What is said of a file with one change.
fn tampered(path: &Path, change: impl Fn(&mut Tensors)) -> String {
    changed(path, change).unwrap_err().to_string()
}

#[test]
fn strange_files_are_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    let missing = tampered(&path, |tensors| {
        tensors.remove(0);
    });
    assert!(missing.contains("it lacks the tensor \"cond.bias\" [64]"), "{missing}");
    let stranger = tampered(&path, |tensors| tensors[0].0 = "cond.biases".into());
    assert!(stranger.contains("it has a tensor \"cond.biases\" that the model does not have"), "{stranger}");
    let shape = tampered(&path, |tensors| tensors[1].2.reverse());
    assert!(shape.contains("\"cond.weight\" has shape [2, 64], expected [64, 2]"), "{shape}");
    let kind = tampered(&path, |tensors| tensors[0].1 = Dtype::U32);
    assert!(kind.contains("\"cond.bias\" holds U32, expected F32, BF16, I16 or I8"), "{kind}");
    let nan = tampered(&path, |tensors| tensors[0].3[4..8].copy_from_slice(&f32::NAN.to_le_bytes()));
    let bare = tampered(&path, |tensors| {
        tensors[0].1 = Dtype::I16;
        tensors[0].3.truncate(128);
    });
    assert!(
        bare.contains("\"cond.bias\" holds I16 without a scale in F32 or BF16 for each of its rows"),
        "{bare}"
    );
    assert!(nan.contains("\"cond.bias\" has NaN at element 1"), "{nan}");
}

#[test]
fn damaged_bytes_never_panic() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    let device = Device::cpu(1);
    Model::initial(config(), 5, &device).unwrap().save(&path, &about(), Quantisation::Bf16).unwrap();
    let whole = std::fs::read(&path).unwrap();
    let header = 8 + u64::from_le_bytes(whole[..8].try_into().unwrap()) as usize;
    for cut in (0..header).step_by(97).chain([header, whole.len() - 1]) {
        std::fs::write(&path, &whole[..cut]).unwrap();
        assert!(Model::load(&path, &device).is_err(), "cut at {cut}");
    }
    for at in (0..header).step_by(13) {
        let mut damaged = whole.clone();
        damaged[at] ^= 1 << (at % 8);
        std::fs::write(&path, &damaged).unwrap();
        // Some changes are harmless (a space, a digit of a constant); none may panic.
        let _ = Model::load(&path, &device);
    }
    assert!(
        Model::load(&folder.path().join("absent"), &device).unwrap_err().to_string().contains("cannot read")
    );
}

/// A file without tensors that states a network.
fn bare(config: &serde_json::Value, training: &serde_json::Value) -> Vec<u8> {
    let scaling = serde_json::json!({ "mean": 0.0, "sigma": 1.0 });
    let mut entry =
        serde_json::json!({ "format": 1, "pde": "poisson", "a": scaling, "u": scaling, "config": config });
    if !training.is_null() {
        entry["training"] = training.clone();
    }
    let header = serde_json::json!({ "__metadata__": { "scope": entry.to_string() } }).to_string();
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes()].concat()
}

fn refusal(bytes: Vec<u8>) -> String {
    scope_model::WeightFile::parse(Path::new("x"), bytes).unwrap_err().to_string()
}

/// A few hundred bytes must not ask for gigabytes: what is stated is compared with what is there, and what no network
/// has is refused as such.
#[test]
fn networks_that_a_file_has_no_room_for_are_refused_before_memory_is_taken() {
    use scope_model::{Operator, Transformer};
    let wide = |width: usize, depth: usize| ModelConfig {
        encoder: Transformer { width, depth, heads: 8 },
        ..Preset::Base.config(128)
    };
    let nothing = serde_json::Value::Null;
    let stated = |config: serde_json::Value| refusal(bare(&config, &nothing));
    for (width, depth) in [(65536, 12), (65536, 1024), (65520, 4)] {
        let message = stated(serde_json::json!(wide(width, depth)));
        assert!(message.contains("parameters are more than a network may have (8589934592)"), "{message}");
    }
    let message = stated(serde_json::json!(wide(4096, 2)));
    assert!(message.contains("it lacks the tensor \"encoder.patch.weight\" [4096, 4, 8, 8]"), "{message}");
    for operator in Operator::ALL {
        let paper = serde_json::json!(operator.architecture(4096));
        let message = stated(paper.clone());
        assert!(message.contains("it lacks the tensor"), "{message}");
        for (key, _) in paper.as_object().unwrap().iter().filter(|(_, size)| size.is_u64()) {
            for size in [u64::MAX, 1 << 63, 4096] {
                let mut wrong = paper.clone();
                wrong[key] = size.into();
                let message = stated(wrong);
                let known = ["its sizes", "its header", "entry", "it lacks the tensor"];
                assert!(known.iter().any(|known| message.contains(known)), "{key} = {size}: {message}");
            }
        }
    }
    let mut fields = serde_json::json!(wide(96, 1));
    fields["fields"] = 3.into();
    assert!(stated(fields).contains("it recovers 3 fields from 4 channels, and ours 2 from 4"));
}

#[test]
fn draws_that_no_training_has_are_refused() {
    let training =
        serde_json::json!({ "recipe": "full", "draws": u64::MAX, "planned": 1, "generated": true });
    let message = refusal(bare(&serde_json::json!(config()), &training));
    assert!(message.contains("its training: 18446744073709551615 draws are more than any"), "{message}");
}

#[test]
fn headers_have_a_limit_and_lie_within_their_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    let said = |bytes: &[u8], length: u64| {
        std::fs::write(&path, bytes).unwrap();
        std::fs::File::options().write(true).open(&path).unwrap().set_len(length).unwrap();
        scope_model::WeightFile::read(&path).unwrap_err().to_string()
    };
    // Of a file that takes no room on the disk, however long it is.
    let terabyte = 1 << 40;
    assert!(said(&u64::MAX.to_le_bytes(), terabyte).contains("none has more than 4194304"));
    assert!(said(&(1_u64 << 30).to_le_bytes(), terabyte).contains("is to have 1073741824 bytes"));
    assert!(said(&0_u64.to_le_bytes(), terabyte).contains("its header: EOF"));
    assert!(said(&99_u64.to_le_bytes(), 20).contains("it has 20 bytes, and its header alone is to have 99"));
    assert!(said(b"1234", 4).contains("it has 4 bytes, too few for a header"));
    let tiny = bare(&serde_json::json!(config()), &serde_json::Value::Null);
    let message = said(&tiny, terabyte);
    assert!(message.contains("its tensors are to have 0 bytes, and 1099511"), "{message}");
}

#[cfg(target_os = "linux")]
#[test]
fn what_is_no_file_holds_no_weights() {
    for path in ["/dev/zero", "/dev/null"] {
        let refused = scope_model::WeightFile::read(Path::new(path)).unwrap_err().to_string();
        assert_eq!(
            refused,
            format!("{path} is a device, and a regular file is wanted: name one, or copy it into one")
        );
    }
}
