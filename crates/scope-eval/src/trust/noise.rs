//! The noise of readings: what was stated, and what they look like.

use serde::Serialize;

use super::misfit::Fitted;

/// With fewer sensors of a field than this, their noise is not estimated.
const FEWEST: usize = 20;
/// So many sensors are compared with their neighbours at most.
const MOST: usize = 1000;
/// Neighbours are looked for among so many sensors at most, taken evenly from all.
const MOST_OTHERS: usize = 20_000;
/// The standard deviation of a normal distribution over its median absolute value.
const SIGMAS_PER_MEDIAN: f64 = 1.4826;

/// The noise of a channel's readings, in percent of the field's standard deviation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ReadingsNoise {
    /// What was stated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stated: Option<f64>,
    /// What neighbouring readings look like, beside the recovery: an upper bound where the recovery itself is rough.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimated: Option<f64>,
}

/// The standard deviation of readings' errors, by how the residuals of neighbours differ: s = 1.4826 median |r - r'| /
/// sqrt(2) over sensors and their nearest other ones.
///
/// The recovery takes the field itself out of the readings, the difference takes out whatever else is smooth (an error
/// of the recovery, a wrong boundary), and the median what single sensors are off. None for few sensors.
pub(crate) fn estimate_noise(sensors: &[Fitted]) -> Option<f64> {
    if sensors.len() < FEWEST {
        return None;
    }
    let every = sensors.len().div_ceil(MOST_OTHERS);
    let sensors: Vec<&Fitted> = sensors.iter().step_by(every).collect();
    let step = sensors.len().div_ceil(MOST);
    let apart = |one: usize| -> f64 {
        let distance = |other: usize| {
            let [i, j] = sensors[one].spot.at;
            let [k, l] = sensors[other].spot.at;
            (i - k).powi(2) + (j - l).powi(2)
        };
        let others = (0..sensors.len()).filter(|other| *other != one);
        let nearest = others.min_by(|x, y| distance(*x).total_cmp(&distance(*y)));
        nearest.map_or(0.0, |other| sensors[one].residual() - sensors[other].residual())
    };
    let differences = (0..sensors.len()).step_by(step).map(apart).collect();
    Some(robust_deviation(differences) / 2.0_f64.sqrt())
}

/// The standard deviation of normal numbers about zero by their median absolute value, which a few wild ones do not
/// change; zero of none.
pub fn robust_deviation(mut values: Vec<f64>) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    values.iter_mut().for_each(|value| *value = value.abs());
    let middle = values.len() / 2;
    let (_, median, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    SIGMAS_PER_MEDIAN * *median
}

#[cfg(test)]
mod tests {
    use rand::RngExt;
    use rand_distr::StandardNormal;
    use scope_data::observation::Spot;
    use scope_pde::random::Coordinates;

    use super::*;

    /// Sensors on a grid whose residuals are noise of a standard deviation and something else.
    fn sensors(noise: f64, more: impl Fn(usize) -> f64) -> Vec<Fitted> {
        let mut stream = Coordinates::new("test-noise").stream();
        let sensor = |k: usize| {
            let error: f64 = stream.sample(StandardNormal);
            Fitted {
                spot: Spot::pixel(k / 30 * 4, k % 30 * 4),
                measured: 1.0 + noise * error + more(k),
                recovered: 1.0,
            }
        };
        (0..900).map(sensor).collect()
    }

    #[test]
    fn white_noise_is_estimated_and_smooth_misfits_are_none() {
        let alone = estimate_noise(&sensors(0.05, |_| 0.0)).unwrap();
        assert!((alone / 0.05 - 1.0).abs() < 0.1, "{alone}");
        let with_slope = estimate_noise(&sensors(0.05, |k| 0.01 * (k % 30) as f64)).unwrap();
        assert!((with_slope / 0.05 - 1.0).abs() < 0.15, "{with_slope}");
        let smooth = estimate_noise(&sensors(0.0, |k| 0.01 * (k % 30) as f64)).unwrap();
        assert!(smooth < 0.012, "{smooth}");
    }

    #[test]
    fn single_sensors_are_no_noise() {
        let exact = estimate_noise(&sensors(0.0, |k| if k % 10 == 3 { 5.0 } else { 0.0 })).unwrap();
        assert_eq!(exact, 0.0);
    }

    #[test]
    fn few_sensors_tell_nothing() {
        assert_eq!(estimate_noise(&sensors(0.05, |_| 0.0)[..19]), None);
    }
}
