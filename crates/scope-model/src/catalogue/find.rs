//! Finding a model by its name, its run folder or its weight file.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{card::Card, held_out::HeldOut};
use crate::{error::ModelError, weights::WeightFile};

/// The weight file of a run folder.
const RUN_WEIGHTS: &str = "model.safetensors";

/// A model inside a program.
#[derive(Clone, Copy, Debug)]
pub struct Embedded {
    /// Its weight file.
    pub weights: &'static [u8],
    /// Its card.
    pub card: &'static str,
}

/// Where models are looked for.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    folders: Vec<PathBuf>,
    embedded: Vec<Embedded>,
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
    pub fn find(&self, text: &str) -> Result<Found, ModelError> {
        let path = Path::new(text);
        if path.join(RUN_WEIGHTS).is_file() {
            return Found::run(path);
        }
        if path.is_file() {
            return Found::file(path.to_owned());
        }
        let cards = self.cards()?;
        match cards.iter().find(|found| found.name() == Some(text)) {
            Some(found) => found.clone().verified(),
            None => Err(self.unknown(text, &cards)),
        }
    }

    /// All weight files with a card beside them, each name once.
    pub fn cards(&self) -> Result<Vec<Found>, ModelError> {
        let mut all: Vec<Found> = Vec::new();
        for folder in &self.folders {
            let Ok(entries) = fs::read_dir(folder) else { continue };
            let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
            paths.sort_unstable();
            for weights in paths.into_iter().filter(|path| path.extension() == Some("safetensors".as_ref())) {
                let card = Card::beside(&weights);
                if card.is_file() {
                    all.push(Found::carded(Place::File(weights), Card::read(&card)?));
                }
            }
        }
        for Embedded { weights, card } in &self.embedded {
            let card = Card::parse(Path::new("the program's own model card"), card)?;
            all.push(Found::carded(Place::Embedded(weights), card));
        }
        let mut names = std::collections::HashSet::new();
        all.retain(|found| names.insert(found.name().map(str::to_owned)));
        Ok(all)
    }

    fn unknown(&self, text: &str, cards: &[Found]) -> ModelError {
        let names: Vec<String> = cards.iter().filter_map(|found| found.name().map(str::to_owned)).collect();
        let close = |name: &&String| strsim::jaro_winkler(name, text) > 0.8;
        ModelError::Unknown {
            name: text.to_owned(),
            meant: names.iter().find(close).cloned(),
            folders: self.folders.clone(),
            names,
        }
    }
}

impl Found {
    fn carded(place: Place, card: Card) -> Self {
        let held_out = Some(card.held_out.clone());
        Self { place, card: Some(card), held_out }
    }

    fn file(path: PathBuf) -> Result<Self, ModelError> {
        match Card::beside(&path) {
            card if card.is_file() => Self::carded(Place::File(path), Card::read(&card)?).verified(),
            _ => Ok(Self { place: Place::File(path), card: None, held_out: None }),
        }
    }

    /// A run's model, with what was evaluated of it; older evaluations of another model do not count.
    fn run(folder: &Path) -> Result<Self, ModelError> {
        let path = folder.join(RUN_WEIGHTS);
        let mut found = Self { place: Place::File(path), card: None, held_out: None };
        let entries = fs::read_dir(folder.join("eval")).into_iter().flatten().flatten();
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

    /// BLAKE3 of its weight file.
    pub fn hash(&self) -> Result<String, ModelError> {
        match &self.place {
            Place::Embedded(bytes) => Ok(blake3::hash(bytes).to_string()),
            Place::File(path) => {
                let bytes = fs::read(path).map_err(|source| ModelError::Io { path: path.clone(), source })?;
                Ok(blake3::hash(&bytes).to_string())
            }
        }
    }
}
