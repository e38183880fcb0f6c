//! Where `scope evaluate` writes to.

use std::path::{Path, PathBuf};

use anyhow::Context;
use scope_data::{Shard, observation::Condition, require_writable, require_writable_folder, write_atomic};
use scope_eval::{Evaluation, Provenance, Record, RecoveryMethod, Results};

use super::claim::Claim;
use crate::{
    commands::Misuse,
    terminal::{note, notice, say},
};

/// The places that an evaluation goes to.
#[derive(Debug)]
pub(super) struct Destination {
    /// The folder of the results and the figures, if they are kept.
    pub(super) folder: Option<PathBuf>,
    /// Where the summaries alone go: a file, or "-" for standard output.
    pub(super) json: Option<PathBuf>,
    /// What results are called there: the protocol, and the noise of the readings if they have any.
    pub(super) name: String,
    /// Records to draw under each condition.
    pub(super) figures: usize,
}

impl Destination {
    /// The folder of parts that are still to be joined.
    pub(super) fn parts(&self) -> anyhow::Result<PathBuf> {
        let none = || Misuse::of("parts of an evaluation need a folder: name one with --out");
        Ok(self.folder.as_ref().ok_or_else(none)?.join("parts"))
    }

    /// The places that one part goes to.
    pub(super) fn of_part(&self, shard: &Shard) -> anyhow::Result<Self> {
        let name = scope_eval::part_name(&self.name, shard);
        Ok(Self { folder: Some(self.parts()?), json: None, name, figures: 0 })
    }

    /// Whether standard output is for JSON alone.
    pub(super) fn is_standard_output(&self) -> bool {
        self.json.as_deref() == Some(Path::new("-"))
    }

    /// The file of summaries beside which the values are.
    fn results(&self) -> Option<PathBuf> {
        self.folder.as_ref().map(|folder| folder.join(format!("{}.json", self.name)))
    }

    fn json_file(&self) -> Option<PathBuf> {
        self.json.clone().filter(|_| !self.is_standard_output())
    }

    /// Claims the place of the results, if they have one, before anything is measured. Refuses what could not be
    /// written, what another evaluation is about to write, and what would replace better results.
    pub(super) fn claim(&self, now: &Provenance) -> anyhow::Result<Option<Claim>> {
        anyhow::ensure!(
            self.figures == 0 || self.folder.is_some(),
            Misuse::of("--figures needs a folder: name one with --out")
        );
        self.folder.as_deref().map_or(Ok(()), require_writable_folder)?;
        for file in [self.results(), self.json_file()].into_iter().flatten() {
            let made = self.folder.as_deref().filter(|folder| !folder.exists());
            if made.is_none() || file.parent() != made {
                require_writable(&file)?;
            }
        }
        if self.figures > 0 {
            self.folder.as_ref().map_or(Ok(()), |folder| require_writable_folder(&folder.join("figures")))?;
        }
        let place = self.folder.as_ref().zip(self.results());
        let claim = place.map(|(folder, results)| Claim::take(folder, &results)).transpose()?;
        self.spare_better(now)?;
        Ok(claim)
    }

    /// Refuses to put an evaluation of training records in the place of one of held-out records, one of few records in
    /// the place of one of more, and an earlier moment of a training in the place of a later one. What is there on
    /// training records alone is no reason to refuse held-out ones, however many they are.
    fn spare_better(&self, now: &Provenance) -> anyhow::Result<()> {
        let Some(path) = self.results() else { return Ok(()) };
        let Ok(Results { identity: before, .. }) = Results::read(&path) else { return Ok(()) };
        let shown = path.display();
        let remedy = "keep both with --out DIR, or remove it first";
        match (before.data.is_held_out(), now.data.is_held_out()) {
            (false, true) => return Ok(()),
            (true, false) => anyhow::bail!(
                "{shown} holds an evaluation on held-out records, and this one would be on training records: {remedy}"
            ),
            _ => {}
        }
        anyhow::ensure!(
            before.records <= now.records,
            "{shown} holds an evaluation of {} records, and this one would have {}: {remedy}",
            before.records,
            now.records
        );
        anyhow::ensure!(
            !now.method.precedes(&before.method),
            "{shown} holds an evaluation of this training after more draws than this model has seen: {remedy}"
        );
        Ok(())
    }

    /// Writes the results, which took long to measure, and then the copy of their summaries. Returns what was written.
    pub(super) fn write(&self, record: &Record) -> anyhow::Result<Vec<String>> {
        let mut written = Vec::new();
        if let Some(path) = self.results() {
            record.write(&path)?;
            written.push(format!("wrote {} and the errors of each record beside it", path.display()));
        }
        if let Some(path) = self.json_file() {
            write_atomic(&path, &serde_json::to_vec_pretty(&record.results)?)?;
            written.push(format!("wrote {}", path.display()));
        }
        Ok(written)
    }

    /// Says what was written, where standard output is for people, or that nothing was.
    pub(super) fn tell(&self, written: &[String]) {
        if self.folder.is_none() && self.json.is_none() {
            notice("nothing was written: --out DIR keeps these results, with the errors of each record");
        }
        if !self.is_standard_output() {
            written.iter().for_each(|line| say(line));
        }
    }

    /// Draws the first records under each condition.
    pub(super) fn draw(
        &self,
        evaluation: &Evaluation<'_>,
        method: &dyn RecoveryMethod,
        conditions: &[Condition],
    ) -> anyhow::Result<()> {
        let Some(folder) = self.folder.as_ref().filter(|_| self.figures > 0) else { return Ok(()) };
        let folder = folder.join("figures");
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        for condition in conditions {
            for record in 0..self.figures.min(evaluation.records) {
                let drawing = evaluation.draw(method, *condition, record)?;
                let noise = evaluation.noise.map_or_else(String::new, |noise| format!("-{}", noise.label()));
                let name = format!("{}{noise}-record-{record}", condition.to_string().replace('/', "-"));
                write_atomic(&folder.join(format!("{name}.png")), &drawing.to_png()?)?;
                write_atomic(&folder.join(format!("{name}.svg")), drawing.to_svg()?.as_bytes())?;
            }
        }
        note(&format!("drew figures in {}", folder.display()));
        Ok(())
    }
}
