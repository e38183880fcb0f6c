//! The entry of ours in a weight file's header: what the file says about its model.

use scope_data::{Constants, Scaling};
use scope_pde::Pde;
use serde::{Deserialize, Serialize};

use crate::{
    architecture::Architecture,
    config::ModelConfig,
    operators::{CONTEXT, FIELDS},
    provenance::Training,
};

/// The key of our entry in the header's metadata.
pub(super) const KEY: &str = "scope";
/// The version of the entry's layout.
const FORMAT: u32 = 1;

/// What a weight file says about its model.
#[derive(Clone, Debug, PartialEq)]
pub struct About {
    /// The problem it was trained for.
    pub pde: Pde,
    /// How its fields are normalised.
    pub constants: Constants,
    /// Which network it is, and its sizes.
    pub config: Architecture,
    /// How it was trained, if it was.
    pub training: Option<Training>,
}

/// The entry as it is written.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    format: u32,
    /// A name, or the whole of a problem of one's own.
    pde: serde_json::Value,
    a: Scaling,
    u: Scaling,
    config: Architecture,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    training: Option<Training>,
}

impl About {
    pub(crate) fn parse(entry: &str) -> Result<Self, String> {
        let version: serde_json::Value =
            serde_json::from_str(entry).map_err(|error| format!("its \"{KEY}\" entry: {error}"))?;
        match version.get("format").and_then(serde_json::Value::as_u64) {
            Some(format) if format == u64::from(FORMAT) => {}
            other => return Err(format!("its format is {other:?}, this program reads {FORMAT}")),
        }
        let entry: Entry =
            serde_json::from_value(version).map_err(|error| format!("its \"{KEY}\" entry: {error}"))?;
        let pde = Pde::deserialize(entry.pde).map_err(|error| format!("its PDE: {error}"))?;
        for scaling in [entry.a, entry.u] {
            if !(scaling.mean.is_finite() && scaling.sigma.is_finite() && scaling.sigma > 0.0) {
                return Err(format!("its normalisation is impossible: {scaling:?}"));
            }
        }
        entry.config.validate().map_err(|error| format!("its sizes: {error}"))?;
        if pde.descriptor().shape.is_some() {
            pde.require_grid(entry.config.resolution()).map_err(|error| format!("its sizes: {error}"))?;
        }
        if let Some(ModelConfig { fields, context_channels, .. }) = entry.config.scope()
            && (*fields, *context_channels) != (FIELDS, CONTEXT)
        {
            return Err(format!(
                "it recovers {fields} fields from {context_channels} channels, and ours {FIELDS} from {CONTEXT}"
            ));
        }
        let checked = entry.training.as_ref().map_or(Ok(()), Training::check);
        checked.map_err(|problem| format!("its training: {problem}"))?;
        let constants = Constants { a: entry.a, u: entry.u };
        Ok(Self { pde, constants, config: entry.config, training: entry.training })
    }

    pub(crate) fn write(&self) -> String {
        let Constants { a, u } = self.constants;
        let pde = serde_json::json!(self.pde);
        let config = self.config.clone();
        serde_json::json!(Entry { format: FORMAT, pde, a, u, config, training: self.training.clone() })
            .to_string()
    }
}
