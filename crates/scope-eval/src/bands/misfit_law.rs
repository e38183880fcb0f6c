//! How the size of a record's errors follows from how far its recovery is from its readings: a power law, fitted to
//! records.

use scope_data::PerChannel;
use scope_model::bands::Misfits;

use super::digits;

/// Fewer records than this tell no power.
const FEWEST: usize = 8;

/// Records of some numbers of sensors: logarithms of their misfits and of the mean size of their errors.
#[derive(Clone, Debug)]
pub(super) struct MisfitLaw {
    measured: PerChannel<bool>,
    /// The records, by number of sensors.
    records: Vec<Vec<OfRecord>>,
}

#[derive(Clone, Copy, Debug)]
struct OfRecord {
    misfits: PerChannel<f64>,
    errors: PerChannel<f64>,
}

/// What is usual with each number of sensors, in physical units, and the powers by which errors of a field grow with
/// each misfit.
pub(super) struct Fit {
    pub(super) usual: PerChannel<Option<Vec<f64>>>,
    /// The powers, by field and then by the channel whose misfit it is.
    pub(super) powers: PerChannel<PerChannel<Option<f64>>>,
}

impl MisfitLaw {
    pub(super) fn new(numbers: usize, measured: PerChannel<bool>) -> Self {
        Self { measured, records: vec![Vec::new(); numbers] }
    }

    /// Adds a record seen with the `number`-th number of sensors. One that misses nothing, or has no errors, says
    /// nothing.
    pub(super) fn add(&mut self, number: usize, misfits: &Misfits, sizes: PerChannel<f64>) {
        let known = self.measured.zip(*misfits).map(|(measured, misfit)| match (measured, misfit) {
            (false, _) => Some(0.0),
            (true, misfit) => misfit.filter(|misfit| *misfit > 0.0).map(f64::ln),
        });
        let errors = sizes.map(f64::ln);
        if let (PerChannel { a: Some(a), u: Some(u) }, true) =
            (known, errors.iter().all(|error| error.is_finite()))
        {
            self.records[number].push(OfRecord { misfits: PerChannel { a, u }, errors });
        }
    }

    /// The powers of least squares, the same with all numbers of sensors; none where a number has too few records.
    pub(super) fn fit(&self) -> Fit {
        if self.records.iter().any(|records| records.len() < FEWEST) {
            return Fit {
                usual: PerChannel { a: None, u: None },
                powers: PerChannel::both(PerChannel::both(None)),
            };
        }
        let centres: Vec<OfRecord> = self.records.iter().map(|records| centre(records)).collect();
        let usual = PerChannel::from_fn(|channel| {
            let usual = |centre: &OfRecord| digits::nearest(centre.misfits[channel].exp(), 4);
            self.measured[channel].then(|| centres.iter().map(usual).collect())
        });
        let powers = PerChannel::from_fn(|field| {
            let apart = self.records.iter().zip(&centres).flat_map(|(records, centre)| {
                records.iter().map(|record| {
                    let misfits = record.misfits.zip(centre.misfits).map(|(own, mean)| own - mean);
                    (misfits, record.errors[field] - centre.errors[field])
                })
            });
            let powers = least_squares(apart);
            powers.zip(self.measured).map(|(power, measured)| measured.then(|| digits::nearest(power, 3)))
        });
        Fit { usual, powers }
    }
}

/// Means of all logarithms.
fn centre(records: &[OfRecord]) -> OfRecord {
    let mean = |of: &dyn Fn(&OfRecord) -> f64| records.iter().map(of).sum::<f64>() / records.len() as f64;
    OfRecord {
        misfits: PerChannel::from_fn(|channel| mean(&|record| record.misfits[channel])),
        errors: PerChannel::from_fn(|channel| mean(&|record| record.errors[channel])),
    }
}

/// The powers p and q, neither below zero, for which p x + q y is nearest to z: a recovery that is further from its
/// readings is never said to be better.
fn least_squares(all: impl Iterator<Item = (PerChannel<f64>, f64)>) -> PerChannel<f64> {
    let [mut xx, mut xy, mut yy, mut xz, mut yz] = [0.0; 5];
    for (PerChannel { a: x, u: y }, z) in all {
        [xx, xy, yy, xz, yz] = [xx + x * x, xy + x * y, yy + y * y, xz + x * z, yz + y * z];
    }
    let alone = |cross: f64, own: f64| if own > 0.0 { (cross / own).max(0.0) } else { 0.0 };
    let determinant = xx * yy - xy * xy;
    if determinant > 1e-9 * xx * yy {
        let a = (xz * yy - yz * xy) / determinant;
        let u = (yz * xx - xz * xy) / determinant;
        if a >= 0.0 && u >= 0.0 {
            return PerChannel { a, u };
        }
    }
    // The best on the edge: one of both is zero.
    let a = alone(xz, xx);
    let u = alone(yz, yy);
    if xz * a >= yz * u { PerChannel { a, u: 0.0 } } else { PerChannel { a: 0.0, u } }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Records whose errors follow such a law exactly, with two numbers of sensors.
    fn law(measured: PerChannel<bool>, power: PerChannel<f64>) -> Fit {
        let mut law = MisfitLaw::new(2, measured);
        for number in 0..2 {
            for k in 0..20 {
                let misfit =
                    PerChannel { a: (f64::from(k) * 0.7).sin().exp(), u: (f64::from(k) * 1.9).cos().exp() };
                let size = (1.0 + number as f64) * misfit.a.powf(power.a) * misfit.u.powf(power.u);
                let seen = misfit.zip(measured).map(|(misfit, measured)| measured.then_some(misfit));
                law.add(number, &seen, PerChannel::both(size));
            }
        }
        law.fit()
    }

    #[test]
    fn powers_are_found_again() {
        let both = law(PerChannel::both(true), PerChannel { a: 0.25, u: 0.75 });
        assert_eq!(both.powers.a, PerChannel { a: Some(0.25), u: Some(0.75) });
        let one = law(PerChannel { a: false, u: true }, PerChannel { a: 0.0, u: 0.9 });
        assert_eq!((one.powers.u, one.usual.a), (PerChannel { a: None, u: Some(0.9) }, None));
        assert_eq!(one.usual.u.unwrap().len(), 2);
    }

    #[test]
    fn no_power_is_below_zero() {
        let fit = law(PerChannel::both(true), PerChannel { a: -0.5, u: 0.75 });
        let PerChannel { a, u } = fit.powers.u;
        assert_eq!(a, Some(0.0));
        assert!(u.unwrap() > 0.5, "{u:?}");
    }

    #[test]
    fn few_records_tell_no_power() {
        assert_eq!(MisfitLaw::new(1, PerChannel::both(true)).fit().usual.a, None);
    }
}
