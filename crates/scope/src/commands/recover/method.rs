//! What recovers fields.

use scope_data::{
    Constants,
    observation::{Sensor, SensorError, UserContext},
};
use scope_engine::Dtype;
use scope_eval::trust::Known;
use scope_model::{Fields, Found, Precision, Reconstructor};
use scope_pde::{Pde, cylinder::Disk};

use super::exact::ExactMethod;
use crate::commands::{device::DeviceArguments, models};

/// A way from sensors to fields. Another one is another variant.
pub(super) enum Method {
    /// One pass of a trained network.
    Network { model: Box<Reconstructor>, found: Box<Found>, blake3: String },
    /// The exact posterior, where it exists.
    Exact(Box<ExactMethod>),
}

/// What a method makes of a context.
pub(super) struct Recovered {
    pub(super) fields: Fields,
    /// The standard deviation of every pixel, where the method knows it.
    pub(super) deviation: Option<Fields>,
    /// Draws from the distribution of the fields, where the method has one and they were asked for.
    pub(super) samples: Vec<Fields>,
    /// What the method itself has to say against it.
    pub(super) remarks: Vec<String>,
}

impl Recovered {
    /// The fields of each file that [`Method::arrays`] names, in its order.
    pub(super) fn arrays(&self) -> Vec<Vec<&[f32]>> {
        let mut arrays: Vec<Vec<&[f32]>> = Vec::new();
        for fields in [Some(&self.fields), self.deviation.as_ref()].into_iter().flatten() {
            arrays.extend([vec![&fields.a[..]], vec![&fields.u[..]]]);
        }
        if !self.samples.is_empty() {
            arrays.push(self.samples.iter().map(|sample| &sample.a[..]).collect());
            arrays.push(self.samples.iter().map(|sample| &sample.u[..]).collect());
        }
        arrays
    }
}

impl Method {
    /// A trained network, by name, folder or file.
    pub(super) fn network(name: &str, device: &DeviceArguments) -> anyhow::Result<Self> {
        let found = models::catalogue().find(name)?;
        let file = found.open()?;
        let device = device.open()?;
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
            Method::Exact(method) => method.pde(),
        }
    }

    pub(super) fn constants(&self) -> Constants {
        match self {
            Method::Network { model, .. } => model.about().constants,
            Method::Exact(method) => method.constants(),
        }
    }

    pub(super) fn resolution(&self) -> usize {
        match self {
            Method::Network { model, .. } => model.about().config.resolution(),
            Method::Exact(method) => method.resolution(),
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
            Method::Exact(_) => Known::default(),
        }
    }

    /// The files it fills, and how many fields of a problem each holds if that is more than one.
    pub(super) fn arrays(&self) -> Vec<(&'static str, Option<usize>)> {
        let mut names = vec![("a.npy", None), ("u.npy", None)];
        if let Method::Exact(method) = self {
            names.extend([("a_sd.npy", None), ("u_sd.npy", None)]);
            if method.samples() > 0 {
                names.extend(["a_samples.npy", "u_samples.npy"].map(|name| (name, Some(method.samples()))));
            }
        }
        names
    }

    /// Its name, where it is or what it is, and the hash of its file.
    pub(super) fn identity(&self) -> (String, String, Option<String>) {
        match self {
            Method::Network { found, blake3, .. } => {
                (found.name().unwrap_or("unnamed").to_owned(), found.shown(), Some(blake3.clone()))
            }
            Method::Exact(method) => ("exact".to_owned(), method.describe(), None),
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
                let alone =
                    |fields| Recovered { fields, deviation: None, samples: Vec::new(), remarks: Vec::new() };
                Ok(fields.into_iter().map(alone).collect())
            }
            Method::Exact(method) => contexts.iter().map(|context| method.recover(context)).collect(),
        }
    }
}
