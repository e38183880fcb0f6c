//! Means over records.

use serde::{Deserialize, Serialize};

/// The mean of a measure over the records that have a value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Records scored.
    pub count: usize,
    /// Records without a value: zero targets have no relative error.
    pub undefined: usize,
    /// The mean of their values; none if nothing was scored.
    pub mean: Option<f64>,
    /// Their standard deviation, divided by one less than the count.
    pub sd: Option<f64>,
    /// The mean absolute error, root mean square in physical units, of the records without a value, if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undefined_rmse: Option<f64>,
}

impl Summary {
    /// The summary of one value a record.
    pub fn of(values: &[Option<f64>]) -> Self {
        let scored: Vec<f64> = values.iter().flatten().copied().collect();
        let count = scored.len();
        let mean = mean(&scored);
        let sd = mean.filter(|_| count > 1).map(|mean| deviation(&scored, mean));
        Self { count, undefined: values.len() - count, mean, sd, undefined_rmse: None }
    }

    /// The summary of relative errors, with the absolute errors of the same records for those that have none.
    pub(crate) fn with_absolute(values: &[Option<f64>], absolute: &[Option<f64>]) -> Self {
        let undefined = values.iter().zip(absolute).filter(|(value, _)| value.is_none());
        let rmse: Vec<f64> = undefined.filter_map(|(_, absolute)| *absolute).collect();
        Self { undefined_rmse: mean(&rmse), ..Self::of(values) }
    }

    /// The standard error of the mean.
    pub fn standard_error(&self) -> Option<f64> {
        self.sd.map(|sd| sd / (self.count as f64).sqrt())
    }
}

/// The mean; of nothing there is none.
pub(crate) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The standard deviation of two values or more.
pub(crate) fn deviation(values: &[f64], mean: f64) -> f64 {
    let squares: f64 = values.iter().map(|x| (x - mean).powi(2)).sum();
    (squares / (values.len() as f64 - 1.0)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn undefined_records_are_counted_and_not_averaged() {
        let summary = Summary::of(&[Some(1.0), None, Some(3.0)]);
        assert_eq!((summary.count, summary.undefined), (2, 1));
        assert_eq!((summary.mean, summary.sd), (Some(2.0), Some(2.0_f64.sqrt())));
        let nothing = Summary::of(&[None]);
        assert_eq!((nothing.count, nothing.undefined, nothing.mean, nothing.sd), (0, 1, None, None));
    }

    #[test]
    fn undefined_records_keep_their_absolute_error() {
        let absolute = [Some(0.5), Some(0.25), Some(0.75)];
        let summary = Summary::with_absolute(&[Some(1.0), None, None], &absolute);
        assert_eq!((summary.mean, summary.undefined_rmse), (Some(1.0), Some(0.5)));
        assert_eq!(Summary::with_absolute(&[Some(1.0)], &absolute[..1]).undefined_rmse, None);
    }
}
