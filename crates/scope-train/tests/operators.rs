//! Operators train like everything else: they learn, and a run that was stopped is the run that was not.

use crate::small_runs;

use scope_data::{GridShape, PerChannel};
use scope_engine::Device;
use scope_model::{
    Architecture, FieldModel, Operator, Precision, Preset, Reconstructor,
    operators::{CnoConfig, DeepOnetConfig, FnoConfig, TransolverConfig},
};
use scope_pde::{Pde, Split};
use scope_train::{Component, Examples, Rates, RunRequest, Trainer, loss_weights};
use small_runs::{make, request, resumes_in_every_bit};

/// Each operator with little of everything.
fn reduced(resolution: impl Into<GridShape>) -> [Architecture; 4] {
    let resolution = resolution.into();
    [
        Architecture::Fno(FnoConfig {
            resolution,
            width: 8,
            modes: 4,
            layers: 2,
            projection: 16,
            padding: 3,
        }),
        Architecture::DeepOnet(DeepOnetConfig {
            channels: vec![4, 8, 8],
            normalised: true,
            hidden: 24,
            basis: 16,
            trunk: 16,
            ..DeepOnetConfig::fourier(resolution)
        }),
        Architecture::Cno(CnoConfig {
            resolution,
            levels: 2,
            residual: 1,
            neck: 1,
            multiplier: 8,
            latent: 8,
        }),
        Architecture::Transolver(TransolverConfig {
            resolution,
            width: 16,
            depth: 2,
            heads: 2,
            slices: 8,
            expansion: 2,
        }),
    ]
}

#[test]
fn every_operator_resumes_in_every_bit() {
    let root = tempfile::tempdir().unwrap();
    let data = make(root.path(), "data", Pde::POISSON, Split::Train, 60);
    for model in reduced(32) {
        let request = request(model.clone(), "operator", 3e-3);
        let straight = resumes_in_every_bit(root.path(), model.name(), &data, &request);
        let device = Device::cpu(2);
        let (trained, about) = FieldModel::load(&straight.join("model.safetensors"), &device).unwrap();
        assert_eq!((&about.config, &trained.architecture), (&model, &model));
        let fields = Reconstructor::new(trained, about.pde, about.constants, Precision::F32);
        assert!(fields.recover(&vec![0.0; 4 * 32 * 32]).unwrap()[0].u.iter().all(|x| x.is_finite()));
    }
}

/// Steps on one batch of complete views halve its loss.
#[test]
fn every_operator_learns() {
    let root = tempfile::tempdir().unwrap();
    let data = make(root.path(), "data", Pde::POISSON, Split::Train, 2);
    let device = Device::cpu(2);
    let mut fields = Vec::new();
    let mut contexts = Vec::new();
    let mut weights = Vec::new();
    for pair in (0..2).map(|record| data.pair(record).unwrap()) {
        for field in [pair.a(), pair.u()] {
            fields.extend_from_slice(field);
            contexts.extend_from_slice(field);
            contexts.extend([1.0; 32 * 32]);
        }
        let constants = data.meta().constants();
        weights.extend(loss_weights(
            &constants,
            pair.fields(),
            PerChannel::both(false),
            PerChannel::both(1.0),
        ));
    }
    let examples = Examples::new(&device, 32.into(), &fields, &contexts, &weights).unwrap();
    for model in reduced(32) {
        halves_its_loss(model, &examples, 120);
    }
}

fn halves_its_loss(model: Architecture, examples: &Examples, steps: usize) {
    let name = model.name().to_owned();
    let mut trainer =
        Trainer::field(FieldModel::initial(model, 1, examples.fields.device()).unwrap()).unwrap();
    let rates = Rates { learning_rate: 3e-3, ema_momentum: 1.0 };
    let mut step = || trainer.step(examples, rates).unwrap().read().unwrap().losses[&Component::Field];
    let losses: Vec<f64> = (0..steps).map(|_| step()).collect();
    assert!(losses[steps - 1] < 0.5 * losses[0], "{name}: from {} to {}", losses[0], losses[steps - 1]);
}

/// Waves along both axes of a grid that is no square.
#[test]
fn every_network_learns_on_a_rectangle() {
    let grid = GridShape { rows: 16, columns: 40 };
    let wave = |record: usize, point: usize| {
        let [i, j] = grid.place(point);
        (0.5 * i as f32 + record as f32).sin() * (0.2 * j as f32).cos()
    };
    let mut fields = Vec::new();
    let mut contexts = Vec::new();
    for record in 0..4 {
        let field: Vec<f32> = (0..grid.points()).map(|point| wave(record, point)).collect();
        fields.extend_from_slice(&field);
        contexts.extend(field);
        contexts.extend(vec![1.0; grid.points()]);
    }
    let examples = Examples::new(&Device::cpu(2), grid, &fields, &contexts, &[0.1; 4]).unwrap();
    let tiny = Architecture::from(Preset::Tiny.config(grid));
    for model in reduced(grid).into_iter().chain([tiny]) {
        halves_its_loss(model, &examples, 80);
    }
}

#[test]
fn what_an_operator_cannot_be_trained_with_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let data = make(root.path(), "data", Pde::POISSON, Split::Train, 8);
    let refused = |request: RunRequest| {
        let nothing = |_: &_| Err(scope_train::TrainError::Request("not timed".to_owned()));
        scope_train::plan(request, &data, &nothing, 1).unwrap_err().to_string()
    };
    let text = refused(request(Operator::Fno.architecture(32), "full", 3e-3));
    assert!(text.contains("fno has no latents") && text.contains("the recipe \"operator\""), "{text}");
    let text = refused(request(Operator::Cno.architecture(64), "operator", 3e-3));
    assert!(text.contains("a grid of 32 x 32 and the model on one of 64 x 64"), "{text}");
}
