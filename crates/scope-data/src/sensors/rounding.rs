//! How exact readings can be that are written with few digits.
//!
//! A reading of 0.0123 stands for anything from 0.01225 to 0.01235. Rounded to a multiple of q, numbers are off by a
//! standard deviation of q / sqrt(12).

/// From so many numbers on their digits tell how they were rounded: that fewer all end in a zero is no wonder.
const FEWEST: usize = 5;

/// Digits beyond these are not looked at: 5.77 in another unit is 5770.000000000001.
const MOST_DIGITS: usize = 12;

/// The standard deviations of the errors of numbers that were rounded to as many digits as they are written with: to as
/// many decimals as the one that has most, or to as many significant digits, whichever is coarser for a number. Zeros for
/// too few numbers to tell.
pub(super) fn rounding(values: &[f64]) -> Vec<f64> {
    let written: Vec<Option<Written>> = values.iter().map(|value| Written::of(*value)).collect();
    let known = || written.iter().flatten();
    if known().count() < FEWEST {
        return vec![0.0; values.len()];
    }
    let finest = known().map(|number| number.last).min().unwrap_or_default();
    let digits = known().map(Written::digits).max().unwrap_or_default();
    let step = |number: &Option<Written>| {
        let of_digits = number.as_ref().map_or(finest, |number| number.first - digits + 1);
        10_f64.powi(of_digits.max(finest))
    };
    written.iter().map(|number| step(number) / 12_f64.sqrt()).collect()
}

/// The powers of ten of a number's first digit and of its last one that is not a zero.
struct Written {
    first: i32,
    last: i32,
}

impl Written {
    /// Of a number, but for what arithmetic in double precision may have added to it; none of zero, which has no first
    /// digit.
    fn of(value: f64) -> Option<Self> {
        if value == 0.0 || !value.is_finite() {
            return None;
        }
        let written = format!("{value:.0$e}", MOST_DIGITS - 1);
        let (mantissa, exponent) = written.split_once('e').unwrap_or((&written, "0"));
        let digits = mantissa.trim_end_matches(['0', '.']).bytes().filter(u8::is_ascii_digit).count() as i32;
        let first = exponent.parse().unwrap_or_default();
        Some(Self { first, last: first - digits + 1 })
    }

    fn digits(&self) -> i32 {
        self.first - self.last + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers from -5 to 5 with no pattern in their digits.
    fn numbers(count: u32) -> Vec<f64> {
        let share = |k: u32| f64::from(k.wrapping_mul(2_654_435_761) >> 4) / f64::from(1_u32 << 28);
        (1..=count).map(|k| 10.0 * share(k) - 5.0).collect()
    }

    /// The root mean square of what rounding has changed over what is said of it.
    fn ratio(numbers: &[f64], write: &dyn Fn(f64) -> String) -> f64 {
        let written: Vec<f64> = numbers.iter().map(|x| write(*x).parse().unwrap()).collect();
        let errors = written.iter().zip(numbers).zip(rounding(&written));
        let squares: f64 = errors.map(|((written, x), stated)| ((written - x) / stated).powi(2)).sum();
        (squares / numbers.len() as f64).sqrt()
    }

    #[test]
    fn it_is_what_rounding_has_changed() {
        let numbers = numbers(2000);
        for digits in 1..6 {
            let decimals = ratio(&numbers, &|x| format!("{x:.digits$}"));
            let significant = ratio(&numbers, &|x| format!("{x:.0$e}", digits - 1));
            for ratio in [decimals, significant] {
                assert!((0.97..1.03).contains(&ratio), "{digits} digits: {ratio}");
            }
        }
    }

    #[test]
    fn each_number_has_its_own_where_digits_are_significant() {
        let of_steps = |steps: [f64; 6]| steps.map(|step| step / 12_f64.sqrt());
        assert_eq!(
            rounding(&[0.0123, 0.123, 1.23, 12.3, 0.0, 45.6]),
            of_steps([1e-4, 1e-3, 1e-2, 0.1, 1e-4, 0.1])
        );
        assert_eq!(rounding(&[0.01, 0.12, 1.23, 12.3, 0.0, 45.67]), of_steps([1e-2; 6]), "two decimals");
    }

    #[test]
    fn numbers_of_all_digits_are_as_exact_as_they_can_be() {
        assert!(rounding(&numbers(100)).iter().all(|stated| *stated < 1e-11));
        let single: Vec<f64> = numbers(100).into_iter().map(|x| f64::from(x as f32)).collect();
        assert!(rounding(&single).iter().all(|stated| *stated < 1e-11), "rounded in binary, not in decimals");
    }

    #[test]
    fn another_unit_hides_no_digits() {
        let written = [5.77, 1.19, 0.33, 9.91, 2.84];
        let stated = rounding(&written.map(|x| 1000.0 * x / 1e6 * 1000.0));
        assert_eq!(stated, [0.01 / 12_f64.sqrt(); 5]);
    }

    #[test]
    fn few_numbers_tell_nothing_and_zeros_are_none() {
        let few = [0.1, 0.2, 0.3, 0.4, 0.0, f64::NAN, f64::INFINITY];
        assert_eq!(rounding(&few), [0.0; 7]);
    }

    #[test]
    fn extremes_of_doubles_are_numbers_too() {
        for extreme in [f64::MAX, f64::MIN_POSITIVE, 5e-324, -f64::MAX] {
            assert!(rounding(&[extreme; 9]).iter().all(|stated| stated.is_finite()), "{extreme:e}");
        }
    }
}
