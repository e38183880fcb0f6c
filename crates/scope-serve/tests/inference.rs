//! The Open Inference protocol, with JSON and with binary tensors.

use scope_serve::Limits;
use serde_json::json;

use crate::client::{Answer, Running};

const INFER: &str = "/v2/models/poisson/infer";
const JSON: &str = "content-type: application/json";

fn binary(service: &Running, json: &serde_json::Value, tensor: &[f64]) -> Answer {
    let mut body = serde_json::to_vec(json).unwrap();
    let header = format!("inference-header-content-length: {}", body.len());
    body.extend(tensor.iter().flat_map(|x| x.to_le_bytes()));
    service.post(INFER, &[&header], &body)
}

const SENSORS: [f64; 8] = [0.25, 0.5, 1.0, 0.003, 0.75, 0.5, 0.0, 0.4];

#[test]
fn binary_tensors_and_json_say_the_same() {
    let service = Running::start(Limits::default(), None);
    let ready = service.get("/v2/models/poisson/versions/1/ready", &[]);
    assert_eq!(ready.status, 200);
    let about = service.get("/v2/models/poisson", &[]).json();
    assert_eq!(about["inputs"][0], json!({ "name": "sensors", "datatype": "FP64", "shape": [-1, 4] }));
    let request = json!({
        "id": "7",
        "inputs": [
            { "name": "sensors", "shape": [2, 4], "datatype": "FP64", "parameters": { "binary_data_size": 64 } }
        ],
        "outputs": [
            { "name": "u", "parameters": { "binary_data": true } },
            { "name": "summary", "parameters": { "binary_data": true } }
        ],
    });
    let answer = binary(&service, &request, &SENSORS);
    let length: usize = answer.header("inference-header-content-length").unwrap().parse().unwrap();
    let (head, tensors) = answer.body.split_at(length);
    let head: serde_json::Value = serde_json::from_slice(head).unwrap();
    assert_eq!(
        (&head["id"], &head["outputs"][0]["parameters"]["binary_data_size"]),
        (&json!("7"), &json!(65536))
    );
    let field: Vec<f32> =
        tensors[..65536].chunks_exact(4).map(|x| f32::from_le_bytes(x.try_into().unwrap())).collect();
    let (length, summary) = tensors[65536..].split_at(4);
    assert_eq!(u32::from_le_bytes(length.try_into().unwrap()) as usize, summary.len());
    assert_eq!(serde_json::from_slice::<serde_json::Value>(summary).unwrap()["pde"], "poisson");

    let request =
        json!({ "inputs": [{ "name": "sensors", "shape": [2, 4], "datatype": "FP64", "data": SENSORS }] });
    let answer = service.post(INFER, &[JSON], &serde_json::to_vec(&request).unwrap()).json();
    let outputs = answer["outputs"].as_array().unwrap();
    let u = outputs.iter().find(|output| output["name"] == "u").unwrap();
    assert_eq!(u["shape"], json!([128, 128]));
    let values = u["data"].as_array().unwrap().iter().map(|x| x.as_f64().unwrap() as f32);
    assert!(values.map(f32::to_bits).eq(field.iter().map(|x| x.to_bits())));
}

/// An answer of fields alone and one of everything, from requests at the same time.
#[test]
fn fields_are_the_same_whatever_else_is_asked_for() {
    let service = Running::start(Limits::default(), None);
    let asked = |outputs: &[&str]| {
        let outputs: Vec<_> = outputs
            .iter()
            .map(|name| json!({ "name": name, "parameters": { "binary_data": true } }))
            .collect();
        json!({ "outputs": outputs,
                "inputs": [{ "name": "sensors", "shape": [2, 4], "datatype": "FP64", "data": SENSORS }] })
    };
    let tensors = |outputs: &[&str]| {
        let answer = binary(&service, &asked(outputs), &[]);
        assert_eq!(answer.status, 200);
        let length: usize = answer.header("inference-header-content-length").unwrap().parse().unwrap();
        answer.body[length..].to_vec()
    };
    let (alone, everything) = std::thread::scope(|scope| {
        let alone = scope.spawn(|| tensors(&["u", "a"]));
        let everything = tensors(&["u", "a", "u_band68"]);
        (alone.join().unwrap(), everything)
    });
    assert_eq!((alone.len(), everything.len()), (2 * 65536, 3 * 65536));
    assert!(everything.starts_with(&alone));
}

#[test]
fn malformed_tensors_are_refused() {
    let service = Running::start(Limits { sensors: 8, ..Limits::default() }, None);
    let tensor = |name: &str, shape: serde_json::Value, datatype: &str, bytes: usize| {
        json!({ "inputs": [{ "name": name, "shape": shape, "datatype": datatype,
                             "parameters": { "binary_data_size": bytes } }] })
    };
    let mut nan = SENSORS;
    nan[3] = f64::NAN;
    let mut channel = SENSORS;
    channel[2] = 0.5;
    let cases = [
        (tensor("sensors", json!([2, 4]), "FP64", 60), &SENSORS[..], 400, "takes 64 bytes, got 60"),
        (tensor("sensors", json!([2, 4]), "FP64", 64), &SENSORS[..7], 400, "ends before"),
        (tensor("sensors", json!([1, 4]), "FP64", 32), &SENSORS[..], 400, "32 bytes follow"),
        (tensor("sensors", json!([usize::MAX, 4]), "FP64", 64), &SENSORS[..], 400, "more than 32 elements"),
        (tensor("sensors", json!([2, -4]), "FP64", 64), &SENSORS[..], 400, "no inference request"),
        (tensor("sensors", json!([8]), "FP64", 64), &SENSORS[..], 400, "expected \"sensors\" [n, 4]"),
        (tensor("sensors", json!([2, 4]), "INT8", 64), &SENSORS[..], 400, "FP64 or FP32"),
        (tensor("readings", json!([2, 4]), "FP64", 64), &SENSORS[..], 400, "input \"readings\""),
        (tensor("sensors", json!([0, 4]), "FP64", 0), &[][..], 422, "no measurements"),
        (tensor("sensors", json!([2, 4]), "FP64", 64), &nan[..], 422, "sensor 1"),
        (tensor("sensors", json!([2, 4]), "FP64", 64), &channel[..], 400, "row 0: the channel is 0.5"),
        (json!({ "inputs": [], "outputs": [{ "name": "w" }] }), &[][..], 400, "no output \"w\""),
    ];
    for (request, tensor, status, words) in cases {
        let answer = binary(&service, &request, tensor);
        assert!(
            answer.status == status && answer.error().contains(words),
            "{}: {}",
            answer.status,
            answer.error()
        );
    }
    let beyond = service.post(INFER, &["inference-header-content-length: 99"], b"{}");
    assert_eq!(beyond.status, 400);
    assert_eq!(service.get("/v2/models/poisson/versions/2", &[]).status, 404);
}
