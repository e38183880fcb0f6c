//! `scope data import own`: records of one's own.

use std::{
    path::{Path, PathBuf},
    str::FromStr,
};

use anyhow::bail;
use clap::Args;
use scope_data::{Channel, FieldSource, HeldOut, Meta, OwnImport, PerChannel, import_own, read_problem};
use scope_pde::descriptor::FieldKind;

use crate::{
    commands::{Misuse, Outcome},
    terminal::{Interrupt, Progress, grouped, notice, say, significant},
};

/// What is told of records of one's own.
#[derive(Debug, Args)]
pub(super) struct OwnArguments {
    /// For own: the problem file
    #[arg(long, value_name = "FILE")]
    problem: Option<PathBuf>,
    /// For own: the field a of all records, a .npy file [N, rows, columns]
    #[arg(long, value_name = "FILE", conflicts_with = "from")]
    a: Option<PathBuf>,
    /// For own: the field u
    #[arg(long, value_name = "FILE", conflicts_with = "from")]
    u: Option<PathBuf>,
    /// For own: what the fields are called in the file of --from, as in a=h0,u=h [default: a=a,u=u]
    #[arg(long, value_name = "a=NAME,u=NAME", requires = "from")]
    variables: Option<Variables>,
    /// For own: the known region of every record, if the problem has one in each, not zero there: a .npy file [N, rows,
    /// columns], or the name of a variable in the file of --from
    #[arg(long, value_name = "FILE|NAME")]
    known: Option<PathBuf>,
    /// For own: the share of records that is held out [default: 0.1]
    #[arg(long, value_name = "SHARE")]
    test_fraction: Option<f64>,
    /// For own: instead, one of n parts of all records, as in 2/5: over all of them every record is held out once, for
    /// cross-validation
    #[arg(long, value_name = "I/N", conflicts_with = "test_fraction")]
    fold: Option<Fold>,
    /// For own: the share of records that is held out besides, for error bands (scope model calibrate), in
    /// DIR/calibration
    #[arg(long, value_name = "SHARE")]
    calibration_fraction: Option<f64>,
    /// For own: a .npy file [N] of whole numbers: records of one number, such as those of one simulation, stay in one
    /// split
    #[arg(long, value_name = "FILE")]
    groups: Option<PathBuf>,
}

/// A fold of a cross-validation, numbered from 1, and how many there are.
#[derive(Clone, Copy, Debug)]
struct Fold(usize, usize);

impl FromStr for Fold {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers =
            text.split_once('/').and_then(|(fold, of)| Some((fold.parse().ok()?, of.parse().ok()?)));
        match numbers {
            Some((fold, of)) if of >= 2 && (1..=of).contains(&fold) => Ok(Self(fold, of)),
            _ => Err("expected i/n with i from 1 to n, as in 2/5".into()),
        }
    }
}

/// The names of the fields in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Variables(PerChannel<Option<String>>);

impl FromStr for Variables {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || format!("\"{text}\": expected a=NAME, u=NAME or both, separated by a comma");
        let mut names = PerChannel::<Option<String>>::default();
        for part in text.split(',') {
            let (field, name) = part.split_once('=').ok_or_else(expected)?;
            let channel = Channel::BOTH.into_iter().find(|channel| channel.name() == field.trim());
            let place = &mut names[channel.ok_or_else(expected)?];
            if name.trim().is_empty() || place.is_some() {
                return Err(expected());
            }
            *place = Some(name.trim().to_owned());
        }
        Ok(Self(names))
    }
}

impl OwnArguments {
    /// The first of these options that was given.
    pub(super) fn given(&self) -> Option<&'static str> {
        let options = [
            ("--problem", self.problem.is_some()),
            ("--a", self.a.is_some()),
            ("--u", self.u.is_some()),
            ("--variables", self.variables.is_some()),
            ("--known", self.known.is_some()),
            ("--test-fraction", self.test_fraction.is_some()),
            ("--fold", self.fold.is_some()),
            ("--calibration-fraction", self.calibration_fraction.is_some()),
            ("--groups", self.groups.is_some()),
        ];
        options.into_iter().find(|(_, given)| *given).map(|(option, _)| option)
    }

    pub(super) fn import(self, from: &[PathBuf], out: &Path) -> anyhow::Result<Outcome> {
        let Some(problem) = &self.problem else {
            bail!(Misuse::of("name the problem file with --problem, see docs/own-problem.md"));
        };
        let pde = read_problem(problem)?;
        let fields = self.fields(from, pde.present())?;
        let request = OwnImport {
            pde,
            fields,
            known: self.known.map(|name| match from {
                [file] => FieldSource { path: file.clone(), variable: name.to_string_lossy().into_owned() },
                _ => FieldSource { path: name, variable: "known".to_owned() },
            }),
            groups: self.groups,
            test: match self.fold {
                Some(Fold(fold, of)) => HeldOut::Fold { fold, of },
                None => HeldOut::Share(self.test_fraction.unwrap_or(0.1)),
            },
            calibration_fraction: self.calibration_fraction,
        };
        let interrupt = Interrupt::listen()?;
        let mut progress = None;
        let imported = import_own(&request, out, |done, count| {
            progress.get_or_insert_with(|| Progress::new(&format!("import {pde}"), count)).at(done);
            !interrupt.requested()
        })?;
        progress.iter().for_each(Progress::finish);
        imported.notes.iter().for_each(|line| notice(line));
        say_set(&imported.train, &out.join("train"));
        say_set(&imported.test, &out.join("test"));
        if let Some(calibration) = &imported.calibration {
            say_set(calibration, &out.join("calibration"));
        }
        Ok(Outcome::Success)
    }

    /// Where the fields are.
    fn fields(
        &self,
        from: &[PathBuf],
        present: PerChannel<bool>,
    ) -> anyhow::Result<PerChannel<Option<FieldSource>>> {
        let stated = PerChannel { a: self.a.clone(), u: self.u.clone() };
        if !stated.is_unknown() {
            let array = |path: PathBuf| FieldSource { path, variable: String::new() };
            return Ok(stated.zip(PerChannel::from_fn(Channel::name)).map(|(path, name)| {
                path.map(|path| FieldSource { variable: name.to_owned(), ..array(path) })
            }));
        }
        let [file] = from else {
            bail!(Misuse::of("name the records with --a and --u, or one file with --from"));
        };
        let names = self.variables.as_ref().map(|names| names.0.clone());
        Ok(PerChannel::from_fn(|channel| {
            let name = match &names {
                Some(names) => names[channel].clone(),
                None => present[channel].then(|| channel.name().to_owned()),
            };
            name.map(|variable| FieldSource { path: file.clone(), variable })
        }))
    }
}

/// Says what a set holds.
fn say_set(meta: &Meta, folder: &Path) {
    let count = grouped(meta.count);
    say(&format!("wrote {count} records of {}, {}, to {}", meta.pde, meta.resolution, folder.display()));
    if meta.split == scope_pde::Split::Train {
        for (channel, facts) in meta.pde.descriptor().fields.with_channels() {
            let measured = meta.channel(channel);
            let values = match facts.kind {
                FieldKind::Absent => continue,
                FieldKind::TwoValued { low, high } => format!("{low:?} or {high:?}"),
                FieldKind::Continuous => format!(
                    "mean {}, standard deviation {}",
                    significant(measured.mean, 4),
                    significant(measured.sigma, 4)
                ),
            };
            say(&format!("  {}: {}, {values}", channel.name(), facts.label()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_named_field_by_field() {
        let both: Variables = "a=h0, u=h".parse().unwrap();
        assert_eq!(both.0, PerChannel { a: Some("h0".to_owned()), u: Some("h".to_owned()) });
        let one: Variables = "u=h".parse().unwrap();
        assert_eq!(one.0.a, None);
        for wrong in ["", "h", "v=h", "a=", "a=x,a=y", "a=x;u=y,"] {
            assert!(wrong.parse::<Variables>().is_err(), "{wrong}");
        }
    }
}
