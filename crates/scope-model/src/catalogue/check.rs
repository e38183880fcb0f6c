//! Cards from a file are checked before anything is said or decided by them.

use scope_data::Channel;

use super::card::{Card, CardTraining, CardWeights};
use crate::{
    bands::Bands,
    limits::{MOST_PARAMETERS, require_grid},
    provenance::MOST_DRAWS,
};

/// The letters of a BLAKE3 hash.
const HASH_LETTERS: usize = 64;

impl Card {
    /// What is wrong with it, expected and got.
    pub(super) fn check(&self) -> Result<(), String> {
        require_grid(self.resolution).map_err(|error| format!("its resolution: {error}"))?;
        if !(1..=MOST_PARAMETERS).contains(&(self.parameters as u64)) {
            return Err(format!("its parameters must be 1 to {MOST_PARAMETERS}, not {}", self.parameters));
        }
        self.weights.check().map_err(|problem| format!("its weights: {problem}"))?;
        self.training.check().map_err(|problem| format!("its training: {problem}"))?;
        if self.data.records == 0 {
            return Err("its data: they must have some records, not 0".to_owned());
        }
        for channel in Channel::BOTH {
            let [low, high] = self.range[channel];
            if !(low.is_finite() && high.is_finite() && low <= high) {
                let name = channel.name();
                return Err(format!("its range of {name} must be finite and rise, not {low} to {high}"));
            }
        }
        self.held_out.check().map_err(|problem| format!("its held-out errors: {problem}"))?;
        let bands = self.bands.as_ref().map_or(Ok(()), Bands::check);
        bands.map_err(|problem| format!("its error bands: {problem}"))
    }
}

impl CardWeights {
    fn check(&self) -> Result<(), String> {
        let letters = self.blake3.bytes().all(|letter| letter.is_ascii_hexdigit());
        if self.blake3.len() != HASH_LETTERS || !letters {
            return Err(format!(
                "a BLAKE3 hash has {HASH_LETTERS} hexadecimal letters, not \"{}\"",
                self.blake3
            ));
        }
        if self.bytes == 0 {
            return Err("a weight file has some bytes, not 0".to_owned());
        }
        Ok(())
    }
}

impl CardTraining {
    fn check(&self) -> Result<(), String> {
        let draws = self.from.iter().map(|earlier| earlier.draws).chain([self.draws, self.planned]);
        if let Some(draws) = draws.into_iter().find(|draws| *draws > MOST_DRAWS) {
            return Err(format!("{draws} draws are more than any training has ({MOST_DRAWS})"));
        }
        let minutes = self.from.iter().map(|earlier| earlier.minutes).chain([self.minutes]).flatten();
        if let Some(minutes) = minutes.into_iter().find(|minutes| !(minutes.is_finite() && *minutes >= 0.0)) {
            return Err(format!("{minutes} minutes are no time"));
        }
        let [fewest, most] = self.sensors;
        if fewest == 0 || fewest > most {
            return Err(format!("sensors must be positive and rise, not {fewest} to {most}"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::error::ModelError;

    /// The text of a shipped card.
    fn shipped() -> String {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/poisson.toml");
        std::fs::read_to_string(path).unwrap()
    }

    /// What is said of a shipped card with another value for a key of a section ("" before the first).
    fn refusal(section: &str, key: &str, value: &str) -> String {
        let text = shipped();
        let (before, rest) = match section {
            "" => ("", text.as_str()),
            _ => text.split_at(text.find(&format!("[{section}]\n")).unwrap()),
        };
        let line = rest.lines().find(|line| line.starts_with(&format!("{key} = "))).unwrap();
        let changed = format!("{before}{}", rest.replacen(line, &format!("{key} = {value}"), 1));
        match Card::parse(Path::new("x.toml"), &changed) {
            Err(ModelError::Card { problem, .. }) => problem,
            other => panic!("{key} = {value}: {other:?}"),
        }
    }

    #[test]
    fn cards_with_impossible_numbers_are_refused() {
        Card::parse(Path::new("x.toml"), &shipped()).unwrap();
        let block = "held_out.conditions.\"forward/block/4915\"";
        for (section, key, value, problem) in [
            ("", "resolution", "9000000000000000000", "its resolution: a grid of 9000"),
            ("", "resolution", "0", "its resolution: a grid of 0"),
            ("", "parameters", "0", "its parameters must be 1 to"),
            (block, "a", "nan", "a of forward/block/4915 must be a finite percentage"),
            (block, "a", "inf", "a of forward/block/4915 must be a finite percentage"),
            (block, "u", "-1.0", "u of forward/block/4915 must be a finite percentage"),
            ("data", "records", "0", "its data: they must have some records"),
            ("held_out", "records", "0", "its held-out errors: they must be of some records"),
            ("training", "planned", "9223372036854775807", "its training: 9223372036854775807 draws"),
            ("training", "minutes", "nan", "its training: NaN minutes"),
            ("training", "sensors", "[0, 16384]", "its training: sensors must be positive"),
            ("training", "sensors", "[500, 1]", "its training: sensors must be positive"),
            ("range", "a", "[nan, 3.0]", "its range of a must be finite"),
            ("range", "a", "[3.0, 2.0]", "its range of a must be finite and rise"),
            ("weights", "bytes", "0", "its weights: a weight file has some bytes"),
            ("weights", "blake3", "\"../../49\"", "its weights: a BLAKE3 hash"),
        ] {
            let said = refusal(section, key, value);
            assert!(said.contains(problem), "{key} = {value}: {said}");
        }
    }

    /// What is read and written again has the same bytes.
    #[test]
    fn a_shipped_card_is_written_as_it_was_read() {
        for pde in ["poisson", "darcy", "helmholtz", "ns", "cylinder"] {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../models/{pde}.toml"));
            let card = Card::read(&path).unwrap();
            assert!(toml::to_string(&card).unwrap() == std::fs::read_to_string(&path).unwrap(), "{pde}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_never_ends_is_no_card() {
        let refused = Card::read(Path::new("/dev/zero")).unwrap_err().to_string();
        assert!(refused.contains("/dev/zero is a device"), "{refused}");
    }

    /// What cannot be read must not be written either.
    #[test]
    fn an_impossible_card_is_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.toml");
        let mut card = Card::parse(&path, &shipped()).unwrap();
        card.training.minutes = Some(f64::NAN);
        assert!(matches!(card.write(&path), Err(ModelError::Card { .. })));
        assert!(!path.exists());
    }
}
