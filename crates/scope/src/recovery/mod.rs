//! Recovering fields: sensors in; fields, error bands, trust and warnings out.
//!
//! A [`Recovery`] is a way from sensors to fields: one pass of a trained [`Network`], or the exact posterior of a problem
//! that has one. [`Recovery::recover`] is the whole job for one set of sensors. It computes and nothing else: it writes no
//! file, starts no thread of its own and reads no clock. What it returns, a [`Recovered`], can be written as a folder.

mod bands;
mod error;
mod exact;
mod folder;
mod network;
mod picture;
mod problem;
mod recovered;
mod remark;
mod summary;
mod two_valued;
mod without_bands;

use std::{path::Path, sync::Arc};

use scope_data::{Constants, DataError, observation::UserContext, sensors::SensorSet};
use scope_engine::Device;
use scope_eval::trust::{ExactLimit, Known, Trust, Warning};
use scope_exact::{NO_NOISE, Step};
use scope_model::{Fields, impose_known_facts};
use scope_pde::Pde;

pub use bands::{BandSummary, ErrorBands};
pub use error::RecoveryError;
pub use exact::ExactOptions;
pub use folder::ResultFolder;
pub use network::{Network, NetworkOptions};
pub use picture::{Truth, picture_rows};
pub use problem::Problem;
pub use recovered::{Recovered, Uncertainty};
pub use remark::Remark;
pub use summary::{MethodSummary, ProblemSummary, Summary};
pub use two_valued::{TwoValued, TwoValuedSummary};
pub use without_bands::{WithoutBands, WithoutBandsReason};

use bands::BandSource;
use exact::Exact;

/// How far a recovery has come, of several problems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The fields of so many problems are recovered; nothing is known yet of how far to trust them.
    Fields {
        /// How many.
        problems: usize,
    },
    /// The exact posterior of a problem is being computed.
    Posterior {
        /// How many problems are done.
        problems: usize,
        /// How far the next one has come.
        step: Step,
    },
    /// Error bands are being measured on fresh records.
    Bands {
        /// How many problems are done.
        problems: usize,
        /// On how many fresh records those of the next one have been measured.
        records: usize,
    },
}

/// A way from sensors to fields.
pub struct Recovery {
    method: Method,
    summary: Arc<MethodSummary>,
}

/// What recovers fields. Another way is another variant.
enum Method {
    /// One pass of a trained network, and error bands about what it gives.
    Network(Box<BandedNetwork>),
    /// The exact posterior, where it exists.
    Exact(Box<Exact>),
}

/// A network with the bands about what it gives.
struct BandedNetwork {
    network: Network,
    bands: BandSource,
    unprojected: bool,
}

impl Recovery {
    /// A trained network: a weight file, with its card if it has one beside it, or the folder of a run.
    pub fn open(path: impl AsRef<Path>, device: &Device) -> Result<Self, RecoveryError> {
        Self::with_network(Network::open(path, device)?, NetworkOptions::default())
    }

    /// A trained network at hand.
    pub fn with_network(network: Network, options: NetworkOptions) -> Result<Self, RecoveryError> {
        let unprojected = options.unprojected;
        let bands = BandSource::new(&network, options)?;
        let summary = Arc::new(network.summary());
        Ok(Self { method: Method::Network(Box::new(BandedNetwork { network, bands, unprojected })), summary })
    }

    /// The exact posterior of Poisson, Helmholtz or the first field of Navier-Stokes. It needs no network.
    pub fn exact(pde: Pde, options: ExactOptions) -> Result<Self, RecoveryError> {
        let exact = Exact::new(pde, options)?;
        let summary = Arc::new(exact.summary());
        Ok(Self { method: Method::Exact(Box::new(exact)), summary })
    }

    /// The problem it is for.
    pub fn pde(&self) -> Pde {
        self.summary.pde
    }

    /// How values are scaled.
    pub fn constants(&self) -> Constants {
        self.summary.constants
    }

    /// The side S of its grid.
    pub fn resolution(&self) -> usize {
        self.summary.resolution
    }

    /// What it is.
    pub fn summary(&self) -> &Arc<MethodSummary> {
        &self.summary
    }

    /// Recovers both fields from sensors, and says how far to trust them.
    pub fn recover(&self, sensors: &SensorSet) -> Result<Recovered, RecoveryError> {
        let problem = self.place(sensors)?;
        Ok(self.recover_all(vec![problem], &|_| true)?.remove(0))
    }

    /// Puts sensors on the grid, and refuses those that cannot be used.
    pub fn place(&self, sensors: &SensorSet) -> Result<Problem, RecoveryError> {
        Problem::place(&self.summary, sensors)
    }

    /// Recovers several problems, which is faster than one after the other; none depends on the others. `progress` hears how
    /// far it has come, and says whether to go on.
    pub fn recover_all(
        &self,
        problems: Vec<Problem>,
        progress: &(dyn Fn(Progress) -> bool + Sync),
    ) -> Result<Vec<Recovered>, RecoveryError> {
        match &self.method {
            Method::Network(network) => self.recover_with_network(network, problems, progress),
            Method::Exact(exact) => self.recover_exactly(exact, problems, progress),
        }
    }

    /// One pass of the network over all problems, and then bands about the fields of each. Sensors between pixels are carried to
    /// them; local fits of sensors, if the network sees any, are of where they are. What is known of the fields is imposed.
    fn recover_with_network(
        &self,
        BandedNetwork { network, bands, unprojected }: &BandedNetwork,
        problems: Vec<Problem>,
        progress: &(dyn Fn(Progress) -> bool + Sync),
    ) -> Result<Vec<Recovered>, RecoveryError> {
        let told = network.told(bands.stated_noise().unwrap_or(NO_NOISE));
        let split =
            |problem: Problem| ((problem.name, problem.sensors), problem.context.with_noise(told));
        let (given, mut contexts): (Vec<(String, SensorSet)>, Vec<UserContext>) =
            problems.into_iter().map(split).unzip();
        let fields = network.model.recover_sensors(&mut contexts)?;
        require(progress(Progress::Fields { problems: fields.len() }))?;
        let mut all = Vec::with_capacity(fields.len());
        for (((name, sensors), context), of_network) in given.into_iter().zip(contexts).zip(fields) {
            let mut fields = of_network.clone();
            impose_known_facts(self.pde(), &context, &mut fields);
            let heard = |records| progress(Progress::Bands { problems: all.len(), records });
            let measures = bands.measure(network, &context, &heard)?;
            let calibrated = measures.as_ref().map(|measures| &measures.calibrated);
            let known = Known { noise: bands.stated_noise(), calibrated, ..network.known() };
            let mut trust = self.trust(known, &context, &fields)?;
            trust.exact = ExactLimit::nearest(self.pde(), trust.task, context.sensors.len() as f64);
            let uncertainty = match bands.about(network, &context, &fields, &trust, measures.as_deref()) {
                Ok(bands) => Uncertainty::Bands(Box::new(bands)),
                Err(reason) => Uncertainty::Unknown(reason),
            };
            let problem = Problem { name, sensors, context };
            let method = Arc::clone(&self.summary);
            all.push(Recovered {
                method,
                problem,
                two_valued: TwoValued::of(self.pde(), &fields.a),
                fields,
                unprojected: unprojected.then_some(of_network),
                uncertainty,
                residuals: None,
                samples: Vec::new(),
                trust,
                remarks: Vec::new(),
            });
        }
        Ok(all)
    }

    /// One problem after the other.
    fn recover_exactly(
        &self,
        exact: &Exact,
        problems: Vec<Problem>,
        progress: &(dyn Fn(Progress) -> bool + Sync),
    ) -> Result<Vec<Recovered>, RecoveryError> {
        let mut all = Vec::with_capacity(problems.len());
        for problem in problems {
            let step = |step: Step| progress(Progress::Posterior { problems: all.len(), step });
            let estimate = exact.estimate(problem, &step)?;
            let mut trust = self.trust(Known::default(), &estimate.problem.context, &estimate.fields)?;
            // It was not trained: no condition or example of training says anything about it. Whether the measurements are
            // like the problem's, its own test decides.
            trust.nearest = None;
            trust.warnings.retain(|warning| matches!(warning, Warning::OutsideRange { .. }));
            trust.warnings.splice(0..0, estimate.warnings);
            all.push(Recovered {
                method: Arc::clone(&self.summary),
                problem: estimate.problem,
                fields: estimate.fields,
                unprojected: None,
                uncertainty: estimate.deviation.map_or(Uncertainty::NotAsked, Uncertainty::Deviation),
                two_valued: None,
                residuals: estimate.residuals,
                samples: estimate.samples,
                trust,
                remarks: estimate.remarks,
            });
            require(progress(Progress::Fields { problems: all.len() }))?;
        }
        Ok(all)
    }

    fn trust(
        &self,
        known: Known<'_>,
        context: &UserContext,
        fields: &Fields,
    ) -> Result<Trust, RecoveryError> {
        let trust = Trust::of(self.pde(), &self.constants(), known, context, fields);
        trust.ok_or(RecoveryError::NothingMeasured)
    }
}

/// Ends work that is not to go on.
fn require(go_on: bool) -> Result<(), DataError> {
    if go_on { Ok(()) } else { Err(DataError::Interrupted) }
}
