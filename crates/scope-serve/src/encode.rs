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
    Json,
    /// a and u alone: \[2, rows, columns\], or \[problems, 2, rows, columns\].
    Npy,
    /// Every array of a result folder, and its summary.
    Npz,
}

impl Format {
    /// The first of those that a request accepts.
    pub(crate) fn accepted(headers: &HeaderMap) -> Result<Self, Refusal> {
        let mut accepted =
            headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok()).peekable();
        if accepted.peek().is_none() {
            return Ok(Format::Json);
        }
        let kinds = accepted.flat_map(|value| value.split(','));
        let named = |kind: &str| match kind.split(';').next().unwrap_or_default().trim() {
            "application/json" | "application/*" | "*/*" => Some(Format::Json),
            "application/x-npy" => Some(Format::Npy),
            "application/x-npz" | "application/zip" => Some(Format::Npz),
            _ => None,
        };
        let none =
            "an answer can be application/json, application/x-npy or application/x-npz: accept one of them";
        kinds.into_iter().find_map(named).ok_or_else(|| Refusal::new(StatusCode::NOT_ACCEPTABLE, none))
    }

    fn kind(self) -> &'static str {
        match self {
            Format::Json => "application/json",
            Format::Npy => "application/x-npy",
            Format::Npz => "application/x-npz",
        }
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

/// The answer to a request for fields of one problem or more.
pub(crate) fn answer(format: Format, recovered: &[Recovered], notes: &[String]) -> Result<Response, Refusal> {
    let bytes = match format {
        Format::Json => json(recovered, notes)?,
        Format::Npy => npy(recovered),
        Format::Npz => npz(recovered, notes)?,
    };
    let kind = HeaderValue::from_static(format.kind());
    Ok(([(header::CONTENT_TYPE, kind)], Body::from(bytes)).into_response())
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
fn header_of(problems: usize, fields: Option<usize>, recovered: &Recovered) -> Vec<u8> {
    let mut shape = Vec::new();
    shape.extend((problems != 1).then_some(problems));
    shape.extend(fields);
    shape.extend(recovered.method.resolution.lengths());
    Header::new(Dtype::F32, &shape).to_bytes()
}

fn npy(recovered: &[Recovered]) -> Vec<u8> {
    let mut bytes = header_of(recovered.len(), Some(2), &recovered[0]);
    for one in recovered {
        bytes.extend(one.fields.a.iter().chain(one.fields.u.iter()).flat_map(|x| x.to_le_bytes()));
    }
    bytes
}

fn npz(recovered: &[Recovered], notes: &[String]) -> Result<Vec<u8>, Refusal> {
    let all: Vec<BTreeMap<String, &[f32]>> = recovered.iter().map(arrays).collect();
    let points = recovered[0].method.resolution.points();
    let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for name in all.iter().flat_map(BTreeMap::keys) {
        files.entry(format!("{name}.npy")).or_insert_with(|| {
            let mut bytes = header_of(recovered.len(), None, &recovered[0]);
            for one in &all {
                match one.get(name) {
                    Some(field) => bytes.extend(field.iter().flat_map(|x| x.to_le_bytes())),
                    // An array that only other problems have.
                    None => bytes.extend(std::iter::repeat_n(f32::NAN.to_le_bytes(), points).flatten()),
                }
            }
            bytes
        });
    }
    let summary = serde_json::to_vec_pretty(&summary(recovered, notes)).map_err(Refusal::fault)?;
    files.insert("summary.json".to_owned(), summary);
    stored_archive(&files).map_err(Refusal::fault)
}
