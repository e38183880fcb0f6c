//! `--shard`: a part of the work, by number or by the rank that a launcher gave to this process.

use std::{path::PathBuf, str::FromStr};

use scope_data::Shard;
use scope_parallel::Launch;

use super::Misuse;

/// Which part of the work is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShardChoice {
    /// The i-th of n.
    Part { part: usize, of: usize },
    /// The part of this process, of as many as were started.
    Ranks,
}

impl FromStr for ShardChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "ranks" {
            return Ok(Self::Ranks);
        }
        let parsed = text.split_once('/').and_then(|(part, of)| Some((part.parse().ok()?, of.parse().ok()?)));
        match parsed {
            Some((part, of)) if (1..=of).contains(&part) => Ok(Self::Part { part, of }),
            _ => Err("expected i/n with i from 1 to n, as in 3/20, or \"ranks\"".into()),
        }
    }
}

impl ShardChoice {
    /// The part of so many records.
    pub(crate) fn of(self, total: usize) -> anyhow::Result<Shard> {
        let (part, of) = match self {
            Self::Part { part, of } => (part, of),
            Self::Ranks => {
                let launch = Launch::from_environment().map_err(Misuse::of)?;
                let none = || {
                    Misuse::of(
                        "--shard ranks is for processes that torchrun, srun or mpirun has started: name a part, as in 3/20",
                    )
                };
                let Launch { rank, size, .. } = launch.ok_or_else(none)?;
                (rank + 1, size)
            }
        };
        Ok(Shard { part, of, total })
    }

    /// Where a part goes that a rank makes: all ranks are given one name, and each has its own.
    pub(crate) fn place(self, out: PathBuf, shard: &Shard) -> PathBuf {
        match self {
            Self::Part { .. } => out,
            Self::Ranks => {
                let name =
                    out.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
                out.with_file_name(scope_eval::part_name(&name, shard))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_counted_from_one_and_ranks_have_names_of_their_own() {
        assert_eq!("3/20".parse(), Ok(ShardChoice::Part { part: 3, of: 20 }));
        assert_eq!("ranks".parse(), Ok(ShardChoice::Ranks));
        for wrong in ["0/3", "4/3", "3", "a/b", "rank"] {
            assert!(wrong.parse::<ShardChoice>().is_err(), "{wrong}");
        }
        let shard = Shard { part: 3, of: 20, total: 100 };
        let place = |choice: ShardChoice| choice.place(PathBuf::from("data/ns"), &shard);
        assert_eq!(place(ShardChoice::Part { part: 3, of: 20 }), PathBuf::from("data/ns"));
        assert_eq!(place(ShardChoice::Ranks), PathBuf::from("data/ns-part-03-of-20"));
    }
}
