//! One problem: the sensors of two fields, on a method's grid.

use scope_data::{
    observation::{Sensor, UserContext},
    sensors::SensorSet,
};
use scope_eval::trust::task_of;

use super::{error::RecoveryError, summary::MethodSummary};

/// The sensors of one problem, on a method's grid.
#[derive(Clone, Debug)]
pub struct Problem {
    /// The name of the problem in messages and results.
    pub name: String,
    /// The sensors as they were given, in our coordinates and units.
    pub sensors: SensorSet,
    /// What a method reads of them.
    pub context: UserContext,
    /// The standard deviation of what each sensor is off by for being written with few digits, in our units.
    pub rounding: Vec<f64>,
}

impl Problem {
    /// Puts sensors, which may be off by some rounding, on the grid, and refuses those that cannot be used.
    pub(super) fn place(
        method: &MethodSummary,
        set: &SensorSet,
        rounding: Vec<f64>,
    ) -> Result<Self, RecoveryError> {
        let SensorSet { name, sensors, region, .. } = set;
        if region.is_some() && !method.pde.has_record_regions() {
            return Err(RecoveryError::NoGeometry(method.pde));
        }
        require_scaled(method, sensors)?;
        let context =
            UserContext::new(method.pde, &method.constants, method.resolution, sensors, region.as_ref())?;
        if task_of(&context.measured).is_none() {
            return Err(RecoveryError::NothingMeasured);
        }
        Ok(Self { name: name.clone(), sensors: set.clone(), context, rounding })
    }

    /// The same problem without some of its sensors, told by their numbers from 0.
    pub(super) fn without(&self, method: &MethodSummary, left_out: &[usize]) -> Result<Self, RecoveryError> {
        let numbers = (0..self.rounding.len()).filter(|number| !left_out.contains(number));
        let rounding = numbers.map(|number| self.rounding[number]).collect();
        Self::place(method, &self.sensors.without(left_out), rounding)
    }
}

/// Refuses a value that overflows once it is scaled as the method's fields are.
fn require_scaled(method: &MethodSummary, sensors: &[Sensor]) -> Result<(), RecoveryError> {
    for (sensor, Sensor { channel, value, .. }) in sensors.iter().enumerate() {
        let scaling = method.constants[*channel];
        // A value that is not finite itself is refused where it is placed.
        if value.is_finite() && !scaling.store(*value).is_finite() {
            let channel = channel.name();
            let value = *value;
            let sigma = scaling.sigma;
            return Err(RecoveryError::TooLarge { sensor, channel, value, sigma });
        }
    }
    Ok(())
}
