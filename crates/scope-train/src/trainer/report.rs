//! What a training step tells of itself.

use std::collections::BTreeMap;

use scope_engine::Tensor;
use serde::{Deserialize, Serialize};

use crate::{error::TrainError, objective::Component, schedule::Rates};

/// What a step was taken with and what it measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepReport {
    /// Learning rate of the step.
    #[serde(rename = "rate")]
    pub learning_rate: f64,
    /// Momentum of the EMA teacher.
    #[serde(rename = "momentum")]
    pub ema_momentum: f64,
    /// Loss of each component that took part, unweighted.
    pub losses: BTreeMap<Component, f64>,
    /// Norm of each component's weighted gradient over all parameters and over the encoder's; empty when the cap was
    /// not measured.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub norms: BTreeMap<Component, [f64; 2]>,
    /// Factor of the gradient cap: what the gradients of all components but the field's were multiplied with.
    pub alpha: f64,
    /// Norm of the combined gradient before clipping.
    pub norm: f64,
    /// Mean standard deviation of a latent coordinate over the batch.
    #[serde(rename = "spread", default, skip_serializing_if = "Option::is_none")]
    pub latent_std: Option<f64>,
}

impl StepReport {
    /// The first number that is not finite, with its name.
    pub(crate) fn not_finite(&self) -> Option<(String, f64)> {
        let loss = |component: Component| {
            let loss = self.losses.get(&component)?;
            Some((format!("the loss {}", component.letter()), *loss))
        };
        let norm = ("the gradient's norm".to_owned(), self.norm);
        let mut numbers = Component::ALL.into_iter().filter_map(loss).chain([norm]);
        numbers.find(|(_, value)| !value.is_finite())
    }
}

/// The norms and the factor that the gradient cap measured.
#[derive(Clone, Debug)]
pub(super) struct MeasuredCap {
    /// Norms \[components, sets of parameters\].
    pub(super) norms: Tensor,
    /// Factor \[1\].
    pub(super) alpha: Tensor,
}

/// A [`StepReport`] whose measured numbers are still on their device.
#[derive(Clone, Debug)]
pub struct DeviceReport {
    pub(super) rates: Rates,
    pub(super) losses: Vec<(Component, Tensor)>,
    pub(super) cap: Option<MeasuredCap>,
    /// The factor that was applied, if the cap did not measure one.
    pub(super) alpha: f64,
    pub(super) norm: Tensor,
    pub(super) latent_std: Option<Tensor>,
}

impl DeviceReport {
    /// Brings the numbers back from the device, after the step is done.
    pub fn read(&self) -> Result<StepReport, TrainError> {
        let mut losses = BTreeMap::new();
        for (component, loss) in &self.losses {
            losses.insert(*component, scalar(loss)?);
        }
        let mut norms = BTreeMap::new();
        if let Some(cap) = &self.cap {
            let measured = cap.norms.to_vec::<f32>()?;
            let pairs = measured.chunks_exact(2).map(|pair| [f64::from(pair[0]), f64::from(pair[1])]);
            norms = self.losses.iter().map(|(component, _)| *component).zip(pairs).collect();
        }
        Ok(StepReport {
            learning_rate: self.rates.learning_rate,
            ema_momentum: self.rates.ema_momentum,
            losses,
            norms,
            alpha: self.measured_alpha()?.unwrap_or(self.alpha),
            norm: scalar(&self.norm)?,
            latent_std: self.latent_std.as_ref().map(scalar).transpose()?,
        })
    }

    /// One component's loss, brought back from the device; zero if it took no part.
    pub(super) fn loss(&self, component: Component) -> Result<f64, TrainError> {
        self.losses.iter().find(|(named, _)| *named == component).map_or(Ok(0.0), |(_, loss)| scalar(loss))
    }

    /// The factor of the cap, if this step measured it, brought back from the device.
    pub(super) fn measured_alpha(&self) -> Result<Option<f64>, TrainError> {
        self.cap.as_ref().map(|cap| scalar(&cap.alpha)).transpose()
    }
}

/// Brings one number back from its device.
pub(super) fn scalar(tensor: &Tensor) -> Result<f64, TrainError> {
    Ok(f64::from(tensor.to_vec::<f32>()?[0]))
}
