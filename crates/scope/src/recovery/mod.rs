//! Recovering fields: sensors in; fields, error bands, trust and warnings out.
//!
//! A [`Recovery`] is a way from sensors to fields: one pass of a trained [`Network`], the exact posterior of a problem
//! that has one, or the posterior of a linear fit. [`Recovery::recover`] is the whole job for one set of sensors. It
//! computes and nothing else: it writes no file, starts no thread of its own and reads no clock. What it returns, a
//! [`Recovered`], can be written as a folder.

mod amplitude;
mod banded_network;
mod bands;
mod error;
mod folder;
mod frame;
mod labelled;
mod leave_out;
mod likeness;
mod network;
mod picture;
mod posterior;
mod posterior_spread;
mod problem;
mod readings;
mod recovered;
mod remark;
mod summary;
mod table;
mod training_data;
mod two_valued;
mod without_bands;

use std::{path::Path, sync::Arc};

use scope_data::{
    Constants, DataError,
    frame::Frame,
    observation::{Place, Sensor, SensorError, Spot, UserContext},
    sensors::SensorSet,
};
use scope_engine::Device;
use scope_eval::{
    PosteriorMethod,
    trust::{Known, Trust, Warning},
};
use scope_exact::Step;
use scope_linear::LinearPrior;
use scope_model::Fields;
use scope_pde::{GridShape, Pde, descriptor::FieldKind};

pub use amplitude::estimate_amplitude;
pub use bands::{BandSummary, ErrorBands};
pub use error::RecoveryError;
pub use folder::ResultFolder;
pub use network::{Network, NetworkOptions};
pub use picture::{Truth, picture_rows};
pub use posterior::PosteriorOptions;
pub use problem::Problem;
pub use readings::SensorReading;
pub use recovered::{Recovered, Uncertainty};
pub use remark::Remark;
pub use summary::{MethodSummary, ProblemSummary, Summary};
pub use table::Points;
pub use training_data::training_data;
pub use two_valued::{TwoValued, TwoValuedSummary};
pub use without_bands::{WithoutBands, WithoutBandsReason};

use banded_network::BandedNetwork;
use frame::fields_in;
use posterior::GaussianRecovery;

/// How far a recovery has come, of several problems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The fields of so many problems are recovered; nothing is known yet of how far to trust them.
    Fields {
        /// How many problems are recovered.
        problems: usize,
    },
    /// The posterior of a problem is being computed.
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
        /// The number of fresh records on which those of the next one have been measured.
        records: usize,
    },
}

/// A method that recovers fields from sensors: a trained network, an exact posterior or a linear fit.
///
/// It can be shared by threads, and recovers the same fields, in every bit, however many problems it is given at once.
///
/// ```no_run
/// use scope::{Device, Recovery, SensorFile};
///
/// let recovery = Recovery::open("models/poisson.safetensors", &Device::all_threads())?;
/// let file = SensorFile::open("sensors.csv")?;
/// let recovered = recovery.recover(&*file.set(0)?)?;
/// println!("{} values of u", recovered.fields.u.len()); // row by row, x along axis 0
/// for warning in &recovered.trust.warnings {
///     println!("warning: {warning}");
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Recovery {
    method: Method,
    summary: Arc<MethodSummary>,
}

/// What recovers fields. Another way is another variant.
enum Method {
    /// One pass of a trained network, and error bands about what it gives.
    Network(Box<BandedNetwork>),
    /// A Gaussian posterior.
    Posterior(Box<GaussianRecovery>),
}

impl Recovery {
    /// Recovers by a trained network: a weight file, with its card if it has one beside it, or the folder of a run.
    pub fn open(path: impl AsRef<Path>, device: &Device) -> Result<Self, RecoveryError> {
        Self::with_network(Network::open(path, device)?, NetworkOptions::default())
    }

    /// Recovers by a network that was opened before. Several recoveries may share it, each with its own options.
    pub fn with_network(
        network: impl Into<Arc<Network>>,
        options: NetworkOptions,
    ) -> Result<Self, RecoveryError> {
        let network: Arc<Network> = network.into();
        let architecture = &network.model.about().config;
        if architecture.auxiliary().is_some() {
            return Err(RecoveryError::HiddenFieldOnly(architecture.name().to_owned()));
        }
        let frame = match options.frame {
            frame if frame == Frame::default() => Frame::of_problem(network.model.about().pde),
            frame => frame,
        };
        let noise = options.noise.map(|noise| frame.widths_to_ours(noise));
        let network = BandedNetwork::new(network, NetworkOptions { noise, frame, ..options })?;
        let summary = network.summary();
        Ok(Self { method: Method::Network(Box::new(network)), summary })
    }

    /// Recovers by the exact posterior, which Poisson, Helmholtz and the first field of Navier-Stokes have, on S x S
    /// points. It needs no network, and states standard deviations itself.
    ///
    /// ```
    /// use scope::{
    ///     PosteriorOptions, Recovery, SensorSet,
    ///     data::observation::{Place, Sensor},
    ///     pde::{Channel, Pde},
    /// };
    ///
    /// let u_at = |x, y, value| Sensor { channel: Channel::U, place: Place::Point(x, y), value };
    /// let wells = vec![u_at(0.2, 0.3, 0.04), u_at(0.5, 0.5, 0.07), u_at(0.8, 0.6, 0.03)];
    /// let recovery = Recovery::exact(Pde::POISSON, 32, PosteriorOptions::default())?;
    /// let recovered = recovery.recover(&SensorSet::new("three wells", wells))?;
    ///
    /// assert_eq!(recovered.fields.a.len(), 32 * 32);
    /// let deviation = recovered.uncertainty.deviation().expect("an exact posterior has standard deviations");
    /// assert!(deviation.u.iter().all(|deviation| *deviation >= 0.0));
    /// # Ok::<(), scope::RecoveryError>(())
    /// ```
    pub fn exact(pde: Pde, size: usize, options: PosteriorOptions) -> Result<Self, RecoveryError> {
        Ok(Self::with_posterior(PosteriorMethod::exact(pde, Constants::generated(pde), size)?, options))
    }

    /// Recovers by the posterior of a linear fit, on the grid of its records; [`LinearPrior::open`] reads the file that
    /// `scope fit linear` wrote.
    pub fn linear(prior: LinearPrior, options: PosteriorOptions) -> Self {
        Self::with_posterior(PosteriorMethod::linear(prior), options)
    }

    /// Recovers by a posterior that was planned before, on its own grid; the noise of readings is that of the options.
    pub fn with_posterior(method: PosteriorMethod, options: PosteriorOptions) -> Self {
        let posterior = GaussianRecovery::new(method, options);
        let summary = Arc::new(posterior.summary());
        Self { method: Method::Posterior(Box::new(posterior)), summary }
    }

    /// The problem whose fields it recovers.
    pub fn pde(&self) -> Pde {
        self.summary.pde
    }

    /// The scaling between physical values and those that the method computes with, before any units of the user.
    pub fn constants(&self) -> Constants {
        self.summary.constants
    }

    /// How many points its grid has along each axis.
    pub fn resolution(&self) -> GridShape {
        self.summary.resolution
    }

    /// What a result states of the method that recovered it: its problem, grid, name and file.
    pub fn summary(&self) -> &Arc<MethodSummary> {
        &self.summary
    }

    /// Recovers both fields from sensors, and says how far to trust them.
    pub fn recover(&self, sensors: &SensorSet) -> Result<Recovered, RecoveryError> {
        let problem = self.place(sensors)?;
        Ok(self.recover_all(vec![problem], &|_| true)?.remove(0))
    }

    /// As [`Self::recover`]; `first` is given the fields before it is known how far to trust them, where that takes
    /// longer. They are those of all readings: which of them are to be left out is not known yet.
    pub fn recover_fields_first(
        &self,
        sensors: &SensorSet,
        first: &dyn Fn(Fields),
    ) -> Result<Recovered, RecoveryError> {
        let problem = self.place(sensors)?;
        let Method::Network(network) = &self.method else {
            return Ok(self.recover_all(vec![problem], &|_| true)?.remove(0));
        };
        let in_frame = |mut fields: Fields| {
            fields_in(&self.summary.frame, &mut fields);
            first(fields);
        };
        let mut recovered = network.recover_fields_first(problem, &in_frame)?;
        recovered.express_in_frame();
        Ok(recovered)
    }

    /// Puts sensors, in the user's coordinates and units, on the method's grid, and refuses those that cannot be used.
    /// What it returns is for [`Self::recover_all`].
    pub fn place(&self, sensors: &SensorSet) -> Result<Problem, RecoveryError> {
        let frame = &self.summary.frame;
        let ours = frame.sensors_to_ours(self.resolution(), sensors)?;
        Problem::place(&self.summary, &ours, self.rounding(sensors)).map_err(|error| error.express_in(frame))
    }

    /// What each reading is off by for being written with few digits, in our units. A value of a field of two stands for
    /// itself.
    fn rounding(&self, sensors: &SensorSet) -> Vec<f64> {
        let fields = &self.summary.pde.descriptor().fields;
        let ours = |(sensor, rounding): (&Sensor, f64)| match fields[sensor.channel].kind {
            FieldKind::Continuous => rounding / self.summary.frame.scale(sensor.channel).abs(),
            FieldKind::TwoValued { .. } | FieldKind::Absent => 0.0,
        };
        sensors.sensors.iter().zip(sensors.rounding()).map(ours).collect()
    }

    /// Finds where points in the user's coordinates lie on the grid; errors number them from 0.
    pub fn spots(&self, points: &[Place]) -> Result<Vec<Spot>, SensorError> {
        let frame = &self.summary.frame;
        let spot =
            |(number, place): (usize, &Place)| frame.spot(self.pde(), self.resolution(), number, *place);
        points.iter().enumerate().map(spot).collect()
    }

    /// Recovers several problems together, which is faster than one after the other; none depends on the others.
    /// `progress` is told how far the work has come, and returns whether it is to go on.
    pub fn recover_all(
        &self,
        problems: Vec<Problem>,
        progress: &(dyn Fn(Progress) -> bool + Sync),
    ) -> Result<Vec<Recovered>, RecoveryError> {
        let mut recovered = match &self.method {
            Method::Network(network) => network.recover_all(problems, progress),
            Method::Posterior(posterior) => self.recover_one_by_one(posterior, problems, progress),
        }?;
        recovered.iter_mut().for_each(Recovered::express_in_frame);
        Ok(recovered)
    }

    /// Recovers the fields of several problems alone, sooner than [`Self::recover_all`] and equal to its fields in
    /// every bit: without bands, trust and warnings.
    pub fn fields_of_all(
        &self,
        problems: Vec<Problem>,
        progress: &(dyn Fn(Progress) -> bool + Sync),
    ) -> Result<Vec<Fields>, RecoveryError> {
        let mut all = match &self.method {
            Method::Network(network) => network.fields_of_all(problems, progress),
            Method::Posterior(posterior) => fields_one_by_one(posterior, problems, progress),
        }?;
        all.iter_mut().for_each(|fields| fields_in(&self.summary.frame, fields));
        Ok(all)
    }

    /// One problem after the other.
    fn recover_one_by_one(
        &self,
        posterior: &GaussianRecovery,
        problems: Vec<Problem>,
        progress: &(dyn Fn(Progress) -> bool + Sync),
    ) -> Result<Vec<Recovered>, RecoveryError> {
        let mut all = Vec::with_capacity(problems.len());
        for problem in problems {
            let step = |step: Step| progress(Progress::Posterior { problems: all.len(), step });
            let estimate = posterior.estimate(problem, &step)?;
            let mut trust = self.trust(Known::default(), &estimate.problem.context, &estimate.fields)?;
            // It was not trained: no condition or example of training says anything about it. Whether the measurements
            // are like the problem's, its own test decides.
            trust.nearest = None;
            let outside = |warning: &Warning| matches!(warning, Warning::OutsideRange { .. });
            trust.warnings.retain(|warning| outside(warning) && !estimate.compared);
            let uncertainty = estimate.uncertainty.unless_denied(&trust.warnings);
            trust.warnings.splice(0..0, estimate.warnings);
            all.push(Recovered {
                method: Arc::clone(&self.summary),
                problem: estimate.problem,
                fields: estimate.fields,
                unprojected: None,
                uncertainty,
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

/// The fields of one problem after the other.
fn fields_one_by_one(
    posterior: &GaussianRecovery,
    problems: Vec<Problem>,
    progress: &(dyn Fn(Progress) -> bool + Sync),
) -> Result<Vec<Fields>, RecoveryError> {
    let mut all = Vec::with_capacity(problems.len());
    for problem in problems {
        let step = |step: Step| progress(Progress::Posterior { problems: all.len(), step });
        all.push(posterior.fields(problem, &step)?);
        require(progress(Progress::Fields { problems: all.len() }))?;
    }
    Ok(all)
}

/// Ends work that is not to go on.
fn require(go_on: bool) -> Result<(), DataError> {
    if go_on { Ok(()) } else { Err(DataError::Interrupted) }
}

#[cfg(test)]
mod threads {
    use super::*;

    /// Several threads may share a recovery and what it gives: the compiler says so.
    #[test]
    fn a_recovery_is_for_many_threads() {
        fn shared<T: Send + Sync>() {}
        shared::<Recovery>();
        shared::<Recovered>();
        shared::<PosteriorMethod>();
    }
}
