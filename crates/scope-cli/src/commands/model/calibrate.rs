//! `scope model calibrate`: a model's error bands, measured on held-out records and written into its card.

use std::{
    num::NonZeroUsize,
    path::{Path, PathBuf},
};

use clap::Args;
use scope_data::{Dataset, Meta, require_writable};
use scope_eval::{
    Evaluation, Protocol,
    bands::{CALIBRATION_MASK_SEED, Calibration},
};
use scope_model::{Card, Found, Precision, Reconstructor, WeightFile, bands::Bands};
use scope_pde::Split;

use crate::{
    commands::{Outcome, device::DeviceArguments, models},
    terminal::{Progress, grouped, say},
};

/// What `--help` ends with.
const EXAMPLES: &str = "\
Example:
  scope data generate poisson --count 600 --split test --seed 20261113 --out data/poisson-bands
  scope model calibrate --model models/poisson.safetensors --data data/poisson-bands
  scope evaluate --run models/poisson.safetensors --data data/poisson-test --protocol all --out evals/poisson

The records must be others than those of training and of the card's held-out errors.
`scope evaluate` then measures how many pixels lie within the bands, and `scope recover` writes them beside the fields.";

/// Contexts recovered together.
const BATCH: usize = 64;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ModelCalibrate {
    /// A weight file with its card beside it, or a model's name
    #[arg(long, value_name = "FILE|NAME")]
    model: String,
    /// Records that neither training nor the card's evaluations have seen
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// The first N records only: a quarter of them for the bands' shape, the others for their width
    #[arg(long, value_name = "N", default_value_t = NonZeroUsize::MAX, hide_default_value = true)]
    records: NonZeroUsize,
    #[command(flatten)]
    device: DeviceArguments,
}

impl ModelCalibrate {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let found = models::catalogue().find(&self.model)?;
        let (path, card) = self.card(&found)?;
        let data = Dataset::open(&self.data)?;
        self.require_better(&card, &data)?;
        require_writable(&path)?;
        let file = found.open()?;
        let blake3 = file.hash();
        let bands = self.measure(file, &data)?;
        bands.check().map_err(|problem| anyhow::anyhow!("the bands measured make no sense: {problem}"))?;
        let layouts = bands.layouts.len();
        let records = bands.records;
        attach(&path, &blake3, bands, |card| self.require_better(card, &data))?;
        say(&format!(
            "wrote {}: bands for {layouts} tasks and layouts, measured on {} records",
            path.display(),
            grouped(records)
        ));
        Ok(Outcome::Success)
    }

    /// The model's card, and its file.
    fn card(&self, found: &Found) -> anyhow::Result<(PathBuf, Card)> {
        match (found.path(), &found.card) {
            (Some(weights), Some(card)) => Ok((Card::beside(weights), card.clone())),
            (None, _) => anyhow::bail!("{} is inside this program: name its weight file", self.model),
            (Some(_), None) => anyhow::bail!(
                "{} has no card that bands could be written into: make one with scope model card",
                self.model
            ),
        }
    }

    /// Refuses records that the card has seen, and fewer than those of the bands that it has.
    fn require_better(&self, card: &Card, data: &Dataset) -> anyhow::Result<()> {
        require_fresh(card, data)?;
        let before = card.bands.as_ref().map_or(0, |bands| bands.records + bands.shape_records);
        let now = self.taken(data);
        anyhow::ensure!(
            before <= now,
            "the card of {} has bands measured on {before} records, and these would be measured on {now}: take more records, or \
             remove [bands] from the card first",
            card.name
        );
        Ok(())
    }

    /// How many records are measured.
    fn taken(&self, data: &Dataset) -> usize {
        self.records.get().min(data.len())
    }

    fn measure(&self, file: WeightFile, data: &Dataset) -> anyhow::Result<Bands> {
        let device = self.device.open()?;
        let model = Reconstructor::from_file(file, &device, Precision::F32)?;
        let records = self.taken(data);
        let evaluation = Evaluation {
            data,
            mask_seed: CALIBRATION_MASK_SEED,
            noise: None,
            records,
            batch: BATCH,
            interpolate: false,
        };
        evaluation.require_fit(&model)?;
        let conditions = Protocol::All.conditions(data.meta().pde);
        let progress = Progress::new("measuring", records * conditions.len());
        let bands = Calibration { evaluation }.bands(&model, &conditions, &mut |done| progress.at(done))?;
        progress.finish();
        Ok(bands)
    }
}

/// Where other records come from: those of one's own cannot be generated.
fn others(meta: &Meta, generated: &'static str) -> &'static str {
    match meta.pde.descriptor().spec {
        Some(_) => "hold others out with `data import own --calibration-fraction`",
        None => generated,
    }
}

/// Refuses records that the model was trained on, or that its held-out errors are of.
fn require_fresh(card: &Card, data: &Dataset) -> anyhow::Result<()> {
    let meta = data.meta();
    let origin = meta.origin.describe(meta.pde);
    let split = meta.split;
    let folder: &Path = data.folder();
    anyhow::ensure!(
        meta.fields_hash() != card.data.blake3 && (split != Split::Train || origin != card.data.origin),
        "{} holds records that the model was trained on ({origin}): {}",
        folder.display(),
        others(meta, "generate others with --split test and another --seed")
    );
    anyhow::ensure!(
        split != Split::Test || origin != card.held_out.origin,
        "{} holds records that the card's held-out errors were measured on ({origin}): {}",
        folder.display(),
        others(meta, "generate others with another --seed")
    );
    Ok(())
}

/// Puts bands of the weights with a hash into their card, as it is now: measuring takes long, and it may have been
/// written anew.
fn attach(
    path: &Path,
    blake3: &str,
    bands: Bands,
    require: impl FnOnce(&Card) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let card = Card::read(path)?;
    anyhow::ensure!(
        card.weights.blake3 == blake3,
        "{} is now of a weight file with BLAKE3 {}, and the bands were measured of {blake3}: calibrate again",
        path.display(),
        card.weights.blake3
    );
    require(&card)?;
    Ok(Card { bands: Some(bands), ..card }.write(path)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_while_bands_were_measured_stays() {
        let shipped = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/poisson.toml"));
        let mut card = Card::read(shipped).unwrap();
        let bands = card.bands.take().unwrap();
        card.training.device = Some("two cores".to_owned());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.toml");
        card.write(&path).unwrap();
        let other = attach(&path, "another", bands.clone(), |_| Ok(())).unwrap_err().to_string();
        assert!(other.contains("calibrate again"), "{other}");
        assert_eq!(Card::read(&path).unwrap(), card);
        attach(&path, &card.weights.blake3, bands.clone(), |_| Ok(())).unwrap();
        assert_eq!(Card::read(&path).unwrap(), Card { bands: Some(bands), ..card });
    }
}
