//! Writes bombs, or the seeds of every target, into a folder:
//!
//! ```sh
//! cargo run -p scope-fuzz --example write -- bombs DIR
//! cargo run -p scope-fuzz --example write -- seeds fuzz/corpus
//! ```

use std::{fs, path::PathBuf};

use scope_fuzz::{TARGETS, bombs};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [what, folder] = arguments.as_slice() else { return Err("expected: bombs DIR, or seeds DIR".into()) };
    let folder = PathBuf::from(folder);
    match what.as_str() {
        "bombs" => {
            fs::create_dir_all(&folder)?;
            for bomb in bombs::all() {
                fs::write(folder.join(bomb.name), bomb.bytes)?;
            }
        }
        "seeds" => {
            for target in TARGETS {
                let corpus = folder.join(target.name);
                fs::create_dir_all(&corpus)?;
                for (number, seed) in (target.seeds)().into_iter().enumerate() {
                    fs::write(corpus.join(format!("seed-{number}")), seed)?;
                }
            }
        }
        other => return Err(format!("{other} is neither bombs nor seeds").into()),
    }
    Ok(())
}
