//! Random numbers for masks and schedules, spelt out so that another language can repeat them.
//!
//! A stream is a row of 32-bit words (ChaCha8, see [`Coordinates`](scope_pde::random::Coordinates)).
//! Nothing here uses functions that differ between machines: additions, products, quotients and square
//! roots are exact everywhere, and logarithms and exponentials are those of the crate libm.

use rand_chacha::rand_core::Rng;
use scope_pde::random::Stream;

/// Draws from a stream of words.
pub trait Draw {
    /// The next word.
    fn word(&mut self) -> u32;

    /// Uniform in 0 .. n, without bias: the high half of word * n, redrawn while the low half is below 2^32
    /// mod n.
    fn below(&mut self, n: usize) -> usize {
        let n = n as u32;
        loop {
            let product = u64::from(self.word()) * u64::from(n);
            let low = product as u32;
            // The remainder is below n, so most draws need no division.
            if low >= n || low >= n.wrapping_neg() % n {
                return (product >> 32) as usize;
            }
        }
    }

    /// Uniform in [0, 1): the upper 53 bits of two words, the low one first.
    fn unit(&mut self) -> f64 {
        let low = u64::from(self.word());
        let high = u64::from(self.word());
        ((high << 32 | low) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Uniform between two numbers.
    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Between two positive numbers, uniform in the logarithm.
    fn log_between(&mut self, low: f64, high: f64) -> f64 {
        libm::exp(self.between(libm::log(low), libm::log(high)))
    }

    /// A fair coin: the lowest bit of a word.
    fn coin(&mut self) -> bool {
        self.word() & 1 == 1
    }

    /// Shuffles by Fisher and Yates, from the last element down.
    fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

impl Draw for Stream {
    fn word(&mut self) -> u32 {
        self.next_u32()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stream that is written down.
    struct Written(Vec<u32>);

    impl Draw for Written {
        fn word(&mut self) -> u32 {
            self.0.remove(0)
        }
    }

    #[test]
    fn small_low_halves_are_redrawn() {
        // 2^32 mod 3 = 1: the word 0 gives the low half 0, which is refused; the word 2^31 gives 1.
        assert_eq!(Written(vec![0, 1 << 31]).below(3), 1);
        assert_eq!(Written(vec![u32::MAX]).below(3), 2);
        // 2^32 mod 4 = 0: nothing is refused.
        assert_eq!(Written(vec![0]).below(4), 0);
    }

    #[test]
    fn units_take_the_low_word_first() {
        assert_eq!(Written(vec![0, 1 << 31]).unit(), 0.5);
        assert_eq!(Written(vec![1 << 11, 0]).unit(), 2f64.powi(-53));
        assert!(Written(vec![u32::MAX, u32::MAX]).unit() < 1.0);
    }
}
