//! Errors of readings as pure functions of a key and a pixel: the same on every device, in every order.

/// What the hash of a pixel begins with, times its number plus one: the golden ratio, as in SplitMix64.
const STRIDE: u64 = 0x9E37_79B9_7F4A_7C15;

/// How the readings of one row, that is one channel of one image, are off, and how far they can be trusted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowNoise {
    /// What the errors of its pixels follow from.
    pub key: u64,
    /// The standard deviation of the errors, in the units of the images; 0 for exact readings.
    pub level: f32,
    /// What noisy readings and their mask are multiplied by; exact ones count in full.
    pub weight: f32,
}

impl RowNoise {
    /// Exact readings.
    pub const NONE: Self = Self { key: 0, level: 0.0, weight: 1.0 };

    /// What is shown of a seen pixel: its reading times its weight, and the weight. An exact row gives the value
    /// itself, and 1.
    pub fn reading(&self, pixel: usize, value: f32) -> [f32; 2] {
        if self.level > 0.0 {
            [self.weight * (value + self.level * normal(self.key, pixel)), self.weight]
        } else {
            [value, 1.0]
        }
    }

    /// The four words of a row on a device: the key's low and high half, level and weight.
    pub(crate) fn words(&self) -> [f32; 4] {
        let half = |word: u64| f32::from_bits(word as u32);
        [half(self.key), half(self.key >> 32), self.level, self.weight]
    }

    /// The row of four words.
    pub(crate) fn from_words(words: &[f32]) -> Self {
        let half = |at: usize| u64::from(words[at].to_bits());
        Self { key: half(1) << 32 | half(0), level: words[2], weight: words[3] }
    }
}

/// The standard normal number of a pixel: Box and Muller's cosine of the two halves of a SplitMix64 hash. In double
/// precision, so that devices whose functions differ in the last place agree in single.
pub fn normal(key: u64, pixel: usize) -> f32 {
    let hash = mix(key.wrapping_add((pixel as u64 + 1).wrapping_mul(STRIDE)));
    let unit = |half: u64| (half as f64 + 0.5) / 4_294_967_296.0;
    let radius = (-2.0 * libm::log(unit(hash >> 32))).sqrt();
    (radius * libm::cos(std::f64::consts::TAU * unit(hash & 0xFFFF_FFFF))) as f32
}

/// SplitMix64's finalizer.
fn mix(mut z: u64) -> u64 {
    z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ z >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_standard_normal_and_independent_between_pixels_and_keys() {
        let keys = 64_u64;
        let pixels = 4096;
        let all: Vec<Vec<f64>> = (0..keys)
            .map(|key| (0..pixels).map(|pixel| f64::from(normal(key << 32, pixel))).collect())
            .collect();
        let n = (keys as usize * pixels) as f64;
        let mean_of = |f: &dyn Fn(f64) -> f64| all.iter().flatten().map(|x| f(*x)).sum::<f64>() / n;
        // Five standard errors of each moment.
        let off = 5.0 / n.sqrt();
        assert!(mean_of(&|x| x).abs() < off);
        assert!((mean_of(&|x| x * x) - 1.0).abs() < off * 2_f64.sqrt());
        assert!(mean_of(&|x| x.powi(3)).abs() < off * 15_f64.sqrt());
        assert!((mean_of(&|x| x.powi(4)) - 3.0).abs() < off * 96_f64.sqrt());
        let next: f64 = all.iter().flat_map(|row| row.windows(2).map(|pair| pair[0] * pair[1])).sum();
        let other: f64 =
            all.windows(2).flat_map(|rows| rows[0].iter().zip(&rows[1]).map(|(x, y)| x * y)).sum();
        assert!((next / n).abs() < off && (other / n).abs() < off, "{next} {other}");
    }

    #[test]
    fn an_exact_row_shows_values_as_they_are() {
        let exact = RowNoise { key: 7, ..RowNoise::NONE };
        for value in [0.3_f32, -0.0, -2.5] {
            let [reading, weight] = exact.reading(5, value);
            assert_eq!((reading.to_bits(), weight), (value.to_bits(), 1.0));
        }
        let noisy = RowNoise { key: 7, level: 0.1, weight: 0.25 };
        assert_eq!(noisy.reading(5, 0.5), [0.25 * (0.5 + 0.1 * normal(7, 5)), 0.25]);
    }

    #[test]
    fn rows_survive_their_words() {
        let row = RowNoise { key: 0x0123_4567_89AB_CDEF, level: 0.05, weight: 0.4 };
        assert_eq!(RowNoise::from_words(&row.words()), row);
    }

    /// Golden values, which a few lines of Python repeat: a change here changes every noisy training.
    #[test]
    fn the_recipe_is_frozen() {
        assert_eq!(
            [normal(0, 0), normal(1, 0), normal(0, 16_383)],
            [-0.494_578_78, -1.040_037_8, -0.548_589_65]
        );
    }
}
