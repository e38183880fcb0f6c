//! Fits of records whose modes are known.

use scope_data::{DataError, Dataset, Request, generate};
use scope_linear::{
    FitOptions, FitProgress, FitStage, FreshRecords, LinearError, LinearFit, RecordArray, Source, fit,
    fit_records,
};
use scope_pde::{Identity, Pde, Split};

use crate::{PIXELS, source, wave};

const LENGTH: usize = 2 * PIXELS;

/// Records that vary in five directions, and none other.
fn five_directions(count: usize) -> RecordArray {
    let value = |record: usize, pixel: usize| {
        let sum = |k: usize| wave(record, 40 + k) * wave(pixel, k) / (1 << k) as f64;
        (0.3 + (0..5).map(sum).sum::<f64>()) as f32
    };
    let values = (0..count * LENGTH).map(|at| value(at / LENGTH, at % LENGTH)).collect();
    RecordArray { values, length: LENGTH }
}

fn fitted(records: &RecordArray, modes: usize) -> Result<LinearFit, LinearError> {
    fit_records(records, source(), FitOptions { modes }, &FitProgress(&|_, _, _| true))
}

#[test]
fn records_of_five_directions_have_five_modes() {
    let fit = fitted(&five_directions(200), 20).unwrap();
    assert_eq!((fit.about.modes, fit.about.records, fit.about.held_out), (5, 200, 10));
    assert!(fit.about.held_out_percent.iter().all(|percent| *percent > 99.9999), "{:?}", fit.about);
    assert!(fit.residual.iter().all(|deviation| *deviation < 1e-5));
}

/// Modes are ordered, perpendicular, and hold as much of the records' variance as any directions could.
#[test]
fn modes_are_the_principal_components() {
    let fit = fitted(&five_directions(200), 3).unwrap();
    let column = |k: usize| (0..LENGTH).map(move |pixel| pixel * 3 + k);
    let dot = |k: usize, l: usize| {
        column(k).zip(column(l)).map(|(x, y)| f64::from(fit.modes[x]) * f64::from(fit.modes[y])).sum::<f64>()
    };
    assert!(dot(0, 0) > dot(1, 1) && dot(1, 1) > dot(2, 2));
    for (k, l) in [(0, 1), (0, 2), (1, 2)] {
        assert!(dot(k, l).abs() < 1e-5 * (dot(k, k) * dot(l, l)).sqrt());
    }
    let records = five_directions(200);
    let value = |record: usize, pixel: usize| f64::from(records.values[record * LENGTH + pixel]);
    let fitted_records = 170;
    let mean: Vec<f64> = (0..LENGTH)
        .map(|p| (0..fitted_records).map(|n| value(n, p)).sum::<f64>() / fitted_records as f64)
        .collect();
    // C v = lambda v, with the covariance of the records that were fitted.
    for k in 0..3 {
        let length = dot(k, k).sqrt();
        let mode: Vec<f64> = column(k).map(|at| f64::from(fit.modes[at]) / length).collect();
        let mut image = vec![0.0; LENGTH];
        for record in 0..fitted_records {
            let along: f64 = (0..LENGTH).map(|p| (value(record, p) - mean[p]) * mode[p]).sum();
            (0..LENGTH)
                .for_each(|p| image[p] += along * (value(record, p) - mean[p]) / fitted_records as f64);
        }
        let variance: f64 = image.iter().zip(&mode).map(|(x, y)| x * y).sum();
        let apart: f64 = image.iter().zip(&mode).map(|(x, y)| (x - variance * y).powi(2)).sum();
        assert!(apart.sqrt() < 1e-4 * variance, "mode {k}: {} of {variance}", apart.sqrt());
    }
}

#[test]
fn what_cannot_be_fitted_is_refused() {
    let refused = |records: &RecordArray, modes: usize| fitted(records, modes).unwrap_err().to_string();
    assert!(refused(&five_directions(15), 3).contains("15 records are too few"));
    let many = refused(&five_directions(40), 36);
    assert!(many.contains("36 modes are too many") && many.contains("35 modes at most"), "{many}");
    let constant = RecordArray { values: vec![0.25; 40 * LENGTH], length: LENGTH };
    assert!(refused(&constant, 3).contains("all the same"));
}

#[test]
fn work_can_be_stopped() {
    for stage in [FitStage::Mean, FitStage::Sketch, FitStage::Pass, FitStage::Variances, FitStage::HeldOut] {
        let until = |now: FitStage, _: usize, _: usize| now != stage;
        let options = FitOptions { modes: 4 };
        let stopped = fit_records(&five_directions(40), source(), options, &FitProgress(&until));
        assert!(matches!(stopped, Err(LinearError::Data(DataError::Interrupted))), "{stage:?}");
    }
}

#[test]
fn bits_do_not_depend_on_the_number_of_threads() {
    let records = five_directions(300);
    let fit = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| fitted(&records, 4).unwrap())
    };
    assert_eq!(fit(1), fit(3));
}

#[test]
fn records_in_memory_are_fitted_as_those_of_a_folder() {
    let identity = Identity { pde: Pde::POISSON, seed: 5, split: Split::Train, resolution: 32 };
    let options = FitOptions { modes: 8 };
    let progress = FitProgress(&|_, _, _| true);
    let mut fresh = FreshRecords::with_capacity(identity, 40).unwrap();
    while fresh.count() < 40 {
        fresh.solve_next().unwrap();
    }
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("records");
    generate(&Request { identity, count: 40, shard: None }, &folder, |_| true).unwrap();
    let mut of_folder = fit(&Dataset::open(&folder).unwrap(), options, &progress).unwrap();
    let of_memory = fresh.fit(options, &progress).unwrap();
    // The hash of a file is that of its header too.
    of_folder.about.source.blake3.clone_from(&of_memory.about.source.blake3);
    assert!(of_memory == of_folder);
}

/// What a field of one's own is stored in units of says nothing of its modes: a known region at zero makes that large.
#[test]
fn modes_of_one_s_own_fields_do_not_depend_on_their_units() {
    let text = r#"{"name": "sea", "fields": {"a": {"name": "temperature"}, "u": {"name": "salinity"}},
        "grid": {"rows": 32, "columns": 32}}"#;
    let length = 2 * 32 * 32;
    let fit_of = |unit_of_a: f32| {
        let value = |record: usize, pixel: usize| {
            let sum = (0..5).map(|k| wave(record, 40 + k) * wave(pixel, k) / (1 << k) as f64).sum::<f64>();
            sum as f32 * if pixel < length / 2 { unit_of_a } else { 1.0 }
        };
        let values = (0..60 * length).map(|at| value(at / length, at % length)).collect();
        let pde: Pde = serde_json::from_str(text).unwrap();
        let source = Source { pde, resolution: 32.into(), ..source() };
        let records = RecordArray { values, length };
        fit_records(&records, source, FitOptions { modes: 3 }, &FitProgress(&|_, _, _| true)).unwrap()
    };
    let (one, other) = (fit_of(1.0), fit_of(1.0 / 64.0));
    let of_a = length / 2 * 3;
    assert_eq!(one.modes[of_a..], other.modes[of_a..]);
    assert!(one.modes[..of_a].iter().zip(&other.modes).all(|(x, y)| *x == 64.0 * y));
    assert!(one.residual[..length / 2].iter().zip(&other.residual).all(|(x, y)| *x == 64.0 * y));
    assert_eq!(one.about.held_out_percent, other.about.held_out_percent);
}
