//! Errors of a method on held-out records.

use std::{collections::BTreeMap, error::Error, path::PathBuf};

use pyo3::prelude::*;
use scope::{
    data::{
        PerChannel,
        observation::{Condition, UserContext},
    },
    eval::{
        Banded, DataIdentity, EvalError, Evaluation, MaskIdentity, MethodError, MethodIdentity,
        PosteriorMethod, Protocol, Provenance, Record, RecoveryMethod, Shown, StatedBands, TestNoise,
    },
    model::Fields,
    pde::{GridShape, Pde},
    recovery::training_data,
};

use crate::{
    data::Dataset,
    error::{invalid, json, refused},
    method::{Kind, Method},
    options::stated_noise,
    work::{Watch, stopped, work},
};

/// What is evaluated: a dictionary with every key.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct EvaluateOptions {
    /// A protocol's name, or conditions.
    protocol: String,
    conditions: Option<Vec<String>>,
    limit: Option<usize>,
    seed: u64,
    noise: Option<String>,
    untold: bool,
    batch: usize,
    /// The file that the command would write, if any.
    out: Option<PathBuf>,
}

/// Evaluates a method: what the command's file says, and the values of every record, both as JSON.
#[pyfunction]
pub(crate) fn evaluate(
    py: Python<'_>,
    method: PyRef<'_, Method>,
    data: PyRef<'_, Dataset>,
    options: EvaluateOptions,
    listener: Option<&Bound<'_, PyAny>>,
) -> PyResult<(String, String)> {
    let method = &*method;
    let set = &data.set;
    work(py, listener, |watch| {
        let noise = options.test_noise(set)?;
        options.out.as_deref().map_or(Ok(()), scope::data::require_writable).map_err(refused)?;
        let records = options.limit.unwrap_or(usize::MAX).min(set.len());
        if records == 0 || options.batch == 0 {
            return Err(invalid("limit and batch are whole numbers from 1 up"));
        }
        let evaluation = Evaluation {
            data: set,
            mask_seed: options.seed,
            noise,
            records,
            batch: options.batch,
            interpolate: true,
        };
        let conditions = options.conditions(set.meta().pde)?;
        let mut data = DataIdentity::of(set);
        let _turn = method.turn();
        let (tested, identity, computed) = under_test(method, noise, set, &mut data)?;
        evaluation.require_fit(&*tested).map_err(refused)?;
        let identity = Provenance {
            pde: set.meta().pde,
            protocol: options.protocol.clone(),
            records,
            method: identity,
            data,
            masks: MaskIdentity { seed: options.seed, noise, ..MaskIdentity::default() },
            computed,
            version: env!("CARGO_PKG_VERSION").to_owned(),
        };
        let mut record = Record::new(identity);
        let watched = Watched { method: &*tested, watch };
        for (k, condition) in conditions.iter().enumerate() {
            let of = records * conditions.len();
            let heard = &mut |done| {
                watch.tell(|| format!("{{\"done\": {}, \"of\": {of}}}", k * records + done));
            };
            let scores = evaluation.condition(&watched, *condition, heard).map_err(explained)?;
            record.add(*condition, scores);
        }
        if let Some(out) = &options.out {
            record.write(out).map_err(refused)?;
        }
        let values: BTreeMap<String, BTreeMap<String, _>> = record
            .values
            .iter()
            .map(|(condition, measures)| {
                let measures = measures.iter().map(|(measure, values)| (measure.to_string(), values));
                (condition.to_string(), measures.collect())
            })
            .collect();
        Ok((json(&record.results)?, json(&values)?))
    })
}

impl EvaluateOptions {
    /// The noise of the readings; a noise of zero is none.
    fn test_noise(&self, data: &scope::data::Dataset) -> PyResult<Option<TestNoise>> {
        let Some(noise) = stated_noise(self.noise.as_deref())? else { return Ok(None) };
        let levels = noise.shares(&data.meta().constants());
        Ok((levels != PerChannel::both(0.0)).then_some(TestNoise { levels, untold: self.untold }))
    }

    fn conditions(&self, pde: Pde) -> PyResult<Vec<Condition>> {
        let conditions: Vec<Condition> = match &self.conditions {
            Some(named) => named.iter().map(|name| name.parse().map_err(refused)).collect::<PyResult<_>>()?,
            None => self.protocol.parse::<Protocol>().map_err(refused)?.conditions(pde),
        };
        if conditions.is_empty() {
            return Err(invalid(format!("{} has no conditions for {pde}: take another", self.protocol)));
        }
        Ok(conditions)
    }
}

/// A method as it is tested, who it is, and where it is computed.
type UnderTest = (Box<dyn RecoveryMethod>, MethodIdentity, String);

fn under_test(
    method: &Method,
    noise: Option<TestNoise>,
    set: &scope::data::Dataset,
    data: &mut DataIdentity,
) -> PyResult<UnderTest> {
    match &method.kind {
        Kind::Network(network, found) => {
            data.trained_on = training_data(found).is_some_and(|hash| hash == data.blake3);
            let identity = MethodIdentity::of_network(
                network.model.about(),
                network.model.parameters(),
                network.blake3.clone(),
            );
            // Bands of a card are for exact readings.
            let bands = network.card.as_ref().and_then(|card| card.bands.clone());
            let bands = bands.filter(|_| noise.is_none());
            let tested = Banded { method: Shared(std::sync::Arc::clone(network)), bands };
            Ok((Box::new(tested), identity, format!("{} f32", method.device_name())))
        }
        Kind::Posterior(posterior) => {
            let mut tested: PosteriorMethod = (**posterior).clone();
            if let Some(noise) = noise {
                tested = tested.with_noise(noise.physical(&set.meta().constants()));
            }
            let identity = tested.identity();
            Ok((Box::new(tested), identity, "cpu f64".to_owned()))
        }
    }
}

/// A network that others hold too.
struct Shared(std::sync::Arc<scope::Network>);

impl RecoveryMethod for Shared {
    fn pde(&self) -> Pde {
        self.0.model.pde()
    }

    fn constants(&self) -> scope::data::Constants {
        self.0.model.constants()
    }

    fn resolution(&self) -> GridShape {
        self.0.model.resolution()
    }

    fn recover(&self, contexts: &[f32]) -> Result<Vec<Fields>, MethodError> {
        RecoveryMethod::recover(&self.0.model, contexts)
    }

    fn recover_sensors(&self, contexts: &mut [UserContext]) -> Result<Vec<Fields>, MethodError> {
        RecoveryMethod::recover_sensors(&self.0.model, contexts)
    }
}

/// A method that asks before each batch whether to go on.
struct Watched<'a> {
    method: &'a dyn RecoveryMethod,
    watch: &'a Watch,
}

/// Why it did not.
#[derive(Debug, thiserror::Error)]
#[error("interrupted")]
struct Stopped;

impl RecoveryMethod for Watched<'_> {
    fn pde(&self) -> Pde {
        self.method.pde()
    }

    fn constants(&self) -> scope::data::Constants {
        self.method.constants()
    }

    fn resolution(&self) -> GridShape {
        self.method.resolution()
    }

    fn recover(&self, contexts: &[f32]) -> Result<Vec<Fields>, MethodError> {
        if self.watch.go_on() { self.method.recover(contexts) } else { Err(Box::new(Stopped)) }
    }

    fn recover_sensors(&self, contexts: &mut [UserContext]) -> Result<Vec<Fields>, MethodError> {
        if self.watch.go_on() { self.method.recover_sensors(contexts) } else { Err(Box::new(Stopped)) }
    }

    fn bands(&self, shown: &[Shown<'_>]) -> Result<Vec<Option<StatedBands>>, MethodError> {
        self.method.bands(shown)
    }
}

fn explained(error: EvalError) -> PyErr {
    match error {
        EvalError::Method(error) if (&*error as &(dyn Error + 'static)).is::<Stopped>() => stopped(),
        other => refused(other),
    }
}
