//! What tells that an unfinished folder is ours, and which of the files in it are.

use std::{
    collections::BTreeSet,
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io::{ErrorKind, Read, Write},
    path::{Path, PathBuf},
};

use super::open_unlinked;
use crate::error::DataError;

/// The list's name in an unfinished folder; a finished one has none, unless its writer was killed in the last moment.
const LIST: &str = ".scope-unfinished";

/// What the last line of a complete folder's list begins with; no file has such a name.
const COMPLETE: &str = "complete/";

/// The list's first line.
const TITLE: &str = "SCOPE is writing this folder; so far it has begun these files:";

/// The most bytes of a list that is read: a name for each of a million pictures.
const MAX_BYTES: u64 = 1 << 25;

/// The files of an unfinished folder. The list of them lies in the folder itself, and a name is in it before the file
/// is made: what is not in it is not ours, and is never removed.
#[derive(Debug)]
pub(super) struct Unfinished {
    folder: PathBuf,
    /// Closed when the folder is complete.
    list: Option<File>,
    /// Files that were made.
    made: Vec<String>,
}

impl Unfinished {
    /// Begins a list in an empty folder.
    pub(super) fn begin(folder: &Path) -> Result<Self, DataError> {
        let path = folder.join(LIST);
        let mut list = create_new(&path)?;
        let written = writeln!(list, "{TITLE}").inspect_err(|_| drop(fs::remove_file(&path)));
        written.map_err(DataError::io("write", &path))?;
        Ok(Self { folder: folder.to_owned(), list: Some(list), made: Vec::new() })
    }

    /// Makes a file, which must not be there.
    pub(super) fn create(&mut self, name: &str) -> Result<File, DataError> {
        let path = self.folder.join(name);
        if !is_plain(name) {
            return Err(DataError::Request(format!("{} is no name of a file in a folder", path.display())));
        }
        if let Some(list) = &mut self.list {
            list.write_all(format!("{name}\n").as_bytes()).map_err(DataError::io("write", &path))?;
        }
        let file = create_new(&path)?;
        self.made.push(name.to_owned());
        Ok(file)
    }

    /// Closes the list, with the moment of the folder's last change: moving the folder changes it once more. So a
    /// folder that got its name, and the one of an unfinished folder again, is not taken for an unfinished one.
    pub(super) fn seal(&mut self) -> Result<(), DataError> {
        let moment = last_change(&self.folder).map_err(DataError::io("read", &self.folder))?;
        // Some systems rename no folder in which a file is open.
        let Some(mut list) = self.list.take() else { return Ok(()) };
        let written = list.write_all(format!("{COMPLETE}{moment}\n").as_bytes());
        written.map_err(DataError::io("write", &self.folder.join(LIST)))
    }

    /// Removes the files that were made, the list, and the folder if nothing else is in it. Nothing better can be done
    /// with a failure here; the next process removes the rest.
    pub(super) fn discard(&mut self) {
        self.list = None;
        let mut names = self.made.iter().map(String::as_str).chain([LIST]);
        if names.all(|name| removed(&self.folder.join(name)).is_ok()) {
            let _ = fs::remove_dir(&self.folder);
        }
    }
}

/// Removes the list of a complete folder, if it is there.
pub(super) fn remove_list(folder: &Path) -> Result<(), DataError> {
    let is_complete = |text: String| text.lines().any(|line| line.starts_with(COMPLETE));
    if read_list(folder)?.is_some_and(is_complete) { removed(&folder.join(LIST)) } else { Ok(()) }
}

/// Empties a folder that a killed process left unfinished. Nothing is removed if anything in it is not on its list.
pub(super) fn clear(folder: &Path) -> Result<(), DataError> {
    let ours = listed(folder)?;
    let entries = fs::read_dir(folder).map_err(DataError::io("read", folder))?;
    let mut names: Vec<OsString> = Vec::new();
    for entry in entries {
        names.push(entry.map_err(DataError::io("read", folder))?.file_name());
    }
    names.sort();
    let is_ours = |name: &OsString| name.to_str().is_some_and(|name| ours.contains(name));
    let others = || names.iter().filter(|name| !is_ours(name));
    if let Some(found) = others().find(|name| *name != LIST).or_else(|| others().next()) {
        let found = found.display().to_string();
        return Err(DataError::NotOurs { partial: folder.to_owned(), found });
    }
    // The list goes last: it tells what is left if this is cut short.
    for name in names.iter().filter(|name| *name != LIST).chain(names.iter().filter(|name| *name == LIST)) {
        removed(&folder.join(name))?;
    }
    Ok(())
}

/// A folder's list, if it has one that we have written.
fn read_list(folder: &Path) -> Result<Option<String>, DataError> {
    let path = folder.join(LIST);
    if path.symlink_metadata().is_err() {
        return Ok(None);
    }
    let mut text = String::new();
    let list = open_unlinked(OpenOptions::new().read(true), &path)?;
    let is_text = list.take(MAX_BYTES).read_to_string(&mut text).is_ok();
    // The first thing that is written may have been cut short.
    let is_ours = is_text && (TITLE.starts_with(&text) || text.starts_with(&format!("{TITLE}\n")));
    Ok(is_ours.then_some(text))
}

/// The names on the list of an unfinished folder, and the list's own; none where there is no list of ours, or where the
/// folder was complete and has been moved since.
fn listed(folder: &Path) -> Result<BTreeSet<String>, DataError> {
    let Some(text) = read_list(folder)? else { return Ok(BTreeSet::new()) };
    // A line without an end was cut short, and its file has not been made.
    let lines = text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')).skip(1);
    let (ends, names): (Vec<&str>, Vec<&str>) = lines.partition(|line| line.starts_with(COMPLETE));
    let moment = last_change(folder).map_err(DataError::io("read", folder))?;
    if ends.iter().any(|end| moment.is_empty() || end.strip_prefix(COMPLETE) != Some(&moment)) {
        return Ok(BTreeSet::new());
    }
    let names = names.into_iter().filter(|name| is_plain(name)).map(str::to_owned);
    Ok(names.chain([LIST.to_owned()]).collect())
}

/// The moment of a folder's last change, its own name included.
#[cfg(unix)]
fn last_change(folder: &Path) -> std::io::Result<String> {
    use std::os::unix::fs::MetadataExt;
    let about = fs::metadata(folder)?;
    Ok(format!("{}.{:09}", about.ctime(), about.ctime_nsec()))
}

/// Elsewhere it is not told, and a complete folder is never taken for an unfinished one.
#[cfg(not(unix))]
fn last_change(_: &Path) -> std::io::Result<String> {
    Ok(String::new())
}

/// Whether a name is that of something in a folder, and fits on a line.
fn is_plain(name: &str) -> bool {
    !["", ".", "..", LIST].contains(&name) && !name.contains(['/', '\\', '\n'])
}

fn create_new(path: &Path) -> Result<File, DataError> {
    let made = OpenOptions::new().write(true).create_new(true).open(path);
    made.map_err(DataError::io("create", path))
}

/// Removes a file, if it is there.
fn removed(path: &Path) -> Result<(), DataError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(DataError::io("remove", path)(error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder as a killed process leaves it, with a file more that it has not made.
    fn abandoned(more: &[&str]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let mut unfinished = Unfinished::begin(root.path()).unwrap();
        unfinished.create("x").unwrap();
        more.iter().for_each(|name| fs::write(root.path().join(name), b"precious").unwrap());
        root
    }

    fn names(folder: &Path) -> BTreeSet<String> {
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn what_is_on_the_list_is_cleared() {
        let root = abandoned(&[]);
        clear(root.path()).unwrap();
        assert!(names(root.path()).is_empty());
    }

    #[test]
    fn nothing_is_removed_where_anything_is_not_on_the_list() {
        let root = abandoned(&["thesis.tex"]);
        let before = names(root.path());
        let refused = clear(root.path()).unwrap_err();
        assert!(matches!(&refused, DataError::NotOurs { found, .. } if found == "thesis.tex"), "{refused}");
        assert_eq!(names(root.path()), before);
    }

    #[cfg(unix)]
    #[test]
    fn a_complete_folder_is_cleared_until_it_is_moved() {
        for moved in [false, true] {
            let root = tempfile::tempdir().unwrap();
            let [folder, elsewhere] = ["set.partial", "set"].map(|name| root.path().join(name));
            fs::create_dir(&folder).unwrap();
            let mut unfinished = Unfinished::begin(&folder).unwrap();
            unfinished.create("x").unwrap();
            unfinished.seal().unwrap();
            let sealed = last_change(&folder).unwrap();
            // Until the clock, which is coarse on some systems, has gone on.
            while moved && last_change(&folder).unwrap() == sealed {
                fs::rename(&folder, &elsewhere).unwrap();
                fs::rename(&elsewhere, &folder).unwrap();
            }
            if moved {
                let refused = clear(&folder).unwrap_err();
                assert!(matches!(&refused, DataError::NotOurs { found, .. } if found == "x"), "{refused}");
                remove_list(&folder).unwrap();
                assert_eq!(names(&folder), BTreeSet::from(["x".to_owned()]));
            } else {
                clear(&folder).unwrap();
                assert!(names(&folder).is_empty());
            }
        }
    }

    #[test]
    fn a_list_is_removed_from_complete_folders_only() {
        let root = abandoned(&[]);
        remove_list(root.path()).unwrap();
        assert_eq!(names(root.path()).len(), 2);
    }

    #[test]
    fn discarding_leaves_what_others_have_put_there() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("set.partial");
        fs::create_dir(&folder).unwrap();
        let mut unfinished = Unfinished::begin(&folder).unwrap();
        unfinished.create("x").unwrap();
        fs::write(folder.join("thesis.tex"), b"precious").unwrap();
        // A name that was taken is on the list, but the file is not ours.
        assert!(unfinished.create("thesis.tex").is_err());
        unfinished.discard();
        assert_eq!(names(&folder), BTreeSet::from(["thesis.tex".to_owned()]));
    }

    #[test]
    fn lists_that_were_cut_short_or_written_by_others() {
        let root = tempfile::tempdir().unwrap();
        let list = root.path().join(LIST);
        let of = |text: &str| {
            fs::write(&list, text).unwrap();
            listed(root.path()).unwrap()
        };
        let own = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        assert_eq!(of(""), own(&[LIST]));
        assert_eq!(of("SCOPE is wri"), own(&[LIST]));
        assert_eq!(of(&format!("{TITLE}\nx\ny")), own(&["x", LIST]));
        assert_eq!(of(&format!("{TITLE}\n../x\n/etc/passwd\n..\n\n")), own(&[LIST]));
        assert_eq!(of("notes of my own\nx\n"), own(&[]));
        fs::write(&list, [0xFF, 0xFE]).unwrap();
        assert_eq!(listed(root.path()).unwrap(), own(&[]));
    }

    #[test]
    fn files_have_plain_names() {
        let root = tempfile::tempdir().unwrap();
        let mut unfinished = Unfinished::begin(root.path()).unwrap();
        for name in ["", "..", "a/b", "a\nb", LIST] {
            assert!(unfinished.create(name).is_err(), "{name}");
        }
    }
}
