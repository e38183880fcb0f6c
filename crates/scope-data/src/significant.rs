//! Numbers as people write them.

/// A number with so many significant digits, with an exponent only where it would be long without.
pub fn significant(x: f64, digits: usize) -> String {
    let magnitude = x.abs().log10().floor();
    match x {
        0.0 => "0".into(),
        _ if (-4.0..6.0).contains(&magnitude) => {
            let decimals = (digits as f64 - 1.0 - magnitude).max(0.0) as usize;
            format!("{x:.decimals$}")
        }
        _ => format!("{x:.*e}", digits - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_significant_digits() {
        let shown = [0.0, 7.5, -0.0041747812, 123456.78, 1e-9, -2.5e12].map(|x| significant(x, 4));
        assert_eq!(shown, ["0", "7.500", "-0.004175", "123457", "1.000e-9", "-2.500e12"]);
    }
}
