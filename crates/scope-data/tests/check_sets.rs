//! Fresh sets pass; sets made with a swapped convention do not.

use std::path::Path;

use scope_data::{
    CheckReport, Constants, Dataset, DatasetWriter, Origin, Plan, RecordRegion, Request, check, generate,
    z_limit,
};
use scope_pde::{Generator, Identity, Pde, Record, Split, linear::SeparableSolver};

fn identity(pde: Pde, resolution: usize) -> Identity {
    Identity { pde, seed: 7, split: Split::Train, resolution }
}

fn fresh(pde: Pde, resolution: usize, count: usize) -> CheckReport {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("set");
    generate(&Request { identity: identity(pde, resolution), count, shard: None }, &out, |_| true).unwrap();
    check(&Dataset::open(&out).unwrap()).unwrap()
}

#[test]
fn fresh_sets_agree_with_the_released_constants() {
    for (pde, count) in [
        (Pde::POISSON, 300),
        (Pde::HELMHOLTZ, 300),
        (Pde::DARCY, 120),
        (Pde::NAVIER_STOKES, 80),
        (Pde::CYLINDER, 10),
    ] {
        let report = fresh(pde, 128, count);
        assert!(report.faults.is_empty(), "{pde}: {:?}", report.faults);
        let references = report.channels.iter().flat_map(|c| [&c.mean, &c.deviation]);
        assert!(references.into_iter().all(|estimate| estimate.z.is_some()), "{pde} has all its references");
    }
}

#[test]
fn other_resolutions_agree_with_closed_forms() {
    for pde in Pde::ALL {
        let report = fresh(pde, 32, 60);
        assert!(report.faults.is_empty(), "{pde}: {:?}", report.faults);
    }
}

#[test]
fn few_records_have_no_statistics() {
    for count in [1, 2, 9] {
        let report = fresh(Pde::POISSON, 32, count);
        assert!(report.faults.is_empty(), "{count}: {:?}", report.faults);
        assert_eq!(report.z_limit, None);
        let figures = report.channels.iter().flat_map(|c| [&c.mean, &c.deviation]);
        assert!(figures.into_iter().all(|figure| figure.z.is_none() && figure.standard_error.is_none()));
        let note = format!("too few records for statistics: {count}, at least 10 are needed");
        assert!(report.notes.iter().any(|line| line.starts_with(&note)), "{:?}", report.notes);
    }
}

/// With the limit of large sets, about one in forty of these would be.
#[test]
fn small_sets_are_not_called_faulty_by_accident() {
    let root = tempfile::tempdir().unwrap();
    for seed in 0..30 {
        let identity = Identity { pde: Pde::POISSON, seed, split: Split::Train, resolution: 32 };
        let out = root.path().join(seed.to_string());
        generate(&Request { identity, count: 10, shard: None }, &out, |_| true).unwrap();
        let report = check(&Dataset::open(&out).unwrap()).unwrap();
        assert!(report.faults.is_empty(), "seed {seed}: {:?}", report.faults);
    }
    assert_eq!(z_limit(10), Some(9.0));
    assert!(z_limit(50_000).unwrap() < 4.01);
}

/// A set of altered records.
fn altered(pde: Pde, out: &Path, alter: impl Fn(&mut Record)) -> Vec<String> {
    let count = if pde == Pde::CYLINDER { 4 } else { 40 };
    let constants = Constants::generated(pde);
    let origin = Origin::Generated { seed: 0, generator_version: 0 };
    let plan =
        Plan { pde, split: Split::Train, resolution: 128.into(), count, constants, origin, shard: None };
    let mut writer = DatasetWriter::create(out, plan).unwrap();
    let generator = Generator::new(identity(pde, 128)).unwrap();
    for index in 0..count {
        let mut record = generator.record(index as u64).unwrap();
        alter(&mut record);
        let a = record.fields.a.iter().map(|x| constants.a.store(*x));
        let values: Vec<f32> = a.chain(record.fields.u.iter().map(|x| constants.u.store(*x))).collect();
        writer.push(&values, record.disk.map(RecordRegion::Disk).as_ref()).unwrap();
    }
    writer.finish().unwrap();
    check(&Dataset::open(out).unwrap()).unwrap().faults
}

fn assert_caught(pde: Pde, words: &str, alter: impl Fn(&mut Record)) {
    let root = tempfile::tempdir().unwrap();
    let faults = altered(pde, &root.path().join("set"), alter);
    assert!(faults.iter().any(|fault| fault.contains(words)), "{words}: {faults:?}");
}

#[test]
fn a_spacing_of_one_128th_is_caught() {
    // Poisson's solution is proportional to the square of the spacing.
    let shrink =
        |record: &mut Record| record.fields.u.iter_mut().for_each(|u| *u *= (127.0f64 / 128.0).powi(2));
    assert_caught(Pde::POISSON, "discrete residual", shrink);
    assert_caught(Pde::HELMHOLTZ, "discrete residual", shrink);
}

#[test]
fn the_other_sign_of_k_squared_is_caught() {
    let solver = SeparableSolver::dirichlet(126, 1.0 / 127.0, -1.0);
    assert_caught(Pde::HELMHOLTZ, "discrete residual", |record| {
        let inside = |k: usize| (k / 126 + 1) * 128 + k % 126 + 1;
        let mut u: Vec<f64> = (0..126 * 126).map(|k| record.fields.a[inside(k)]).collect();
        solver.solve(&mut u, &mut vec![0.0; 126 * 126]);
        (0..126 * 126).for_each(|k| record.fields.u[inside(k)] = u[k]);
    });
}

#[test]
fn the_other_edge_convention_is_caught() {
    let on_edge = |k: usize| [0, 127].contains(&(k / 128)) || [0, 127].contains(&(k % 128));
    assert_caught(Pde::POISSON, "zeroed on the edge", |record| {
        (0..128 * 128).filter(|k| on_edge(*k)).for_each(|k| record.fields.a[k] = 0.0);
    });
    assert_caught(Pde::HELMHOLTZ, "|a| on the edge", |record| {
        (0..128 * 128).filter(|k| on_edge(*k)).for_each(|k| record.fields.a[k] = 0.1);
    });
}

#[test]
fn wrong_fields_are_caught() {
    assert_caught(Pde::DARCY, "a other than 3 or 12", |record| record.fields.a[77] = 7.5);
    assert_caught(Pde::DARCY, "fresh solve", |record| record.fields.u.reverse());
    assert_caught(Pde::NAVIER_STOKES, "fresh solve", |record| record.fields.u = record.fields.a.clone());
    assert_caught(Pde::NAVIER_STOKES, "mean vorticity", |record| {
        record.fields.u.iter_mut().for_each(|u| *u += 0.01)
    });
    assert_caught(Pde::POISSON, "rms deviation of a", |record| {
        record.fields.a.iter_mut().for_each(|a| *a *= 3.0)
    });
    let stir = |record: &mut Record| {
        let disk = record.disk.unwrap();
        record.fields.u[disk.cx as usize * 128 + disk.cy as usize] = 1.0;
    };
    assert_caught(Pde::CYLINDER, "inside the disk", stir);
    assert_caught(Pde::CYLINDER, "negative", |record| record.fields.a[5] = -0.5);
}
