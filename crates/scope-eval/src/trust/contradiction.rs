//! Readings that contradict the model of the problem.

use std::fmt;

use scope_data::PerChannel;

/// The outcome of a chi-square test that readings and model cannot both pass: y^T (K + s^2)^-1 y of n readings y, with K + s^2
/// their covariance under the model, is far larger than n. Prints as a sentence.
#[derive(Clone, Debug, PartialEq)]
pub struct Contradiction {
    /// y^T (K + s^2)^-1 y.
    pub statistic: f64,
    /// n, which the statistic is on average.
    pub readings: usize,
    /// The noise of readings of a and u with which they would agree with the model, where there is one that makes sense.
    pub noise: PerChannel<Option<f64>>,
    /// Whether all but a few readings, which are suspected, agree with the model.
    pub few_to_blame: bool,
}

impl fmt::Display for Contradiction {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Self { statistic, readings, noise, few_to_blame } = self;
        let spread = (2.0 * *readings as f64).sqrt();
        write!(
            f,
            "the readings contradict the model: their chi-square statistic is {statistic:.4e}, where {readings} readings of this problem \
             with this noise have {readings} +- {spread:.0}; do not rely on the fields nor on their standard deviations; "
        )?;
        let stated = noise.with_channels().into_iter();
        let each: Vec<String> = stated
            .filter_map(|(channel, noise)| Some(format!("{:.1e} for {}", noise?, channel.name())))
            .collect();
        if *few_to_blame {
            f.write_str("without the readings that do not fit the others they agree")
        } else if each.is_empty() {
            f.write_str("their values are unlike this problem's: are the units right?")
        } else {
            write!(f, "readings with a noise of about {} would agree with the model", each.join(" and "))
        }
    }
}
