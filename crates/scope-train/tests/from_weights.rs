//! A run that goes on from weights begins with exactly those, and says so.

use crate::small_runs;

use scope_data::{Constants, Dataset};
use scope_engine::{Device, Params, Tensor};
use scope_model::{
    Adapted, Architecture, FieldModel, Model, ModelConfig, Operator, Preset, Training, Transformer, View,
};
use scope_pde::{Pde, Split};
use scope_train::{InitialWeights, Length, Recipe, RunConfig, RunFolder, RunOptions, RunRequest, Trainer};
use small_runs::{Quiet, make};

fn sizes() -> ModelConfig {
    Preset::Tiny.config(32)
}

/// A training of 1,000 draws in three minutes.
fn trained() -> Training {
    Training {
        recipe: "fo".to_owned(),
        draws: 1000,
        planned: 1200,
        generated: true,
        seed: Some(1),
        minutes: Some(3.0),
        sensors: None,
        problem: None,
        adapted: None,
        from: None,
    }
}

fn config(data: &Dataset, recipe: &str, model: Architecture, from: Option<InitialWeights>) -> RunConfig {
    let recipe = Recipe::resolve(recipe, &["batch=16".to_owned()]).unwrap();
    let request = RunRequest {
        recipe,
        model,
        length: Some(Length::Draws(160)),
        seed: 3,
        log_every: 1,
        from,
        adapt: None,
    };
    scope_train::plan(request, data, &|_| unreachable!("nothing is timed"), 1).unwrap()
}

fn earlier() -> Option<InitialWeights> {
    Some(InitialWeights { weights: "some".to_owned(), trained: Some(trained()), problem: None })
}

fn buffer(trainer: &Trainer, name: &str) -> Vec<f32> {
    let buffers = trainer.buffers();
    buffers.iter().find(|(known, _)| *known == name).unwrap().1.to_vec().unwrap()
}

fn flat(params: &Params) -> Vec<f32> {
    params.flat().to_vec().unwrap()
}

#[test]
fn the_first_step_has_the_weights_a_teacher_like_them_and_no_memory() {
    let root = tempfile::tempdir().unwrap();
    let device = Device::cpu(1);
    let data = make(root.path(), "data", Pde::POISSON, Split::Train, 20);
    let model = Model::initial(sizes(), 7, &device).unwrap();
    let weights = flat(&model.params);
    let encoder = flat(&model.params.prefix("encoder").unwrap());
    let config = config(&data, "full", sizes().into(), earlier());
    assert_eq!(config.stages.iter().map(|stage| stage.name.as_str()).collect::<Vec<_>>(), ["main"]);
    let trainer = scope_train::build_trainer(&config, &device, Some(model.params)).unwrap();
    assert!(buffer(&trainer, "params") == weights);
    assert!(buffer(&trainer, "teacher") == encoder);
    for moment in ["first_moment", "second_moment"] {
        assert!(buffer(&trainer, moment).iter().all(|x| *x == 0.0), "{moment}");
    }
    assert_eq!(trainer.counters.steps, 0);
}

#[test]
fn the_keys_bias_of_older_weights_goes_back_to_zero_and_stays_there() {
    let root = tempfile::tempdir().unwrap();
    let device = Device::cpu(1);
    let data = make(root.path(), "data", Pde::POISSON, Split::Train, 20);
    let sizes = ModelConfig { encoder: Transformer { width: 64, depth: 1, heads: 2 }, ..sizes() };
    let mut model = Model::initial(sizes.clone(), 7, &device).unwrap();
    let layout = model.params.layout().clone();
    let bias = layout.param(layout.find("encoder.blocks.0.qkv.bias").unwrap()).range.clone();
    let keys = bias.start + 64..bias.start + 128;
    let mut drifted = flat(&model.params);
    drifted[keys.clone()].fill(3.0);
    model.params.set_flat(Tensor::from_slice(&device, &[drifted.len()], &drifted).unwrap()).unwrap();
    let config = config(&data, "fo", sizes.into(), earlier());
    let mut trainer = scope_train::build_trainer(&config, &device, Some(model.params)).unwrap();
    let mut expected = drifted.clone();
    expected[keys.clone()].fill(0.0);
    assert!(buffer(&trainer, "params") == expected);
    let folder = RunFolder::open(&root.path().join("run"), false).unwrap();
    let options = RunOptions { threads: 1, keep: 1, ..small_runs::OPTIONS };
    scope_train::run(&folder, &config, &data, &mut trainer, options, &mut Quiet).unwrap();
    let after = buffer(&trainer, "params");
    for (number, (after, before)) in after.iter().zip(&expected).enumerate().take(bias.end).skip(bias.start) {
        assert_eq!(after == before, keys.contains(&number), "number {number} of the bias");
    }
}

#[test]
fn operators_go_on_too() {
    let root = tempfile::tempdir().unwrap();
    let device = Device::cpu(1);
    let data = make(root.path(), "data", Pde::POISSON, Split::Train, 20);
    let fno = Operator::Fno.architecture(32);
    let model = FieldModel::initial(fno.clone(), 7, &device).unwrap();
    let weights = flat(&model.params);
    let config = config(&data, "operator", fno, earlier());
    let trainer = scope_train::build_trainer(&config, &device, Some(model.params)).unwrap();
    assert!(buffer(&trainer, "params") == weights);
}

#[test]
fn draws_minutes_and_batches_follow_the_earlier_ones() {
    let root = tempfile::tempdir().unwrap();
    let data = make(root.path(), "data", Pde::POISSON, Split::Train, 20);
    let mut config = config(&data, "fo", sizes().into(), earlier());
    config.length = Length::Minutes(2.0);
    // 1,000 draws are 62.5 batches of 16.
    assert_eq!(config.first_batch(), 63);
    let training = config.training(48);
    assert_eq!((training.draws, training.planned, training.minutes), (1048, 1160, Some(5.0)));
    assert_eq!(training.from.as_deref(), Some(&trained()));
    let third = RunConfig {
        from: Some(InitialWeights { weights: "x".into(), trained: Some(training), problem: None }),
        ..config
    };
    assert_eq!((third.training(0).draws, third.training(0).minutes), (1048, Some(7.0)));
}

/// Weights of another problem keep their sizes; what their fits know of axes and edges becomes the new problem's, and
/// the model tells where its weights come from.
#[test]
fn weights_of_another_problem_are_carried_over() {
    let recipe = Recipe::resolve("muon-fits", &[]).unwrap();
    let of = |pde: Pde| recipe.network(sizes().into(), pde, &Constants::generated(pde)).unwrap();
    let carried =
        |from: Pde, to: Pde| recipe.trained_network(of(from), to, &Constants::generated(to)).unwrap();
    assert_eq!(carried(Pde::NAVIER_STOKES, Pde::POISSON), of(Pde::POISSON));
    assert_eq!(carried(Pde::POISSON, Pde::NAVIER_STOKES), of(Pde::NAVIER_STOKES));
    assert_ne!(of(Pde::POISSON), of(Pde::NAVIER_STOKES));

    let root = tempfile::tempdir().unwrap();
    let data = make(root.path(), "data", Pde::HELMHOLTZ, Split::Train, 20);
    let from = earlier().map(|from| InitialWeights { problem: Some(Pde::POISSON), ..from });
    let training = config(&data, "fo", sizes().into(), from).training(16);
    assert_eq!(training.problem, None);
    assert_eq!(training.from.unwrap().problem, Some(Pde::POISSON));
}

/// A recipe may renew the fits of weights, if these have as many of the same kind.
#[test]
fn fits_of_weights_are_renewed_where_a_recipe_says_so() {
    let constants = Constants::generated(Pde::DARCY);
    let resolve = |settings: &[&str]| {
        let settings: Vec<String> = settings.iter().map(|setting| (*setting).to_owned()).collect();
        Recipe::resolve("muon-fits", &settings).unwrap()
    };
    let trained = resolve(&[]).network(sizes().into(), Pde::DARCY, &constants).unwrap();
    let scales = |settings: &[&str]| {
        let network = resolve(settings).trained_network(trained.clone(), Pde::DARCY, &constants).unwrap();
        network.scope().unwrap().fits.clone().unwrap().scales
    };
    assert_eq!(scales(&["fits.scales=[3.0, 6.0]"]), [4.0, 8.0]);
    assert_eq!(scales(&["fits.scales=[3.0, 6.0]", "fits.renew=true"]), [3.0, 6.0]);
    let other = resolve(&["fits.degree=2", "fits.renew=true"]);
    let refusal = other.trained_network(trained, Pde::DARCY, &constants).unwrap_err().to_string();
    assert!(refusal.contains("of as many scales, the same degree and stride"), "{refusal}");
}

#[test]
fn an_adapted_model_has_its_backbones_training_too() {
    let root = tempfile::tempdir().unwrap();
    let data = make(root.path(), "data", Pde::POISSON, Split::Train, 20);
    let adapted = |base: Training| {
        let adapted = Some(Box::new(Adapted { view: View::Sparse, continued: false, base: Some(base) }));
        Training { draws: 320, planned: 320, minutes: Some(1.0), adapted, ..trained() }
    };
    for (weights, draws, minutes) in
        [(adapted(trained()), 1320, 4.0), (adapted(adapted(trained())), 1640, 5.0)]
    {
        assert_eq!(weights.taken(), draws);
        let from = InitialWeights { weights: "some".to_owned(), trained: Some(weights), problem: None };
        let mut config = config(&data, "fo", sizes().into(), Some(from));
        config.length = Length::Minutes(2.0);
        assert_eq!(
            config.first_batch(),
            draws.div_ceil(16),
            "masks of the backbone's training are not repeated"
        );
        let training = config.training(48);
        assert_eq!((training.draws, training.planned), (draws + 48, draws + 160));
        assert_eq!((training.taken(), training.minutes), (draws + 48, Some(minutes + 2.0)));
    }
}

#[test]
fn weights_that_do_not_belong_are_refused() {
    let root = tempfile::tempdir().unwrap();
    let device = Device::cpu(1);
    let data = make(root.path(), "data", Pde::POISSON, Split::Train, 20);
    let refused = |config: &RunConfig, weights: Option<Params>| {
        scope_train::build_trainer(config, &device, weights).err().unwrap().to_string()
    };
    let [fresh, going_on] = [None, earlier()].map(|from| config(&data, "fo", sizes().into(), from));
    let params = |sizes: ModelConfig| Some(Model::initial(sizes, 7, &device).unwrap().params);
    assert!(refused(&going_on, None).contains("needs the weights"));
    assert!(refused(&fresh, params(sizes())).contains("takes no weights"));
    let other = ModelConfig { latent: 32, ..sizes() };
    assert!(refused(&going_on, params(other)).contains("another network"));
}
