//! Results that one evaluation at a time may write.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::Context;
use scope_data::{Lock, NotLocked};

/// The right to write a protocol's results into a folder, until it is dropped. Evaluations under other protocols may share the
/// folder. One that wrote nothing leaves nothing.
#[derive(Debug)]
pub(super) struct Claim {
    results: PathBuf,
    lock: PathBuf,
    /// The folder, if it was made for this evaluation.
    made: Option<PathBuf>,
    _held: Lock,
}

impl Claim {
    /// Claims a file of summaries and what lies beside it, making the folder if need be.
    pub(super) fn take(folder: &Path, results: &Path) -> anyhow::Result<Self> {
        let made = (!folder.exists()).then(|| folder.to_owned());
        fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        let name = results.file_stem().unwrap_or_default().to_string_lossy();
        let lock = folder.join(format!(".{name}.lock"));
        let held = Lock::take(&lock).map_err(|why| match why {
            NotLocked::Refused(error) => error.into(),
            NotLocked::Held(process) => anyhow::anyhow!(
                "{} is about to be written by another evaluation, process {process}: wait for it, or keep both with --out DIR",
                results.display()
            ),
        })?;
        Ok(Self { results: results.to_owned(), lock, made, _held: held })
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if self.results.exists() {
            return;
        }
        // Whatever cannot be removed is no obstacle to the next evaluation.
        let _ = fs::remove_file(&self.lock);
        if let Some(folder) = &self.made {
            let _ = fs::remove_dir(folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_have_one_claim_at_a_time_and_protocols_do_not_meet() {
        let root = tempfile::tempdir().unwrap();
        let [one, other] = ["uniform500.json", "all.json"].map(|name| root.path().join(name));
        let claim = Claim::take(root.path(), &one).unwrap();
        let refused = Claim::take(root.path(), &one).unwrap_err().to_string();
        assert!(refused.contains(&format!("process {}", std::process::id())), "{refused}");
        Claim::take(root.path(), &other).unwrap();
        drop(claim);
        Claim::take(root.path(), &one).unwrap();
    }

    #[test]
    fn a_claim_without_results_leaves_nothing() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("eval");
        let results = folder.join("all.json");
        drop(Claim::take(&folder, &results).unwrap());
        assert!(!folder.exists());
        let claim = Claim::take(&folder, &results).unwrap();
        fs::write(&results, "{}").unwrap();
        drop(claim);
        assert!(results.exists());
    }
}
