//! What the library has to say, with the options of this program that help.

use scope::{
    data::PerChannel,
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
        Warning::NoGeometry => Some("--geometry CX,CY,R".to_owned()),
        Warning::NoHeldOut(_) => Some("scope evaluate".to_owned()),
        Warning::Contradiction(contradiction) if !contradiction.few_to_blame => {
            noise_option(contradiction.noise)
        }
        Warning::Suspects(_) => Some("--drop-suspects".to_owned()),
        _ => None,
    };
    with_option(warning, option.as_deref())
}

/// A remark, and what to do about it.
pub(super) fn of_remark(remark: &Remark) -> String {
    let option = match remark {
        Remark::LessNoise(noise) => noise_option(*noise),
        _ => None,
    };
    with_option(remark, option.as_deref())
}

/// The option that states a noise; a channel without any takes none.
fn noise_option(noise: PerChannel<Option<f64>>) -> Option<String> {
    let PerChannel { a, u } = noise.map(|noise| noise.unwrap_or_default());
    (!noise.is_unknown()).then(|| format!("--noise {a:.1e},{u:.1e}"))
}

fn with_option(said: impl ToString, option: Option<&str>) -> String {
    let mut said = said.to_string();
    if let Some(option) = option {
        said.push_str(&format!(" ({option})"));
    }
    said
}
