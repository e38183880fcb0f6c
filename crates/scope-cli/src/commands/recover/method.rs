//! What recovers fields.

use scope_data::{
    Constants,
    observation::{Sensor, SensorError, UserContext},
};
use scope_eval::trust::{Known, Trust};
use scope_model::{Fields, Found, Precision, Reconstructor};
use scope_pde::{Pde, cylinder::Disk};

use super::{
    bands::{BandSource, RecoveredBands},
    exact::ExactMethod,
    watch::Watch,
};
use crate::commands::{device::DeviceArguments, models, noise::StatedNoise};

/// A way from sensors to fields. Another one is another variant.
pub(super) enum Method {
    /// One pass of a trained network, and bands about what it gives.
    Network(Box<Network>),
    /// The exact posterior, where it exists.
    Exact(Box<ExactMethod>),
}

/// A trained network.
pub(super) struct Network {
    model: Reconstructor,
    found: Found,
    blake3: String,
    bands: BandSource,
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
    /// Measured bands of a network, or why there are none.
    pub(super) bands: Option<Result<RecoveredBands, String>>,
}

impl Recovered {
    fn alone(fields: Fields) -> Self {
        Self { fields, deviation: None, samples: Vec::new(), remarks: Vec::new(), bands: None }
    }

    /// Files and the fields that each holds.
    pub(super) fn arrays<'a>(&'a self) -> Vec<(String, Vec<&'a [f32]>)> {
        let mut kinds: Vec<(String, Vec<&Fields>)> = vec![(String::new(), vec![&self.fields])];
        kinds.extend(self.deviation.iter().map(|deviation| ("_sd".to_owned(), vec![deviation])));
        if !self.samples.is_empty() {
            kinds.push(("_samples".to_owned(), self.samples.iter().collect()));
        }
        if let Some(Ok(bands)) = &self.bands {
            let levels = bands.summary.levels.iter().zip(&bands.half_widths);
            kinds.extend(levels.map(|(level, widths)| (format!("_band{:.0}", 100.0 * level), vec![widths])));
        }
        let both = |(kind, fields): (String, Vec<&'a Fields>)| {
            let a = fields.iter().map(|fields| &fields.a[..]).collect();
            let u = fields.iter().map(|fields| &fields.u[..]).collect();
            [(format!("a{kind}.npy"), a), (format!("u{kind}.npy"), u)]
        };
        kinds.into_iter().flat_map(both).collect()
    }

    /// How far the fields may be off, to be drawn: what it is, and its values.
    pub(super) fn spread(&self) -> Option<(String, &Fields)> {
        match (&self.deviation, &self.bands) {
            (Some(deviation), _) => Some(("standard deviation".to_owned(), deviation)),
            (None, Some(Ok(bands))) => Some((
                format!("{:.0}% band, half-width", 100.0 * bands.summary.levels[0]),
                &bands.half_widths[0],
            )),
            _ => None,
        }
    }
}

impl Method {
    /// A trained network, by name, folder or file.
    pub(super) fn network(
        name: &str,
        device: &DeviceArguments,
        calibrate: Option<usize>,
        noise: Option<StatedNoise>,
    ) -> anyhow::Result<Self> {
        let found = models::catalogue().find(name)?;
        let file = found.open()?;
        let blake3 = file.hash();
        let device = device.open()?;
        let model = Reconstructor::from_file(file, &device, Precision::F32)?;
        let noise = noise.map_or([0.0; 2], |noise| noise.physical(&model.about().constants));
        let bands = BandSource::new(&model, found.card.as_ref(), calibrate, noise)?;
        Ok(Self::Network(Box::new(Network { model, found, blake3, bands })))
    }

    pub(super) fn pde(&self) -> Pde {
        match self {
            Method::Network(network) => network.model.about().pde,
            Method::Exact(method) => method.pde(),
        }
    }

    pub(super) fn constants(&self) -> Constants {
        match self {
            Method::Network(network) => network.model.about().constants,
            Method::Exact(method) => method.constants(),
        }
    }

    pub(super) fn resolution(&self) -> usize {
        match self {
            Method::Network(network) => network.model.about().config.resolution(),
            Method::Exact(method) => method.resolution(),
        }
    }

    /// What is known of it besides what it computes.
    pub(super) fn known(&self) -> Known<'_> {
        match self {
            Method::Network(network) => Known {
                training: network.model.about().training.as_ref(),
                card: network.found.card.as_ref(),
                held_out: network.found.held_out.as_ref(),
            },
            Method::Exact(_) => Known::default(),
        }
    }

    /// Its name, where it is or what it is, and the hash of its file.
    pub(super) fn identity(&self) -> (String, String, Option<String>) {
        match self {
            Method::Network(network) => {
                let name = network.found.name().unwrap_or("unnamed").to_owned();
                (name, network.found.shown(), Some(network.blake3.clone()))
            }
            Method::Exact(method) => ("exact".to_owned(), method.describe(), None),
        }
    }

    /// Puts sensors on its grid.
    pub(super) fn place(&self, sensors: &[Sensor], disk: Option<&Disk>) -> Result<UserContext, SensorError> {
        UserContext::new(self.pde(), &self.constants(), self.resolution(), sensors, disk)
    }

    /// Recovers the fields of contexts; none depends on the others. A network's sensors are carried to their pixels;
    /// local fits of them, if it sees any, are of where they are.
    pub(super) fn recover(
        &self,
        contexts: &mut [UserContext],
        watch: &Watch,
    ) -> anyhow::Result<Vec<Recovered>> {
        match self {
            Method::Network(network) => {
                let fields = network.model.recover_sensors(contexts)?;
                Ok(fields.into_iter().map(Recovered::alone).collect())
            }
            Method::Exact(method) => {
                let recover = |context: &UserContext| {
                    watch.require_patience()?;
                    method.recover(context)
                };
                contexts.iter().map(recover).collect()
            }
        }
    }

    /// Puts bands about a recovery, or says why not. The exact posterior has standard deviations
    /// instead.
    pub(super) fn band(
        &self,
        recovered: &mut Recovered,
        context: &UserContext,
        trust: &Trust,
        progress: &dyn Fn(usize) -> bool,
    ) -> anyhow::Result<()> {
        if let Method::Network(network) = self {
            let Network { model, bands, .. } = network.as_ref();
            recovered.bands = Some(bands.of(model, context, &recovered.fields, trust, progress)?);
        }
        Ok(())
    }
}
