//! Recovered fields as JSON, npy or npz.

use std::collections::BTreeMap;

use axum::{
    body::Body,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use scope::{
    Recovered,
    data::{
        Fields, GridShape,
        npy::{Dtype, Header},
        npz::stored_archive,
    },
    recovery::{ProblemSummary, Summary},
};
use serde::Serialize;

use crate::refusal::Refusal;

/// What an answer is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// npy: a and u alone, \[2, rows, columns\] or \[problems, 2, rows, columns\].
    Fields,
    /// Every array of a result folder, and its summary.
    Everything(Container),
}

/// What holds arrays and a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Container {
    Json,
    Npz,
}

impl Format {
    /// The first of those that a request accepts.
    pub(crate) fn accepted(headers: &HeaderMap) -> Result<Self, Refusal> {
        let mut accepted =
            headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok()).peekable();
        if accepted.peek().is_none() {
            return Ok(Format::Everything(Container::Json));
        }
        let kinds = accepted.flat_map(|value| value.split(','));
        let named = |kind: &str| match kind.split(';').next().unwrap_or_default().trim() {
            "application/json" | "application/*" | "*/*" => Some(Format::Everything(Container::Json)),
            "application/x-npy" => Some(Format::Fields),
            "application/x-npz" | "application/zip" => Some(Format::Everything(Container::Npz)),
            _ => None,
        };
        let none =
            "an answer can be application/json, application/x-npy or application/x-npz: accept one of them";
        kinds.into_iter().find_map(named).ok_or_else(|| Refusal::new(StatusCode::NOT_ACCEPTABLE, none))
    }
}

/// The arrays of one recovery by name, each \[rows, columns\].
pub(crate) fn arrays(recovered: &Recovered) -> BTreeMap<String, &[f32]> {
    let arrays = recovered.arrays().into_iter();
    arrays.map(|(file, fields)| (file.trim_end_matches(".npy").to_owned(), fields[0])).collect()
}

/// What is said of recoveries: a result folder's summary.json.
pub(crate) fn summary(recovered: &[Recovered], notes: &[String]) -> Summary {
    let problems = recovered.iter().map(ProblemSummary::from).collect();
    Summary::new(&recovered[0].method, "the request", notes, problems)
}

/// The answer to a request for all that is said of one problem or more.
pub(crate) fn everything(
    container: Container,
    recovered: &[Recovered],
    notes: &[String],
) -> Result<Response, Refusal> {
    Ok(match container {
        Container::Json => response("application/json", json(recovered, notes)?),
        Container::Npz => response("application/x-npz", npz(recovered, notes)?),
    })
}

/// The answer to a request for the fields of one problem or more.
pub(crate) fn fields(all: &[Fields], grid: GridShape) -> Response {
    let mut bytes = header_of(all.len(), Some(2), grid);
    bytes.reserve_exact(all.len() * 2 * size_of::<f32>() * grid.points());
    for fields in all {
        fields.iter().for_each(|field| bytes.extend(field.iter().flat_map(|x| x.to_le_bytes())));
    }
    response("application/x-npy", bytes)
}

fn response(kind: &'static str, bytes: Vec<u8>) -> Response {
    ([(header::CONTENT_TYPE, HeaderValue::from_static(kind))], Body::from(bytes)).into_response()
}

#[derive(Serialize)]
struct Answer<'a> {
    #[serde(flatten)]
    summary: Summary,
    /// Of each problem the arrays by name, a row after the other.
    fields: Vec<BTreeMap<String, Vec<&'a [f32]>>>,
}

fn json(recovered: &[Recovered], notes: &[String]) -> Result<Vec<u8>, Refusal> {
    fn rows(one: &Recovered) -> BTreeMap<String, Vec<&[f32]>> {
        let columns = one.method.resolution.columns;
        arrays(one).into_iter().map(|(name, field)| (name, field.chunks(columns).collect())).collect()
    }
    let fields = recovered.iter().map(rows).collect();
    serde_json::to_vec(&Answer { summary: summary(recovered, notes), fields }).map_err(Refusal::fault)
}

/// A header of so many problems, fields and points, without an axis of length one before the points.
fn header_of(problems: usize, fields: Option<usize>, grid: GridShape) -> Vec<u8> {
    let mut shape = Vec::new();
    shape.extend((problems != 1).then_some(problems));
    shape.extend(fields);
    shape.extend(grid.lengths());
    Header::new(Dtype::F32, &shape).to_bytes()
}

fn npz(recovered: &[Recovered], notes: &[String]) -> Result<Vec<u8>, Refusal> {
    let all: Vec<BTreeMap<String, &[f32]>> = recovered.iter().map(arrays).collect();
    let grid = recovered[0].method.resolution;
    let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for name in all.iter().flat_map(BTreeMap::keys) {
        files.entry(format!("{name}.npy")).or_insert_with(|| {
            let mut bytes = header_of(recovered.len(), None, grid);
            for one in &all {
                match one.get(name) {
                    Some(field) => bytes.extend(field.iter().flat_map(|x| x.to_le_bytes())),
                    // An array that only other problems have.
                    None => {
                        bytes.extend(std::iter::repeat_n(f32::NAN.to_le_bytes(), grid.points()).flatten())
                    }
                }
            }
            bytes
        });
    }
    let summary = serde_json::to_vec_pretty(&summary(recovered, notes)).map_err(Refusal::fault)?;
    files.insert("summary.json".to_owned(), summary);
    stored_archive(&files).map_err(Refusal::fault)
}
