//! Fits in files.

use std::path::Path;

use scope_linear::{LinearFit, LinearPrior};

use crate::in_a_file;

#[test]
fn a_fit_reads_back_in_every_bit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fit.safetensors");
    let mut fit = in_a_file();
    fit.about.calibration = 2;
    fit.calibration = (0..2 * fit.mean.len()).map(|at| (at as f32).sin()).collect();
    fit.write(&path).unwrap();
    let prior = LinearPrior::open(&path).unwrap();
    assert_eq!(*prior.fit(), fit);
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!(prior.blake3().unwrap(), blake3::hash(&bytes).to_string());
}

/// Fits of version 1 have no records for calibration, and say nothing of any.
#[test]
fn an_older_fit_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fit.safetensors");
    in_a_file().write(&path).unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    let mut replace = |from: &str, to: &str| {
        let at = bytes.windows(from.len()).position(|bytes| bytes == from.as_bytes()).unwrap();
        bytes.splice(at..at + from.len(), to.bytes());
    };
    // The header keeps its length.
    replace("\\\"version\\\":2", "\\\"version\\\":1");
    let entry = ",\\\"calibration\\\":0";
    replace(entry, "");
    replace("}\"}", &format!("}}\"{}}}", " ".repeat(entry.len())));
    let fit = LinearFit::parse(Path::new("fit"), &bytes).unwrap();
    assert_eq!(fit, in_a_file());
}

#[test]
fn files_that_are_no_fit_are_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fit.safetensors");
    in_a_file().write(&path).unwrap();
    let good = std::fs::read(&path).unwrap();
    let refused = |bytes: &[u8]| LinearFit::parse(Path::new("fit"), bytes).unwrap_err().to_string();
    let header = String::from_utf8_lossy(&good[8..]).into_owned();
    let changed = |from: &str, to: &str| {
        assert!(header.contains(from) && from.len() == to.len(), "{from}");
        let at = good.windows(from.len()).position(|bytes| bytes == from.as_bytes()).unwrap();
        let mut bytes = good.clone();
        bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
        refused(&bytes)
    };
    let mut not_finite = good.clone();
    let end = not_finite.len();
    not_finite[end - 4..].copy_from_slice(&f32::NAN.to_le_bytes());
    let mut huge = good.clone();
    huge[..8].copy_from_slice(&u64::MAX.to_le_bytes());
    for (fault, said) in [
        (refused(b"none"), "too few for a header"),
        (refused(&good[..good.len() - 4]), "not fully covered"),
        (refused(&not_finite), "NaN"),
        (refused(&huge), "none has more than"),
        (changed("scope-linear-fit", "scope-linear-fat"), "not one of ours"),
        (changed("\\\"version\\\":2", "\\\"version\\\":7"), "version 7"),
        (changed("\\\"modes\\\":3", "\\\"modes\\\":0"), "more than a fit may have"),
        (changed("\\\"resolution\\\":32", "\\\"resolution\\\":33"), "resolution 33"),
        (changed("\\\"resolution\\\":32", "\\\"resolution\\\":64"), "are there"),
        (changed("poisson", "squalor"), "squalor"),
    ] {
        assert!(fault.contains(said) && fault.contains("fit is not a usable linear fit"), "{said}: {fault}");
    }
}
