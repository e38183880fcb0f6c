//! Values that stand in NetCDF files otherwise than they are meant.

use std::path::Path;

use hdf5_pure::{AttrValue, FileBuilder};
use scope_data::{Dataset, FieldSource, HeldOut, OwnImport, PerChannel, import_own};
use scope_pde::Pde;

const POINTS: usize = 32 * 40;

/// Writes two records of u as a file that is packed; `change` spoils the stored values.
fn packed(path: &Path, change: impl Fn(&mut Vec<f32>)) {
    let mut stored: Vec<f32> = (0..4 * POINTS).map(|k| (k as f32 * 0.37).sin()).collect();
    change(&mut stored);
    let mut file = FileBuilder::new();
    file.create_dataset("u")
        .with_f32_data(&stored)
        .with_shape(&[4, 32, 40])
        .set_attr("scale_factor", AttrValue::F64(2.0))
        .set_attr("add_offset", AttrValue::F64(10.0))
        .set_attr("_FillValue", AttrValue::F32(-999.0));
    std::fs::write(path, file.finish().unwrap()).unwrap();
}

fn import(path: &Path, out: &Path) -> Result<Dataset, String> {
    let problem =
        r#"{"name": "packed", "fields": {"u": {"name": "level"}}, "grid": {"rows": 32, "columns": 40}}"#;
    let pde: Pde = serde_json::from_str(problem).unwrap();
    let u = FieldSource { path: path.to_owned(), variable: "u".to_owned() };
    let request = OwnImport {
        pde,
        fields: PerChannel { a: None, u: Some(u) },
        known: None,
        groups: None,
        test: HeldOut::Share(0.25),
        calibration_fraction: None,
    };
    import_own(&request, out, |_, _| true).map_err(|error| error.to_string())?;
    Ok(Dataset::open(&out.join("train")).unwrap())
}

#[test]
fn packed_values_are_unpacked_and_marks_of_none_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("packed.nc");
    packed(&file, |_| {});
    let train = import(&file, &folder.path().join("good")).unwrap();
    let scaling = train.meta().constants().u;
    let values = |record: usize| train.pair(record).unwrap().u().to_vec();
    for record in 0..train.len() {
        assert!(values(record).iter().all(|x| (7.9..12.1).contains(&scaling.physical(*x))));
    }
    for mark in [-999.0, 9.969_21e36] {
        packed(&file, |stored| stored[POINTS + 7] = mark);
        let refusal = import(&file, &folder.path().join("bad")).unwrap_err();
        assert!(refusal.contains("record 1") && refusal.contains("NaN"), "{mark}: {refusal}");
    }
}
