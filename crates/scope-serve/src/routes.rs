//! Which path leads where.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use axum::{
    Json, Router,
    extract::{MatchedPath, Path, Request, State},
    http::{HeaderMap, StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use serde_json::{Value, json};

use crate::{
    access::Access,
    body::BodyRoom,
    engine::Queue,
    inference,
    limits::Limits,
    metrics::Metrics,
    models::Models,
    page::{self, Resource},
    recover::recover,
    refusal::Refusal,
};

/// What is said of the service to programs.
const OPENAPI: &str = include_str!("openapi.json");

/// What all requests share.
pub(crate) struct Service {
    pub(crate) models: Arc<Models>,
    pub(crate) queue: Queue,
    pub(crate) limits: Limits,
    pub(crate) bodies: BodyRoom,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) access: Option<Access>,
    pub(crate) stopping: AtomicBool,
    pub(crate) page: Vec<Resource>,
}

impl Service {
    /// Refuses where requests are not taken.
    pub(crate) fn require_ready(&self) -> Result<(), Refusal> {
        if self.stopping.load(Ordering::Relaxed) {
            Err(Refusal::stopping())
        } else if self.queue.is_alive() {
            Ok(())
        } else {
            Err(Refusal::no_engine())
        }
    }
}

/// All routes. Health is told to anyone; the rest to those who show the token, where there is one.
pub(crate) fn router(service: Arc<Service>) -> Router {
    let guarded = Router::new()
        .route("/v1/recover", post(recover))
        .route("/v1/models", get(models))
        .route("/v2", get(inference::server))
        .route("/v2/models/{model}", get(inference::model))
        .route("/v2/models/{model}/ready", get(inference::model_ready))
        .route("/v2/models/{model}/infer", post(inference::infer))
        .route("/v2/models/{model}/versions/{version}", get(inference::model))
        .route("/v2/models/{model}/versions/{version}/ready", get(inference::model_ready))
        .route("/v2/models/{model}/versions/{version}/infer", post(inference::infer))
        .route("/metrics", get(metrics))
        .route("/openapi.json", get(openapi))
        .route("/models/{file}", get(model_file))
        .route("/", get(index))
        .route("/{file}", get(page_file))
        .fallback(nothing)
        .method_not_allowed_fallback(other_method)
        .layer(middleware::from_fn_with_state(Arc::clone(&service), admit));
    Router::new()
        .route("/v2/health/live", get(inference::live))
        .route("/v2/health/ready", get(inference::ready))
        .method_not_allowed_fallback(other_method)
        .merge(guarded)
        .layer(middleware::from_fn_with_state(Arc::clone(&service), count))
        .with_state(service)
}

/// Refuses requests without the token.
async fn admit(
    State(service): State<Arc<Service>>,
    request: Request,
    next: Next,
) -> Result<Response, Refusal> {
    match &service.access {
        Some(access) if !access.admits(request.headers()) => Err(Refusal::new(
            StatusCode::UNAUTHORIZED,
            "this service wants a token: send the header authorization: Bearer TOKEN",
        )),
        _ => Ok(next.run(request).await),
    }
}

/// Counts requests by route. A path that leads nowhere is no route: counters must not grow with what strangers ask for.
async fn count(State(service): State<Arc<Service>>, request: Request, next: Next) -> Response {
    let path = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
    let route = match path.unwrap_or_default() {
        "/v1/recover" => "recover",
        path if path.ends_with("/infer") => "infer",
        path if path.starts_with("/v2/health") => "health",
        "/metrics" => "metrics",
        path if path.starts_with("/models/") => "model file",
        _ => "other",
    };
    let response = next.run(request).await;
    service.metrics.count_request(route, response.status().as_u16());
    response
}

async fn models(State(service): State<Arc<Service>>) -> Json<Value> {
    let entries: Vec<Value> = service.models.iter().map(|model| model.entry()).collect();
    Json(json!({ "models": entries }))
}

async fn metrics(State(service): State<Arc<Service>>) -> Response {
    let text = service.metrics.text(service.queue.waiting(), service.bodies.held(&service.limits));
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response()
}

async fn openapi() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], OPENAPI).into_response()
}

async fn model_file(
    State(service): State<Arc<Service>>,
    Path(file): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let files = service.models.iter().flat_map(|model| &model.files);
    let found = page::find(files, &file).map_err(|_| {
        let names = service.models.names().join(", ");
        Refusal::new(
            StatusCode::NOT_FOUND,
            format!("there is no model file \"{file}\": the models are {names}"),
        )
    })?;
    Ok(found.answer(&headers))
}

async fn index(State(service): State<Arc<Service>>, headers: HeaderMap) -> Result<Response, Refusal> {
    Ok(page::find(service.page.iter(), "")?.answer(&headers))
}

async fn page_file(
    State(service): State<Arc<Service>>,
    Path(file): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    Ok(page::find(service.page.iter(), &file)?.answer(&headers))
}

async fn nothing() -> Refusal {
    Refusal::new(StatusCode::NOT_FOUND, "there is nothing under this path: see /openapi.json")
}

async fn other_method() -> Refusal {
    Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "this path takes another method: see /openapi.json")
}
