//! How fast contexts are made at 128 x 128: `cargo bench -p scope-data`. A context is a record index and
//! two masks.

#![allow(clippy::unwrap_used)]

use divan::{Bencher, counter::ItemsCount};
use scope_data::{
    observation::{Condition, MaskSampler, Namespace, TRAIN_MASK_SEED},
    schedule::{BatchMaker, Producer, Schedule},
};
use scope_pde::{GridShape, Pde, cylinder::Disk};

fn main() {
    divan::main();
}

/// One mask of a condition.
#[divan::bench(args = [
    "forward/uniform/500", "forward/uniform/8192", "forward/grid/8192", "forward/cluster/500", "forward/cluster/8192",
    "forward/lines/4915", "forward/block/4915", "forward/benchmark_uniform/100",
])]
fn mask(bencher: Bencher, condition: &str) {
    let condition: Condition = condition.parse().unwrap();
    let sampler = MaskSampler::new(Pde::POISSON, TRAIN_MASK_SEED, 128);
    let mut record = 0;
    bencher.bench_local(|| {
        record += 1;
        sampler.masks(Namespace::Test, record, condition, None)
    });
}

/// 40 batches of 32 from the real mixture, handed out in order by a producer with so many threads.
#[divan::bench(args = [(Pde::POISSON, 1), (Pde::POISSON, 2), (Pde::CYLINDER, 2)], sample_count = 20)]
fn contexts(bencher: Bencher, (pde, threads): (Pde, usize)) {
    const BATCHES: usize = 40;
    let records = 1000;
    let disk = |n: usize| {
        let [cx, cy, r] = [30 + n % 30, 30 + n % 60, 5 + n % 15].map(|x| x as f64);
        Disk { cx, cy, r }
    };
    let regions =
        if pde == Pde::CYLINDER { (0..records).map(|n| disk(n).into()).collect() } else { Vec::new() };
    let maker = BatchMaker {
        schedule: Schedule::new(1, records, 32),
        sampler: MaskSampler::new(pde, TRAIN_MASK_SEED, 128),
        regions,
        shape: GridShape::square(128),
    };
    let mut producer = Producer::start(maker, 0, threads, 16);
    bencher
        .counter(ItemsCount::new(BATCHES * 32))
        .bench_local(|| producer.by_ref().take(BATCHES).map(|batch| batch.bits.len()).sum::<usize>());
}
