//! The auxiliary operators: what they are trained on, and that a run that was stopped is the run that was not.

use std::fs;

use scope_data::{Constants, Dataset, PerChannel, Scaling, observation::Task};
use scope_engine::{Device, Dtype, Layout, Params, Tape, Tensor};
use scope_model::{
    Architecture, Auxiliary,
    operators::{AuxFnoConfig, AuxiliaryConfig, AuxiliarySizes, UnetConfig},
};
use scope_pde::{Pde, Split};
use scope_train::{Conditions, DataLoader, Examples, Recipe, Residual, RunConfig, RunRequest, SamplerConfig};

use crate::small_runs::{make, request, resumes_in_every_bit};

/// An operator with little of everything.
fn reduced(kind: Auxiliary) -> Architecture {
    let sizes = match kind {
        Auxiliary::Unet => AuxiliarySizes::Unet(UnetConfig { width: 2, ..UnetConfig::paper(32) }),
        _ => AuxiliarySizes::Fno(AuxFnoConfig { width: 8, layers: 2, ..AuxFnoConfig::paper(32) }),
    };
    Architecture::Auxiliary(AuxiliaryConfig { units: PerChannel::default(), sizes })
}

fn planned(data: &Dataset, request: &RunRequest) -> RunConfig {
    let make = |config: &_| scope_train::build_trainer(config, &Device::cpu(1), None);
    scope_train::plan(request.clone(), data, &make, 1).unwrap()
}

#[test]
fn runs_resume_in_every_bit_and_know_their_components() {
    let root = tempfile::tempdir().unwrap();
    let data = make(root.path(), "data", Pde::POISSON, Split::Train, 20);
    let arms = [
        (Auxiliary::Unet, "auxiliary", &["F"][..]),
        (Auxiliary::Fno, "auxiliary-g", &["F", "G"]),
        (Auxiliary::Fno, "pino-g-0.1", &["F", "G", "R"]),
    ];
    for (kind, recipe, components) in arms {
        let request = request(reduced(kind), recipe, 1e-3);
        let trainer = scope_train::build_trainer(&planned(&data, &request), &Device::cpu(1), None).unwrap();
        assert_eq!(trainer.precision, Dtype::F32);
        let straight = resumes_in_every_bit(root.path(), recipe, &data, &request);
        let metrics = fs::read_to_string(straight.join("metrics.jsonl")).unwrap();
        let line: serde_json::Value = serde_json::from_str(metrics.lines().next().unwrap()).unwrap();
        let losses: Vec<&String> = line["losses"].as_object().unwrap().keys().collect();
        assert_eq!(losses, components, "{recipe}");
        assert_eq!(line["rate"], 1e-3, "no warm-up");
    }
}

/// The units are those of the records, and a batch weighs and shows what the study says.
#[test]
fn batches_hide_one_field_and_weigh_it_alone() {
    let root = tempfile::tempdir().unwrap();
    let data = make(root.path(), "data", Pde::POISSON, Split::Train, 6);
    let config = planned(&data, &request(reduced(Auxiliary::Fno), "auxiliary-g", 1e-3));
    let units = config.model.auxiliary().unwrap().units;
    let stored: Vec<f64> =
        (0..6).flat_map(|record| data.pair(record).unwrap().a().to_vec()).map(f64::from).collect();
    let mean = stored.iter().sum::<f64>() / stored.len() as f64;
    let variance = stored.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / stored.len() as f64;
    assert!((units.a.mean - mean).abs() < 1e-9 && (units.a.deviation - variance.sqrt()).abs() < 1e-9);

    let deviations = units.map(|units| units.deviation);
    let conditions = Conditions::Auxiliary { deviations };
    let sampler = SamplerConfig { conditions, sensors: None, seed: 3, batch: 4, first: 0 };
    let device = Device::cpu(1);
    let mut loader = DataLoader::new(&data, &device, sampler, 1).unwrap();
    for task in [Task::Forward, Task::Inverse, Task::Forward] {
        let batch = loader.next_batch().unwrap();
        assert_eq!(batch.condition.task(), task);
        let examples = loader.examples(&batch, &device).unwrap();
        let [contexts, complete] =
            [&examples.contexts, &examples.complete].map(|tensor| tensor.to_vec::<f32>().unwrap());
        let weights = examples.weights.to_vec::<f32>().unwrap();
        let hidden = usize::from(task == Task::Forward);
        let expected = [deviations.a, deviations.u].map(|deviation| (1.0 / deviation) as f32);
        for k in 0..4 {
            for channel in 0..2 {
                let rows = (4 * k + 2 * channel) * 1024..(4 * k + 2 * channel + 2) * 1024;
                let seen = complete[rows.clone()][1024..].iter().filter(|weight| **weight == 1.0).count();
                let is_hidden = channel == hidden;
                assert_eq!(seen, if is_hidden { 0 } else { 1024 });
                assert_eq!(weights[2 * k + channel], if is_hidden { expected[channel] } else { 0.0 });
                assert_eq!(contexts[rows].iter().all(|x| *x == 0.0), is_hidden);
            }
        }
    }
}

/// The loss of u = x^2 + 3 y^2 + 1/2 with one field of the network's and the other the record's, on 33 x 33 points:
/// every number is exact, so the loss is exactly zero, and exactly the square of what a is off by.
#[test]
fn the_residual_of_an_exact_solution_is_exactly_zero() {
    let constants =
        Constants { a: Scaling { mean: 0.25, sigma: 0.5 }, u: Scaling { mean: -0.5, sigma: 2.0 } };
    let points = |value: &dyn Fn(f64, f64) -> f64, scaling: Scaling| -> Vec<f32> {
        let at = |k: usize| [k / 33, k % 33].map(|place| place as f64 / 32.0);
        let stored = |[x, y]: [f64; 2]| ((value(x, y) - scaling.mean) / (2.0 * scaling.sigma)) as f32;
        (0..33 * 33).map(|k| stored(at(k))).collect()
    };
    let u = |x: f64, y: f64| x * x + 3.0 * y * y + 0.5;
    let device = Device::cpu(1);
    for (pde, k_squared) in [(Pde::POISSON, 0.0), (Pde::HELMHOLTZ, 1.0)] {
        let residual = Residual::new(pde, &constants, 33.into()).unwrap();
        let a = |x: f64, y: f64| 8.0 + k_squared * u(x, y);
        let pair = [points(&a, constants.a), points(&u, constants.u)].concat();
        for weights in [[0.0, 1.0], [1.0, 0.0]] {
            // What the network says of the observed field means nothing.
            let wrong = |shift: f32| -> Vec<f32> {
                let observed = |k: usize| weights[k / (33 * 33)] == 0.0;
                let other = |(k, x): (usize, &f32)| if observed(k) { 7.0 } else { x + shift };
                pair.iter().enumerate().map(other).collect()
            };
            let contexts = vec![0.0; 4 * 33 * 33];
            let examples = Examples::new(&device, 33.into(), &pair, &contexts, &weights).unwrap();
            let params = Params::zeros(&device, Layout::new().into()).unwrap();
            let tape = Tape::inference(&params, params.dtype());
            let loss = |shift: f32| {
                let fields = Tensor::from_slice(&device, &[1, 2, 33, 33], &wrong(shift)).unwrap();
                let loss = residual.loss(&tape, &tape.input(fields), &examples).unwrap();
                loss.value().to_vec::<f32>().unwrap()[0]
            };
            assert_eq!(loss(0.0), 0.0, "{pde} {weights:?}");
            // A hidden a that is off by 2 sigma / 4 = 1/4 has this squared; u's shift of 1 has k^2 of itself.
            let expected = if weights[0] > 0.0 { 0.0625 } else { k_squared as f32 };
            assert_eq!(loss(0.25), expected, "{pde} {weights:?}");
        }
    }
    assert!(Residual::new(Pde::DARCY, &constants, 33.into()).is_none());
}

#[test]
fn what_the_study_does_not_have_is_refused() {
    let refusal = |model: Architecture, recipe: &str, pde: Pde| {
        request(model, recipe, 1e-3).require_fit(pde).unwrap_err().to_string()
    };
    let fno = || reduced(Auxiliary::Fno);
    assert!(refusal(fno(), "operator", Pde::POISSON).contains("use the recipe \"auxiliary\""));
    assert!(refusal(fno(), "full", Pde::POISSON).contains("hidden field alone"));
    assert!(refusal(fno(), "pino", Pde::DARCY).contains("none of darcy"));
    assert!(refusal(reduced(Auxiliary::Unet), "pino-g", Pde::POISSON).contains("PINO is an FNO"));
    let small = || scope_model::Preset::Tiny.config(32).into();
    assert!(refusal(small(), "auxiliary", Pde::POISSON).contains("scope is none"));
    let residual = "main.objective.residual=1";
    assert!(Recipe::resolve("fo", &[residual.to_owned()]).is_err(), "no recipe but PINO's has the key");
    request(fno(), "pino-0.1", 1e-3).require_fit(Pde::HELMHOLTZ).unwrap();
}
