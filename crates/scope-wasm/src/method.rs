//! Ways from sensors to fields.

use std::path::Path;

use scope::{
    Device, Network, NetworkOptions, PosteriorOptions, Precision, Recovery, RecoveryError,
    data::Fields,
    model::{Card, WeightFile},
};
use wasm_bindgen::prelude::*;

use crate::{RecoveredFields, Sensors};

/// A trained network, the exact posterior of a problem that has one, or a linear fit.
#[wasm_bindgen]
pub struct Method(pub(crate) Recovery);

#[wasm_bindgen]
impl Method {
    /// A trained network, from the bytes of its weight file and the text of its card.
    pub fn network(name: &str, weights: Vec<u8>, card: &str) -> Result<Method, JsError> {
        let file = format!("{name}.safetensors");
        let card = Card::parse(Path::new(&format!("{name}.toml")), card)?;
        let weights = WeightFile::parse(Path::new(&file), weights)?;
        let device = Device::all_threads();
        let network = Network::from_file(weights, file, Some(card), &device, Precision::F32)?;
        Ok(Self(Recovery::with_network(network, NetworkOptions::default())?))
    }

    /// The exact posterior on `size` x `size` points, with the standard deviation of every pixel if that is asked for, which takes most
    /// of the time.
    pub fn exact(pde: &str, size: usize, deviations: bool) -> Result<Method, JsError> {
        let options = PosteriorOptions { deviations, ..PosteriorOptions::default() };
        Ok(Self(Recovery::exact(pde.parse()?, size, options)?))
    }

    /// Both fields, and how far to trust them. A network's fields are handed to `first`, as arrays a and u, before that is known.
    pub fn recover(
        &self,
        sensors: &Sensors,
        first: Option<js_sys::Function>,
    ) -> Result<RecoveredFields, JsError> {
        let hand_over = |fields: Fields| {
            let [a, u] = [&fields.a, &fields.u].map(|field| js_sys::Float32Array::from(&field[..]));
            // What the page makes of them is not this crate's concern.
            let _ = first.as_ref().map(|first| first.call2(&JsValue::NULL, &a, &u));
        };
        let recovered =
            self.0.recover_fields_first(&sensors.set, &hand_over).map_err(|error| match error {
                RecoveryError::NothingMeasured | RecoveryError::NoGeometry(_) => JsError::from(error),
                error => JsError::new(&error.describe(|sensor| sensors.set.label(sensor))),
            })?;
        Ok(RecoveredFields { recovered, notes: sensors.notes.clone() })
    }
}
