//! The Open Inference protocol (KServe V2) over REST: metadata, readiness and inference with binary tensors.
//!
//! A model's input is `sensors` \[n, 4\]: x, y, channel (0 for a, 1 for u) and value of each, in the unit square and in
//! physical units; for the cylinder `geometry` \[3\] may stand beside it. Its outputs are the arrays of a result
//! folder, and `summary`, its summary.json as text.

use std::{collections::BTreeMap, sync::Arc, time::Instant};

use axum::{
    Json,
    body::Body,
    extract::{Path, State},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use scope::{
    Recovered, SensorSet,
    data::{
        Channel, Fields,
        observation::{Place, Sensor},
    },
    pde::cylinder::Disk,
    recovery::Problem,
};
use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    body::Received,
    encode::{arrays, summary},
    models::Served,
    recover::{blocking, place_set},
    refusal::Refusal,
    routes::Service,
    tensors::{self, AskedOutput, InferRequest, JSON_LENGTH, Numbers, OutputTensor},
};

/// The only version of every model.
const VERSION: &str = "1";
/// The output that is text.
const SUMMARY: &str = "summary";

pub(crate) async fn server() -> Json<Value> {
    let version = env!("CARGO_PKG_VERSION");
    Json(json!({ "name": "scope", "version": version, "extensions": ["binary_tensor_data"] }))
}

/// Live as long as something computes: a service whose engine has ended is to be started again.
pub(crate) async fn live(State(service): State<Arc<Service>>) -> Result<Json<Value>, Refusal> {
    if service.queue.is_alive() { Ok(Json(json!({ "live": true }))) } else { Err(Refusal::no_engine()) }
}

/// Ready as long as requests are taken: no longer once the service is to stop.
pub(crate) async fn ready(State(service): State<Arc<Service>>) -> Result<Json<Value>, Refusal> {
    service.require_ready()?;
    Ok(Json(json!({ "ready": true })))
}

pub(crate) async fn model_ready(
    State(service): State<Arc<Service>>,
    Path(path): Path<Vec<String>>,
) -> Result<Json<Value>, Refusal> {
    let model = named(&service, &path)?;
    service.require_ready()?;
    Ok(Json(json!({ "name": service.models.at(model).name, "ready": true })))
}

pub(crate) async fn model(
    State(service): State<Arc<Service>>,
    Path(path): Path<Vec<String>>,
) -> Result<Json<Value>, Refusal> {
    let served = service.models.at(named(&service, &path)?);
    let tensor =
        |name: &str, kind: &str, shape: &[i64]| json!({ "name": name, "datatype": kind, "shape": shape });
    let mut inputs = vec![tensor("sensors", "FP64", &[-1, 4])];
    inputs.extend(served.recovery.pde().has_disk().then(|| tensor("geometry", "FP64", &[3])));
    let grid = served.recovery.resolution().lengths().map(|length| length as i64);
    let mut outputs: Vec<Value> = served.arrays().iter().map(|name| tensor(name, "FP32", &grid)).collect();
    outputs.push(tensor(SUMMARY, "BYTES", &[1]));
    Ok(Json(json!({
        "name": served.name, "versions": [VERSION], "platform": "scope", "inputs": inputs, "outputs": outputs,
    })))
}

pub(crate) async fn infer(
    State(service): State<Arc<Service>>,
    Path(path): Path<Vec<String>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let model = named(&service, &path)?;
    let received = service.bodies.read(&service.limits, &headers, body).await?;
    let begin = Instant::now();
    let placing = Arc::clone(&service);
    let (request, problem) = blocking(move || place(&placing, model, &headers, &received)).await?;
    let computed = if request.asks_for_fields_alone() {
        Computed::Fields(service.in_time(service.queue.fields(model, vec![problem])).await?)
    } else {
        Computed::Everything(service.in_time(service.queue.recover(model, vec![problem])).await?)
    };
    let answering = Arc::clone(&service);
    let answer = blocking(move || answer(answering.models.at(model), &request, &computed)).await;
    service.metrics.count_answer(begin.elapsed());
    answer
}

/// The model of a path NAME, or NAME and version.
fn named(service: &Service, path: &[String]) -> Result<usize, Refusal> {
    let model = service.model(path.first().map_or("", String::as_str))?;
    match path.get(1) {
        Some(version) if version != VERSION => Err(Refusal::new(
            StatusCode::NOT_FOUND,
            format!("there is no version {version}: every model has version {VERSION}"),
        )),
        _ => Ok(model),
    }
}

/// Reads a request, and puts its sensors on the grid.
fn place(
    service: &Service,
    model: usize,
    headers: &HeaderMap,
    received: &Received,
) -> Result<(InferRequest, Problem), Refusal> {
    let served = service.models.at(model);
    let (request, tensors) = tensors::read(headers, &received.bytes, 4 * service.limits.sensors)?;
    let known = served.arrays();
    for AskedOutput { name, .. } in &request.outputs {
        if name != SUMMARY && !known.contains(name) {
            let known = known.join(", ");
            return Err(Refusal::bad(format!(
                "there is no output \"{name}\": expected {known} or {SUMMARY}"
            )));
        }
    }
    let mut sensors = None;
    let mut region = None;
    for Numbers { name, shape, values } in &tensors {
        match (name.as_str(), &shape[..], &values[..]) {
            ("sensors", [_, 4], _) if sensors.is_none() => sensors = Some(sensors_of(values)?),
            ("geometry", [3], [cx, cy, r]) if region.is_none() => {
                region = Some(Disk { cx: *cx, cy: *cy, r: *r }.into());
            }
            _ => {
                return Err(Refusal::bad(format!(
                    "input \"{name}\" of shape {shape:?}: expected \"sensors\" [n, 4], each x, y, channel and value, \
                     and for the cylinder \"geometry\" [3], each once"
                )));
            }
        }
    }
    let sensors = sensors.ok_or_else(|| Refusal::bad("there is no input \"sensors\" [n, 4]"))?;
    let mut set = SensorSet::new("1", sensors);
    set.region = region;
    let problem = place_set(service, served, &set, "tensor \"sensors\"")?;
    Ok((request, problem))
}

/// Sensors of rows x, y, channel, value.
fn sensors_of(values: &[f64]) -> Result<Vec<Sensor>, Refusal> {
    let sensor = |(row, one): (usize, &[f64; 4])| {
        let [x, y, channel, value] = *one;
        let channel = match channel {
            0.0 => Channel::A,
            1.0 => Channel::U,
            other => {
                return Err(Refusal::bad(format!(
                    "tensor \"sensors\", row {row}: the channel is {other}, expected 0 for a or 1 for u"
                )));
            }
        };
        Ok(Sensor { channel, place: Place::Point(x, y), value })
    };
    values.as_chunks::<4>().0.iter().enumerate().map(sensor).collect()
}

/// What was computed of one problem.
enum Computed {
    Fields(Vec<Fields>),
    Everything(Vec<Recovered>),
}

impl InferRequest {
    /// Whether nothing but the fields themselves is asked for.
    fn asks_for_fields_alone(&self) -> bool {
        let is_field =
            |output: &AskedOutput| Channel::BOTH.iter().any(|channel| output.name == channel.name());
        !self.outputs.is_empty() && self.outputs.iter().all(is_field)
    }
}

impl Computed {
    /// Its arrays by name.
    fn arrays(&self) -> BTreeMap<String, &[f32]> {
        match self {
            Computed::Fields(all) => {
                let each = all.iter().flat_map(|fields| fields.each_ref().with_channels());
                each.map(|(channel, field)| (channel.name().to_owned(), &field[..])).collect()
            }
            Computed::Everything(all) => all.iter().flat_map(arrays).collect(),
        }
    }

    /// What is said of it.
    fn summary(&self) -> Result<String, Refusal> {
        match self {
            Computed::Fields(_) => Err(Refusal::fault("fields were computed, and nothing was said of them")),
            Computed::Everything(all) => serde_json::to_string(&summary(all, &[])).map_err(Refusal::fault),
        }
    }
}

#[derive(Serialize)]
struct InferResponse<'a> {
    model_name: &'a str,
    model_version: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    outputs: Vec<OutputTensor>,
}

/// The answer: what was asked for, or all there is. An array that this problem does not have is NaN where it was asked
/// for.
fn answer(served: &Served, request: &InferRequest, computed: &Computed) -> Result<Response, Refusal> {
    let grid = served.recovery.resolution();
    let own = computed.arrays();
    let all_binary = request.parameters.binary_data_output.unwrap_or(false);
    let asked: Vec<(&str, bool)> = if request.outputs.is_empty() {
        own.keys().map(|name| (name.as_str(), all_binary)).chain([(SUMMARY, all_binary)]).collect()
    } else {
        let asked = request.outputs.iter();
        asked.map(|one| (one.name.as_str(), one.parameters.binary_data.unwrap_or(all_binary))).collect()
    };
    let nothing = vec![f32::NAN; grid.points()];
    let mut outputs = Vec::with_capacity(asked.len());
    for (name, binary) in asked {
        outputs.push(if name == SUMMARY {
            OutputTensor::text(name, &computed.summary()?, binary)
        } else {
            let field = own.get(name).copied().unwrap_or(&nothing);
            OutputTensor::field(name, &grid.lengths(), field, binary)
        });
    }
    let response = InferResponse {
        model_name: &served.name,
        model_version: VERSION,
        id: request.id.as_deref(),
        outputs,
    };
    let mut bytes = serde_json::to_vec(&response).map_err(Refusal::fault)?;
    let json = bytes.len();
    response.outputs.iter().for_each(|output| bytes.extend_from_slice(&output.binary));
    let is_binary = bytes.len() > json;
    let kind = if is_binary { "application/octet-stream" } else { "application/json" };
    let mut response = Body::from(bytes).into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    if is_binary {
        response.headers_mut().insert(HeaderName::from_static(JSON_LENGTH), HeaderValue::from(json));
    }
    Ok(response)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::{body::BodyRoom, engine::Queue, limits::Limits, metrics::Metrics, models::Models};

    #[tokio::test]
    async fn a_service_without_its_engine_is_neither_live_nor_ready() {
        let service = Arc::new(Service {
            models: Arc::new(Models::none()),
            queue: Queue::without_engine(),
            limits: Limits::default(),
            bodies: BodyRoom::new(&Limits::default()),
            metrics: Arc::new(Metrics::default()),
            access: None,
            stopping: AtomicBool::new(false),
            page: Vec::new(),
        });
        let statuses = [live(State(Arc::clone(&service))).await, ready(State(service)).await]
            .map(|answer| answer.err().map(|refusal| refusal.status));
        assert_eq!(statuses, [Some(StatusCode::SERVICE_UNAVAILABLE); 2]);
    }
}
