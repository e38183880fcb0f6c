//! One posterior from 500 sensors at 128 x 128 on one core: `cargo bench -p scope-exact`.

#![allow(clippy::unwrap_used)]

use divan::Bencher;
use scope_data::{
    Channel, Constants,
    observation::{Condition, MaskSampler, Namespace, TEST_MASK_SEED},
};
use scope_exact::{Prior, Reading, rounding_noise};
use scope_pde::{Generator, Identity, Pde, Split};

const SIZE: usize = 128;

fn main() {
    divan::main();
}

/// The readings of one record.
fn readings(condition: &str) -> Vec<Reading> {
    let identity = Identity { pde: Pde::POISSON, seed: 1, split: Split::Test, resolution: SIZE };
    let record = Generator::new(identity).unwrap().record(0).unwrap();
    let condition: Condition = condition.parse().unwrap();
    let masks =
        MaskSampler::new(Pde::POISSON, TEST_MASK_SEED, SIZE).masks(Namespace::Test, 0, condition, None);
    let of = |channel, point, field: &[f64]| Reading::of_pixel(channel, point, SIZE, field[point]);
    let a = masks.seen.a.points().map(|point| of(Channel::A, point, &record.fields.a));
    let u = masks.seen.u.points().map(|point| of(Channel::U, point, &record.fields.u));
    a.chain(u).collect()
}

fn one_thread() -> rayon::ThreadPool {
    rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap()
}

#[divan::bench(args = ["forward/uniform/500", "inverse/uniform/500", "joint/uniform/500"], max_time = 2)]
fn mean(bencher: Bencher, condition: &str) {
    let prior = Prior::new(Pde::POISSON, SIZE).unwrap();
    let readings = readings(condition);
    let noise = rounding_noise(&Constants::generated(Pde::POISSON));
    let pool = one_thread();
    let mean = || prior.given(&readings, noise).unwrap().mean().unwrap();
    bencher.bench_local(|| pool.install(mean));
}

#[divan::bench(args = ["forward/uniform/500", "inverse/uniform/500"], max_time = 4)]
fn deviations(bencher: Bencher, condition: &str) {
    let prior = Prior::new(Pde::POISSON, SIZE).unwrap();
    let readings = readings(condition);
    let posterior = prior.given(&readings, rounding_noise(&Constants::generated(Pde::POISSON))).unwrap();
    let pool = one_thread();
    bencher.bench_local(|| pool.install(|| posterior.deviations(0).unwrap()));
}
