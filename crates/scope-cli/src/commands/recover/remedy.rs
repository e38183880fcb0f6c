//! What the library has to say, with the options of this program that help.

use crate::terminal::significant;
use scope::{
    data::PerChannel,
    eval::trust::Warning,
    pde::Pde,
    recovery::{Remark, WithoutBands},
};

/// Why there are no error bands, and how to have them.
pub(super) fn of_missing_bands(without: &WithoutBands) -> String {
    let option = without.can_be_measured.then_some("add --calibrate 200");
    with_option(without, option)
}

/// A warning about a problem, and what to do about it; whether errors can be measured on fresh records, and whether
/// both fields are measured.
pub(super) fn of_warning(pde: Pde, makes_fresh_records: bool, both: bool, warning: &Warning) -> String {
    let calibrate = if makes_fresh_records { " --calibrate 200" } else { "" };
    // Values of a problem of one's own cannot be scaled: its equation is not known.
    let is_own = pde.descriptor().spec.is_some();
    let option = match warning {
        Warning::NoGeometry { disk: true } => Some("--geometry CX,CY,R".to_owned()),
        Warning::NoGeometry { disk: false } => Some("--known MASK.npy".to_owned()),
        Warning::NoHeldOut(_) => Some("scope evaluate".to_owned()),
        Warning::NoReference { can_be_measured: true, .. }
        | Warning::NoReferenceForNoise { can_be_measured: true } => Some("add --calibrate 200".to_owned()),
        Warning::Noisy { channel, percent, .. } => {
            let percent = rounded(*percent);
            Some(match (both, *channel) {
                (false, _) => format!("add --noise {percent}%{calibrate}"),
                (true, "a") => {
                    format!("add --noise {percent}%,0{calibrate}, with the noise of u for 0 if it has any")
                }
                (true, _) => {
                    format!("add --noise 0,{percent}%{calibrate}, with the noise of a for 0 if it has any")
                }
            })
        }
        Warning::UnseenNoise { .. } => {
            Some(format!("if they are noisy, add --noise S{calibrate}; if they are exact, --noise 0"))
        }
        Warning::UnsureAmplitude { .. } => Some("--scale u=U".to_owned()),
        Warning::OutsideRange { .. } if !is_own => Some("--scale, --edge-value: docs/units.md".to_owned()),
        Warning::Unlike { ratio, noise_stated: false, noise_percent, .. } if *ratio > 1.0 => {
            let noise =
                noise_percent.map_or_else(|| "S".to_owned(), |percent| format!("{}%", rounded(percent)));
            Some(format!("if they are noisy, add --noise {noise}{calibrate}"))
        }
        Warning::Contradiction(contradiction) if !contradiction.few_to_blame => {
            noise_option(contradiction.noise)
        }
        Warning::Suspects(_) | Warning::Flipped { .. } => Some("--drop-suspects".to_owned()),
        _ => None,
    };
    with_option(warning, option.as_deref())
}

/// Two digits of a percentage.
fn rounded(percent: f64) -> String {
    let digits = (1.0 - percent.log10().floor()).clamp(0.0, 6.0) as usize;
    format!("{percent:.digits$}")
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
    (!noise.is_unknown()).then(|| format!("--noise {},{}", significant(a, 2), significant(u, 2)))
}

fn with_option(said: impl ToString, option: Option<&str>) -> String {
    let mut said = said.to_string();
    if let Some(option) = option {
        said.push_str(&format!(" ({option})"));
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_noise_to_state_has_two_digits() {
        assert_eq!([0.0123, 0.98, 4.87, 21.3].map(rounded), ["0.012", "0.98", "4.9", "21"]);
        let warning = Warning::Noisy { channel: "u", percent: 4.87, stated: None };
        let said = |fresh, both| of_warning(Pde::POISSON, fresh, both, &warning);
        assert!(said(true, false).ends_with("(add --noise 4.9% --calibrate 200)"));
        assert!(said(false, false).ends_with("(add --noise 4.9%)"));
        // The noise of one field is not that of the other.
        assert!(said(true, true).contains("add --noise 0,4.9% --calibrate 200, with the noise of a"));
    }
}
