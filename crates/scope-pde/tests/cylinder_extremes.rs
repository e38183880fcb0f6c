//! The cylinder flow at the ends of its published ranges, where gaps are narrowest and speeds highest.
//!
//! `SCOPE_CYLINDER_DRAWS=1000 cargo test --release -p scope-pde --test cylinder_extremes` tries more of
//! them.

#![allow(clippy::unwrap_used)]

use rand::RngExt;
use scope_pde::{
    cylinder::{Cylinder, Disk},
    random::Coordinates,
};

/// Each coordinate at its least, at its greatest, or anywhere between, with equal chances.
fn extreme(draw: u64) -> (Disk, f64) {
    let mut stream = Coordinates::new("cylinder extremes").number(draw).stream();
    let mut pick = |low: f64, high: f64| match stream.random_range(0..3) {
        0 => low,
        1 => high,
        _ => stream.random_range(low..high),
    };
    (Disk { cx: pick(30.0, 60.0), cy: pick(30.0, 90.0), r: pick(5.0, 20.0) }, pick(0.5, 3.0))
}

#[test]
fn flows_stay_finite_solenoidal_and_out_of_the_disk() {
    let draws = std::env::var("SCOPE_CYLINDER_DRAWS").map_or(20, |n| n.parse().unwrap());
    let cylinder = Cylinder::new(128);
    let mut fastest = 0.0f64;
    let mut divergence = 0.0f64;
    let mut slip = 0.0f64;
    for draw in 0..draws {
        let (disk, inflow) = extreme(draw);
        let solution = cylinder.solve(&disk, inflow).unwrap();
        for speed in &solution.speeds {
            let peak = speed.iter().copied().fold(0.0, f64::max) / inflow;
            fastest = fastest.max(peak);
            assert!(peak < 6.0, "speed {peak} inflow speeds past {disk:?}");
        }
        divergence = divergence.max(solution.divergence);
        slip = slip.max(solution.slip);
        assert!(solution.divergence < 1e-12, "divergence {} past {disk:?}", solution.divergence);
        assert!(solution.slip < 0.03, "slip {} past {disk:?}, inflow {inflow}", solution.slip);
    }
    println!("{draws} draws: peak {fastest:.2} inflow speeds, divergence {divergence:.1e}, slip {slip:.1e}");
}
