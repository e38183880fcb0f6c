//! Numbers in sentences.

/// A number with so many significant digits, in the notation that people read: with an exponent only where it would be long.
pub fn plain(number: f64, digits: usize) -> String {
    let magnitude = number.abs().log10().floor();
    if number == 0.0 {
        return "0".to_owned();
    }
    if !(-4.0..7.0).contains(&magnitude) {
        return format!("{number:.*e}", digits.saturating_sub(1));
    }
    let decimals = (digits as f64 - 1.0 - magnitude).max(0.0) as usize;
    format!("{number:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponents_stand_only_where_a_number_would_be_long() {
        let shown = [0.0, 13.086, 130_862.4, 1.234e12, -0.004_174_8, 2.5e-9].map(|x| plain(x, 3));
        assert_eq!(shown, ["0", "13.1", "130862", "1.23e12", "-0.00417", "2.50e-9"]);
    }
}
