//! What recovers fields.

use scope_data::{
    Constants,
    observation::{Sensor, SensorError, UserContext},
};
use scope_engine::Dtype;
use scope_eval::trust::Known;
use scope_model::{Fields, Found, Precision, Reconstructor};
use scope_pde::{Pde, cylinder::Disk};

use crate::commands::{device::DeviceArguments, models};

/// A way from sensors to fields. Another one is another variant.
pub(super) enum Method {
    /// One pass of a trained network.
    Network { model: Box<Reconstructor>, found: Box<Found>, blake3: String },
}

/// What a method makes of a context.
pub(super) struct Recovered {
    pub(super) fields: Fields,
    /// The standard deviation of every pixel, where the method knows it.
    pub(super) deviation: Option<Fields>,
}

impl Method {
    /// A trained network, by name, folder or file.
    pub(super) fn network(name: &str, device: &DeviceArguments) -> anyhow::Result<Self> {
        let found = models::catalogue().find(name)?;
        let file = found.open()?;
        let device = device.open_for(&file.about.config)?;
        let precision = match device.training_precision() {
            Dtype::Bf16 => Precision::Bf16,
            _ => Precision::F32,
        };
        let model = Reconstructor::from_file(file, &device, precision)?;
        let blake3 = found.hash()?;
        Ok(Self::Network { model: Box::new(model), found: Box::new(found), blake3 })
    }

    pub(super) fn pde(&self) -> Pde {
        match self {
            Method::Network { model, .. } => model.about().pde,
        }
    }

    pub(super) fn constants(&self) -> Constants {
        match self {
            Method::Network { model, .. } => model.about().constants,
        }
    }

    pub(super) fn resolution(&self) -> usize {
        match self {
            Method::Network { model, .. } => model.about().config.resolution(),
        }
    }

    /// What is known of it besides what it computes.
    pub(super) fn known(&self) -> Known<'_> {
        match self {
            Method::Network { model, found, .. } => Known {
                training: model.about().training.as_ref(),
                card: found.card.as_ref(),
                held_out: found.held_out.as_ref(),
            },
        }
    }

    /// Its name, where it is, and its hash.
    pub(super) fn identity(&self) -> [String; 3] {
        match self {
            Method::Network { found, blake3, .. } => {
                [found.name().unwrap_or("unnamed").to_owned(), found.shown(), blake3.clone()]
            }
        }
    }

    /// Puts sensors on its grid.
    pub(super) fn place(&self, sensors: &[Sensor], disk: Option<&Disk>) -> Result<UserContext, SensorError> {
        UserContext::new(self.pde(), &self.constants(), self.resolution(), sensors, disk)
    }

    /// Recovers the fields of contexts; none depends on the others.
    pub(super) fn recover(&self, contexts: &[&UserContext]) -> anyhow::Result<Vec<Recovered>> {
        match self {
            Method::Network { model, .. } => {
                let contexts: Vec<f32> = contexts.iter().flat_map(|context| context.context()).collect();
                let fields = model.recover(&contexts)?;
                Ok(fields.into_iter().map(|fields| Recovered { fields, deviation: None }).collect())
            }
        }
    }
}
