//! The weights that a run begins with.

use std::path::{Path, PathBuf};

use scope_data::{Dataset, Meta};
use scope_engine::{Device, Params};
use scope_model::{FieldModel, ModelError, WeightFile};
use scope_pde::Pde;

use crate::commands::models::catalogue;

/// A weight file, read once: its hash, what it says and its parameters are all of the same bytes, whatever becomes of
/// the file meanwhile.
pub(super) struct Weights {
    /// BLAKE3 of the bytes.
    pub(super) hash: String,
    pub(super) file: WeightFile,
    /// Where the file is, unless it is inside the program.
    path: Option<PathBuf>,
    /// Where it is, for people.
    pub(super) shown: String,
}

impl Weights {
    /// Reads the weights of a run, a file or a model's name.
    pub(super) fn read(text: &Path) -> anyhow::Result<Self> {
        let found = catalogue().find(text)?;
        let file = found.open()?;
        let path = found.path().map(Path::to_owned);
        let shown = match path {
            Some(_) => found.shown(),
            None => format!("{} ({})", text.display(), found.shown()),
        };
        Ok(Self { hash: file.hash(), file, path, shown })
    }

    /// The parameters, on a device.
    pub(super) fn params(&self, device: &Device) -> Result<Params, ModelError> {
        let mut model = FieldModel::zeros(self.file.about.config.clone(), device)?;
        self.file.fill(&mut model.params)?;
        Ok(model.params)
    }

    /// Refuses weights that a run in this folder would write over.
    pub(super) fn require_outside(&self, out: &Path) -> anyhow::Result<()> {
        let inside = match (self.path.as_ref().map(|path| path.canonicalize()), out.canonicalize()) {
            (Some(Ok(path)), Ok(out)) => path.starts_with(out),
            // A folder that is not there yet holds nothing, and a program no folder.
            _ => false,
        };
        let shown = &self.shown;
        let out = out.display();
        anyhow::ensure!(
            !inside,
            "{shown} lies in {out}, and the run would write over it: name another folder with --out"
        );
        Ok(())
    }

    /// Whether they were trained on the problem and with the normalisation of a set.
    pub(super) fn is_of(&self, meta: &Meta) -> bool {
        let about = &self.file.about;
        about.pde == meta.pde && about.constants == meta.constants()
    }

    /// The problem that they were trained on, if it is another than a set's.
    pub(super) fn other_problem(&self, meta: &Meta) -> Option<Pde> {
        Some(self.file.about.pde).filter(|pde| *pde != meta.pde)
    }

    /// Refuses a set on another grid than they were trained on.
    pub(super) fn require_same_grid(&self, data: &Dataset, set: &Path) -> anyhow::Result<()> {
        let meta = data.meta();
        let resolution = self.file.about.config.resolution();
        anyhow::ensure!(
            meta.resolution == resolution,
            "{} is on a grid of {}, and {} is of one of {resolution}: they must be the same",
            set.display(),
            meta.resolution,
            self.shown,
        );
        Ok(())
    }

    /// Refuses a set of another problem, grid or normalisation than they were trained on.
    pub(super) fn require_same_problem(&self, data: &Dataset, set: &Path) -> anyhow::Result<()> {
        self.require_same_grid(data, set)?;
        let meta = data.meta();
        let about = &self.file.about;
        let shown = &self.shown;
        let set = set.display();
        anyhow::ensure!(
            meta.pde == about.pde,
            "{set} holds {}, and {shown} is of {}: the problem must be the same",
            meta.pde.name(),
            about.pde.name(),
        );
        anyhow::ensure!(
            meta.constants() == about.constants,
            "{set} has the normalisation {:?}, and {shown} was trained with {:?}: they must be the same",
            meta.constants(),
            about.constants
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use scope_data::{Constants, Scaling};
    use scope_model::{About, Architecture, Preset, Quantisation};
    use scope_pde::Pde;

    use super::*;

    /// Writes the model of a seed, and gives its parameters.
    fn write(path: &Path, seed: u64) -> Vec<f32> {
        let config: Architecture = Preset::Tiny.config(32).into();
        let model = FieldModel::initial(config.clone(), seed, &Device::cpu(1)).unwrap();
        let plain = Scaling { mean: 0.0, sigma: 1.0 };
        let constants = Constants { a: plain, u: plain };
        let about = About { pde: Pde::POISSON, constants, config, training: None };
        model.save(path, &about, Quantisation::F32).unwrap();
        model.params.flat().to_vec().unwrap()
    }

    #[test]
    fn weights_stay_what_they_were_when_their_file_is_replaced() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("x.safetensors");
        let first = write(&path, 1);
        let hash = blake3::hash(&std::fs::read(&path).unwrap()).to_string();
        let weights = Weights::read(&path).unwrap();
        assert!(write(&path, 2) != first);
        assert_eq!(weights.hash, hash);
        assert!(weights.params(&Device::cpu(1)).unwrap().flat().to_vec::<f32>().unwrap() == first);
    }
}
