//! Zarr, version 2, in a zip archive: a description in JSON for each array, and its numbers in one chunk, not
//! compressed. xarray reads names of dimensions from the attribute `_ARRAY_DIMENSIONS`.

use std::{collections::BTreeMap, io};

use serde_json::{Map, Value, json};

use super::{Attributes, LabelledArrays, Values};
use crate::npz::stored_archive;

pub(super) fn bytes(arrays: &LabelledArrays) -> io::Result<Vec<u8>> {
    let mut described = BTreeMap::from([
        (".zgroup".to_owned(), json!({"zarr_format": 2})),
        (".zattrs".to_owned(), Value::Object(object(&arrays.attributes))),
    ]);
    let mut files = BTreeMap::new();
    for variable in &arrays.variables {
        let name = &variable.name;
        let shape = arrays.shape(variable);
        let dimensions: Vec<&str> =
            variable.dimensions.iter().map(|dimension| arrays.dimensions[*dimension].0).collect();
        let mut attributes = object(&variable.attributes);
        attributes.insert("_ARRAY_DIMENSIONS".to_owned(), json!(dimensions));
        described.insert(format!("{name}/.zattrs"), Value::Object(attributes));
        let (dtype, bytes) = little_endian(&variable.values);
        let array = json!({
            "zarr_format": 2, "shape": shape, "chunks": shape, "dtype": dtype, "order": "C",
            "compressor": null, "filters": null, "fill_value": null,
        });
        described.insert(format!("{name}/.zarray"), array);
        files.insert(format!("{name}/{}", vec!["0"; shape.len()].join(".")), bytes);
    }
    // All descriptions once more in one place, which readers look at first.
    let together = json!({"zarr_consolidated_format": 1, "metadata": described});
    described.insert(".zmetadata".to_owned(), together);
    for (name, value) in described {
        files.insert(name, serde_json::to_vec_pretty(&value)?);
    }
    stored_archive(&files)
}

fn object(attributes: &Attributes) -> Map<String, Value> {
    attributes.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect()
}

fn little_endian(values: &Values) -> (&'static str, Vec<u8>) {
    match values {
        Values::Bytes(values) => ("|i1", values.iter().map(|value| *value as u8).collect()),
        Values::Single(values) => ("<f4", values.iter().flat_map(|value| value.to_le_bytes()).collect()),
        Values::Double(values) => ("<f8", values.iter().flat_map(|value| value.to_le_bytes()).collect()),
    }
}
