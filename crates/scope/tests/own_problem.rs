//! A sixth problem, declared here and nowhere else, passes every stage: this is the proof of docs/add-a-pde.md.

use std::{f64::consts::TAU, path::Path, time::Duration};

use scope::{
    Device, Network, NetworkOptions, PosteriorOptions, Recovery, SensorSet,
    data::{
        Channel, Dataset, Fields, PerChannel, Request, Scaling, check,
        draw::Draw,
        generate,
        observation::{Condition, MaskSampler, Namespace, Place, Sensor, TEST_MASK_SEED},
    },
    eval::{Evaluation, Measure, Protocol},
    model::Preset,
    pde::{
        Identity, Pde, PdeError, Problem, Record, Split,
        descriptor::{
            Descriptor, Distribution, Extent, Field, GaussianPrior, GridPoints, KnownRegion, Law, Moments,
            Own, RESIDUAL_LIMIT, Sample, Statistics, difference_to_fresh_solve,
        },
        random::Stream,
    },
    train::{
        Callback, Length, Recipe, RunConfig, RunFolder, RunOptions, RunOutcome, RunRequest, build_trainer,
    },
};

const SIZE: usize = 32;

/// u_t = k Lap u on the periodic unit square, from t = 0 (the channel a) to t = 1 (the channel u), for sums of four
/// waves.
struct Heat {
    size: usize,
}

const DIFFUSIVITY: f64 = 0.005;
/// Wave numbers along both axes.
const WAVES: [[f64; 2]; 4] = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, 1.0]];
/// The variance of an amplitude, which is uniform in [-1, 1).
const AMPLITUDE_VARIANCE: f64 = 1.0 / 3.0;

/// What is left of a wave at t = 1: exp(-k |2 pi n|^2).
fn decay([p, q]: [f64; 2]) -> f64 {
    (-DIFFUSIVITY * TAU * TAU * (p * p + q * q)).exp()
}

impl Heat {
    /// sum_n C_n cos(2 pi n x) + S_n sin(2 pi n x), each wave times a factor.
    fn field(&self, amplitudes: &[[f64; 2]; 4], factor: fn([f64; 2]) -> f64) -> Vec<f64> {
        let value = |at: usize| {
            let terms = WAVES.iter().zip(amplitudes).map(|(wave, [c, s])| {
                let (sine, cosine) = self.phase(*wave, at).sin_cos();
                factor(*wave) * (c * cosine + s * sine)
            });
            terms.sum()
        };
        (0..self.size * self.size).map(value).collect()
    }

    fn phase(&self, [p, q]: [f64; 2], at: usize) -> f64 {
        TAU * (p * (at / self.size) as f64 + q * (at % self.size) as f64) / self.size as f64
    }

    /// u of an a: waves are orthogonal, so their amplitudes are 2 <a, wave>.
    fn solve(&self, a: &[f64]) -> Result<Vec<f64>, PdeError> {
        let amplitudes = WAVES.map(|wave| {
            let mut sums = [0.0; 2];
            for (at, value) in a.iter().enumerate() {
                let (sine, cosine) = self.phase(wave, at).sin_cos();
                sums[0] += value * cosine;
                sums[1] += value * sine;
            }
            sums.map(|sum| 2.0 * sum / a.len() as f64)
        });
        Ok(self.field(&amplitudes, decay))
    }
}

impl Problem for Heat {
    fn draw(&self, stream: &mut Stream) -> Result<Record, PdeError> {
        let amplitudes = WAVES.map(|_| [stream.between(-1.0, 1.0), stream.between(-1.0, 1.0)]);
        let a = self.field(&amplitudes, |_| 1.0);
        let u = self.field(&amplitudes, decay);
        Ok(Record { fields: Fields { a, u }, disk: None })
    }
}

/// The mean over pixels of the square of a wave is the mean of its amplitudes' squares.
fn theory(_: usize) -> PerChannel<Moments> {
    let deviation = |factor: fn([f64; 2]) -> f64| {
        let variance: f64 = WAVES.iter().map(|wave| AMPLITUDE_VARIANCE * factor(*wave).powi(2)).sum();
        Moments { mean: Some(0.0), deviation: Some(variance.sqrt()) }
    };
    PerChannel { a: deviation(|_| 1.0), u: deviation(decay) }
}

static HEAT: Descriptor = Descriptor {
    name: "heat",
    title: "Heat",
    fields: PerChannel {
        a: Field::continuous("temperature at t = 0"),
        u: Field::continuous("temperature at t = 1"),
    },
    grid: [GridPoints::Periodic; 2],
    shape: None,
    extent: Extent::UNIT_SQUARE,
    known_region: KnownRegion::Nowhere,
    solver: Some(|size| Box::new(Heat { size })),
    records_in_seconds: 4000,
    distribution: Distribution::Own(Own {
        what: "waves",
        constants: PerChannel { a: Scaling { mean: 0.0, sigma: 1.2 }, u: Scaling { mean: 0.0, sigma: 0.8 } },
        measured_on: None,
    }),
    statistics: Statistics { theory, ..Statistics::UNKNOWN },
    laws: &[Law {
        name: "u against a fresh solve, relative L2",
        limit: RESIDUAL_LIMIT,
        sample: Sample::All,
        generated_only: false,
        figure: |size| {
            let heat = Heat { size };
            Box::new(move |record| difference_to_fresh_solve(record, |a| heat.solve(a)))
        },
    }],
    scaling: None,
    prior: GaussianPrior::None("its amplitudes are uniform"),
    benchmark: false,
    spec: None,
};

/// Another problem of the same name.
static IMPOSTOR: Descriptor = Descriptor { title: "Impostor", ..HEAT };

fn make(root: &Path, pde: Pde, split: Split, count: usize) -> Dataset {
    let out = root.join(split.name());
    let identity = Identity { pde, seed: 5, split, resolution: SIZE };
    generate(&Request { identity, count, shard: None }, &out, |_| true).unwrap();
    Dataset::open(&out).unwrap()
}

struct Quiet;

impl Callback for Quiet {
    fn on_warning(&mut self, text: &str) {
        panic!("a warning: {text}");
    }
}

/// Trains `tiny` for some steps of the mixed schedule and returns it as its weight file has it.
fn train(root: &Path, data: &Dataset, draws: u64) -> Network {
    let settings = ["batch=8", "peak_rate=1e-3"].map(str::to_owned);
    let recipe = Recipe::resolve("fo", &settings).unwrap();
    let model = Preset::Tiny.config(SIZE).into();
    let length = Some(Length::Draws(draws));
    let request = RunRequest { recipe, model, length, seed: 3, log_every: 1, from: None, adapt: None };
    let device = Device::cpu(1);
    let build = |config: &RunConfig| build_trainer(config, &device, None);
    let config = scope::train::plan(request, data, &build, 1).unwrap();
    let folder = RunFolder::open(&root.join("run"), false).unwrap();
    let options = RunOptions { threads: 1, save_every: Duration::from_secs(600), keep: 1, milestones: 0 };
    let mut trainer = build(&config).unwrap();
    let outcome = scope::train::run(&folder, &config, data, &mut trainer, options, &mut Quiet).unwrap();
    assert!(matches!(outcome, RunOutcome::Finished));
    Network::open(folder.model(), &device).unwrap()
}

#[test]
fn a_problem_of_ones_own_is_generated_checked_masked_trained_evaluated_and_recovered() {
    let root = tempfile::tempdir().unwrap();
    assert!("heat".parse::<Pde>().is_err(), "it is not known yet");
    let pde = Pde::declare(&HEAT).unwrap();
    assert_eq!("heat".parse(), Ok(pde));
    assert_eq!(Pde::declare(&HEAT), Ok(pde));
    assert!(matches!(Pde::declare(&IMPOSTOR), Err(PdeError::Declaration(_))));

    let training = make(root.path(), pde, Split::Train, 40);
    let held_out = make(root.path(), pde, Split::Test, 8);
    assert_eq!(training.meta().pde, pde, "meta.json has it by name");
    checks_find_nothing_wrong(&training);
    masks_are_those_of_the_protocol(pde);

    let network = train(root.path(), &training, 48);
    assert_eq!(network.model.about().pde, pde, "the weight file has it by name");
    errors_are_numbers(&network, &held_out);
    let exact = Recovery::exact(pde, SIZE, PosteriorOptions::default());
    assert!(exact.err().unwrap().to_string().contains("its amplitudes are uniform"));
    sensors_become_fields(network);
}

/// Statistics against theory, and the law of every record.
fn checks_find_nothing_wrong(data: &Dataset) {
    let report = check(data).unwrap();
    assert!(report.faults.is_empty(), "{:?}", report.faults);
    assert_eq!(report.laws.iter().map(|law| law.records).collect::<Vec<_>>(), [data.len()]);
    for channel in &report.channels {
        assert!(channel.mean.z.is_some() && channel.deviation.z.is_some(), "theory says both");
    }
}

fn masks_are_those_of_the_protocol(pde: Pde) {
    let all = Condition::all(pde);
    assert_eq!(all.len(), 75);
    let sampler = MaskSampler::new(pde, TEST_MASK_SEED, SIZE);
    let poisson = MaskSampler::new(Pde::POISSON, TEST_MASK_SEED, SIZE);
    let differ = |condition: &&Condition| {
        let masks = |sampler: &MaskSampler| sampler.masks(Namespace::Test, 0, **condition, None);
        assert_eq!(masks(&sampler).seen.a.count(), masks(&poisson).seen.a.count(), "{condition}");
        masks(&sampler) != masks(&poisson)
    };
    assert!(all.iter().filter(differ).count() > 60, "a problem's name is among the coordinates of its masks");
}

fn errors_are_numbers(network: &Network, data: &Dataset) {
    let records = data.len();
    let evaluation =
        Evaluation { data, mask_seed: TEST_MASK_SEED, noise: None, records, batch: 4, interpolate: true };
    evaluation.require_fit(&network.model).unwrap();
    for condition in Protocol::Uniform500.conditions(data.meta().pde) {
        let scores = evaluation.condition(&network.model, condition, &mut |_| {}).unwrap();
        for measure in [Measure::A, Measure::U] {
            let errors = &scores.measures[&measure];
            assert_eq!(errors.iter().flatten().filter(|error| error.is_finite()).count(), records);
        }
        assert!(!scores.measures.contains_key(&Measure::BitErrorRate), "no field has two values");
    }
}

/// A sensor at x = 1 is one at x = 0: the problem is periodic.
fn sensors_become_fields(network: Network) {
    let recovery = Recovery::with_network(network, NetworkOptions::default()).unwrap();
    let recover = |x: f64| {
        let sensors = (0..8).map(|k| Sensor {
            channel: Channel::A,
            place: Place::Point(x, f64::from(k) / 8.0),
            value: (TAU * f64::from(k) / 8.0).cos(),
        });
        recovery.recover(&SensorSet::new("mine", sensors.collect())).unwrap()
    };
    let recovered = recover(0.0);
    assert!(recovered.fields.iter().flatten().all(|value| value.is_finite()));
    assert_eq!(recovered.fields, recover(1.0).fields);
}
