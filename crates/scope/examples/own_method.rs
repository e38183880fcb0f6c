//! A method of one's own in the same protocol: same records, masks, schedule, loss, training, evaluation.
//!
//!     cargo run --release --example own_method

use scope::data::{Dataset, Request, generate, observation::TEST_MASK_SEED};
use scope::engine::{Device, EngineError, Epilogue, Layout, Linear, Tape, Var};
use scope::eval::{Evaluation, Measure, Protocol};
use scope::model::{Architecture, FieldModel, FieldNetwork, OwnConfig, Precision, Reconstructor, WeightFile};
use scope::pde::{Identity, Pde, Split};
use scope::train::{Length, Recipe, RunConfig, RunFolder, RunOptions, RunRequest, Trainer};

/// Three convolutions: from six channels a pixel, (Ma a, Ma, Mu u, Mu, x, y), to two fields.
#[derive(Debug)]
struct ThreeConvolutions([Linear; 3]);

impl ThreeConvolutions {
    fn declare(layout: &mut Layout) -> Self {
        let mut root = layout.root();
        let sizes = [("first", 6, 32), ("second", 32, 32), ("third", 32, 2)];
        Self(sizes.map(|(name, c, o)| Linear::declare_conv3x3(root.scope(name), c, o)))
    }
}

impl FieldNetwork for ThreeConvolutions {
    fn forward(&self, tape: &Tape<'_>, context: &Var) -> Result<Var, EngineError> {
        let h = tape.conv3x3(&tape.pixels(context)?, self.0[0], Epilogue::Gelu)?;
        let h = tape.conv3x3(&h, self.0[1], Epilogue::Gelu)?;
        tape.channels_first(&tape.conv3x3(&h, self.0[2], Epilogue::Wide)?)
    }
}

#[allow(clippy::print_stdout)] // a program of its own
fn main() -> anyhow::Result<()> {
    let root = tempfile::tempdir()?;
    let device = Device::all_threads();
    let resolution = 32;
    let set = |split: Split, count: usize| -> anyhow::Result<Dataset> {
        let out = root.path().join(split.name());
        let identity = Identity { pde: Pde::POISSON, seed: 1, split, resolution };
        generate(&Request { identity, count, shard: None }, &out, |_| true)?;
        Ok(Dataset::open(&out)?)
    };
    let train = set(Split::Train, 500)?;
    let test = set(Split::Test, 50)?;
    let own =
        Architecture::Own(OwnConfig { name: "three-convolutions".to_owned(), resolution: resolution.into() });
    let build = |seed: u64| {
        let mut layout = Layout::new();
        let network = Box::new(ThreeConvolutions::declare(&mut layout));
        FieldModel::own(own.clone(), network, layout, seed, &device)
    };
    // The same run as everybody's: config.toml, metrics, checkpoints that resume in every bit, a weight file.
    let recipe = Recipe::resolve("operator", &["batch=10".to_owned(), "peak_rate=2e-3".to_owned()])?;
    let model = own.clone();
    let length = Some(Length::Draws(2_000));
    let ask = RunRequest { recipe, model, length, seed: 1, log_every: 10, from: None, adapt: None };
    let trainer = |config: &RunConfig| Trainer::field(build(config.seed)?);
    let config = scope::train::plan(ask, &train, &trainer, 1)?;
    let folder = RunFolder::open(&root.path().join("run"), false)?;
    scope::train::run(&folder, &config, &train, &mut trainer(&config)?, RunOptions::default(), &mut ())?;
    // The weight file holds the parameters; the network is ours.
    let mut trained = build(0)?;
    WeightFile::read(&folder.model())?.fill(&mut trained.params)?;
    let method = Reconstructor::new(trained, Pde::POISSON, test.meta().constants(), Precision::F32);
    let evaluation = Evaluation {
        data: &test,
        mask_seed: TEST_MASK_SEED,
        noise: None,
        records: test.len(),
        batch: 25,
        interpolate: true,
    };
    evaluation.require_fit(&method)?;
    for condition in Protocol::Uniform500.conditions(Pde::POISSON) {
        let scores = evaluation.condition(&method, condition, &mut |_| {})?;
        for (measure, values) in
            scores.measures.iter().filter(|(measure, _)| matches!(measure, Measure::Relative(_)))
        {
            let mean = values.iter().flatten().sum::<f64>() / values.len() as f64;
            println!("{condition}  {measure}  {mean:.1} %");
        }
    }
    Ok(())
}
