//! Sensors that are placed are those that leave least.

use rand::RngExt;
use scope_data::{Channel, PerChannel, observation::Spot};
use scope_exact::{Placement, PosteriorError, Prior, Reading, Target};
use scope_pde::{Pde, random::Coordinates};

const SIZE: usize = 16;
const NOISE: PerChannel<f64> = PerChannel { a: 0.01, u: 1e-5 };

fn spots(points: impl Iterator<Item = usize>, size: usize) -> Vec<Spot> {
    points.map(|point| Spot::pixel(point / size, point % size)).collect()
}

fn reading(channel: Channel, spot: Spot) -> Reading {
    Reading::new(channel, spot, 0.0)
}

/// The share of variance, of a and u alike, that the posterior itself says is left.
fn remaining(prior: &Prior, readings: &[Reading], target: PerChannel<bool>) -> f64 {
    let sum = |readings: &[Reading]| {
        let deviations = prior.given(readings, NOISE).unwrap().deviations(0).unwrap().fields;
        deviations.map(|field| field.iter().map(|sd| sd * sd).sum::<f64>())
    };
    let shares = sum(readings).zip(sum(&[])).map(|(now, before)| now / before);
    let wanted = |(share, wanted): (f64, bool)| if wanted { share } else { 0.0 };
    shares.zip(target).map(wanted).iter().sum()
}

/// Every candidate tried in turn by the posterior itself, at every step.
#[test]
fn greedy_choices_are_those_of_brute_force() {
    let targets = [(true, false), (false, true), (true, true)].map(|(a, u)| PerChannel { a, u });
    for (pde, channel, target) in [
        (Pde::POISSON, Channel::U, targets[0]),
        (Pde::HELMHOLTZ, Channel::U, targets[2]),
        (Pde::POISSON, Channel::A, targets[1]),
    ] {
        let prior = Prior::new(pde, SIZE).unwrap();
        // A lopsided set: no two candidates are each other's mirror images.
        let candidates = spots((0..SIZE * SIZE).filter(|p| p % 7 == 3 && p / SIZE < 13), SIZE);
        let given = [reading(Channel::U, Spot::pixel(4, 9)), reading(Channel::A, Spot { at: [9.3, 3.7] })];
        let mut placement =
            Placement::new(&prior, channel, &candidates, NOISE, Target(target), &|_| true).unwrap();
        placement.given(&given, NOISE, &|_| true).unwrap();
        let mut sensors = given.to_vec();
        for step in 0..4 {
            let left: Vec<f64> = candidates
                .iter()
                .map(|spot| remaining(&prior, &[&sensors[..], &[reading(channel, *spot)]].concat(), target))
                .collect();
            let chosen = placement.place_next().unwrap();
            let best = left.iter().copied().fold(f64::INFINITY, f64::min);
            assert!(left[chosen.candidate] <= best * (1.0 + 1e-9), "{pde} step {step}");
            sensors.push(reading(channel, candidates[chosen.candidate]));
        }
        let said = placement.deviations();
        let direct = prior.given(&sensors, NOISE).unwrap().deviations(0).unwrap().fields;
        for channel in Channel::BOTH {
            let scale = direct[channel].iter().fold(0.0, |most: f64, sd| most.max(*sd));
            let close = |(x, y): (&f64, &f64)| (x - y).abs() < 1e-6 * scale;
            assert!(said[channel].iter().zip(&direct[channel]).all(close), "{pde} {channel:?}");
        }
    }
}

/// The full size of this is measured with the program; its figures are in docs/place.md.
#[test]
fn placed_sensors_beat_the_best_tenth_of_random_layouts() {
    let size = 32;
    let prior = Prior::new(Pde::POISSON, size).unwrap();
    let candidates = spots(0..size * size, size);
    let target = Target(PerChannel { a: true, u: true });
    let none = Placement::new(&prior, Channel::U, &candidates, NOISE, target, &|_| true).unwrap();
    let mut stream = Coordinates::new("layouts").stream();
    let mut random: Vec<f64> = (0..100)
        .map(|_| {
            let layout: Vec<usize> = (0..10).map(|_| stream.random_range(0..candidates.len())).collect();
            none.expected_with(&layout).a
        })
        .collect();
    random.sort_by(f64::total_cmp);
    let mut placement = none;
    let placed = (0..10).map(|_| placement.place_next().unwrap()).last().unwrap().expected_percent.a;
    assert!(placed < random[10], "{placed} {}", random[10]);
}

/// What is expected of candidates of one's own choice is what taking them gives.
#[test]
fn expectations_of_a_layout_are_those_of_placing_it() {
    let prior = Prior::new(Pde::POISSON, SIZE).unwrap();
    let candidates = spots(0..SIZE * SIZE, SIZE);
    let target = Target(PerChannel { a: true, u: false });
    let none = Placement::new(&prior, Channel::U, &candidates, NOISE, target, &|_| true).unwrap();
    let mut placement = Placement::new(&prior, Channel::U, &candidates, NOISE, target, &|_| true).unwrap();
    let chosen: Vec<_> = (0..3).map(|_| placement.place_next().unwrap()).collect();
    let layout: Vec<usize> = chosen.iter().map(|chosen| chosen.candidate).collect();
    let again = none.expected_with(&layout);
    assert!((again.a / chosen[2].expected_percent.a - 1.0).abs() < 1e-9);
    assert!(chosen.windows(2).all(|pair| pair[1].expected_percent.a < pair[0].expected_percent.a));
}

#[test]
fn candidates_run_out_and_nonlinear_targets_are_refused() {
    let prior = Prior::new(Pde::POISSON, SIZE).unwrap();
    let target = Target(PerChannel { a: true, u: true });
    // One inside twice, one on the edge, where u is zero by definition.
    let candidates = [Spot::pixel(5, 5), Spot::pixel(0, 7), Spot::pixel(5, 5)];
    let mut placement = Placement::new(&prior, Channel::U, &candidates, NOISE, target, &|_| true).unwrap();
    assert_eq!(placement.place_next().map(|chosen| chosen.candidate), Some(0));
    assert_eq!(placement.place_next(), None);
    let flow = Prior::new(Pde::NAVIER_STOKES, SIZE).unwrap();
    let refused = Placement::new(&flow, Channel::A, &candidates, NOISE, target, &|_| true).err();
    assert_eq!(refused, Some(PosteriorError::NonlinearTarget(Pde::NAVIER_STOKES)));
    let stopped = Placement::new(&prior, Channel::U, &candidates, NOISE, target, &|_| false).err();
    assert_eq!(stopped, Some(PosteriorError::Interrupted));
}
