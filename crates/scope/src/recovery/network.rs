//! A trained network, and what is known of it.

use std::path::Path;

use scope_data::{Constants, PerChannel, frame::Frame, observation::UserContext};
use scope_engine::Device;
use scope_eval::{MethodError, RecoveryMethod, trust::Known};
use scope_model::{
    Card, Catalogue, Fields, Found, HeldOut, ModelError, Precision, Reconstructor, Training, WeightFile,
    impose_known_facts,
};
use scope_pde::{GridShape, Pde};

use super::summary::MethodSummary;

/// Options of a recovery by a network: the noise of readings, error bands, faulty sensors, coordinates and units.
#[derive(Clone, Copy, Debug, Default)]
pub struct NetworkOptions {
    /// The standard deviations of the readings' errors, in the frame's units, if they are known. A network that was
    /// trained with noise weighs the readings by it; error bands that are measured on the spot count with it whatever
    /// the network is.
    pub noise: Option<PerChannel<f64>>,
    /// The number of fresh records on which errors and error bands are measured for these very sensors; without it they
    /// are taken from the card.
    pub calibration: Option<usize>,
    /// Whether readings that do not fit the others are left out, a tenth of them at most. It takes sixteen more passes
    /// of the network at most.
    pub drop_suspects: bool,
    /// Whether fields are also given as the network gave them, before known facts were imposed.
    pub unprojected: bool,
    /// The coordinates and units of sensors, noise and fields; the default is those of the problem.
    pub frame: Frame,
}

/// A trained network with what is known of it: its card and its errors on held-out records.
///
/// It is opened by [`Recovery::open`](super::Recovery::open), or by itself where a recovery has options, such as the
/// coordinates and units of sensors:
///
/// ```no_run
/// use scope::{Device, Network, NetworkOptions, Recovery, data::frame::StatedFrame};
///
/// let network = Network::open("models/poisson.safetensors", &Device::all_threads())?;
/// let stated = StatedFrame {
///     domain: Some("0,500,0,500".parse()?), // metres
///     scale: Some("u=400".parse()?),
///     ..StatedFrame::default()
/// };
/// let frame = stated.of_problem(network.model.about().pde)?;
/// let recovery = Recovery::with_network(network, NetworkOptions { frame, ..NetworkOptions::default() })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Network {
    /// The network itself.
    pub model: Reconstructor,
    /// Its card, if it has one.
    pub card: Option<Card>,
    /// Its errors on held-out records, if they are known.
    pub held_out: Option<HeldOut>,
    /// The file or name that it was opened by, as messages show it.
    pub place: String,
    /// BLAKE3 of its weight file.
    pub blake3: String,
}

impl Network {
    /// Reads a weight file, with its card if it has one beside it, or the model of a run's folder.
    pub fn open(path: impl AsRef<Path>, device: &Device) -> Result<Self, ModelError> {
        Self::load(&Catalogue::default().find(path)?, device, Precision::F32)
    }

    /// Reads a model that a [`Catalogue`] has found, to compute in a precision.
    pub fn load(found: &Found, device: &Device, precision: Precision) -> Result<Self, ModelError> {
        let file = found.open()?;
        let network = Self::from_file(file, found.shown(), found.card.clone(), device, precision)?;
        Ok(Self { held_out: found.held_out.clone(), ..network })
    }

    /// Makes a network of a weight file in memory and its card, if it has one; `place` is how messages call the file. A
    /// card that is about another file is refused.
    pub fn from_file(
        file: WeightFile,
        place: String,
        card: Option<Card>,
        device: &Device,
        precision: Precision,
    ) -> Result<Self, ModelError> {
        let blake3 = file.hash();
        if let Some(card) = card.as_ref().filter(|card| card.weights.blake3 != blake3) {
            let expected = card.weights.blake3.clone();
            return Err(ModelError::Changed { path: place.into(), expected, got: blake3 });
        }
        let model = Reconstructor::from_file(file, device, precision)?;
        let held_out = card.as_ref().map(|card| card.held_out.clone());
        Ok(Self { model, card, held_out, place, blake3 })
    }

    /// Whether fresh records of the problem's own solver say something of its errors.
    pub(super) fn is_of_fresh_records(&self) -> bool {
        let about = self.model.about();
        Training::is_of_fresh_records(about.training.as_ref(), about.pde)
    }

    /// Whether it was trained on records that no solver of ours has made, under the name of a problem that has one.
    pub(super) fn is_of_imported_records(&self) -> bool {
        self.model.about().pde.makes_fresh_records() && !self.is_of_fresh_records()
    }

    /// What is known of it besides its weights.
    pub(super) fn known(&self) -> Known<'_> {
        Known {
            training: self.model.about().training.as_ref(),
            card: self.card.as_ref(),
            held_out: self.held_out.as_ref(),
            ..Known::default()
        }
    }

    /// The noise that the network is told of, in units of each field's standard deviation: none if it was trained on
    /// exact readings.
    pub(super) fn told(&self, noise: PerChannel<f64>) -> PerChannel<f64> {
        if self.known().noise_trained().is_none() {
            return PerChannel::both(0.0);
        }
        noise.zip(self.model.about().constants).map(|(noise, scaling)| noise / scaling.sigma)
    }

    pub(super) fn summary(&self) -> MethodSummary {
        let about = self.model.about();
        MethodSummary {
            pde: about.pde,
            constants: about.constants,
            resolution: about.config.resolution(),
            frame: Frame::default(),
            is_posterior: false,
            makes_fresh_records: self.is_of_fresh_records(),
            name: self.card.as_ref().map_or("unnamed", |card| &card.name).to_owned(),
            file: self.place.clone(),
            blake3: Some(self.blake3.clone()),
            held_out_records: self.held_out.as_ref().map(|held_out| held_out.records),
            held_out_origin: self.held_out.as_ref().map(|held_out| held_out.origin.clone()),
        }
    }
}

/// A network and what is known of its problem's fields: what a recovery gives, as a method.
pub(super) struct Imposed<'a>(pub(super) &'a Reconstructor);

impl Imposed<'_> {
    /// The fields of sensors.
    pub(super) fn of_sensors(&self, contexts: &mut [UserContext]) -> Result<Vec<Fields>, ModelError> {
        let mut fields = self.0.recover_sensors(contexts)?;
        for (context, fields) in contexts.iter().zip(&mut fields) {
            impose_known_facts(self.0.about().pde, context, fields);
        }
        Ok(fields)
    }
}

impl RecoveryMethod for Imposed<'_> {
    fn pde(&self) -> Pde {
        self.0.about().pde
    }

    fn constants(&self) -> Constants {
        self.0.about().constants
    }

    fn resolution(&self) -> GridShape {
        self.0.about().config.resolution()
    }

    fn recover(&self, contexts: &[f32]) -> Result<Vec<Fields>, MethodError> {
        Ok(self.0.recover(contexts)?)
    }

    fn recover_sensors(&self, contexts: &mut [UserContext]) -> Result<Vec<Fields>, MethodError> {
        Ok(self.of_sensors(contexts)?)
    }
}
