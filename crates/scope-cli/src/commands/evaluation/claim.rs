//! Results that one evaluation at a time may write.

use std::path::Path;

use scope_data::{Lock, NotLocked};

/// The right to write a protocol's results into a folder, until it is dropped. Evaluations under other protocols may
/// share the folder. One that wrote nothing leaves nothing.
#[derive(Debug)]
pub(super) struct Claim {
    _held: Lock,
}

impl Claim {
    /// Claims a file of summaries and what lies beside it, making the folder if need be.
    pub(super) fn take(folder: &Path, results: &Path) -> anyhow::Result<Self> {
        let name = results.file_stem().unwrap_or_default().to_string_lossy();
        let held = Lock::take_inside(folder, &format!(".{name}.lock")).map_err(|why| match why {
            NotLocked::Refused(error) => error.into(),
            NotLocked::Held(process) => anyhow::anyhow!(
                "{} is about to be written by another evaluation, process {process}: wait for it, or keep both with --out DIR",
                results.display()
            ),
        })?;
        Ok(Self { _held: held })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

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
        let left: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["all.json"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_in_the_place_of_the_lock_is_not_followed() {
        let root = tempfile::tempdir().unwrap();
        let diary = root.path().join("diary.txt");
        fs::write(&diary, "precious").unwrap();
        std::os::unix::fs::symlink("diary.txt", root.path().join(".all.lock")).unwrap();
        let refused = Claim::take(root.path(), &root.path().join("all.json")).unwrap_err().to_string();
        assert!(refused.contains(".all.lock is a link"), "{refused}");
        assert_eq!(fs::read_to_string(&diary).unwrap(), "precious");
    }
}
