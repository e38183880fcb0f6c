//! `scope data import`.

use std::path::PathBuf;

use anyhow::bail;
use clap::{
    Args, ValueEnum,
    builder::{PossibleValuesParser, TypedValueParser},
};
use scope_data::{GeometryFiles, ImportRequest, Meta, Units, ZeroTargets, import};
use scope_pde::{Pde, Split};

use super::import_own::OwnArguments;
use crate::{
    commands::{Misuse, Outcome},
    terminal::{Interrupt, Progress, grouped, say, significant, warn},
};

/// What `--help` ends with.
const EXAMPLES: &str = "\
Examples:
  scope data import poisson --from poisson_hf --out data/poisson
  scope data import ns --from ns-nonbounded_1.mat --from ns-nonbounded_2.mat --out data/ns
  scope data import cylinder --from ns-bounded_hf --geometry train-geometry.npy --out data/cylinder
  scope data import own --problem problem.toml --a a.npy --u u.npy --out data/mine
  scope data import own --problem problem.toml --from runs.nc --variables a=h0,u=h --groups run.npy --out data/mine

Reads, and tells apart by content:
  - folders that Hugging Face datasets saved (state.json with .arrow shards), in
    stored coordinates
  - DiffusionPDE's .mat files, v5 to v7.3, with their variable names
  - DiffusionPDE's cylinder folders (v.npy with cx.npy, cy.npy, r.npy)
  - a folder with a.npy and u.npy [N, S, S], or one file of pairs [N, 2, S, S]
  - for a problem of your own, arrays [N, rows, columns]: .npy, or variables of
    .npz, HDF5 (NetCDF-4) or MATLAB files; DIR/train and DIR/test are written,
    see docs/own-problem.md";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Import {
    /// The problem, or own for one that --problem states
    #[arg(value_name = "PDE|own", value_parser = import_names())]
    pde: Imported,
    /// A file or folder to read; repeat it to read several, in order
    #[arg(long, value_name = "PATH")]
    from: Vec<PathBuf>,
    #[command(flatten)]
    own: OwnArguments,
    /// Folder to write
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// train or test [default: train]
    #[arg(long)]
    split: Option<Split>,
    /// The cylinder's disks: one file [N, 3], or cx.npy,cy.npy,r.npy
    #[arg(long, value_name = "FILES", value_parser = geometry_files)]
    geometry: Option<GeometryFiles>,
    /// What the numbers mean: physical values, or stored ones, (x - mean) / (2 sigma) [default: stored in Hugging Face
    /// folders, physical elsewhere]
    #[arg(long, value_enum)]
    units: Option<UnitsArgument>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum UnitsArgument {
    // Ordinary comments: with help of their own, values would change the layout of the whole page.
    // As measured.
    Physical,
    // (x - mean) / (2 sigma).
    Stored,
}

/// What records are of.
#[derive(Clone, Copy, Debug)]
enum Imported {
    BuiltIn(Pde),
    Own,
}

/// Reads the name of a problem, or "own".
fn import_names() -> impl TypedValueParser<Value = Imported> {
    let names = Pde::ALL.map(Pde::name).into_iter().chain([OWN]);
    PossibleValuesParser::new(names).try_map(|name| match name.as_str() {
        OWN => Ok(Imported::Own),
        name => name.parse().map(Imported::BuiltIn),
    })
}

/// What stands for a problem of one's own.
const OWN: &str = "own";

impl Import {
    pub(crate) fn run(self) -> anyhow::Result<Outcome> {
        match self.pde {
            Imported::BuiltIn(pde) => self.released(pde),
            Imported::Own => {
                let built_in = [
                    ("--split", self.split.is_some()),
                    ("--geometry", self.geometry.is_some()),
                    ("--units", self.units.is_some()),
                ];
                if let Some((option, _)) = built_in.into_iter().find(|(_, given)| *given) {
                    bail!(Misuse::of(format!(
                        "{option} is for released data: leave it out for records of your own"
                    )));
                }
                self.own.import(&self.from, &self.out)
            }
        }
    }

    /// Released files of a built-in problem.
    fn released(self, pde: Pde) -> anyhow::Result<Outcome> {
        if self.from.is_empty() {
            bail!(Misuse::of("name the files or folders to read with --from"));
        }
        if let Some(option) = self.own.given() {
            bail!(Misuse::of(format!("{option} is for records of your own: scope data import own")));
        }
        let Some(split) = self.split.or_else(|| self.default_split()) else {
            bail!(Misuse::of(
                "the name of a source says 'test': say --split test, or --split train if it is to be trained on"
            ));
        };
        if self.geometry.is_some() && !pde.has_disk() {
            bail!(Misuse::of(format!("{pde} has no geometry: leave --geometry out")));
        }
        let request = ImportRequest {
            pde,
            split,
            from: self.from,
            geometry: self.geometry,
            units: self.units.map(|units| match units {
                UnitsArgument::Physical => Units::Physical,
                UnitsArgument::Stored => Units::Stored,
            }),
        };
        let interrupt = Interrupt::listen()?;
        let mut progress = None;
        let meta = import(&request, &self.out, |done, count| {
            progress.get_or_insert_with(|| Progress::new(&format!("import {pde}"), count)).at(done);
            !interrupt.requested()
        })?;
        progress.iter().for_each(Progress::finish);
        say(&format!(
            "wrote {} records of {} ({}), {}, to {}",
            grouped(meta.count),
            meta.pde,
            meta.split,
            meta.resolution,
            self.out.display()
        ));
        warn_about_units(&meta);
        match ZeroTargets::of(&meta) {
            Some(ZeroTargets::AsReleased { zeros }) => say(&format!("{zeros}, as in the released set")),
            Some(ZeroTargets::Other { released, found }) => warn(&format!(
                "the released {} set has {released}, and this one {found}: these are other records, or in another order",
                meta.split
            )),
            None => {}
        }
        Ok(Outcome::Success)
    }

    /// Train, unless a name says otherwise: held-out records must not be trained on by mistake.
    fn default_split(&self) -> Option<Split> {
        let named_test =
            |path: &PathBuf| path.file_name().is_some_and(|name| says_test(&name.to_string_lossy()));
        if self.from.iter().any(named_test) { None } else { Some(Split::Train) }
    }
}

/// Whether "test" is a word of a name; `latest` is another one.
fn says_test(name: &str) -> bool {
    name.split(|c: char| !c.is_alphabetic()).any(|word| word.eq_ignore_ascii_case("test"))
}

/// Stored values have a standard deviation near 1/2; a root mean square far from that means wrong units.
fn warn_about_units(meta: &Meta) {
    for (name, channel) in meta.channels() {
        let stored = channel.rms / (2.0 * channel.sigma.hypot(channel.mean));
        if !(0.25..=1.0).contains(&stored) {
            warn(&format!(
                "the root mean square of {name} is {}, that of the released {} is {}: are the values in other units (--units)?",
                significant(channel.rms, 4),
                meta.pde,
                significant(channel.sigma.hypot(channel.mean), 4)
            ));
        }
    }
}

fn geometry_files(text: &str) -> Result<GeometryFiles, String> {
    let files: Vec<PathBuf> = text.split(',').map(PathBuf::from).collect();
    match <[PathBuf; 3]>::try_from(files) {
        Ok(three) => Ok(GeometryFiles::Separate(three)),
        Err(files) if files.len() == 1 => Ok(GeometryFiles::Together(text.into())),
        Err(_) => Err("expected one file, or three separated by commas".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_test_in_a_word_of_its_own() {
        for name in ["poisson_test_hf", "My_Test.npy", "TEST", "test2.mat", "ns-1.test"] {
            assert!(says_test(name), "{name}");
        }
        for name in ["latest.npy", "contest", "testing-ground", "poisson_hf", ""] {
            assert!(!says_test(name), "{name}");
        }
    }
}
