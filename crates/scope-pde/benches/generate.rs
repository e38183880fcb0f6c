//! One record of each problem at 128 x 128 on one core: `cargo bench -p scope-pde`.

#![allow(clippy::unwrap_used)]

use divan::{Bencher, counter::ItemsCount};
use scope_pde::{Generator, Identity, Pde, Split};

fn main() {
    divan::main();
}

#[divan::bench(args = Pde::ALL, max_time = 2)]
fn record(bencher: Bencher, pde: Pde) {
    let identity = Identity { pde, seed: 1, split: Split::Train, resolution: 128 };
    let generator = Generator::new(identity).unwrap();
    let mut index = 0;
    bencher.counter(ItemsCount::new(1usize)).bench_local(|| {
        index += 1;
        generator.record(index).unwrap()
    });
}
