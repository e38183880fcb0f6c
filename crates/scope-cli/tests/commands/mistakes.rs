//! What the program says where someone meant something else.

use std::{fs, path::Path};

use crate::program::{refused, scope, succeed};

/// A folder with a small training set.
fn with_data() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let generate = ["data", "generate", "poisson", "--resolution", "32", "--count", "12", "--out", "data"];
    succeed(root.path(), &generate);
    root
}

/// The arguments of a short training run, and more of them.
fn train<'a>(out: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let plain = [
        "train", "--pde", "poisson", "--data", "data", "--draws", "8", "--set", "batch=4", "--device", "cpu",
    ];
    [&plain[..], &["--out", out], more].concat()
}

/// What a command that must succeed tells besides its results.
fn told(folder: &Path, arguments: &[&str]) -> String {
    let output = scope(folder, arguments).assert().success().get_output().stderr.clone();
    String::from_utf8(output).unwrap()
}

#[test]
fn a_run_that_is_not_there_to_resume_is_begun_and_said_to_be() {
    let root = with_data();
    let resume = train("run", &["--model", "tiny", "--recipe", "fo", "--resume"]);
    let begun = "note: run holds no run to go on with: a new one begins";
    assert!(told(root.path(), &resume).contains(begun));
    assert!(!told(root.path(), &resume).contains(begun));
    assert!(fs::exists(root.path().join("run/model.safetensors")).unwrap());
}

/// As a run is found that was killed, or still trains, before its first checkpoint.
#[test]
fn a_run_without_a_model_yet_is_called_a_run() {
    let root = with_data();
    succeed(root.path(), &train("run", &["--model", "tiny", "--recipe", "fo"]));
    fs::remove_file(root.path().join("run/model.safetensors")).unwrap();
    fs::write(root.path().join("s.csv"), "x,y,u\n0.5,0.5,0.001\n").unwrap();
    let yet = "run is a run folder, but it has no model yet: its first checkpoint writes one";
    for arguments in [
        &["evaluate", "--run", "run", "--data", "data"][..],
        &["diagnose", "--run", "run", "--data", "data"],
        &["recover", "--model", "run", "--sensors", "s.csv", "--out", "out"],
    ] {
        let said = refused(root.path(), arguments, 1);
        assert!(said.contains(yet), "{said}");
    }
}

#[test]
fn what_is_not_there_is_not_called_wrong() {
    let root = with_data();
    for arguments in [
        &["data", "check", "nothere"][..],
        &["train", "--pde", "poisson", "--data", "nothere", "--out", "run"],
        &["evaluate", "--run", "poisson", "--data", "nothere"],
        &["compare", "nothere", "data"],
        &["report", "nothere"],
    ] {
        let said = refused(root.path(), arguments, 1);
        assert!(said.contains("nothere does not exist"), "{said}");
    }
    assert!(refused(root.path(), &["report", "."], 1).contains(". holds no evaluation"));
}

/// Whatever a path was for, whoever mistyped it learns where it was looked for.
#[test]
fn a_path_that_is_not_there_comes_with_a_remedy() {
    let root = tempfile::tempdir().unwrap();
    let here = root.path().canonicalize().unwrap();
    let remedy =
        format!("; check the name, and that its folder is there; relative names begin in {}", here.display());
    for arguments in [
        &["recover", "--model", "poisson", "--sensors", "nothere.csv", "--out", "out"][..],
        &["data", "import", "poisson", "--from", "nothere.npy", "--out", "out"],
        &["model", "card", "--model", "nothere.safetensors", "--eval", "x.json"],
        &["mask", "--gallery", "--out", "nothere/gallery.png"],
    ] {
        let said = refused(root.path(), arguments, 1);
        assert!(said.contains("nothere") && said.trim_end().ends_with(&remedy), "{said}");
    }
}

#[test]
fn a_card_is_not_taken_for_its_weights() {
    let root = tempfile::tempdir().unwrap();
    let shipped = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/poisson.toml"));
    fs::copy(shipped, root.path().join("poisson.toml")).unwrap();
    fs::write(root.path().join("s.csv"), "x,y,u\n0.5,0.5,0.001\n").unwrap();
    let recover = ["recover", "--model", "poisson.toml", "--sensors", "s.csv", "--out", "out"];
    let said = refused(root.path(), &recover, 1);
    assert!(said.contains("is the card of poisson, not its weights: give poisson.safetensors"), "{said}");
}

/// Not that --method is missing, which would be refused in turn.
#[test]
fn what_is_for_the_exact_posterior_alone_does_not_go_with_a_model() {
    let root = tempfile::tempdir().unwrap();
    let recover = ["recover", "--model", "poisson", "--sensors", "s.csv", "--out", "out"];
    let evaluate = ["evaluate", "--run", "poisson", "--data", "data"];
    for (command, named, option) in [
        (&recover[..], "--model", &["--samples", "5"][..]),
        (&recover, "--model", &["--seed", "5"]),
        (&recover, "--model", &["--resolution", "64"]),
        (&recover, "--model", &["--pde", "poisson"]),
        (&evaluate, "--run", &["--pde", "poisson"]),
        (&evaluate, "--run", &["--coverage"]),
    ] {
        let said = refused(root.path(), &[command, option].concat(), 2);
        assert!(said.contains("cannot be used with") && said.contains(named), "{said}");
        assert!(said.contains(option[0]) && !said.contains("required"), "{said}");
    }
}

/// Nobody is told to remove a file of their own.
#[test]
fn a_file_is_not_called_a_folder() {
    let root = with_data();
    fs::write(root.path().join("s.csv"), "x,y,u\n0.5,0.5,0.001\n").unwrap();
    for arguments in [
        &["recover", "--model", "poisson", "--sensors", "s.csv", "--out", "s.csv"][..],
        &["data", "generate", "poisson", "--count", "1", "--out", "s.csv"],
        &train("s.csv", &["--model", "tiny", "--recipe", "fo"]),
    ] {
        let said = refused(root.path(), arguments, 1);
        assert!(said.contains("s.csv is a file, and a folder is to be written there"), "{said}");
        assert!(!said.contains("remove"), "{said}");
    }
}

#[test]
fn an_evaluation_that_is_kept_nowhere_says_so() {
    let root = with_data();
    let exact = ["evaluate", "--method", "exact", "--pde", "poisson", "--data", "data", "--limit", "1"];
    let nowhere = "note: nothing was written: --out DIR keeps these results";
    assert!(told(root.path(), &exact).contains(nowhere));
    for more in [&["--out", "kept"][..], &["--json", "kept.json"], &["--json", "-"]] {
        assert!(!told(root.path(), &[&exact[..], more].concat()).contains(nowhere), "{more:?}");
    }
}

#[test]
fn a_refused_training_leaves_no_folder() {
    let root = with_data();
    refused(root.path(), &train("run", &["--recipe", "full", "--model", "fno"]), 2);
    assert!(!root.path().join("run").exists());
}

#[test]
fn a_report_leaves_out_runs_without_an_evaluation() {
    let root = with_data();
    let exact = ["evaluate", "--method", "exact", "--pde", "poisson", "--data", "data", "--limit", "1"];
    succeed(root.path(), &[&exact[..], &["--out", "limits"]].concat());
    fs::create_dir(root.path().join("training")).unwrap();
    let said = told(root.path(), &["report", "training", "limits"]);
    assert!(said.contains("warning: training is left out: it holds no evaluation"), "{said}");
    // The data of charts are no evaluations, though their names end alike.
    fs::write(root.path().join("training/errors.chart.json"), "{}").unwrap();
    assert!(refused(root.path(), &["report", "training"], 1).contains("training holds no evaluation"));
    assert!(
        refused(root.path(), &["compare", "training", "limits"], 1).contains("training holds no evaluation")
    );
}

#[test]
fn a_column_of_another_name_is_pointed_at_by_an_option() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("plate.csv"), "x [m],y [m],T [K]\n0.25,0.5,293.1\n").unwrap();
    let recover =
        ["recover", "--method", "exact", "--pde", "poisson", "--sensors", "plate.csv", "--out", "out"];
    let said = refused(root.path(), &recover, 1);
    assert!(said.contains("no column for the values") && said.contains("--columns x=NAME"), "{said}");
}
