//! What a network makes of each sensor's place from the other sensors: an eighth of them is left out at a time.
//!
//! Eight groups are eight more passes, which go through the network together. A faulty sensor spoils what is said of its neighbours,
//! so that they may look worse than itself. Therefore there are two rounds: readings that stand out in the first are left out of all passes
//! of the second, which judges every reading by the others that do not.

use scope_data::{
    PerChannel,
    observation::{Placed, STENCIL_POINTS, Stencil, UserContext},
};
use scope_eval::trust::{Residual, robust_deviation};
use scope_model::Fields;
use scope_pde::{Pde, descriptor::FieldKind};

use super::{
    error::RecoveryError,
    network::{Imposed, Network},
    problem::Problem,
    summary::MethodSummary,
};

/// An eighth of the sensors is left out at a time.
const GROUPS: usize = 8;
/// Fewer sensors than this cannot spare an eighth.
const FEWEST: usize = 40;
/// More sensors than this are not judged one by one: each is compared with its nearest among all of them.
const MOST: usize = 20_000;
/// Sensors whose residuals a sensor's own is compared with.
const NEIGHBOURS: usize = 12;
/// A reading so many robust standard deviations from what the others say is left out of the second round.
const STANDS_OUT: f64 = 5.0;
/// A reading so many robust standard deviations from what the others say is suspect. Errors of a network have longer tails than normal
/// ones: the worst of 500 exact readings had 12.5 (a cylinder's flow), of 500 with 5% noise 4.5.
const SUSPECT: f64 = 15.0;

/// A reading beside what the others say of it, with its number in the order given.
pub(super) type Numbered = (usize, Residual);

/// All readings of a problem beside what the others say of them, in the order given; none for few sensors, and none for
/// more than can be judged one by one.
pub(super) fn leave_out(
    network: &Network,
    method: &MethodSummary,
    problem: &Problem,
) -> Result<Option<Vec<Numbered>>, RecoveryError> {
    let sensors = &problem.context.sensors;
    if !(FEWEST..=MOST).contains(&sensors.len()) {
        return Ok(None);
    }
    let nobody = vec![false; sensors.len()];
    let expected = said_by_others(network, method, problem, &nobody)?;
    let first = scores(method.pde, sensors, &expected, &nobody);
    let apart = stand_out(&first);
    let expected =
        if apart.contains(&true) { said_by_others(network, method, problem, &apart)? } else { expected };
    let scores = scores(method.pde, sensors, &expected, &apart);
    let residual = |(k, sensor): (usize, &Placed)| {
        let [x, y] = sensor.spot.point(method.pde, method.resolution);
        let residual = Residual {
            label: problem.sensors.label(sensor.number),
            channel: sensor.channel.name(),
            x,
            y,
            value: sensor.value,
            expected: expected[k],
            score: scores[k],
            suspect: scores[k].abs() > SUSPECT,
        };
        (sensor.number, residual)
    };
    let mut all: Vec<Numbered> = sensors.iter().enumerate().map(residual).collect();
    all.sort_by_key(|(number, _)| *number);
    Ok(Some(all))
}

/// Which sensors stand out: those with the largest scores beyond a bound, a tenth of all at most.
fn stand_out(scores: &[f64]) -> Vec<bool> {
    let mut by_score: Vec<usize> = (0..scores.len()).filter(|k| scores[*k].abs() > STANDS_OUT).collect();
    by_score.sort_by(|one, other| scores[*other].abs().total_cmp(&scores[*one].abs()));
    by_score.truncate(scores.len() / 10);
    let mut stands_out = vec![false; scores.len()];
    by_score.into_iter().for_each(|k| stands_out[k] = true);
    stands_out
}

/// What the network makes of each sensor's place from the sensors of the seven other groups that do not stand apart.
fn said_by_others(
    network: &Network,
    method: &MethodSummary,
    problem: &Problem,
    apart: &[bool],
) -> Result<Vec<f64>, RecoveryError> {
    let sensors = &problem.context.sensors;
    // Sensors are in the order of their places, so that those of a group lie apart.
    let without = |group: usize| {
        let gone = |k: &usize| *k % GROUPS == group || apart[*k];
        let gone: Vec<usize> = (0..sensors.len()).filter(gone).map(|k| sensors[k].number).collect();
        Ok(problem.without(method, &gone)?.context.with_noise(problem.context.noise))
    };
    let mut contexts = (0..GROUPS).map(without).collect::<Result<Vec<UserContext>, RecoveryError>>()?;
    let fields = Imposed(&network.model).of_sensors(&mut contexts)?;
    let said = |(k, sensor): (usize, &Placed)| value_at(method, sensor, &fields[k % GROUPS]);
    Ok(sensors.iter().enumerate().map(said).collect())
}

/// What a field is at a sensor's place.
fn value_at(method: &MethodSummary, sensor: &Placed, fields: &Fields) -> f64 {
    let Placed { channel, spot, .. } = *sensor;
    let stencil = Stencil::new(method.pde, channel, method.resolution, spot, STENCIL_POINTS);
    stencil.sum(|point| f64::from(fields[channel][point]))
}

/// (value - expected) / s, with s the larger of two robust standard deviations of such residuals: of all sensors of the channel, and of the
/// nearest, where a network is worse. Those that stand apart count for neither.
fn scores(pde: Pde, sensors: &[Placed], expected: &[f64], apart: &[bool]) -> Vec<f64> {
    let residuals: Vec<f64> =
        sensors.iter().zip(expected).map(|(sensor, said)| sensor.value - said).collect();
    let counting = PerChannel::from_fn(|channel| -> Vec<usize> {
        (0..sensors.len()).filter(|k| sensors[*k].channel == channel && !apart[*k]).collect()
    });
    let deviation = |of: &[usize]| robust_deviation(of.iter().map(|k| residuals[*k]).collect());
    let everywhere = counting.each_ref().map(|counting| deviation(counting));
    let score = |k: usize| {
        let channel = sensors[k].channel;
        // At an interface a field of two values is off by all of their difference.
        let least = match pde.descriptor().fields[channel].kind {
            FieldKind::TwoValued { low, high } => high - low,
            FieldKind::Continuous | FieldKind::Absent => f64::MIN_POSITIVE,
        };
        let around = deviation(&nearest(sensors, &counting[channel], k));
        residuals[k] / everywhere[channel].max(around).max(least)
    };
    (0..sensors.len()).map(score).collect()
}

/// Those of some sensors that are nearest to one.
fn nearest(sensors: &[Placed], among: &[usize], one: usize) -> Vec<usize> {
    let [i, j] = sensors[one].spot.at;
    let distance = |other: &usize| {
        let [k, l] = sensors[*other].spot.at;
        (i - k).powi(2) + (j - l).powi(2)
    };
    let mut others: Vec<usize> = among.iter().copied().filter(|other| *other != one).collect();
    if others.len() > NEIGHBOURS {
        others.select_nth_unstable_by(NEIGHBOURS, |x, y| distance(x).total_cmp(&distance(y)));
        others.truncate(NEIGHBOURS);
    }
    others
}

#[cfg(test)]
mod tests {
    use scope_data::{Channel, observation::Spot};

    use super::*;

    /// The scores of sensors on a grid that are off by these residuals, while some stand apart.
    fn scored(residual: impl Fn(usize) -> f64, apart: &[bool]) -> Vec<f64> {
        let sensor = |number: usize| Placed {
            number,
            channel: Channel::U,
            spot: Spot::pixel(number / 20 * 6, number % 20 * 6),
            value: 1.0 + residual(number),
        };
        let sensors: Vec<Placed> = (0..400).map(sensor).collect();
        scores(Pde::POISSON, &sensors, &[1.0; 400], apart)
    }

    fn noise(k: usize) -> f64 {
        0.01 * ((7 * k) as f64).sin()
    }

    #[test]
    fn a_faulty_sensor_stands_out_of_exact_ones() {
        let scores = scored(|k| if k == 210 { 3.0 } else { noise(k) }, &[false; 400]);
        let suspects: Vec<usize> = (0..400).filter(|k| scores[*k].abs() > SUSPECT).collect();
        assert_eq!(suspects, [210]);
        let apart = stand_out(&scores);
        assert_eq!(apart.iter().filter(|apart| **apart).count(), 1);
        assert!(apart[210] && scored(noise, &[false; 400]).iter().all(|score| score.abs() < 3.0));
    }

    #[test]
    fn where_all_are_off_none_is_at_fault() {
        let off = |k: usize| if k / 20 < 8 && k % 20 < 8 { 1.0 } else { noise(k) };
        let scores = scored(off, &[false; 400]);
        assert!(scores[0].abs() < 1.0 && scores[3 * 20 + 3].abs() < 1.0, "in the midst of it");
    }

    #[test]
    fn at_most_a_tenth_stands_out() {
        let scores: Vec<f64> = (0..100).map(f64::from).collect();
        let apart = stand_out(&scores);
        assert!((90..100).all(|k| apart[k]) && !apart[..90].contains(&true));
    }
}
