//! Networks that see local fits of the sensors.

use crate::small_runs;

use scope_data::Constants;
use scope_engine::Device;
use scope_model::{FieldModel, Precision, Preset, Reconstructor};
use scope_pde::{Pde, Split};
use scope_train::{Length, Recipe, RunConfig, RunFolder, RunOptions, RunRequest};
use small_runs::make;

/// A run measures what coefficients are divided by, and its weight file is all that recovery needs.
#[test]
fn the_normaliser_is_measured_and_kept_with_the_weights() {
    let root = tempfile::tempdir().unwrap();
    let data = make(root.path(), "data", Pde::POISSON, Split::Train, 40);
    let recipe = Recipe::resolve("muon-fits", &["batch=4".to_owned()]).unwrap();
    let model = recipe
        .network(Preset::Tiny.config(32).into(), Pde::POISSON, &Constants::released(Pde::POISSON))
        .unwrap();
    let length = Some(Length::Draws(8));
    let request = RunRequest { recipe, model, length, seed: 1, log_every: 1, from: None, adapt: None };
    let device = Device::cpu(2);
    let build = |config: &RunConfig| scope_train::build_trainer(config, &device, None);
    let config = scope_train::plan(request, &data, &build, 1).unwrap();
    let folder = RunFolder::open(&root.path().join("run"), false).unwrap();
    scope_train::run(&folder, &config, &data, &mut build(&config).unwrap(), RunOptions::default(), &mut ())
        .unwrap();

    // The ridge is measured too: at least the recipe's, larger for a, which is rough, than for u, which is smooth.
    let ridge = config.model.scope().unwrap().fits.as_ref().unwrap().ridge.clone();
    assert_eq!(ridge.len(), 2 * 2 * 15, "scales, fields, coefficients");
    assert!(ridge.iter().all(|ridge| ridge.is_finite() && *ridge >= 1e-8));
    assert!(
        ridge[3] > 10.0 * ridge[15 + 3],
        "curvatures at the first scale: {} and {}",
        ridge[3],
        ridge[15 + 3]
    );

    let (trained, about) = FieldModel::load(&folder.model(), &device).unwrap();
    assert_eq!(about.config, config.model);
    let layout = trained.params.layout();
    let normaliser = layout.param(layout.find("encoder.fits.normaliser").unwrap());
    assert!(!normaliser.trained);
    let divisors = trained.params.flat().to_vec::<f32>().unwrap()[normaliser.range.clone()].to_vec();
    assert_eq!(divisors.len(), 2 * 2 * 15, "scales, fields, coefficients");
    // Of each field's value and derivatives none is without sensors, and none is of size one by chance.
    assert!(divisors.iter().all(|divisor| divisor.is_finite() && *divisor > 0.0 && *divisor != 1.0));

    let model = Reconstructor::open(folder.model(), &device, Precision::F32).unwrap();
    let mut context = vec![0.0; 4 * 32 * 32];
    context[32 * 32 + 77] = 1.0;
    context[77] = 0.5;
    let fields = model.recover(&context).unwrap();
    assert!(fields[0].a.iter().chain(&fields[0].u).all(|x| x.is_finite()));
}
