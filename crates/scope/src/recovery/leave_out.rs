//! What a network makes of each sensor's place from the other sensors: an eighth of them is left out at a time.
//!
//! Eight groups are eight more passes, which go through the network together. A faulty sensor spoils what is said of
//! its neighbours, so that they may look worse than itself. Therefore there are two rounds: readings that stand out in
//! the first are left out of all passes of the second, which judges every reading by the others that do not.

use scope_data::{
    Channel, PerChannel,
    observation::{Placed, STENCIL_POINTS, Stencil, UserContext},
};
use scope_eval::trust::{Residual, Warning, robust_deviation};
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
/// A reading so many robust standard deviations from what the others say is suspect. Errors of a network have longer
/// tails than normal ones: the worst of 500 exact readings had 12.5 (a cylinder's flow), of 500 with 5% noise 4.5.
const SUSPECT: f64 = 15.0;
/// The same beside a field of two values: where an interface meets the edge, exact readings of Darcy's u reached 28,
/// but for a pixel in a corner of one of 100 records, which had 68.
const SUSPECT_BESIDE_JUMPS: f64 = 30.0;
/// A recovery that is so many robust standard deviations from a reading it was made from, beside those around it, is
/// looked into: it costs nothing to see, and exact readings that do so cost the passes that clear them.
const STRIKING: f64 = 10.0;
/// So many of the readings that a recovery is furthest from are looked at for that.
const LOOKED_AT: usize = 20;
/// Of a field of two values, the others are sure of a reading that they give at most this probability of the other
/// value.
const UNSURE: f64 = 0.1;
/// Such a field is looked into where a recovery is off by more than that at this share of its readings: exact ones had
/// 3.5% on average.
const LOOKED_INTO: f64 = 0.04;
/// Readings that the others are sure to be otherwise are so many standard deviations more than there should be.
const FLIPPED: f64 = 4.0;
/// No Bernoulli variable has a smaller standard deviation than this: probabilities are not known better.
const LEAST_DEVIATION: f64 = 0.03;

/// A reading beside what the others say of it, with its number in the order given.
pub(super) type Numbered = (usize, Residual);

/// What the other sensors say of each.
pub(super) struct LeftOut {
    /// All readings in the order given.
    pub(super) readings: Vec<Numbered>,
    /// A warning of readings of a two-valued field that have the other value.
    pub(super) flipped: Option<Warning>,
}

/// Whether a recovery is so far from some of its readings, beside those around them, that each is to be compared with
/// the others.
pub(super) fn is_striking(method: &MethodSummary, problem: &Problem, fields: &Fields) -> bool {
    let sensors = &problem.context.sensors;
    if !can_judge(sensors.len()) {
        return false;
    }
    let recovered: Vec<f64> = sensors.iter().map(|sensor| value_at(method, sensor, fields)).collect();
    let distance = |k: &usize| (sensors[*k].value - recovered[*k]).abs();
    Channel::BOTH.into_iter().any(|channel| {
        let mut all: Vec<usize> = (0..sensors.len()).filter(|k| sensors[*k].channel == channel).collect();
        if let FieldKind::TwoValued { low, high } = method.pde.descriptor().fields[channel].kind {
            let off = all.iter().filter(|k| distance(k) > UNSURE * (high - low)).count();
            return off as f64 > LOOKED_INTO * all.len() as f64;
        }
        let everywhere = robust_deviation(all.iter().map(distance).collect());
        all.sort_by(|one, other| distance(other).total_cmp(&distance(one)));
        let furthest = all[..all.len().min(LOOKED_AT)].to_vec();
        furthest.iter().any(|k| {
            let around = nearest(sensors, &all, *k).iter().map(distance).collect();
            distance(k) > STRIKING * everywhere.max(robust_deviation(around))
        })
    })
}

/// The score beyond which a reading of a continuous field is suspect.
fn suspect_beyond(pde: Pde) -> f64 {
    let fields = &pde.descriptor().fields;
    let jumps = fields.iter().any(|field| matches!(field.kind, FieldKind::TwoValued { .. }));
    if jumps { SUSPECT_BESIDE_JUMPS } else { SUSPECT }
}

/// Whether so many sensors can be judged one by one.
fn can_judge(sensors: usize) -> bool {
    (FEWEST..=MOST).contains(&sensors)
}

/// All readings of a problem beside what the others say of them; none for few sensors, and none for more than can be
/// judged one by one.
pub(super) fn leave_out(
    network: &Network,
    method: &MethodSummary,
    problem: &Problem,
) -> Result<Option<LeftOut>, RecoveryError> {
    let sensors = &problem.context.sensors;
    if !can_judge(sensors.len()) {
        return Ok(None);
    }
    let nobody = vec![false; sensors.len()];
    let expected = said_by_others(network, method, problem, &nobody)?;
    let first = scores(method.pde, sensors, &expected, &nobody);
    let apart = stand_out(&first);
    let expected =
        if apart.contains(&true) { said_by_others(network, method, problem, &apart)? } else { expected };
    let scores = scores(method.pde, sensors, &expected, &apart);
    let flipped = PerChannel::from_fn(|channel| Flipped::of(method.pde, channel, sensors, &expected));
    let suspect = suspect_beyond(method.pde);
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
            suspect: match method.pde.descriptor().fields[sensor.channel].kind {
                FieldKind::TwoValued { .. } => {
                    flipped[sensor.channel].as_ref().is_some_and(|flipped| flipped.numbers.contains(&k))
                }
                FieldKind::Continuous | FieldKind::Absent => scores[k].abs() > suspect,
            },
        };
        (sensor.number, residual)
    };
    let mut all: Vec<Numbered> = sensors.iter().enumerate().map(residual).collect();
    all.sort_by_key(|(number, _)| *number);
    let flipped = flipped.into_iter().flatten().next().map(|flipped| flipped.warning);
    Ok(Some(LeftOut { readings: all, flipped }))
}

/// Readings of a field of two values that have the other one, as far as those around them can tell.
struct Flipped {
    /// Which of the sensors.
    numbers: Vec<usize>,
    warning: Warning,
}

impl Flipped {
    /// Readings whose other value the rest is sure of, if there are more of them than its own probabilities allow for.
    /// A single one may as well be an island that no other sensor has seen.
    fn of(pde: Pde, channel: Channel, sensors: &[Placed], expected: &[f64]) -> Option<Self> {
        let FieldKind::TwoValued { low, high } = pde.descriptor().fields[channel].kind else { return None };
        let measured: Vec<usize> = (0..sensors.len()).filter(|k| sensors[*k].channel == channel).collect();
        let probability = |k: &usize| ((expected[*k] - low) / (high - low)).clamp(0.0, 1.0);
        let other = |k: &usize| probability(k).min(1.0 - probability(k));
        let sure: Vec<usize> = measured.iter().copied().filter(|k| other(k) < UNSURE).collect();
        let usual: f64 = sure.iter().map(other).sum();
        let is_other = |k: &usize| {
            let read = (sensors[*k].value - low) / (high - low);
            (read - probability(k)).abs() > 1.0 - UNSURE
        };
        let numbers: Vec<usize> = sure.into_iter().filter(is_other).collect();
        let count = numbers.len();
        let most = 1.0 + usual + FLIPPED * usual.sqrt();
        let warning = Warning::Flipped { channel: channel.name(), count, usual, of: measured.len() };
        (count as f64 > most).then_some(Self { numbers, warning })
    }
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

/// (value - expected) / s, with s the larger of two robust standard deviations of such residuals: of all sensors of the
/// channel, and of the nearest, where a network is worse. Those that stand apart count for neither.
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
        // What is expected of a field of two values is a probability.
        if let FieldKind::TwoValued { low, high } = pde.descriptor().fields[channel].kind {
            let probability = ((expected[k] - low) / (high - low)).clamp(0.0, 1.0);
            let deviation = (probability * (1.0 - probability)).sqrt().max(LEAST_DEVIATION);
            return residuals[k] / ((high - low) * deviation);
        }
        let around = deviation(&nearest(sensors, &counting[channel], k));
        residuals[k] / everywhere[channel].max(around).max(f64::MIN_POSITIVE)
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
    use scope_data::observation::Spot;

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
        for pde in [Pde::POISSON, Pde::DARCY] {
            let suspects: Vec<usize> = (0..400).filter(|k| scores[*k].abs() > suspect_beyond(pde)).collect();
            assert_eq!(suspects, [210], "{pde}");
        }
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

    /// Sensors of a two-valued field that is high in one half, of which every so many-th reads the other value.
    fn flipped(every: usize) -> Option<Flipped> {
        let sensor = |number: usize| {
            let high = (number % 20 < 10) != (number % every == 3);
            let value = if high { 12.0 } else { 3.0 };
            Placed { number, channel: Channel::A, spot: Spot::pixel(number / 20 * 6, number % 20 * 6), value }
        };
        let sensors: Vec<Placed> = (0..400).map(sensor).collect();
        let expected: Vec<f64> = (0..400).map(|k| if k % 20 < 10 { 11.9 } else { 3.1 }).collect();
        Flipped::of(Pde::DARCY, Channel::A, &sensors, &expected)
    }

    #[test]
    fn many_flipped_readings_are_told_from_a_few_islands() {
        assert_eq!(flipped(20).map(|flipped| flipped.numbers.len()), Some(20));
        assert!(flipped(200).is_none() && flipped(401).is_none());
    }

    #[test]
    fn at_most_a_tenth_stands_out() {
        let scores: Vec<f64> = (0..100).map(f64::from).collect();
        let apart = stand_out(&scores);
        assert!((90..100).all(|k| apart[k]) && !apart[..90].contains(&true));
    }
}
