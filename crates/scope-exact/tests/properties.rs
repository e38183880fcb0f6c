//! What must hold of every posterior.

use proptest::prelude::*;
use rand::RngExt;
use scope_data::{
    Channel, Constants, Fields, PerChannel,
    observation::{Spot, Stencil},
};
use scope_exact::{DENSE_LIMIT, Method, NO_NOISE, Posterior, PosteriorError, Prior, Reading, rounding_noise};
use scope_pde::{
    Generator, Identity, Pde, Split, descriptor::GaussianPrior, random::Coordinates, random::PeriodicField,
};

const EXACT: [Pde; 3] = [Pde::POISSON, Pde::HELMHOLTZ, Pde::NAVIER_STOKES];

fn on_edge(point: usize, size: usize) -> bool {
    [point / size, point % size].iter().any(|k| *k == 0 || *k == size - 1)
}

/// A record, seen at the given points.
fn seen(pde: Pde, size: usize, points: &[(Channel, usize)]) -> Vec<Reading> {
    let identity = Identity { pde, seed: 5, split: Split::Test, resolution: size };
    let record = Generator::new(identity).unwrap().record(2).unwrap();
    let value = |channel, point: usize| match channel {
        Channel::A => record.fields.a[point],
        Channel::U => record.fields.u[point],
    };
    points
        .iter()
        .map(|&(channel, point)| Reading::of_pixel(channel, point, size, value(channel, point)))
        .collect()
}

/// Every `step`-th point of both channels, or of a alone where u is not linear.
fn scattered(pde: Pde, size: usize, step: usize) -> Vec<(Channel, usize)> {
    let points = (0..size * size).step_by(step);
    let a = points.clone().map(|point| (Channel::A, point));
    let u = points.map(|point| (Channel::U, (point + 7) % (size * size)));
    a.chain(u.filter(|_| pde != Pde::NAVIER_STOKES)).collect()
}

#[test]
fn without_noise_the_sensors_are_interpolated() {
    for pde in EXACT {
        let prior = Prior::new(pde, 32).unwrap();
        let readings = seen(pde, 32, &scattered(pde, 32, 37));
        let posterior = prior.given(&readings, NO_NOISE).unwrap();
        assert_eq!(posterior.method(), Method::Factor { noise_floor: None, left_out: 0 });
        let mean = posterior.mean().unwrap();
        for reading in &readings {
            let point = reading.spot.nearest(32);
            let (got, scale) = match reading.channel {
                Channel::A => (mean.a[point], 0.3),
                Channel::U => (mean.u[point], 0.004),
            };
            assert!((got - reading.value).abs() < 1e-9 * scale, "{pde} {reading:?}: {got}");
        }
    }
}

/// Sensors between pixels of fields that a polynomial is not: standard deviations must allow for what interpolation may
/// be off, and the answer be nearly that of as many sensors on pixels.
#[test]
fn between_pixels_the_field_is_interpolated_as_well_as_stated() {
    let size = 64;
    for (pde, channel) in
        [(Pde::POISSON, Channel::U), (Pde::HELMHOLTZ, Channel::U), (Pde::NAVIER_STOKES, Channel::A)]
    {
        let prior = Prior::new(pde, size).unwrap();
        let identity = Identity { pde, seed: 5, split: Split::Test, resolution: size };
        let generator = Generator::new(identity).unwrap();
        let mut squares = 0.0;
        let mut count = 0.0;
        for number in 0..4 {
            let record = generator.record(number).unwrap();
            let field = if channel == Channel::A { &record.fields.a } else { &record.fields.u };
            let mut stream = Coordinates::new("between").number(number).stream();
            let readings: Vec<Reading> = (0..200)
                .map(|_| {
                    let spot = Spot { at: [0, 1].map(|_| stream.random::<f64>() * (size - 1) as f64) };
                    // Ten points know more than the six that the method takes.
                    Reading::new(channel, spot, Stencil::new(pde, channel, size, spot, 10).value(field))
                })
                .collect();
            let posterior = prior.given(&readings, rounding_noise(&Constants::generated(pde))).unwrap();
            assert_eq!(posterior.between_pixels(), 200);
            let mean = posterior.mean().unwrap();
            let deviations = posterior.deviations(0).unwrap().fields;
            let apart = mean.a.iter().zip(&record.fields.a).zip(&deviations.a).filter(|(_, sd)| **sd > 0.0);
            for ((mean, truth), sd) in apart {
                squares += ((mean - truth) / sd).powi(2);
                count += 1.0;
            }
        }
        let ratio = squares / count;
        assert!((0.8..1.2).contains(&ratio), "{pde}: squares of errors are {ratio} times what is stated");
    }
}

#[test]
fn a_sensor_between_pixels_is_its_pixel_s_when_it_gets_there() {
    let prior = Prior::new(Pde::POISSON, 32).unwrap();
    let mean = |offset: f64| {
        let reading = Reading::new(Channel::U, Spot { at: [12.0 + offset, 20.0] }, 0.004);
        prior.given(&[reading], NO_NOISE).unwrap().mean().unwrap().a
    };
    let on = mean(0.0);
    let near = mean(1e-5);
    let apart = on.iter().zip(&near).map(|(on, near)| (on - near).abs()).fold(0.0, f64::max);
    assert!(apart > 0.0 && apart < 1e-4 * on.iter().fold(0.0, |most, x| x.abs().max(most)), "{apart}");
}

/// What is known of a record, as a body in it, is not as uncertain as what instruments say.
#[test]
fn known_values_have_none_of_the_readings_noise() {
    let prior = Prior::new(Pde::POISSON, 32).unwrap();
    let noise = PerChannel { a: 0.3, u: 0.0 };
    let mean = |is_known: bool| {
        let spot = Spot::pixel(10, 12);
        let reading = Reading { is_known, ..Reading::new(Channel::A, spot, 0.2) };
        prior.given(&[reading], noise).unwrap().mean().unwrap().a[10 * 32 + 12]
    };
    assert!((mean(true) - 0.2).abs() < 1e-6 && (mean(false) - 0.2).abs() > 0.05);
}

/// What readings are off by for being written with few digits is a noise of their own, and several of one place have less.
#[test]
fn rounding_is_a_noise_of_each_reading() {
    let prior = Prior::new(Pde::POISSON, 32).unwrap();
    let at = |k: usize| Reading::of_pixel(Channel::U, 97 + 41 * (k / 2), 32, 1e-4 * (k % 7) as f64);
    let exact: Vec<Reading> = (0..24).map(at).collect();
    let rounded: Vec<Reading> = exact.iter().map(|reading| Reading { rounding: 3e-4, ..*reading }).collect();
    let noisy = prior.given(&exact, PerChannel { a: 0.0, u: 3e-4 }).unwrap();
    let written = prior.given(&rounded, NO_NOISE).unwrap();
    assert_eq!(written.mean().unwrap(), noisy.mean().unwrap());
    assert_eq!(written.deviations(0).unwrap().fields, noisy.deviations(0).unwrap().fields);
    assert_eq!(written.model_check(), noisy.model_check());
    let refused = prior.given(&[Reading { rounding: f64::NAN, ..exact[0] }], NO_NOISE);
    assert!(refused.is_err());
}

#[test]
fn without_sensors_the_prior_comes_back() {
    let root_mean_square = |x: &[f64]| (x.iter().map(|x| x * x).sum::<f64>() / x.len() as f64).sqrt();
    for pde in EXACT {
        let prior = Prior::new(pde, 32).unwrap();
        let posterior = prior.given(&[], rounding_noise(&Constants::generated(pde))).unwrap();
        let mean = posterior.mean().unwrap();
        assert!(mean.a.iter().all(|x| *x == 0.0));
        let deviations = posterior.deviations(0).unwrap().fields;
        let PerChannel { a, u } = match pde.descriptor().prior {
            GaussianPrior::Linear { plan, .. } => plan(32).exact_deviations(),
            GaussianPrior::InitialState(_) => {
                let exact = PeriodicField::new(32).variance().sqrt();
                assert!(deviations.a.iter().all(|sd| (sd - exact).abs() < 1e-13));
                continue;
            }
            GaussianPrior::None(why) => panic!("{pde} has no prior: {why}"),
        };
        assert!(mean.u.iter().all(|x| *x == 0.0));
        assert!((root_mean_square(&deviations.a) / a - 1.0).abs() < 1e-12);
        assert!((root_mean_square(&deviations.u) / u - 1.0).abs() < 1e-12);
    }
}

fn require_less(less: &Fields<f64>, more: &Fields<f64>) -> Result<(), TestCaseError> {
    for (less, more) in [(&less.a, &more.a), (&less.u, &more.u)] {
        for (less, more) in less.iter().zip(more) {
            prop_assert!(*less <= more * (1.0 + 1e-9), "{less} {more}");
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Another sensor never makes anything less certain, and neither does less noise.
    #[test]
    fn variances_shrink_with_sensors_and_grow_with_noise(
        helmholtz: bool,
        points in proptest::collection::vec((any::<bool>(), 0usize..256), 2..30),
        kept in 1usize..29,
        noise in 1e-3f64..1e-1,
    ) {
        let pde = if helmholtz { Pde::HELMHOLTZ } else { Pde::POISSON };
        let prior = Prior::new(pde, 16).unwrap();
        let channel = |of_u| if of_u { Channel::U } else { Channel::A };
        let readings: Vec<Reading> =
            points.iter().map(|&(of_u, point)| Reading::of_pixel(channel(of_u), point, 16, 0.1)).collect();
        let deviations = |readings: &[Reading], noise: f64| {
            prior.given(readings, PerChannel { a: noise, u: noise / 70.0 }).unwrap().deviations(0).unwrap().fields
        };
        let all = deviations(&readings, noise);
        require_less(&all, &deviations(&readings[..kept.min(readings.len())], noise))?;
        require_less(&all, &deviations(&readings, 2.0 * noise))?;
    }
}

#[test]
fn bits_do_not_depend_on_the_number_of_threads() {
    for pde in EXACT {
        let readings = seen(pde, 32, &scattered(pde, 32, 9));
        let everything = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let prior = Prior::new(pde, 32).unwrap();
                let posterior = prior.given(&readings, rounding_noise(&Constants::generated(pde))).unwrap();
                let all = (posterior.mean(), posterior.deviations(4), posterior.samples(4, 3));
                (all.0.unwrap(), all.1.unwrap(), all.2.unwrap())
            })
        };
        assert_eq!(everything(1), everything(3));
    }
}

#[test]
fn a_sample_depends_on_its_index_alone() {
    let prior = Prior::new(Pde::POISSON, 16).unwrap();
    let reading = Reading::of_pixel(Channel::A, 100, 16, 0.2);
    let posterior = prior.given(&[reading], NO_NOISE).unwrap();
    let samples = posterior.samples(9, 3).unwrap();
    assert_eq!(posterior.sample(9, 2).unwrap(), samples[2]);
    assert_ne!(samples[1], samples[2]);
    assert_ne!(posterior.sample(10, 2).unwrap(), samples[2]);
    assert!(samples.iter().all(|sample| (sample.a[100] - 0.2).abs() < 1e-12));
}

/// u is zero on the edge whatever happens, and so is Helmholtz's a: measuring them says nothing.
#[test]
fn sensors_of_what_is_zero_by_definition_are_left_out() {
    for pde in [Pde::POISSON, Pde::HELMHOLTZ] {
        let prior = Prior::new(pde, 16).unwrap();
        let at = |channel, point| Reading::of_pixel(channel, point, 16, 0.0);
        let corner = [at(Channel::U, 0), at(Channel::U, 255), at(Channel::A, 15)];
        let counted = |posterior: Posterior| posterior.sensors();
        let expected = if pde == Pde::POISSON { 1 } else { 0 };
        assert_eq!(counted(prior.given(&corner, NO_NOISE).unwrap()), expected);
        let posterior = prior.given(&corner, NO_NOISE).unwrap();
        let mean = posterior.mean().unwrap();
        let sd = posterior.deviations(0).unwrap().fields;
        for point in (0..256).filter(|point| on_edge(*point, 16)) {
            assert_eq!((mean.u[point], sd.u[point]), (0.0, 0.0));
            assert!(pde == Pde::POISSON || (mean.a[point], sd.a[point]) == (0.0, 0.0));
        }
    }
}

/// Readings of a record agree with the model; with three hundred times the noise that was stated they contradict it.
#[test]
fn wrong_noise_contradicts_the_model() {
    for pde in EXACT {
        let prior = Prior::new(pde, 32).unwrap();
        let mut readings = seen(pde, 32, &scattered(pde, 32, 9));
        let noise = PerChannel { a: 3e-3, u: 4e-5 };
        let contradict =
            |readings: &[Reading]| prior.given(readings, noise).unwrap().model_check().unwrap().contradicts();
        assert!(!contradict(&readings), "{pde}");
        for (k, reading) in readings.iter_mut().enumerate() {
            reading.value += 300.0 * noise[reading.channel] * (k as f64 * 1.7).sin();
        }
        assert!(contradict(&readings), "{pde}");
    }
}

/// Two noisy readings of one place are one reading of their mean with less noise.
#[test]
fn repeated_measurements_are_averaged() {
    let prior = Prior::new(Pde::POISSON, 16).unwrap();
    let reading = |value| Reading::of_pixel(Channel::U, 100, 16, value);
    let noise = |sd| PerChannel { a: 0.0, u: sd };
    let twice = prior.given(&[reading(0.002), reading(0.004)], noise(1e-4)).unwrap();
    let once = prior.given(&[reading(0.003)], noise(1e-4 / 2f64.sqrt())).unwrap();
    let pairs = |x: &Fields<f64>, y: &Fields<f64>| {
        let all = x.u.iter().zip(&y.u).chain(x.a.iter().zip(&y.a));
        all.map(|(x, y)| (x - y).abs()).fold(0.0, f64::max)
    };
    assert!(pairs(&twice.mean().unwrap(), &once.mean().unwrap()) < 1e-12);
    let twice = twice.deviations(0).unwrap();
    let once = once.deviations(0).unwrap();
    assert!(pairs(&twice.fields, &once.fields) < 1e-12);
}

/// 9,000 readings are more than a factor is made for. Nine each of 1,000 places say what one with a third of the noise
/// says, and have one.
#[test]
fn many_readings_of_few_places_are_few_sensors() {
    let prior = Prior::new(Pde::POISSON, 128).unwrap();
    let points: Vec<(Channel, usize)> = (0..1000).map(|k| (Channel::A, (k * 7919) % (128 * 128))).collect();
    let once = seen(Pde::POISSON, 128, &points);
    let nine: Vec<Reading> = once.iter().flat_map(|reading| [*reading; 9]).collect();
    assert!(nine.len() > DENSE_LIMIT);
    let few = prior.given(&once, PerChannel { a: 3e-3, u: 0.0 }).unwrap();
    let many = prior.given(&nine, PerChannel { a: 9e-3, u: 0.0 }).unwrap();
    assert_eq!((many.sensors(), many.method()), (1000, few.method()));
    let few = few.mean().unwrap();
    let many = many.mean().unwrap();
    let apart = few.a.iter().zip(&many.a).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
    assert!(apart < 1e-9, "{apart}");
}

/// a follows from u: with both seen everywhere the covariance is singular, and a floor of noise, which is told, takes
/// its part.
#[test]
fn what_double_precision_cannot_tell_apart_gets_a_noise_floor() {
    let prior = Prior::new(Pde::HELMHOLTZ, 32).unwrap();
    let readings = seen(Pde::HELMHOLTZ, 32, &scattered(Pde::HELMHOLTZ, 32, 1));
    let posterior = prior.given(&readings, NO_NOISE).unwrap();
    let Method::Factor { noise_floor: Some(floor), .. } = posterior.method() else {
        panic!("no noise floor");
    };
    assert!(floor > 0.0 && floor < 1e-6, "{floor}");
    assert!((posterior.mean().unwrap().a[100] - readings[100].value).abs() < 1e-4);
}

#[test]
fn what_has_no_posterior_is_refused_with_advice() {
    for pde in [Pde::DARCY, Pde::CYLINDER] {
        let refusal = Prior::new(pde, 32).err().unwrap().to_string();
        assert!(refusal.contains("use a trained network"), "{refusal}");
    }
    let flow = Prior::new(Pde::NAVIER_STOKES, 32).unwrap();
    let of_u = Reading::of_pixel(Channel::U, 3, 32, 0.1);
    assert_eq!(
        flow.given(&[of_u], NO_NOISE).err(),
        Some(PosteriorError::NonlinearSensors(Pde::NAVIER_STOKES))
    );
    for size in [0, 6, 33, 4098] {
        assert_eq!(Prior::new(Pde::POISSON, size).err(), Some(PosteriorError::Resolution(size)));
    }
}

#[test]
fn bad_readings_and_noise_are_refused() {
    let prior = Prior::new(Pde::POISSON, 16).unwrap();
    let reading = |point, value| Reading::of_pixel(Channel::A, point, 16, value);
    let refusal = |reading, noise| prior.given(&[reading], noise).err().unwrap();
    assert_eq!(
        refusal(reading(256, 0.1), NO_NOISE),
        PosteriorError::Outside { reading: 0, at: [16.0, 0.0], grid: 16.into() }
    );
    assert_eq!(refusal(reading(3, f64::NAN), NO_NOISE), PosteriorError::NotFinite(0));
    assert_eq!(refusal(reading(3, 0.1), PerChannel { a: -1.0, u: 0.0 }), PosteriorError::Noise(-1.0));
    assert!(matches!(refusal(reading(3, 0.1), PerChannel { a: 0.0, u: f64::NAN }), PosteriorError::Noise(_)));
}
