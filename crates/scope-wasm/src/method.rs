//! Ways from sensors to fields.

use std::path::Path;

use scope::{
    Device, Network, NetworkOptions, PosteriorOptions, Precision, Recovery,
    data::{Fields, PerChannel},
    model::{Card, WeightFile},
    recovery::Progress,
};
use wasm_bindgen::prelude::*;

use crate::{RecoveredFields, Sensors};

/// A trained network, the exact posterior of a problem that has one, or a linear fit.
#[wasm_bindgen]
pub struct Method {
    recovery: Recovery,
    /// On so many fresh records errors and error bands are measured for every set of sensors.
    fresh_records: Option<usize>,
}

/// What the measurement of errors on fresh records is called among the stages of a recovery.
const MEASURING: &str = "fresh records";

#[wasm_bindgen]
impl Method {
    /// A trained network, from the bytes of its weight file and the text of its card, with the errors and error bands
    /// of the card.
    pub fn network(name: &str, weights: Vec<u8>, card: &str) -> Result<Method, JsError> {
        Self::with_options(name, weights, card, NetworkOptions::default())
    }

    /// The same with errors and error bands that are measured on so many fresh records for the very sensors, which
    /// takes a pass for each of them. Readings may be known to be exact.
    pub fn measuring(
        name: &str,
        weights: Vec<u8>,
        card: &str,
        fresh_records: usize,
        exact_readings: bool,
    ) -> Result<Method, JsError> {
        let noise = exact_readings.then(|| PerChannel::both(0.0));
        let options = NetworkOptions { noise, calibration: Some(fresh_records), ..NetworkOptions::default() };
        Self::with_options(name, weights, card, options)
    }

    /// The exact posterior on `size` x `size` points, with the standard deviation of every pixel if that is asked for,
    /// which takes most of the time.
    pub fn exact(pde: &str, size: usize, deviations: bool) -> Result<Method, JsError> {
        let options = PosteriorOptions { deviations, ..PosteriorOptions::default() };
        Ok(Self::of_posterior(Recovery::exact(pde.parse()?, size, options)?))
    }

    /// Refuses sensors that it cannot use.
    pub fn check(&self, sensors: &Sensors) -> Result<(), JsError> {
        self.recovery.place(&sensors.set).map(drop).map_err(|error| sensors.refusal(&error))
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
        let recovered = self.recovery.recover_fields_first(&sensors.set, &hand_over);
        let recovered = recovered.map_err(|error| sensors.refusal(&error))?;
        Ok(RecoveredFields { recovered, notes: sensors.notes.clone() })
    }

    /// The same where it takes longer, by a posterior or with fresh records: `progress` hears of every stage by name,
    /// and of how much of it is done, from 0 to 1.
    pub fn recover_in_stages(
        &self,
        sensors: &Sensors,
        progress: &js_sys::Function,
    ) -> Result<RecoveredFields, JsError> {
        let tell = |told: Progress| {
            let (stage, done, of) = match told {
                Progress::Posterior { step, .. } => (step.stage.to_string(), step.done, step.of),
                Progress::Bands { records, .. } => {
                    (MEASURING.to_owned(), records, self.fresh_records.unwrap_or(records))
                }
                Progress::Fields { .. } => return true,
            };
            let share = done as f64 / of.max(1) as f64;
            // As above: who hears of it may fail, and the fields are computed all the same.
            let _ = progress.call2(&JsValue::NULL, &stage.into(), &share.into());
            true
        };
        let recovered = self
            .recovery
            .place(&sensors.set)
            .and_then(|problem| self.recovery.recover_all(vec![problem], &tell));
        let mut recovered = recovered.map_err(|error| sensors.refusal(&error))?;
        Ok(RecoveredFields { recovered: recovered.remove(0), notes: sensors.notes.clone() })
    }
}

impl Method {
    fn with_options(
        name: &str,
        weights: Vec<u8>,
        card: &str,
        options: NetworkOptions,
    ) -> Result<Self, JsError> {
        let file = format!("{name}.safetensors");
        let card = Card::parse(Path::new(&format!("{name}.toml")), card)?;
        let weights = WeightFile::parse(Path::new(&file), weights)?;
        let device = Device::all_threads();
        let network = Network::from_file(weights, file, Some(card), &device, Precision::F32)?;
        let fresh_records = options.calibration;
        Ok(Self { recovery: Recovery::with_network(network, options)?, fresh_records })
    }

    /// One without a network.
    pub(crate) fn of_posterior(recovery: Recovery) -> Self {
        Self { recovery, fresh_records: None }
    }
}
