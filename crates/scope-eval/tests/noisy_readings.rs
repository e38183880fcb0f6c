//! Evaluations with noisy readings.

use std::{collections::BTreeMap, path::Path};

use scope_data::{
    Channel, Constants, Dataset, PerChannel, Request, generate,
    observation::{Condition, trust},
};
use scope_eval::{
    DataIdentity, Evaluation, MaskIdentity, Measure, PosteriorMethod, Provenance, Record, Scores, TestNoise,
    compare,
};
use scope_pde::{Pde, Split};

const SIZE: usize = 32;
const PIXELS: usize = SIZE * SIZE;

fn records(folder: &Path, pde: Pde, count: usize) -> Dataset {
    let identity = scope_pde::Identity { pde, seed: 7, split: Split::Test, resolution: SIZE };
    let out = folder.join(pde.name());
    generate(&Request { identity, count, shard: None }, &out, |_| true).unwrap();
    Dataset::open(&out).unwrap()
}

fn evaluation(data: &Dataset, noise: Option<TestNoise>) -> Evaluation<'_> {
    Evaluation { data, mask_seed: 1, noise, records: data.len(), batch: 50, interpolate: true }
}

fn noisy(levels: PerChannel<f64>) -> Option<TestNoise> {
    Some(TestNoise { levels, untold: false })
}

/// What is shown of a record.
fn context(data: &Dataset, noise: Option<TestNoise>, record: usize, condition: Condition) -> Vec<f32> {
    let mut context = vec![0.0; 4 * PIXELS];
    evaluation(data, noise).observe(record, condition, &mut context).unwrap();
    context
}

#[test]
fn readings_are_off_by_the_stated_noise_and_a_disk_is_not() {
    let root = tempfile::tempdir().unwrap();
    let data = records(root.path(), Pde::CYLINDER, 6);
    let condition = "joint/uniform/8192".parse().unwrap();
    let levels = PerChannel { a: 0.1, u: 0.02 };
    let mut squares = PerChannel::both((0.0, 0.0));
    for record in 0..6 {
        let [exact, told] = [None, noisy(levels)].map(|noise| context(&data, noise, record, condition));
        let untold = context(&data, Some(TestNoise { levels, untold: true }), record, condition);
        let disk = data.disk(record).unwrap();
        let given: Vec<usize> = disk.points(SIZE).collect();
        for channel in Channel::BOTH {
            let begin = 2 * channel.position() * PIXELS;
            for (value, mask) in (begin..begin + PIXELS).map(|value| (value, value + PIXELS)) {
                if exact[mask] == 0.0 || given.contains(&(value - begin)) {
                    assert_eq!([told[value], told[mask]], [exact[value], exact[mask]]);
                    continue;
                }
                assert_eq!(told[mask], trust(levels[channel]) as f32);
                assert_eq!(untold[mask], 1.0);
                assert!((told[value] / told[mask] - untold[value]).abs() < 1e-6);
                let off = 2.0 * f64::from(untold[value] - exact[value]) / levels[channel];
                let (sum, count) = &mut squares[channel];
                *sum += off * off;
                *count += 1.0;
            }
        }
    }
    for (sum, count) in squares {
        assert!(
            count > 2500.0 && (sum / count - 1.0).abs() < 5.0 * (2.0_f64 / count).sqrt(),
            "{sum} {count}"
        );
    }
}

/// The mean error of a, and the share of its pixels within the bands of 68%.
fn exact_scores(data: &Dataset, known: PerChannel<f64>, noise: Option<TestNoise>) -> (f64, f64) {
    let constants = Constants::generated(Pde::POISSON);
    let method =
        PosteriorMethod::exact(Pde::POISSON, constants, SIZE).unwrap().with_bands().with_noise(known);
    let condition = "inverse/uniform/4096".parse().unwrap();
    let scores = evaluation(data, noise).condition(&method, condition, &mut |_| ()).unwrap();
    let mean = |measure: Measure| {
        let values: Vec<f64> = scores.measures[&measure].iter().flatten().copied().collect();
        values.iter().sum::<f64>() / values.len() as f64
    };
    (mean(Measure::A), mean(Measure::within(Channel::A, 0.68)))
}

#[test]
fn the_exact_posterior_that_knows_of_noise_is_better_and_covers_as_it_states() {
    let root = tempfile::tempdir().unwrap();
    let data = records(root.path(), Pde::POISSON, 100);
    let noise = noisy(PerChannel::both(0.05));
    let told = noise.unwrap().physical(&Constants::generated(Pde::POISSON));
    let (exact, _) = exact_scores(&data, PerChannel::both(0.0), None);
    let (with, within) = exact_scores(&data, told, noise);
    let (without, _) = exact_scores(&data, PerChannel::both(0.0), noise);
    assert!(exact < with && with < 0.5 * without, "{exact} {with} {without}");
    assert!((within - 68.0).abs() < 2.5, "{within}");
}

fn record(data: &Dataset, noise: Option<TestNoise>) -> Record {
    let method =
        PosteriorMethod::exact(Pde::POISSON, Constants::generated(Pde::POISSON), SIZE).unwrap().identity();
    let mut record = Record::new(Provenance {
        pde: Pde::POISSON,
        protocol: "uniform500".to_owned(),
        records: 3,
        method,
        data: DataIdentity::of(data),
        masks: MaskIdentity { seed: 1, noise, ..MaskIdentity::default() },
        computed: "cpu f64".to_owned(),
        version: String::new(),
    });
    let measures = BTreeMap::from([(Measure::U, vec![Some(1.0), Some(2.0), Some(4.0)])]);
    record.add("forward/uniform/500".parse().unwrap(), Scores { measures, masks: "same".to_owned() });
    record
}

#[test]
fn evaluations_with_different_noise_are_not_compared() {
    let root = tempfile::tempdir().unwrap();
    let data = records(root.path(), Pde::POISSON, 3);
    let of = |noise| record(&data, noise);
    let compared = |a, b| {
        compare(&of(a), &of(b), "forward/uniform/500".parse().unwrap(), Measure::U)
            .map_err(|error| error.to_string())
    };
    let none = None;
    let some = noisy(PerChannel { a: 0.05, u: 0.01 });
    let refused = compared(none, some).unwrap_err();
    assert!(refused.contains("differ in their noise ([0.0, 0.0] and [0.05, 0.01])"), "{refused}");
    assert!(compared(some, noisy(PerChannel::both(0.05))).is_err());
    let untold = Some(TestNoise { untold: true, ..some.unwrap() });
    assert!(compared(some, some).is_ok() && compared(some, untold).is_ok(), "the readings are the same");
    // What was written before there was noise says nothing of it, and so does what has none.
    let text = serde_json::to_string(&of(none).results).unwrap();
    assert!(!text.contains("noise"), "{text}");
    let text = serde_json::to_string(&of(some).results).unwrap();
    assert!(text.contains(r#""noise":{"levels":[0.05,0.01]}"#), "{text}");
}
