//! Short files that unpack to very much are refused before they are unpacked, in words that say what to do.

#![allow(clippy::unwrap_used)]

use std::sync::{Mutex, MutexGuard, PoisonError};

use scope_data::{ImportRequest, import, npz, sensors::SensorFile};
use scope_fuzz::{
    Counting,
    bombs::{self, Bomb, Reader},
    within_memory,
};
use scope_pde::Split;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Memory is counted for the whole program: while one test makes its large files, none may measure.
fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the reader answers.
fn answer(bomb: &Bomb) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(bomb.name);
    std::fs::write(&path, &bomb.bytes).unwrap();
    within_memory(bomb.bytes.len(), || match bomb.reader {
        Reader::Sensors => SensorFile::open(&path).unwrap_err().to_string(),
        Reader::Import(pde) => {
            let split = Split::Test;
            let from = vec![path.clone()];
            let request = ImportRequest { pde, split, from, geometry: None, units: None };
            import(&request, &folder.path().join("set"), |_, _| true).unwrap_err().to_string()
        }
    })
}

#[test]
fn every_bomb_is_refused_within_memory() {
    let _turn = alone();
    for bomb in bombs::all() {
        let answer = answer(&bomb);
        assert!(answer.contains(bomb.answer), "{}: {answer}", bomb.name);
    }
}

/// Zeros may be measured in earnest: without compression, as the refusal says, they are read.
#[test]
fn the_remedy_works() {
    let _turn = alone();
    let plain = bombs::zeros_npz(false);
    let read = within_memory(plain.len(), || SensorFile::parse("zeros.npz".to_owned(), plain).unwrap());
    assert_eq!((read.len(), read.resolution()), (120 * 32, Some(128.into())));
}

/// The archive of an evaluation is read by another function.
#[test]
fn arrays_that_are_not_wanted_are_not_unpacked() {
    let _turn = alone();
    let bomb = bombs::all().into_iter().find(|bomb| bomb.name == "unwanted.npz").unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &bomb.bytes).unwrap();
    let none = within_memory(0, || npz::read_npz(file.path(), |name| name == "values").unwrap());
    assert!(none.is_empty());
    let all = within_memory(bomb.bytes.len(), || npz::read_npz(file.path(), |_| true).unwrap_err());
    assert!(all.to_string().contains("ten times its length and 64 MB"), "{all}");
}
