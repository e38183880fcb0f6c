//! Finding a model by its name, its run folder or its weight file.

use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
};

use scope_data::open_regular;

use super::{
    card::Card,
    held_out::HeldOut,
    run_folder::{RUN_CONFIG, RUN_EVALUATIONS, RUN_WEIGHTS},
};
use crate::{error::ModelError, weights::WeightFile};

/// A model inside a program.
#[derive(Clone, Copy, Debug)]
pub struct Embedded {
    /// Its weight file.
    pub weights: &'static [u8],
    /// The card of the model, as TOML.
    pub card: &'static str,
}

/// Where models are looked for.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    folders: Vec<PathBuf>,
    embedded: Vec<Embedded>,
}

/// All models there are, each name once.
#[derive(Debug)]
pub struct Listing {
    /// Those with a card.
    pub models: Vec<Found>,
    /// Why others were left out: cards that cannot be read, be it that they are another program's.
    pub unreadable: Vec<ModelError>,
}

/// A weight file with a card beside it.
struct Entry {
    /// The card's, or the file's where the card cannot be read.
    name: String,
    found: Result<Found, ModelError>,
}

/// A model that was found.
#[derive(Clone, Debug)]
pub struct Found {
    place: Place,
    /// Its card, if it has one.
    pub card: Option<Card>,
    /// Its errors on held-out records: the card's, or those in a run's folder.
    pub held_out: Option<HeldOut>,
}

#[derive(Clone, Debug)]
enum Place {
    File(PathBuf),
    Embedded(&'static [u8]),
}

impl Catalogue {
    /// Looks into folders, in this order, and then among models inside the program.
    pub fn new(folders: Vec<PathBuf>, embedded: Vec<Embedded>) -> Self {
        Self { folders, embedded }
    }

    /// Finds a model: a run's folder, a weight file, or a name.
    pub fn find(&self, named: impl AsRef<Path>) -> Result<Found, ModelError> {
        let path = named.as_ref();
        if path.join(RUN_WEIGHTS).is_file() {
            return Found::run(path);
        }
        if path.is_file() {
            return Found::file(path.to_owned());
        }
        let mut entries = self.entries()?;
        match entries.iter().position(|entry| Path::new(&entry.name) == path) {
            Some(at) => entries.swap_remove(at).found?.verified(),
            None if path.join(RUN_CONFIG).is_file() => Err(ModelError::NoModelYet(path.to_owned())),
            None => Err(self.unknown(&path.to_string_lossy(), entries)),
        }
    }

    /// All models, and what could not be read. Of a name, the first counts, so a card that cannot be read hides those
    /// of its name behind it, as in [`Catalogue::find`].
    pub fn list(&self) -> Result<Listing, ModelError> {
        let mut listing = Listing { models: Vec::new(), unreadable: Vec::new() };
        let mut names = HashSet::new();
        for Entry { name, found } in self.entries()? {
            let first = names.insert(name);
            match found {
                Ok(found) if first => listing.models.push(found),
                Ok(_) => {}
                Err(error) => listing.unreadable.push(error),
            }
        }
        Ok(listing)
    }

    /// All weight files with a card beside them, in the order in which they are looked for.
    fn entries(&self) -> Result<Vec<Entry>, ModelError> {
        let mut all = Vec::new();
        for folder in &self.folders {
            let Ok(entries) = fs::read_dir(folder) else { continue };
            let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
            paths.sort_unstable();
            for weights in paths.into_iter().filter(|path| path.extension() == Some("safetensors".as_ref())) {
                let card = Card::beside(&weights);
                if card.is_file() {
                    all.push(Entry::beside(weights, &card));
                }
            }
        }
        for Embedded { weights, card } in &self.embedded {
            let card = Card::parse(Path::new("the program's own model card"), card)?;
            let name = card.name.clone();
            let found = Found::carded(Place::Embedded(weights), card);
            all.push(Entry { name, found: Ok(found) });
        }
        Ok(all)
    }

    fn unknown(&self, text: &str, entries: Vec<Entry>) -> ModelError {
        let mut names: Vec<String> = Vec::new();
        for Entry { name, found } in entries {
            if found.is_ok() && !names.contains(&name) {
                names.push(name);
            }
        }
        let close = |name: &&String| strsim::jaro_winkler(name, text) > 0.8;
        ModelError::Unknown {
            name: text.to_owned(),
            meant: names.iter().find(close).cloned(),
            folders: self.folders.clone(),
            names,
        }
    }
}

impl Entry {
    fn beside(weights: PathBuf, card: &Path) -> Self {
        match Card::read(card) {
            Ok(card) => {
                Self { name: card.name.clone(), found: Ok(Found::carded(Place::File(weights), card)) }
            }
            Err(error) => {
                let stem = weights.file_stem().unwrap_or_default();
                Self { name: stem.to_string_lossy().into_owned(), found: Err(error) }
            }
        }
    }
}

impl Found {
    fn carded(place: Place, card: Card) -> Self {
        let held_out = Some(card.held_out.clone());
        Self { place, card: Some(card), held_out }
    }

    fn file(path: PathBuf) -> Result<Self, ModelError> {
        // A card would be taken for a weight file with itself beside it.
        if Card::beside(&path) == path {
            let name = Card::read(&path)?.name;
            let weights = path.with_extension("safetensors");
            return Err(ModelError::IsCard { path, name, weights });
        }
        match Card::beside(&path) {
            card if card.is_file() => Self::carded(Place::File(path), Card::read(&card)?).verified(),
            _ => Ok(Self { place: Place::File(path), card: None, held_out: None }),
        }
    }

    /// A run's model, with what was evaluated of it; older evaluations of another model do not count. A folder that was
    /// written to be shared has a card instead.
    fn run(folder: &Path) -> Result<Self, ModelError> {
        let path = folder.join(RUN_WEIGHTS);
        if Card::beside(&path).is_file() {
            return Self::file(path);
        }
        let mut found = Self { place: Place::File(path), card: None, held_out: None };
        let entries = fs::read_dir(folder.join(RUN_EVALUATIONS)).into_iter().flatten().flatten();
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        files.retain(|file| file.extension().is_some_and(|end| end == "json"));
        files.sort_unstable();
        if !files.is_empty() {
            let hash = found.hash()?;
            let mut held_out = HeldOut::default();
            files.iter().for_each(|file| drop(held_out.add_evaluation(file, &hash)));
            found.held_out = Some(held_out).filter(|held_out| !held_out.conditions.is_empty());
        }
        Ok(found)
    }

    /// Refuses a weight file that is not the one its card is about.
    fn verified(self) -> Result<Self, ModelError> {
        let got = self.hash()?;
        match &self.card {
            Some(card) if card.weights.blake3 != got => Err(ModelError::Changed {
                path: self.shown().into(),
                expected: card.weights.blake3.clone(),
                got,
            }),
            _ => Ok(self),
        }
    }

    /// The name on its card.
    pub fn name(&self) -> Option<&str> {
        self.card.as_ref().map(|card| card.name.as_str())
    }

    /// Its weight file, unless it is inside the program.
    pub fn path(&self) -> Option<&Path> {
        match &self.place {
            Place::File(path) => Some(path),
            Place::Embedded(_) => None,
        }
    }

    /// Where it is, for people.
    pub fn shown(&self) -> String {
        match &self.place {
            Place::File(path) => path.display().to_string(),
            Place::Embedded(_) => "inside this program".to_owned(),
        }
    }

    /// Its weight file with the header understood.
    pub fn open(&self) -> Result<WeightFile, ModelError> {
        match &self.place {
            Place::File(path) => WeightFile::read(path),
            Place::Embedded(bytes) => WeightFile::parse(Path::new("the program's own model"), *bytes),
        }
    }

    /// BLAKE3 of its weight file as it is now; what was opened has its own, [`WeightFile::hash`].
    fn hash(&self) -> Result<String, ModelError> {
        match &self.place {
            Place::Embedded(bytes) => Ok(blake3::hash(bytes).to_string()),
            Place::File(path) => {
                let (file, _) = open_regular(path)?;
                let mut hasher = blake3::Hasher::new();
                let hashed = hasher.update_reader(file);
                hashed.map_err(|source| ModelError::Io { path: path.clone(), source })?;
                Ok(hasher.finalize().to_string())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with another program's model, and a catalogue of it.
    fn stranger_s() -> (tempfile::TempDir, Catalogue) {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("llama.safetensors"), b"weights").unwrap();
        fs::write(folder.path().join("llama.toml"), "[general]\nlayers = 32\n").unwrap();
        let catalogue = Catalogue::new(vec![folder.path().to_owned()], Vec::new());
        (folder, catalogue)
    }

    #[test]
    fn a_card_that_cannot_be_read_is_left_out_of_the_list() {
        let (_folder, catalogue) = stranger_s();
        let Listing { models, unreadable } = catalogue.list().unwrap();
        assert!(models.is_empty());
        assert!(matches!(&unreadable[..], [ModelError::Card { path, .. }] if path.ends_with("llama.toml")));
    }

    #[test]
    fn a_card_that_cannot_be_read_fails_under_its_own_name_only() {
        let (_folder, catalogue) = stranger_s();
        assert!(matches!(catalogue.find("llama"), Err(ModelError::Card { .. })));
        let Err(ModelError::Unknown { names, .. }) = catalogue.find("poisson") else {
            panic!("there is no poisson")
        };
        assert!(names.is_empty());
    }
}
