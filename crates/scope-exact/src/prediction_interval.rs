//! Prediction intervals of figures that are not negative: within which one more of them is expected to lie.

use crate::chi_square;

/// The prediction interval of a figure, told from those of some fields. Some fields are far harder than others, so that
/// the logarithm is taken for Gaussian, of the figure and something that is added to keep it from zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PredictionInterval {
    count: usize,
    added: f64,
    mean: f64,
    deviation: f64,
    least: f64,
    largest: f64,
}

impl PredictionInterval {
    /// That of two figures or more.
    pub(crate) fn of(figures: &[f64], added: f64) -> Self {
        let logarithms: Vec<f64> =
            figures.iter().map(|figure| (figure + added).max(f64::MIN_POSITIVE).ln()).collect();
        let n = logarithms.len() as f64;
        let mean = logarithms.iter().sum::<f64>() / n;
        let squares: f64 = logarithms.iter().map(|logarithm| (logarithm - mean).powi(2)).sum();
        Self {
            count: figures.len(),
            added,
            mean,
            deviation: (squares / (n - 1.0)).sqrt(),
            least: figures.iter().copied().fold(f64::INFINITY, f64::min),
            largest: figures.iter().copied().fold(0.0, f64::max),
        }
    }

    /// What one more lies below and above with this probability, each: no range is narrower than that of the figures
    /// themselves.
    pub(crate) fn range(&self, probability: f64) -> [f64; 2] {
        let n = self.count as f64;
        let reach = student_quantile(probability, n - 1.0) * self.deviation * (1.0 + 1.0 / n).sqrt();
        let at = |logarithm: f64| logarithm.exp() - self.added;
        [at(self.mean - reach).max(0.0).min(self.least), at(self.mean + reach).max(self.largest)]
    }
}

/// What Student's t with so many degrees of freedom, ten or more, exceeds with a probability below a half (an expansion
/// in their inverse).
fn student_quantile(probability: f64, degrees: f64) -> f64 {
    let z = chi_square::quantile(2.0 * probability, 1).sqrt();
    let power = |k: i32| z.powi(k);
    let terms = [
        (power(3) + z) / 4.0,
        (5.0 * power(5) + 16.0 * power(3) + 3.0 * z) / 96.0,
        (3.0 * power(7) + 19.0 * power(5) + 17.0 * power(3) - 15.0 * z) / 384.0,
    ];
    z + terms.iter().zip(1..).map(|(term, k)| term / degrees.powi(k)).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use rand::RngExt;
    use rand_distr::StandardNormal;
    use scope_pde::random::Coordinates;

    use super::*;

    /// Tables of Student's distribution.
    #[test]
    fn quantiles_are_those_of_tables() {
        for (probability, degrees, tabled) in
            [(0.025, 10.0, 2.228), (0.025, 30.0, 2.042), (0.005, 20.0, 2.845), (0.0005, 20.0, 3.850)]
        {
            let got = student_quantile(probability, degrees);
            assert!((got - tabled).abs() < 2e-3, "{probability} {degrees}: {got}");
        }
    }

    /// One more figure lies above the range as often as stated, or less often: the largest of those known is a bound as
    /// well.
    #[test]
    fn one_more_is_outside_as_often_as_stated() {
        let mut stream = Coordinates::new("usual").stream();
        let mut figure = || stream.sample::<f64, _>(StandardNormal).exp();
        let mut above = 0;
        for _ in 0..4000 {
            let figures: Vec<f64> = (0..20).map(|_| figure()).collect();
            above += usize::from(figure() > PredictionInterval::of(&figures, 0.0).range(0.02)[1]);
        }
        assert!((20..100).contains(&above), "{above}");
    }
}
