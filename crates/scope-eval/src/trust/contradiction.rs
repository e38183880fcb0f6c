//! Readings that contradict the model of the problem.

use std::fmt;

use scope_data::{PerChannel, significant};

/// The outcome of a chi-square test that readings and model cannot both pass: y^T (K + s^2)^-1 y of n readings y, with
/// K + s^2 their covariance under the model, is far larger or far smaller than n. Prints as a sentence.
#[derive(Clone, Debug, PartialEq)]
pub struct Contradiction {
    /// y^T (K + s^2)^-1 y.
    pub statistic: f64,
    /// n, which the statistic is on average.
    pub readings: usize,
    /// The least and the largest statistic of records, where it was judged by these and not by what n has.
    pub usual: Option<[f64; 2]>,
    /// The noise of readings of a and u with which they would agree with the model, where there is one that makes
    /// sense.
    pub noise: PerChannel<Option<f64>>,
    /// Whether all but a few readings, which are suspected, agree with the model.
    pub few_to_blame: bool,
    /// Whether it is what some of the readings say beyond the others, at one range of scales, where all of them
    /// together agree.
    pub at_some_scales: bool,
}

impl Contradiction {
    /// Whether the readings vary less than the model says, and not more.
    pub(crate) fn is_too_small(&self) -> bool {
        self.statistic < self.readings as f64
    }
}

impl fmt::Display for Contradiction {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Self { statistic, readings, usual, noise, few_to_blame, at_some_scales } = self;
        let expected = match usual {
            Some([least, most]) => {
                format!("held-out records have {} to {}", significant(*least, 2), significant(*most, 2))
            }
            None => format!(
                "{readings} readings of this problem with this noise have {readings} +- {:.0}",
                (2.0 * *readings as f64).sqrt()
            ),
        };
        let whose = if *at_some_scales {
            "what some of them say beyond the others, at some range of scales, has a chi-square statistic of"
        } else {
            "their chi-square statistic is"
        };
        write!(
            f,
            "the readings contradict the model: {whose} {}, where {expected}; ",
            significant(*statistic, 3)
        )?;
        f.write_str(if self.is_too_small() {
            "standard deviations are too large; "
        } else {
            "do not rely on the fields nor on their standard deviations; "
        })?;
        let stated = noise.with_channels().into_iter();
        let each: Vec<String> = stated
            .filter_map(|(channel, noise)| Some(format!("{} for {}", significant(noise?, 2), channel.name())))
            .collect();
        if *few_to_blame {
            f.write_str("without the readings that do not fit the others they agree")
        } else if *at_some_scales {
            f.write_str("at other scales they vary as this problem's do: their fields are smoother or rougher than these, whatever the amplitude")
        } else if each.is_empty() && self.is_too_small() {
            f.write_str("their fields are smaller or smoother than this problem's: are the units right?")
        } else if each.is_empty() {
            f.write_str("their values are unlike this problem's: are the units right?")
        } else {
            write!(f, "readings with a noise of about {} would agree with the model", each.join(" and "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_are_told_apart_and_figures_are_plain() {
        let of = |statistic: f64| {
            let noise = PerChannel::both(None);
            Contradiction {
                statistic,
                readings: 500,
                usual: None,
                noise,
                few_to_blame: false,
                at_some_scales: false,
            }
            .to_string()
        };
        assert!(of(13.086).contains("is 13.1, where 500 readings"), "{}", of(13.086));
        assert!(of(13.086).contains("smaller or smoother than this problem's"));
        assert!(
            of(130_862.4).contains("is 130862, where") && of(130_862.4).contains("do not rely on the fields")
        );
        let judged = Contradiction {
            statistic: 3.59,
            readings: 3,
            usual: Some([0.021, 2.34]),
            noise: PerChannel::both(None),
            few_to_blame: false,
            at_some_scales: false,
        };
        assert!(
            judged.to_string().contains("is 3.59, where held-out records have 0.021 to 2.3; do not rely"),
            "{judged}"
        );
        assert!(of(1.234e12).contains("is 1.23e12, where"));
    }
}
