//! What the command line alone shows to be wrong ends with 2; what files, folders or the machine stand in the way of,
//! with 1.

use std::{fs, path::Path};

use crate::program::{refused, succeed};

/// A folder with a data set of Poisson records and a file of sensors.
fn prepared() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let generate = "data generate poisson --resolution 32 --count 4 --split test --out data";
    succeed(root.path(), &words(generate));
    fs::write(root.path().join("s.csv"), "x,y,u\n0.5,0.5,0.001\n").unwrap();
    root
}

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

/// Every line must end with the code, say something of what is expected, and leave nothing behind.
fn all_end_with(code: i32, root: &Path, cases: &[(&str, &str)]) {
    let before = fs::read_dir(root).unwrap().count();
    for (line, expected) in cases {
        let said = refused(root, &words(line), code);
        assert!(said.starts_with("error: ") && said.contains(expected), "scope {line}: {said}");
        assert_eq!(fs::read_dir(root).unwrap().count(), before, "scope {line}");
    }
}

#[test]
fn misuse_ends_with_2() {
    let root = prepared();
    all_end_with(
        2,
        root.path(),
        &[
            ("nonsense", "unrecognized subcommand"),
            ("recover --model poisson --sensors s.csv", "--out"),
            ("recover --model poisson --sensors s.csv --out o --device gpu", "auto, cpu, cuda"),
            ("recover --model poisson --sensors s.csv --out o --noise=-1", "zero or more"),
            ("recover --method exact --pde darcy --sensors s.csv --out o", "poisson, helmholtz and ns"),
            (
                "recover --method exact --pde poisson --sensors s.csv --out o --device cuda",
                "leave --device out",
            ),
            ("recover --method exact --pde poisson --sensors s.csv --out o --geometry 1,2,3", "--geometry"),
            ("mask --family uniform --budget 0 --out x.png", "from 1 to 16384"),
            ("mask --family grid --budget 77 --out x.png", "a grid has"),
            ("mask --family uniform --budget 500 --out x.txt", ".png or .npy"),
            ("mask --gallery --out x.npy", "must end in .png"),
            ("data generate poisson --count 0 --out x", "from 1 up"),
            ("data import poisson --from poisson_test_hf --out x", "--split test"),
            ("data import poisson --from data --geometry g.npy --out x", "leave --geometry out"),
            ("train --pde poisson --data data --model fno --recipe full --out r", "--recipe operator"),
            ("train --pde poisson --data data --set nokey=3 --out r", "no key"),
            ("train --pde poisson --data data --set batch=0 --out r", "batch = 0 must lie"),
            ("train --pde poisson --data data --set muon.rate=1e-3 --out r", "optimizer=muon"),
            ("train --pde poisson --data data --recipe fool --out r", "neither a recipe"),
            ("train --pde poisson --data data --draws 8 --out r", "shorter than one batch"),
            ("train --pde poisson --data data --cap-every 0 --out r", "--cap-every"),
            ("train --pde poisson --data data --draws 0 --out r", "--draws"),
            ("train --pde poisson --data data --save-every nan --out r", "seconds, zero or more"),
            ("evaluate --run poisson --data data --limit 0", "--limit"),
            ("evaluate --method exact --pde poisson --data data --figures 2", "name one with --out"),
            ("evaluate --method exact --pde cylinder --data data", "poisson, helmholtz and ns"),
            ("evaluate --method exact --pde poisson --data data --device cuda", "leave --device out"),
            ("compare data data --condition forward/hexagons/5", "is no observation condition"),
            ("report data --tables nonsense", "possible values"),
            ("model info --model fno --head 10m", "leave it out"),
            ("model pack --run poisson --kind f32 --data data --out x", "int8 and int16"),
            (
                "bench train --model fno --objective full --device cpu",
                "leave --objective, --optimizer and --fits out",
            ),
            (
                "bench train --model aux-fno --objective full --device cpu",
                "the objectives auxiliary and auxiliary-g",
            ),
            ("bench train --model tiny --objective auxiliary --device cpu", "--model aux-fno"),
            ("doctor --only attention", "--selftest"),
        ],
    );
}

#[test]
fn failure_ends_with_1() {
    let root = prepared();
    all_end_with(
        1,
        root.path(),
        &[
            ("recover --model poisson --sensors nothere.csv --out o", "cannot read nothere.csv"),
            ("recover --model nothere --sensors s.csv --out o", "neither a run folder, nor a weight file"),
            ("recover --model poisson --sensors s.csv --out o --geometry 1,2,3", "poisson has no geometry"),
            ("data check nothere", "does not exist"),
            ("data import poisson --from nothere.npy --out x", "cannot read nothere.npy"),
            ("data generate poisson --count 1 --out data", "is not empty"),
            ("train --pde darcy --data data --out r", "--pde says darcy"),
            ("train --pde poisson --data data --recipe nothere.toml --out r", "nor a file that can be read"),
            ("adapt --base nothere --data data --head 1m --out r", "neither a run folder"),
            ("evaluate --run poisson --data nothere", "does not exist"),
            ("evaluate --method exact --pde ns --data data", "they must be the same"),
            ("compare nothere data", "does not exist"),
            ("report nothere", "does not exist"),
            ("diagnose --run nothere --data data", "neither a run folder"),
            ("model card --model nothere --eval x.json", "cannot read nothere"),
            ("mask --gallery --out nothere/x.png", "cannot write nothere/x.png"),
            ("demo --out s.csv", "name another folder"),
        ],
    );
}
