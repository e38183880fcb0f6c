//! Readings that are off, and how far they can be trusted.

/// The noise at which a reading counts half, in units of the field's standard deviation: an error of one percent is
/// about that of a good recovery, so readings better than this are as good as exact.
pub(super) const HALF_TRUST: f64 = 0.01;

/// The noise of one channel of one record.
///
/// Levels are standard deviations in units of the field's own, sigma. Stored values are (x - mean) / (2 sigma), so in
/// stored coordinates an error is half its level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReadingNoise {
    /// The standard deviation of its readings' errors; 0 for exact readings.
    pub level: f64,
    /// What the errors of its points follow from.
    pub key: u64,
}

impl ReadingNoise {
    /// The level in stored coordinates.
    pub fn stored_level(&self) -> f32 {
        (self.level / 2.0) as f32
    }

    /// How far its readings can be trusted.
    pub fn trust(&self) -> f32 {
        trust(self.level) as f32
    }
}

/// How far a reading with noise of a level s can be trusted: c = s0^2 / (s0^2 + s^2) with s0 = `HALF_TRUST`.
///
/// Exact readings have 1. A network sees (c reading, c) in the place of (reading, mask); sums of both over sensors are
/// then the moments of a weighted least-squares fit, whose weights are the inverse variances up to a factor where s is
/// well above s0.
pub fn trust(level: f64) -> f64 {
    let floor = HALF_TRUST * HALF_TRUST;
    floor / (floor + level * level)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trust_falls_with_noise_as_stated() {
        assert_eq!((trust(0.0), trust(HALF_TRUST)), (1.0, 0.5));
        assert!((trust(0.001) - 1.0 / 1.01).abs() < 1e-15);
        assert!((trust(0.03) - 0.1).abs() < 1e-15);
        // Twice the noise, a quarter of the weight.
        assert!((trust(1.0) / trust(2.0) - 4.0).abs() < 1e-3);
        assert_eq!(trust(f64::INFINITY), 0.0);
    }

    #[test]
    fn stored_coordinates_halve_a_level() {
        let noise = ReadingNoise { level: 0.03, key: 1 };
        assert_eq!((noise.stored_level(), noise.trust()), (0.015, 0.1));
    }
}
