//! Checks a card against the processor: `cargo run --release --example selftest`.
#![allow(clippy::print_stdout)]

use scope_engine::{Device, EngineError, selftest};

fn main() -> Result<(), EngineError> {
    let device = Device::cuda(0)?;
    println!("{device:?}");
    let checks = selftest::run(&device)?;
    for check in checks.iter().filter(|check| !check.passed()) {
        println!("FAILED {}: {:.1e}, at most {:.0e}", check.name, check.error, check.limit);
    }
    let passed = checks.iter().filter(|check| check.passed()).count();
    println!("{passed} of {} checks passed", checks.len());
    Ok(())
}
