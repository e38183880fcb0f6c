//! The chi-square distribution.

/// Terms below this share of their sum are left out.
const PRECISION: f64 = 1e-16;

/// The probability that the sum of squares of so many independent standard Gaussians exceeds `x`: Q(n / 2, x / 2), the
/// regularised upper incomplete gamma function. One for no degrees of freedom and x = 0, zero for what is no number.
pub(crate) fn survival(x: f64, degrees: usize) -> f64 {
    let a = degrees as f64 / 2.0;
    let z = x / 2.0;
    if z <= 0.0 {
        return 1.0;
    }
    if degrees == 0 || !z.is_finite() {
        return 0.0;
    }
    // z^a e^-z / Gamma(a)
    let front = (a * z.ln() - z - libm::lgamma(a)).exp();
    let probability =
        if z < a + 1.0 { 1.0 - front * lower_series(a, z) } else { front * upper_fraction(a, z) };
    probability.clamp(0.0, 1.0)
}

/// The value that is exceeded with a probability between zero and one, by bisection.
pub(crate) fn quantile(probability: f64, degrees: usize) -> f64 {
    let mut low = 0.0;
    let mut high = degrees as f64 + 1.0;
    while survival(high, degrees) > probability {
        high *= 2.0;
    }
    while high - low > 1e-12 * high {
        let middle = 0.5 * (low + high);
        if survival(middle, degrees) > probability { low = middle } else { high = middle }
    }
    high
}

/// sum_m z^m / (a (a + 1) ... (a + m)), which converges fast for z < a + 1.
fn lower_series(a: f64, z: f64) -> f64 {
    let mut term = 1.0 / a;
    let mut sum = term;
    let mut next = a;
    while term > PRECISION * sum {
        next += 1.0;
        term *= z / next;
        sum += term;
    }
    sum
}

/// 1 / (z + 1 - a - 1 (1 - a) / (z + 3 - a - 2 (2 - a) / ...)) by Lentz's method, which converges fast for z >= a + 1.
fn upper_fraction(a: f64, z: f64) -> f64 {
    let tiny = f64::MIN_POSITIVE / PRECISION;
    let mut b = z + 1.0 - a;
    let mut c = 1.0 / tiny;
    let mut d = 1.0 / b;
    let mut value = d;
    let mut m = 1.0;
    loop {
        let numerator = m * (a - m);
        b += 2.0;
        d = 1.0 / nonzero(numerator * d + b, tiny);
        c = nonzero(b + numerator / c, tiny);
        let factor = c * d;
        value *= factor;
        if (factor - 1.0).abs() < 4.0 * f64::EPSILON {
            return value;
        }
        m += 1.0;
    }
}

fn nonzero(x: f64, tiny: f64) -> f64 {
    if x.abs() < tiny { tiny } else { x }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two degrees of freedom are an exponential, one is a Gaussian's square; the others are tabulated.
    #[test]
    fn probabilities_are_those_of_tables() {
        for x in [0.1, 1.0, 5.0, 40.0] {
            assert!((survival(x, 2) - (-x / 2.0).exp()).abs() < 1e-15);
        }
        for (x, degrees, expected) in [
            (3.841_458_820_694_124, 1, 0.05),
            (18.307_038_053_275_15, 10, 0.05),
            (124.342_113_404_0, 100, 0.05),
        ] {
            assert!((survival(x, degrees) - expected).abs() < 1e-12, "{x} {degrees}");
        }
    }

    #[test]
    fn many_degrees_of_freedom_are_nearly_gaussian() {
        for degrees in [10_000, 100_000] {
            let n = degrees as f64;
            let median = survival(n - 2.0 / 3.0, degrees);
            assert!((median - 0.5).abs() < 1e-4, "{degrees}: {median}");
            let far = survival(n + 4.0 * (2.0 * n).sqrt(), degrees);
            assert!((2e-5..6e-5).contains(&far), "{degrees}: {far}");
        }
    }

    #[test]
    fn a_quantile_is_exceeded_with_its_probability() {
        for (probability, degrees) in [(0.5, 1), (1e-4, 1), (2e-9, 1), (1e-4, 500), (0.999, 40)] {
            let back = survival(quantile(probability, degrees), degrees);
            assert!((back / probability - 1.0).abs() < 1e-6, "{probability} {degrees}: {back}");
        }
    }

    #[test]
    fn what_is_no_statistic_is_improbable_and_nothing_is_certain() {
        assert_eq!(survival(f64::INFINITY, 5), 0.0);
        assert_eq!(survival(f64::NAN, 5), 0.0);
        assert_eq!(survival(0.0, 0), 1.0);
        assert_eq!(survival(1.0, 0), 0.0);
    }
}
