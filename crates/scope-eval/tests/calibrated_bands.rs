//! Bands measured on some records hold what they promise on others.

use std::path::Path;

use scope_data::{
    Channel, Constants, Dataset, PerChannel, Request, generate,
    observation::{
        Condition, MaskSampler, Namespace, Place, STENCIL_POINTS, Sensor, Spot, Stencil, TEST_MASK_SEED,
        UserContext,
    },
};
use scope_eval::{
    Banded, Evaluation, Measure, PosteriorMethod, RecoveryMethod,
    bands::{CALIBRATION_MASK_SEED, Calibration, OnTheSpot},
};
use scope_model::Fields;
use scope_pde::{Identity, Pde, Split};

const SIZE: usize = 32;

fn method() -> PosteriorMethod {
    PosteriorMethod::exact(Pde::POISSON, Constants::generated(Pde::POISSON), SIZE).unwrap()
}

fn records(folder: &Path, seed: u64, count: usize) -> Dataset {
    let identity = Identity { pde: Pde::POISSON, seed, split: Split::Test, resolution: SIZE };
    let out = folder.join(seed.to_string());
    generate(&Request { identity, count, shard: None }, &out, |_| true).unwrap();
    Dataset::open(&out).unwrap()
}

fn conditions(names: &[&str]) -> Vec<Condition> {
    names.iter().map(|name| name.parse().unwrap()).collect()
}

/// 400 records to measure on and 400 fresh ones: coverage within two points of what is promised, also between two
/// numbers of sensors that were measured; and none beyond them.
#[test]
fn bands_cover_fresh_records_as_promised() {
    let folder = tempfile::tempdir().unwrap();
    let known = records(folder.path(), 1, 400);
    let fresh = records(folder.path(), 2, 400);
    let evaluation = |data, mask_seed| Evaluation {
        data,
        mask_seed,
        noise: None,
        records: 400,
        batch: 100,
        interpolate: true,
    };
    let measured = conditions(&["forward/cluster/1024", "inverse/uniform/500", "inverse/uniform/1024"]);
    let calibration = Calibration { evaluation: evaluation(&known, CALIBRATION_MASK_SEED) };
    let mut heard = 0;
    let bands = calibration.bands(&method(), &measured, &mut |done| heard = done).unwrap();
    assert_eq!((heard, bands.records, bands.shape_records), (3 * 400, 300, 100));
    bands.check().unwrap();
    let banded = Banded { method: method(), bands: Some(bands) };
    let test = evaluation(&fresh, TEST_MASK_SEED);
    let between = conditions(&["inverse/uniform/700"]);
    for condition in measured.iter().chain(&between) {
        let scores = test.condition(&banded, *condition, &mut |_| ()).unwrap();
        for (measure, level) in
            [("a/within68", 68.0), ("a/within95", 95.0), ("u/within68", 68.0), ("u/within95", 95.0)]
        {
            let measure: Measure = measure.parse().unwrap();
            let shares: Vec<f64> = scores.measures[&measure].iter().flatten().copied().collect();
            let mean = shares.iter().sum::<f64>() / shares.len() as f64;
            assert!(shares.len() > 390, "{condition}: {} records have bands", shares.len());
            let off = if between.contains(condition) { 3.0 } else { 2.0 };
            assert!((mean - level).abs() < off, "{condition} {measure}: {mean}");
        }
    }
    let few = Evaluation { records: 5, ..test };
    for beyond in conditions(&["inverse/uniform/2048", "inverse/block/1024", "forward/uniform/250"]) {
        let scores = few.condition(&banded, beyond, &mut |_| ()).unwrap();
        assert!(!scores.measures.contains_key(&Measure::within(Channel::A, 0.68)), "{beyond}");
    }
}

#[test]
fn few_records_make_no_bands() {
    let folder = tempfile::tempdir().unwrap();
    let data = records(folder.path(), 1, 20);
    let evaluation =
        Evaluation { data: &data, mask_seed: 1, noise: None, records: 20, batch: 20, interpolate: true };
    let made =
        Calibration { evaluation }.bands(&method(), &conditions(&["forward/uniform/500"]), &mut |_| ());
    assert!(made.unwrap_err().to_string().contains("bands need 40 records, and there are 20"));
}

/// The exact posterior states its own bands.
#[test]
fn the_exact_posterior_covers_as_it_states() {
    let folder = tempfile::tempdir().unwrap();
    let data = records(folder.path(), 3, 200);
    let evaluation =
        Evaluation { data: &data, mask_seed: 1, noise: None, records: 200, batch: 50, interpolate: true };
    let condition = "inverse/uniform/1024".parse().unwrap();
    let scores = evaluation.condition(&method().with_bands(), condition, &mut |_| ()).unwrap();
    for (measure, level) in [("a/within68", 68.0), ("a/within95", 95.0)] {
        let measure: Measure = measure.parse().unwrap();
        let mean = scores.measures[&measure].iter().flatten().sum::<f64>() / 200.0;
        assert!((mean - level).abs() < 2.0, "{measure}: {mean}");
    }
}

/// Sensors of u and what they say of a field.
fn seen_at(spots: &[Spot], field: &[f64]) -> UserContext {
    let sensor = |spot: &Spot| {
        let [x, y] = spot.at.map(|at| at / (SIZE - 1) as f64);
        let value = Stencil::new(Pde::POISSON, Channel::U, SIZE, *spot, STENCIL_POINTS).value(field);
        Sensor { channel: Channel::U, place: Place::Point(x, y), value }
    };
    let sensors: Vec<Sensor> = spots.iter().map(sensor).collect();
    UserContext::new(Pde::POISSON, &Constants::generated(Pde::POISSON), SIZE, &sensors, None).unwrap()
}

/// The shares of all pixels of a that lie within half-widths, over records seen by sensors of u.
fn shares_within(
    data: &Dataset,
    method: &dyn RecoveryMethod,
    spots: &[Spot],
    widths: &[Fields; 2],
) -> [f64; 2] {
    let constants = Constants::generated(Pde::POISSON);
    let mut within = [0.0; 2];
    for record in 0..data.len() {
        let pair = data.pair(record).unwrap();
        let u: Vec<f64> = pair.u().iter().map(|x| constants.u.physical(*x)).collect();
        let fields = method.recover_sensors(&mut [seen_at(spots, &u)]).unwrap().remove(0);
        for (within, widths) in within.iter_mut().zip(widths) {
            let inside = |k: &usize| {
                let truth = constants.a.physical(pair.a()[*k]) as f32;
                (fields.a[*k] - truth).abs() <= widths.a[*k]
            };
            *within += (0..SIZE * SIZE).filter(inside).count() as f64;
        }
    }
    within.map(|count| count / (data.len() * SIZE * SIZE) as f64)
}

/// Measured for one set of sensors, bands hold for records seen by it, pixel by pixel.
#[test]
fn bands_measured_on_the_spot_hold_for_these_sensors() {
    let folder = tempfile::tempdir().unwrap();
    let data = records(folder.path(), 4, 300);
    let method = method();
    let condition: Condition = "inverse/cluster/500".parse().unwrap();
    let masks = MaskSampler::new(Pde::POISSON, 9, SIZE).masks(Namespace::Test, 5, condition, None);
    let spot = |noise| OnTheSpot::new(Pde::POISSON, SIZE, 199, noise).unwrap();
    let sum = |field: &[f32]| field.iter().sum::<f32>();
    let pixels: Vec<Spot> =
        masks.seen.u.points().map(|point| Spot::pixel(point / SIZE, point % SIZE)).collect();
    let last = (SIZE - 1) as f64;
    let between =
        pixels.iter().map(|Spot { at: [x, y] }| Spot { at: [(x + 0.4).min(last), (y - 0.3).max(0.0)] });
    let mut sums = Vec::new();
    for spots in [pixels.clone(), between.collect()] {
        let measures = spot(PerChannel::both(0.0))
            .measure(&method, &seen_at(&spots, &[0.0; SIZE * SIZE]), &|_| true)
            .unwrap();
        let widths = measures.half_widths;
        let within = shares_within(&data, &method, &spots, &widths);
        for (share, level) in within.iter().zip([0.68, 0.95]) {
            assert!((share - level).abs() < 0.02, "{share} of {level}");
        }
        sums.push(sum(&widths[0].u));
    }
    // u is zero on the edge, and known there; noise of the sensors makes bands wider.
    let placed = seen_at(&pixels, &[0.0; SIZE * SIZE]);
    let noisy = spot(PerChannel { a: 0.0, u: 1e-3 }).measure(&method, &placed, &|_| true).unwrap();
    assert!(sum(&noisy.half_widths[0].u) > 1.5 * sums[0]);
    let exact = spot(PerChannel::both(0.0)).measure(&method, &placed, &|_| true).unwrap();
    assert!(exact.half_widths[1].u[..SIZE].iter().all(|width| *width < 1e-8));
    let [exact, noisy] = [exact, noisy].map(|measures| measures.calibrated);
    assert!(noisy.error_percent.u.unwrap() > exact.error_percent.u.unwrap());
    assert!(noisy.largest_misfit_percent.u.unwrap() > exact.largest_misfit_percent.u.unwrap());
    assert_eq!((noisy.records, noisy.largest_misfit_percent.a), (199, None));
}

#[test]
fn what_cannot_be_measured_on_the_spot_is_refused() {
    let refused =
        |pde, records| OnTheSpot::new(pde, SIZE, records, PerChannel::both(0.0)).err().unwrap().to_string();
    assert!(refused(Pde::CYLINDER, 100).contains("other disks than yours"));
    assert!(refused(Pde::POISSON, 18).contains("take at least 19"));
}
