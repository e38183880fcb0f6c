//! Fields of the service are the library's, in every bit.

use scope::{Recovered, Recovery, SensorFile, model::Catalogue};
use scope_serve::Limits;
use serde_json::{Value, json};

use crate::client::{Running, table};

const RECOVER: &str = "/v1/recover?model=poisson";
const CSV: &str = "content-type: text/csv";

/// What the library recovers from a table, alone.
fn alone(text: &str) -> Recovered {
    let weights = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/poisson.safetensors");
    assert!(Catalogue::default().find(weights).is_ok());
    let recovery = Recovery::open(weights, &scope::Device::cpu(2)).unwrap();
    let file = SensorFile::parse("test".to_owned(), text.as_bytes().to_vec()).unwrap();
    recovery.recover(&file.set(0).unwrap()).unwrap()
}

/// The floats of an array file.
fn floats(npy: &[u8]) -> Vec<f32> {
    npy[128..].chunks_exact(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap())).collect()
}

#[test]
fn requests_at_once_have_the_fields_of_each_alone() {
    let service = Running::start(Limits::default(), None);
    let tables: Vec<String> = (0..4).map(|seed| table(seed, 40 + seed)).collect();
    let expected: Vec<Recovered> = tables.iter().map(|table| alone(table)).collect();
    std::thread::scope(|scope| {
        for client in 0..12 {
            let service = &service;
            let tables = &tables;
            let expected = &expected;
            scope.spawn(move || {
                let k = client % tables.len();
                let answer = service.post(RECOVER, &[CSV, "accept: application/x-npy"], tables[k].as_bytes());
                assert_eq!(answer.status, 200);
                let both = [&expected[k].fields.a[..], &expected[k].fields.u[..]].concat();
                assert!(
                    floats(&answer.body).iter().map(|x| x.to_bits()).eq(both.iter().map(|x| x.to_bits()))
                );
            });
        }
    });
    let metrics = String::from_utf8(service.get("/metrics", &[]).body).unwrap();
    assert!(metrics.contains("scope_requests_total{route=\"recover\",status=\"200\"} 12\n"), "{metrics}");
    assert!(
        metrics.contains("scope_problems_total 12\n") && metrics.contains("scope_answer_seconds_count 12\n")
    );
}

#[test]
fn json_has_fields_bands_and_trust_and_npz_the_same_arrays() {
    let service = Running::start(Limits::default(), None);
    let text = table(1, 60);
    let recovered = alone(&text);
    let answer = service.post(RECOVER, &[CSV], text.as_bytes()).json();
    assert_eq!(answer["pde"], "poisson");
    assert_eq!(answer["method"]["file"], "poisson.safetensors");
    assert!(
        answer["problems"][0]["misfit_percent"].is_object() && answer["problems"][0]["warnings"].is_array()
    );
    for (name, fields) in recovered.arrays() {
        let rows = answer["fields"][0][name.trim_end_matches(".npy")].as_array().unwrap();
        let values = rows.iter().flat_map(|row| row.as_array().unwrap()).map(|x| x.as_f64().unwrap() as f32);
        assert!(values.map(f32::to_bits).eq(fields[0].iter().map(|x| x.to_bits())), "{name}");
    }
    let npz = service.post(RECOVER, &[CSV, "accept: application/x-npz"], text.as_bytes());
    let path = tempfile::tempdir().unwrap().keep().join("answer.npz");
    std::fs::write(&path, &npz.body).unwrap();
    let arrays = scope::data::npz::read_npz(&path, |name| name != "summary.json").unwrap();
    std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
    assert_eq!(arrays.len(), recovered.arrays().len());
    let a = arrays.iter().find(|array| array.name == "a").unwrap();
    assert_eq!(a.shape, [128, 128]);
    assert!(a.values.iter().map(|x| *x as f32).eq(recovered.fields.a.iter().copied()));
}

#[test]
fn several_problems_of_a_request_are_answered_in_order() {
    let service = Running::start(Limits::default(), None);
    let body = r#"{"problems": [
        {"name": "one", "sensors": [{"x": 0.25, "y": 0.5, "channel": "u", "value": 0.003}]},
        {"name": "two", "sensors": [{"i": 40, "j": 50, "channel": "a", "value": 0.5}]}]}"#;
    let answer = service.post(RECOVER, &["content-type: application/json"], body.as_bytes()).json();
    assert_eq!([&answer["problems"][0]["name"], &answer["problems"][1]["name"]], ["one", "two"]);
    assert_eq!(answer["fields"].as_array().unwrap().len(), 2);
    let npy = service.post(
        RECOVER,
        &["content-type: application/json", "accept: application/x-npy"],
        body.as_bytes(),
    );
    assert!(String::from_utf8_lossy(&npy.body[..128]).contains("(2, 2, 128, 128)"));
}

#[test]
fn models_and_the_page_are_files_with_tags() {
    let service = Running::start(Limits::default(), None);
    let models = service.get("/v1/models", &[]).json();
    assert_eq!(models["models"][0]["name"], "poisson");
    let weights = service.get(models["models"][0]["weights"].as_str().unwrap(), &[]);
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/poisson.safetensors");
    assert_eq!(weights.body, std::fs::read(file).unwrap());
    let tag = weights.header("etag").unwrap();
    let again = service.get("/models/poisson.safetensors", &[&format!("if-none-match: {tag}")]);
    assert_eq!((again.status, again.body.len()), (304, 0));
    let page = service.get("/", &[]);
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    assert_eq!(service.get("/models/../Cargo.toml", &[]).status, 404);
}

#[test]
fn every_path_of_the_openapi_document_is_there() {
    let service = Running::start(Limits::default(), None);
    let document = service.get("/openapi.json", &[]).json();
    for (path, methods) in document["paths"].as_object().unwrap() {
        let place =
            path.replace("{model}", "poisson").replace("{file}", "poisson.toml").replace("{version}", "1");
        let (answer, other) = match methods.get("post") {
            Some(_) => (service.post(&place, &[CSV], b""), service.get(&place, &[])),
            None => (service.get(&place, &[]), service.post(&place, &[CSV], b"")),
        };
        assert_eq!(answer.status, if methods.get("post").is_some() { 400 } else { 200 }, "{path}");
        assert_eq!((other.status, other.error().is_empty()), (405, false), "{path}");
        let said = methods.as_object().unwrap().values().next().unwrap();
        assert!(said["responses"]["405"].is_object(), "{path} does not say that it takes one method only");
        let kind = answer.header("content-type").unwrap().split(';').next().unwrap();
        let schema =
            &resolved(&document, &said["responses"][&answer.status.to_string()])["content"][kind]["schema"];
        assert!(schema.is_object(), "{path}: no schema of {kind}");
        if kind == "application/json" {
            assert_eq!(faults(&document, schema, &answer.json()), Vec::<String>::new(), "{path}");
        }
    }
}

#[test]
fn answers_are_what_the_openapi_document_says() {
    let service = Running::start(Limits::default(), None);
    let document = service.get("/openapi.json", &[]).json();
    let recovered = service.post(RECOVER, &[CSV], table(2, 60).as_bytes()).json();
    let sensors =
        json!({ "name": "sensors", "shape": [1, 4], "datatype": "FP64", "data": [0.5, 0.5, 1, 0.001] });
    let request = json!({ "inputs": [sensors] });
    let request = serde_json::to_vec(&request).unwrap();
    let inferred = service.post("/v2/models/poisson/infer", &[], &request).json();
    for (name, answer) in [("Recovered", recovered), ("InferResponse", inferred)] {
        let schema = &document["components"]["schemas"][name];
        assert_eq!(faults(&document, schema, &answer), Vec::<String>::new(), "{name}");
    }
}

/// What a reference names, or what is there itself.
fn resolved<'a>(document: &'a Value, place: &'a Value) -> &'a Value {
    match place["$ref"].as_str() {
        Some(path) => document.pointer(path.trim_start_matches('#')).unwrap(),
        None => place,
    }
}

/// Where a value is none of a schema, as far as types, required keys and elements go.
fn faults(document: &Value, schema: &Value, value: &Value) -> Vec<String> {
    let schema = resolved(document, schema);
    let is = |kind: &str| match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        other => panic!("a type {other}"),
    };
    if schema["type"].as_str().is_some_and(|kind| !is(kind)) {
        return vec![format!("{value} is no {}", schema["type"])];
    }
    let missing = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let mut all: Vec<String> =
        missing.filter(|key| value.get(key).is_none()).map(|key| format!("{key} is missing")).collect();
    for (key, schema) in schema["properties"].as_object().into_iter().flatten() {
        all.extend(value.get(key).into_iter().flat_map(|value| faults(document, schema, value)));
    }
    if schema["items"].is_object() {
        all.extend(
            value.as_array().into_iter().flatten().flat_map(|one| faults(document, &schema["items"], one)),
        );
    }
    all
}
