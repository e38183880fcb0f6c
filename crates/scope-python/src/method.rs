//! Ways from sensors to fields: trained networks, exact posteriors, linear fits.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use pyo3::prelude::*;
use scope::{
    Device, Network, Precision, Recovery, RecoveryError,
    data::{Constants, DataError, frame::Frame, observation::SensorError},
    engine::{DeviceChoice, EngineError},
    eval::{PosteriorMethod, RecoveryMethod},
    linear::LinearPrior,
    model::{Catalogue, Found, ModelError},
    pde::{GridShape, Pde},
    recovery::Problem,
};

use crate::{
    error::{invalid, json, refused},
    options::RecoverOptions,
    recovered::Recovered,
    sensors::Sensors,
    work::{Watch, require_own_threads, stopped, work},
};

/// Problems recovered together: their contexts are in memory at once.
const TOGETHER: usize = 32;

/// A GPU records work in memory of its own, which no other work may be given meanwhile: one at a time.
static GPU: Mutex<()> = Mutex::new(());

/// A way from sensors to fields. Threads may share it.
#[pyclass(frozen, module = "fieldscope._native")]
pub(crate) struct Method {
    pub(crate) kind: Kind,
    on_gpu: bool,
}

/// What recovers fields.
pub(crate) enum Kind {
    /// A trained network, and where it was found.
    Network(Arc<Network>, Box<Found>),
    /// A Gaussian posterior.
    Posterior(Box<PosteriorMethod>),
}

#[pymethods]
impl Method {
    /// A model's name, a run's folder or a weight file; names are looked for in these folders.
    #[staticmethod]
    fn network(
        py: Python<'_>,
        named: PathBuf,
        folders: Vec<PathBuf>,
        device: &str,
        threads: Option<usize>,
    ) -> PyResult<Self> {
        let choice =
            device.parse().map_err(|expected| invalid(format!("device is \"{device}\": {expected}")))?;
        work(py, None, |_| {
            let found = Catalogue::new(folders, Vec::new()).find(&named).map_err(|error| match error {
                ModelError::Unknown { .. } => invalid(error.to_string()),
                other => refused(other),
            })?;
            let device = open_device(choice, threads)?;
            let network = Network::load(&found, &device, Precision::F32).map_err(refused)?;
            let on_gpu = matches!(device, Device::Cuda(_));
            Ok(Self { kind: Kind::Network(Arc::new(network), Box::new(found)), on_gpu })
        })
    }

    /// The exact posterior of a problem on S x S points.
    #[staticmethod]
    fn exact(py: Python<'_>, pde: &str, resolution: usize) -> PyResult<Self> {
        require_own_threads()?;
        let pde: Pde = pde.parse().map_err(refused)?;
        let method = py.detach(|| PosteriorMethod::exact(pde, Constants::generated(pde), resolution));
        Ok(Self { kind: Kind::Posterior(Box::new(method.map_err(refused)?)), on_gpu: false })
    }

    /// The posterior of a linear fit.
    #[staticmethod]
    fn linear(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let prior = py.detach(|| LinearPrior::open(&path)).map_err(refused)?;
        Ok(Self { kind: Kind::Posterior(Box::new(PosteriorMethod::linear(prior))), on_gpu: false })
    }

    /// What the problem is, as JSON.
    #[getter]
    fn problem(&self) -> PyResult<String> {
        let pde = self.pde();
        let GridShape { rows, columns } = self.grid();
        let domain = Frame::of_problem(pde).domain().map_or([0.0, 1.0, 0.0, 1.0], |domain| domain.bounds());
        let present = pde.present();
        let fields = pde.descriptor().fields.map(|field| field.unit);
        json(&serde_json::json!({
            "name": pde.name(),
            "title": pde.title(),
            "channels": { "a": pde.channels().a, "u": pde.channels().u },
            "units": { "a": fields.a, "u": fields.u },
            "present": { "a": present.a, "u": present.u },
            "rows": rows,
            "columns": columns,
            "domain": domain,
            "axes": pde.descriptor().extent.names,
            "unit": pde.descriptor().extent.unit,
            "has_disk": pde.has_disk(),
        }))
    }

    /// The card of a network, as JSON, if it has one.
    #[getter]
    fn card(&self) -> PyResult<Option<String>> {
        match &self.kind {
            Kind::Network(network, _) => network.card.as_ref().map(json).transpose(),
            Kind::Posterior(_) => Ok(None),
        }
    }

    /// Where it is, or what it is.
    #[getter]
    fn place(&self) -> String {
        match &self.kind {
            Kind::Network(network, _) => network.place.clone(),
            Kind::Posterior(method) => format!("{} posterior", method.identity().kind.name()),
        }
    }

    /// Where it computes: "cpu" or "cuda".
    #[getter(device)]
    pub(crate) fn device_name(&self) -> &'static str {
        if self.on_gpu { "cuda" } else { "cpu" }
    }

    /// Recovers the fields of every problem; `listener` hears how many are done, as JSON.
    fn recover(
        &self,
        py: Python<'_>,
        sensors: PyRef<'_, Sensors>,
        options: RecoverOptions,
        listener: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Vec<Recovered>> {
        let sensors = &*sensors;
        work(py, listener, |watch| self.recover_watched(sensors, &options, watch))
    }
}

impl Method {
    pub(crate) fn pde(&self) -> Pde {
        self.as_recovery_method().pde()
    }

    pub(crate) fn grid(&self) -> GridShape {
        self.as_recovery_method().resolution()
    }

    fn as_recovery_method(&self) -> &dyn RecoveryMethod {
        match &self.kind {
            Kind::Network(network, _) => &network.model,
            Kind::Posterior(method) => &**method,
        }
    }

    /// The turn of work on a GPU.
    pub(crate) fn turn(&self) -> Option<MutexGuard<'static, ()>> {
        self.on_gpu.then(|| GPU.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn recover_watched(
        &self,
        sensors: &Sensors,
        options: &RecoverOptions,
        watch: &Watch,
    ) -> PyResult<Vec<Recovered>> {
        if sensors.len() == 0 {
            return Ok(Vec::new());
        }
        let recovery = self.recovery(sensors, options)?;
        let _turn = self.turn();
        let mut all = Vec::with_capacity(sensors.len());
        for first in (0..sensors.len()).step_by(TOGETHER) {
            let some = first..sensors.len().min(first + TOGETHER);
            let problems: PyResult<Vec<Problem>> =
                some.map(|index| place(&recovery, sensors, index, options)).collect();
            let recovered =
                recovery.recover_all(problems?, &|_| watch.go_on()).map_err(|error| match error {
                    RecoveryError::Data(DataError::Interrupted) => stopped(),
                    other => refused(other),
                })?;
            all.extend(recovered.into_iter().map(Recovered::new));
            watch.tell(|| format!("{{\"done\": {}, \"of\": {}}}", all.len(), sensors.len()));
            if !watch.go_on() {
                return Err(stopped());
            }
        }
        Ok(all)
    }

    /// The way from sensors to fields with what was asked for.
    fn recovery(&self, sensors: &Sensors, options: &RecoverOptions) -> PyResult<Recovery> {
        let constants = self.as_recovery_method().constants();
        if let Some(got) = sensors.grid().filter(|got| *got != self.grid()) {
            return Err(invalid(format!(
                "{} holds grids of {got} and the model reads {}: give the sensors as a table with x and y",
                sensors.name(),
                self.grid()
            )));
        }
        options.require_region_of(self.pde())?;
        let frame = options.frame(self.pde(), &constants, sensors.set(0)?.as_ref())?;
        match &self.kind {
            Kind::Network(network, _) => {
                let options = options.of_network(frame, &constants)?;
                Recovery::with_network(Arc::clone(network), options).map_err(refused)
            }
            Kind::Posterior(method) => {
                Ok(Recovery::with_posterior((**method).clone(), options.of_posterior(frame, &constants)?))
            }
        }
    }
}

/// Puts a problem's sensors on the grid. What is wrong with them is said in the words of their source.
fn place(
    recovery: &Recovery,
    sensors: &Sensors,
    index: usize,
    options: &RecoverOptions,
) -> PyResult<Problem> {
    let mut set = sensors.set(index)?;
    if set.region.is_none()
        && let Some(region) = options.region()
    {
        set.to_mut().region = Some(region);
    }
    recovery.place(&set).map_err(|error| {
        let place = sensors.place(&set);
        let way_out = match &error {
            RecoveryError::Sensors(SensorError::Outside { range, .. })
                if range.starts_with("the unit square") =>
            {
                " (domain=(x0, x1, y0, y1))"
            }
            RecoveryError::Sensors(SensorError::NotFinite { what: "value", .. }) if !sensors.are_a_file() => {
                "; if it was not measured, leave it out, or mask it, as numpy.ma.masked_invalid does"
            }
            RecoveryError::Sensors(SensorError::Units { .. }) => " (scale=..., see docs/units.md)",
            RecoveryError::Sensors(SensorError::Region(_))
                if options.geometry.is_some() && options.has_domain() =>
            {
                "; geometry is x and y of its centre, and its radius, in the coordinates of domain"
            }
            RecoveryError::Sensors(SensorError::Region(_)) if options.geometry.is_some() => {
                "; geometry is row and column of its centre, and its radius, in pixels"
            }
            _ => "",
        };
        invalid(format!("{place}{}{way_out}", error.describe(|sensor| set.label(sensor))))
    })
}

/// Opens a device. `auto` takes the processor where no GPU can be used.
pub(crate) fn open_device(choice: DeviceChoice, threads: Option<usize>) -> PyResult<Device> {
    let processor = || threads.map_or_else(Device::all_threads, Device::cpu);
    match choice {
        DeviceChoice::Cpu => Ok(processor()),
        DeviceChoice::Cuda(number) => Device::cuda(number).map_err(refused),
        DeviceChoice::Auto => match Device::cuda(0) {
            Ok(gpu) => Ok(gpu),
            Err(EngineError::Unavailable { .. }) => Ok(processor()),
            Err(error) => Err(refused(error)),
        },
    }
}

/// The names of the models in folders.
#[pyfunction]
pub(crate) fn models(folders: Vec<PathBuf>) -> PyResult<Vec<String>> {
    let listing = Catalogue::new(folders, Vec::new()).list().map_err(refused)?;
    Ok(listing.models.iter().filter_map(Found::name).map(str::to_owned).collect())
}
