//! `POST /v1/recover?model=NAME`: a file of sensors in, fields out.

use std::{borrow::Cow, sync::Arc, time::Instant};

use axum::{
    body::Body,
    extract::{Query, State, rejection::QueryRejection},
    http::{HeaderMap, StatusCode},
    response::Response,
};
use scope::{
    RecoveryError, SensorFile, SensorSet,
    data::{observation::SensorError, sensors::TableOptions},
    recovery::Problem,
};
use serde::Deserialize;

use crate::{
    body::{self, Received},
    encode::{self, Format},
    models::Served,
    refusal::Refusal,
    routes::Service,
};

/// What messages call the sensors.
const NAME: &str = "the request";

/// Media types that sensors may come as; what they are is told by their content.
const KINDS: [&str; 6] = [
    "text/csv",
    "text/plain",
    "application/json",
    "application/x-npy",
    "application/x-npz",
    "application/octet-stream",
];

/// What is asked for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Asked {
    model: String,
}

pub(crate) async fn recover(
    State(service): State<Arc<Service>>,
    query: Result<Query<Asked>, QueryRejection>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let Query(Asked { model }) = query.map_err(|_| {
        Refusal::bad("the query has to name a model and nothing else, as in /v1/recover?model=poisson")
    })?;
    let model = service.model(&model)?;
    let format = Format::accepted(&headers)?;
    let kind = body::kind(&headers);
    if !KINDS.contains(&kind.as_str()) {
        return Err(Refusal::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            format!(
                "the body is \"{kind}\": send text/csv, application/json, application/x-npy or application/x-npz"
            ),
        ));
    }
    let received = service.bodies.read(&service.limits, &headers, body).await?;
    let begin = Instant::now();
    let placing = Arc::clone(&service);
    let (problems, notes) = blocking(move || place_file(&placing, model, received)).await?;
    let answer = match format {
        Format::Fields => {
            let fields = service.in_time(service.queue.fields(model, problems)).await?;
            Ok(encode::fields(&fields, service.models.at(model).recovery.resolution()))
        }
        Format::Everything(container) => {
            let recovered = service.in_time(service.queue.recover(model, problems)).await?;
            blocking(move || encode::everything(container, &recovered, &notes)).await
        }
    };
    service.metrics.count_answer(begin.elapsed());
    answer
}

/// Does what takes the processor a while beside the thread that everyone's requests arrive on.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    tokio::task::spawn_blocking(work).await.map_err(Refusal::fault)?
}

/// Reads sensors as the command does, and puts those of every problem on the model's grid.
fn place_file(
    service: &Service,
    model: usize,
    received: Received,
) -> Result<(Vec<Problem>, Vec<String>), Refusal> {
    let served = service.models.at(model);
    let table = TableOptions::default().of_problem(served.recovery.pde());
    let file = SensorFile::parse_with(NAME.to_owned(), received.bytes.into(), &table)
        .map_err(|error| Refusal::bad(error.to_string()))?;
    let most = service.limits.problems;
    if file.len() > most {
        let got = file.len();
        return Err(Refusal::too_large(format!("{NAME} has {got} problems: send at most {most} at a time")));
    }
    let grid = served.recovery.resolution();
    if let Some(got) = file.resolution().filter(|got| *got != grid) {
        return Err(Refusal::unusable(format!(
            "{NAME} holds grids of {got} and the model reads {grid}: give the sensors as a table with x and y"
        )));
    }
    let problems = (0..file.len()).map(|index| {
        let set: Cow<'_, SensorSet> = file.set(index).map_err(|error| Refusal::bad(error.to_string()))?;
        let place = if file.len() > 1 { format!("{NAME}, problem {}", set.name) } else { NAME.to_owned() };
        place_set(service, served, &set, &place)
    });
    Ok((problems.collect::<Result<_, _>>()?, file.notes().to_vec()))
}

/// Puts the sensors of a problem on the grid; what is wrong with them is said in a sentence that begins with `place`.
pub(crate) fn place_set(
    service: &Service,
    served: &Served,
    set: &SensorSet,
    place: &str,
) -> Result<Problem, Refusal> {
    let most = service.limits.sensors;
    if set.sensors.len() > most {
        let got = set.sensors.len();
        return Err(Refusal::too_large(format!("{place} has {got} sensors: send at most {most}")));
    }
    served.recovery.place(set).map_err(|error| {
        Refusal::unusable(match error {
            RecoveryError::NoGeometry(_) => format!("{place}: {error}: leave it out"),
            RecoveryError::NothingMeasured => format!("{place}: {error}"),
            RecoveryError::Sensors(SensorError::Region(problem)) => format!(
                "{place}: {problem}; give row and column of the disk's centre, and its radius, in pixels"
            ),
            error => format!("{place}, {}", error.describe(|sensor| set.label(sensor))),
        })
    })
}

impl Service {
    /// The number of a model.
    pub(crate) fn model(&self, name: &str) -> Result<usize, Refusal> {
        self.models.position(name).ok_or_else(|| {
            let names = self.models.names().join(", ");
            Refusal::new(
                StatusCode::NOT_FOUND,
                format!("there is no model \"{name}\": the models here are {names}"),
            )
        })
    }

    /// What the engine computes, within the time that it may take.
    pub(crate) async fn in_time<T>(
        &self,
        computed: impl Future<Output = Result<T, Refusal>>,
    ) -> Result<T, Refusal> {
        let computing = self.limits.computing;
        tokio::time::timeout(computing, computed).await.map_err(|_| {
            let sentence =
                format!("the fields were not computed within {} s: ask again later", computing.as_secs());
            Refusal::new(StatusCode::SERVICE_UNAVAILABLE, sentence)
        })?
    }
}
