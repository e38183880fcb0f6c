//! Damage to bytes, the same for the same coordinates.

/// Numbers that programs get wrong.
const EXTREMES: [u64; 12] =
    [0, 1, 2, 0x7f, 0xff, 0x7fff, 0xffff, 0x7fff_ffff, 0xffff_ffff, 1 << 40, i64::MAX as u64, u64::MAX];

/// Words that text formats trip over.
const WORDS: [&str; 18] = [
    "NaN",
    "inf",
    "1e999",
    "-1",
    "-0",
    "18446744073709551615",
    "99999999999999999999",
    "0x1",
    "null",
    "\"",
    "\n",
    "\0",
    "\u{1b}]0;x\u{7}",
    ",",
    ";",
    "{",
    "[[[[[[[[",
    "\u{202e}é",
];

/// The `number`-th damaged version of seeds: a seed with one to five changes, decided by the number and `salt` alone.
pub fn damaged(seeds: &[Vec<u8>], salt: u64, number: u64) -> Vec<u8> {
    let mut draw = Draw(salt.rotate_left(32) ^ number);
    let mut bytes = seeds[draw.below(seeds.len())].clone();
    for _ in 0..1 + draw.below(5) {
        change(&mut bytes, seeds, &mut draw);
    }
    bytes
}

fn change(bytes: &mut Vec<u8>, seeds: &[Vec<u8>], draw: &mut Draw) {
    let at = draw.place(bytes.len());
    match draw.below(9) {
        0 => bytes.truncate(at),
        1 => {
            let width = [1, 2, 4, 8][draw.below(4)];
            let value = EXTREMES[draw.below(EXTREMES.len())].to_le_bytes();
            overwrite(bytes, at, &value[..width]);
        }
        2 => {
            let value = draw.next().to_le_bytes();
            overwrite(bytes, at, &value[..1 + draw.below(8)]);
        }
        3 => insert(bytes, at, WORDS[draw.below(WORDS.len())].as_bytes()),
        4 => {
            let end = (at + draw.below(64)).min(bytes.len());
            bytes.drain(at..end);
        }
        5 => {
            let end = (at + draw.below(64)).min(bytes.len());
            let again = bytes[at..end].to_vec();
            insert(bytes, at, &again);
        }
        6 => {
            let other = &seeds[draw.below(seeds.len())];
            let from = draw.place(other.len());
            bytes.truncate(at);
            bytes.extend_from_slice(&other[from..]);
        }
        // A digit becomes another one, so that texts keep their form.
        7 => {
            let digits: Vec<usize> = (0..bytes.len()).filter(|k| bytes[*k].is_ascii_digit()).collect();
            if !digits.is_empty() {
                bytes[digits[draw.below(digits.len())]] = b'0' + draw.below(10) as u8;
            }
        }
        _ => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << draw.below(8);
            }
        }
    }
}

fn overwrite(bytes: &mut [u8], at: usize, value: &[u8]) {
    for (byte, new) in bytes.iter_mut().skip(at).zip(value) {
        *byte = *new;
    }
}

fn insert(bytes: &mut Vec<u8>, at: usize, piece: &[u8]) {
    bytes.splice(at..at, piece.iter().copied());
}

/// SplitMix64, which is defined everywhere in the same way.
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// A number below a limit.
    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }

    /// A place in bytes, mostly near their beginning, where headers are.
    fn place(&mut self, length: usize) -> usize {
        let near = [64, 512, length][self.below(3)];
        self.below(near.min(length) + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_is_the_same_every_time_and_not_all_alike() {
        let seeds = [b"x,y,u\n0.5,0.5,1\n".to_vec(), vec![0; 100]];
        let all = || (0..200).map(|number| damaged(&seeds, 7, number)).collect::<Vec<_>>();
        assert_eq!(all(), all());
        let different: std::collections::HashSet<_> = all().into_iter().collect();
        assert!(different.len() > 150, "{}", different.len());
    }
}
