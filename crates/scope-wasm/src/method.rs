//! Ways from sensors to fields.

use std::path::Path;

use scope::{
    Device, Network, NetworkOptions, PosteriorOptions, Precision, Recovery,
    data::Fields,
    model::{Card, WeightFile},
    recovery::Progress,
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

    /// The exact posterior on `size` x `size` points, with the standard deviation of every pixel if that is asked for,
    /// which takes most of the time.
    pub fn exact(pde: &str, size: usize, deviations: bool) -> Result<Method, JsError> {
        let options = PosteriorOptions { deviations, ..PosteriorOptions::default() };
        Ok(Self(Recovery::exact(pde.parse()?, size, options)?))
    }

    /// Refuses sensors that it cannot use.
    pub fn check(&self, sensors: &Sensors) -> Result<(), JsError> {
        self.0.place(&sensors.set).map(drop).map_err(|error| sensors.refusal(&error))
    }

    /// Both fields, and how far to trust them. A network's fields are handed to `first`, as arrays a and u, before that
    /// is known.
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
        let recovered = self.0.recover_fields_first(&sensors.set, &hand_over);
        let recovered = recovered.map_err(|error| sensors.refusal(&error))?;
        Ok(RecoveredFields { recovered, notes: sensors.notes.clone() })
    }

    /// The same by a posterior, which takes longer: `progress` hears of every stage by name, and of how much of it is
    /// done, from 0 to 1.
    pub fn recover_in_stages(
        &self,
        sensors: &Sensors,
        progress: &js_sys::Function,
    ) -> Result<RecoveredFields, JsError> {
        let tell = |told: Progress| {
            if let Progress::Posterior { step, .. } = told {
                let share = step.done as f64 / step.of.max(1) as f64;
                // As above: who hears of it may fail, and the fields are computed all the same.
                let _ = progress.call2(&JsValue::NULL, &step.stage.to_string().into(), &share.into());
            }
            true
        };
        let recovered =
            self.0.place(&sensors.set).and_then(|problem| self.0.recover_all(vec![problem], &tell));
        let mut recovered = recovered.map_err(|error| sensors.refusal(&error))?;
        Ok(RecoveredFields { recovered: recovered.remove(0), notes: sensors.notes.clone() })
    }
}
