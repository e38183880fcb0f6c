//! Numbers that people can read in a file.

/// To so many significant digits. Through text, so that a file says 0.1 and not 0.10000000000000001.
pub(super) fn nearest(value: f64, digits: usize) -> f64 {
    format!("{value:.*e}", digits.saturating_sub(1)).parse().unwrap_or(value)
}

/// The same, and never less than the value: half a unit of the last digit is added first.
pub(super) fn no_less(value: f64, digits: i32) -> f64 {
    nearest(value * (1.0 + 0.5 * 10f64.powi(1 - digits)), digits.max(1) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_kept() {
        assert_eq!([0.123456, 98765.0, 1.0, 0.0].map(|x| nearest(x, 3)), [0.123, 98800.0, 1.0, 0.0]);
        for k in 1..20_000 {
            let value = f64::from(k) * 7.3e-6;
            let up = no_less(value, 4);
            assert!(value <= up && up <= value * 1.0011, "{value} {up}");
        }
    }
}
