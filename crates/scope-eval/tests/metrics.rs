//! Metrics and paired statistics against numpy (tests/reference/metrics.py).

use scope_data::Scaling;
use scope_eval::{Paired, Recovered, Region, Regions};
use scope_pde::cylinder::Disk;
use serde::Deserialize;

#[derive(Deserialize)]
struct Reference {
    size: usize,
    scaling: [f64; 2],
    disk: [f64; 3],
    stored: Vec<f32>,
    recovered: Vec<f32>,
    relative: f64,
    rmse: f64,
    fluid: f64,
    band: f64,
    interior: f64,
    bits: Vec<u8>,
    permeability: Vec<f32>,
    ber: f64,
    a: Vec<f64>,
    b: Vec<f64>,
    paired: PairedReference,
}

#[derive(Deserialize)]
struct PairedReference {
    difference: f64,
    sd: f64,
    t: f64,
    improved: f64,
}

fn reference() -> Reference {
    serde_json::from_str(include_str!("reference/metrics.json")).unwrap()
}

fn close(got: f64, expected: f64) {
    assert!((got - expected).abs() <= 1e-12 * expected.abs(), "{got} instead of {expected}");
}

#[test]
fn errors_are_those_of_numpy() {
    let reference = reference();
    let [mean, sigma] = reference.scaling;
    let recovered = Recovered {
        field: &reference.recovered,
        stored: &reference.stored,
        scaling: Scaling { mean, sigma },
    };
    close(recovered.relative_error(|_| true).unwrap(), reference.relative);
    close(recovered.absolute_error(), reference.rmse);
    let [cx, cy, r] = reference.disk;
    let regions = Regions::of(&Disk { cx, cy, r }, reference.size);
    for (region, expected) in
        Region::ALL.into_iter().zip([reference.fluid, reference.band, reference.interior])
    {
        close(recovered.relative_error(|point| regions.contains(region, point)).unwrap(), expected);
    }
}

#[test]
fn bit_errors_are_those_of_numpy() {
    let reference = reference();
    let stored: Vec<f32> = reference.bits.iter().map(|bit| f32::from(*bit) - 0.5).collect();
    let scaling = Scaling { mean: 7.5, sigma: 4.5 };
    let rate = Recovered { field: &reference.permeability, stored: &stored, scaling }.bit_error_rate(7.5);
    close(rate, reference.ber);
}

#[test]
fn paired_statistics_are_those_of_numpy() {
    let reference = reference();
    let some = |values: &[f64]| values.iter().copied().map(Some).collect::<Vec<_>>();
    let paired = Paired::of(&some(&reference.a), &some(&reference.b)).unwrap();
    close(paired.difference, reference.paired.difference);
    close(paired.sd, reference.paired.sd);
    close(paired.t, reference.paired.t);
    assert_eq!(paired.improved, reference.paired.improved);
}
