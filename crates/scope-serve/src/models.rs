//! The models that are served, ready to compute.

use std::path::Path;

use scope::{
    Device, Network, NetworkOptions, Precision, Recovery,
    model::{Card, Found},
    pde::descriptor::FieldKind,
};
use serde_json::{Value, json};

use crate::{error::ServeError, page::Resource};

/// All models of a service, each with a name of its own.
pub struct Models(Vec<Served>);

/// One of them.
pub(crate) struct Served {
    pub(crate) name: String,
    pub(crate) recovery: Recovery,
    pub(crate) card: Card,
    /// `NAME.safetensors` and `NAME.toml`, as a page loads them.
    pub(crate) files: [Resource; 2],
}

impl Models {
    /// Reads models that were found. Those without a card have no name to be asked for, and are left out.
    pub fn load(found: &[Found], device: &Device) -> Result<Self, ServeError> {
        let carded = found.iter().filter_map(|found| Some((found, found.card.clone()?)));
        let models = carded.map(|(found, card)| Served::load(found, card, device));
        let models = models.collect::<Result<Vec<_>, _>>()?;
        if models.is_empty() { Err(ServeError::NoModels) } else { Ok(Self(models)) }
    }

    /// None, for what needs none.
    #[cfg(test)]
    pub(crate) fn none() -> Self {
        Self(Vec::new())
    }

    /// The names of all.
    pub fn names(&self) -> Vec<&str> {
        self.0.iter().map(|model| model.name.as_str()).collect()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Served> {
        self.0.iter()
    }

    /// The number of a model.
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|model| model.name == name)
    }

    pub(crate) fn at(&self, number: usize) -> &Served {
        &self.0[number]
    }
}

impl Served {
    fn load(found: &Found, card: Card, device: &Device) -> Result<Self, ServeError> {
        let name = card.name.clone();
        let file = found.open()?;
        let weights = Resource::new(format!("{name}.safetensors"), file.bytes().to_vec());
        let card_name = format!("{name}.toml");
        let text = card.text(Path::new(&card_name))?.into_bytes();
        let text = Resource::new(card_name, text);
        // Answers name the file, and not where it is on this machine.
        let network =
            Network::from_file(file, weights.name.clone(), Some(card.clone()), device, Precision::F32)?;
        let recovery = Recovery::with_network(network, NetworkOptions::default())?;
        Ok(Self { name, recovery, card, files: [weights, text] })
    }

    /// The arrays that answers may hold, by name.
    pub(crate) fn arrays(&self) -> Vec<String> {
        let pde = self.recovery.pde();
        let levels = self.card.bands.iter().flat_map(|bands| bands.levels);
        let kinds: Vec<String> = levels.map(|level| format!("_band{:.0}", 100.0 * level)).collect();
        let two_valued = matches!(pde.descriptor().fields.a.kind, FieldKind::TwoValued { .. });
        let present = pde.present();
        let mut names = Vec::new();
        for (channel, present, banded) in [("a", present.a, !two_valued), ("u", present.u, true)] {
            let kinds = kinds.iter().filter(|_| banded).map(String::as_str);
            let all = [""].into_iter().chain(kinds).filter(|_| present);
            names.extend(all.map(|kind| format!("{channel}{kind}")));
        }
        if two_valued {
            names.push("a_map".to_owned());
            names.extend((!kinds.is_empty()).then(|| "a_probability".to_owned()));
        }
        names
    }

    /// What `/v1/models` says of it.
    pub(crate) fn entry(&self) -> Value {
        let Card { name, pde, size, parameters, resolution, held_out, weights, .. } = &self.card;
        let descriptor = pde.descriptor();
        json!({
            "name": name,
            "pde": pde.name(),
            "channels": { "a": pde.channels().a, "u": pde.channels().u },
            "grid": [resolution.rows, resolution.columns],
            "size": size,
            "parameters": parameters,
            "has_geometry": pde.has_disk(),
            "held_out_records": held_out.records,
            "has_solver": descriptor.solver.is_some(),
            "arrays": self.arrays(),
            "blake3": weights.blake3,
            "weights": format!("/models/{}", self.files[0].name),
            "card": format!("/models/{}", self.files[1].name),
        })
    }
}
