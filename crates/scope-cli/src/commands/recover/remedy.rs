//! What the library has to say, with the options of this program that help.

use scope::{
    eval::trust::Warning,
    recovery::{Remark, WithoutBands},
};

/// Why there are no error bands, and how to have them.
pub(super) fn of_missing_bands(without: &WithoutBands) -> String {
    let option = without.can_be_measured.then_some("add --calibrate 200");
    with_option(without, option)
}

/// A warning, and what to do about it.
pub(super) fn of_warning(warning: &Warning) -> String {
    let option = match warning {
        Warning::NoGeometry => Some("--geometry CX,CY,R"),
        Warning::NoHeldOut(_) => Some("scope evaluate"),
        _ => None,
    };
    with_option(warning, option)
}

/// A remark, and what to do about it.
pub(super) fn of_remark(remark: &Remark) -> String {
    let option = match remark {
        Remark::Surprising(_) => Some("--noise"),
        _ => None,
    };
    with_option(remark, option)
}

fn with_option(said: impl ToString, option: Option<&str>) -> String {
    let mut said = said.to_string();
    if let Some(option) = option {
        said.push_str(&format!(" ({option})"));
    }
    said
}
