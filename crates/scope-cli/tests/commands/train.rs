//! `scope train` and `scope adapt`, as a user types them.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use crate::program::alone;

/// The program in a folder of its own, with a small training set.
struct Place(tempfile::TempDir);

impl Place {
    fn new(records: usize) -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        let count = records.to_string();
        let make = ["data", "generate", "poisson", "--resolution", "32", "--count", &count, "--out", "data"];
        place.succeed(&make);
        place
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_scope"));
        command.args(arguments).current_dir(self.0.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs to the end; exit code, output and complaints.
    fn run(&self, arguments: &[&str]) -> (i32, String, String) {
        let output = self.command(arguments).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
    }

    fn succeed(&self, arguments: &[&str]) -> String {
        let (code, out, complaints) = self.run(arguments);
        assert_eq!(code, 0, "{arguments:?}: {complaints}");
        out
    }

    fn refuse(&self, arguments: &[&str], code: i32, message: &str) {
        let (got, _, complaints) = self.run(arguments);
        assert_eq!(got, code, "{arguments:?}: {complaints}");
        assert!(complaints.contains(message), "{arguments:?}: {complaints}");
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

/// The arguments of a short training run, and more of them.
fn train<'a>(out: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let plain = [
        "train",
        "--pde",
        "poisson",
        "--data",
        "data",
        "--model",
        "tiny",
        "--set",
        "batch=4",
        "--log-every",
        "1",
        "--threads",
        "2",
        "--out",
        out,
    ];
    [&plain[..], more].concat()
}

/// What two equal runs have in common.
fn results(run: &Path) -> Vec<Vec<u8>> {
    let states = fs::read_dir(run.join("state")).unwrap().map(|entry| entry.unwrap().path());
    let last = states.max().unwrap().join("state.safetensors");
    [last, run.join("metrics.jsonl"), run.join("model.safetensors")]
        .iter()
        .map(|f| fs::read(f).unwrap())
        .collect()
}

#[test]
fn every_recipe_trains_and_heads_are_trained_on_it() {
    let place = Place::new(60);
    for recipe in ["full", "fjv", "fo", "fg", "fjvg"] {
        let out = place.succeed(&train(recipe, &["--recipe", recipe, "--draws", "48"]));
        assert!(out.contains("draws; the model is"), "{out}");
        for file in ["config.toml", "model.safetensors", "metrics.jsonl", "curves.svg"] {
            assert!(place.path(recipe).join(file).is_file(), "{recipe}/{file}");
        }
    }
    let base = fs::read(place.path("full/model.safetensors")).unwrap();
    for (view, out) in [("sparse", "sp"), ("complete", "dp")] {
        let adapt = [
            "adapt", "--base", "full", "--data", "data", "--head", "1m", "--view", view, "--set", "batch=4",
            "--draws", "16", "--device", "cpu", "--out", out,
        ];
        place.succeed(&adapt);
        let info = place.succeed(&["model", "info", "--model", &format!("{out}/model.safetensors")]);
        assert!(info.contains("32 x 32 grid"), "{info}");
    }
    for (out, more) in [("new", &[][..]), ("longer", &["--continued"][..])] {
        let adapt = ["adapt", "--base", "full", "--data", "data", "--head", "native", "--set", "batch=4"];
        let rest = ["--draws", "16", "--device", "cpu", "--out", out];
        place.succeed(&[&adapt[..], &rest, more].concat());
    }
    let twice = ["adapt", "--base", "new", "--data", "data", "--head", "native", "--out", "twice"];
    place.refuse(&twice, 1, "is a replacement");
    let larger =
        ["adapt", "--base", "full", "--data", "data", "--head", "1m", "--continued", "--out", "twice"];
    place.refuse(&larger, 2, "say --head native");
    assert!(fs::read(place.path("full/model.safetensors")).unwrap() == base, "the base is unchanged");
}

#[test]
fn a_length_in_minutes_is_a_whole_schedule() {
    let place = Place::new(60);
    place.succeed(&train("run", &["--recipe", "fo", "--minutes", "0.12"]));
    let metrics = fs::read_to_string(place.path("run/metrics.jsonl")).unwrap();
    let last: serde_json::Value = serde_json::from_str(metrics.lines().last().unwrap()).unwrap();
    assert!((last["rate"].as_f64().unwrap() - 1e-6).abs() < 1e-9, "annealed to the floor: {last}");
    // Taken up again, it is finished, though the time would be measured differently now.
    let again = place.succeed(&train("run", &["--recipe", "fo", "--minutes", "0.12", "--resume"]));
    assert!(again.contains("is finished"), "{again}");
}

#[test]
fn a_finished_run_without_its_model_or_curves_gets_them_again() {
    let place = Place::new(60);
    let arguments = ["--recipe", "fo", "--draws", "16"];
    place.succeed(&train("run", &arguments));
    let before = results(&place.path("run"));
    let again = || place.succeed(&train("run", &[&arguments[..], &["--resume"]].concat()));
    for (file, said) in
        [("model.safetensors", "not of the last state"), ("curves.svg", "curves were missing")]
    {
        let file = place.path("run").join(file);
        fs::remove_file(&file).unwrap();
        assert!(again().contains(said), "{said}");
        assert!(file.is_file());
        assert!(again().contains("nothing was changed"));
    }
    assert!(results(&place.path("run")) == before);
}

/// Starts a run by a shell that first says something, and returns when it has begun to train.
#[cfg(unix)]
fn begun(place: &Place, before: &str, arguments: &[&str]) -> Child {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{before} exec \"$0\" \"$@\""), env!("CARGO_BIN_EXE_scope")]);
    command.args(train("run", arguments)).current_dir(place.0.path());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = crate::program::that_hangups_reach(&mut command).spawn().unwrap();
    wait_for_lines(&place.path("run/metrics.jsonl"), 0);
    child
}

#[cfg(unix)]
fn send(signal: &str, child: &Child) {
    Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
}

#[cfg(unix)]
#[test]
fn a_termination_signal_or_a_hangup_saves_and_says_so_even_if_sent_twice() {
    for signal in ["-TERM", "-HUP"] {
        let place = Place::new(60);
        let child = begun(&place, "", &["--recipe", "full", "--draws", "100000"]);
        // As `timeout` and schedulers do: once to the program, once to its group.
        send(signal, &child);
        send(signal, &child);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(75), "{signal}");
        assert!(String::from_utf8_lossy(&output.stdout).contains("go on with --resume"));
        assert_eq!(fs::read_dir(place.path("run/state")).unwrap().count(), 1);
    }
}

/// As under `nohup`.
#[cfg(unix)]
#[test]
fn a_hangup_that_is_to_be_ignored_is_ignored() {
    let place = Place::new(60);
    let child = begun(&place, "trap '' HUP;", &["--recipe", "fo", "--draws", "400"]);
    send("-HUP", &child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

/// What is written under a passing name must not cost a run of that name.
#[test]
fn a_run_whose_name_ends_in_partial_is_not_cleared() {
    let place = Place::new(60);
    place.succeed(&train("r.partial", &["--recipe", "fo", "--draws", "8"]));
    let before = results(&place.path("r.partial"));
    fs::write(place.path("s.csv"), "x,y,u\n0.5,0.5,0.001\n").unwrap();
    let recover = ["recover", "--model", "r.partial", "--sensors", "s.csv", "--out", "r"];
    place.refuse(&recover, 1, "which is not ours to remove");
    let again = ["data", "generate", "poisson", "--resolution", "32", "--count", "4", "--out", "r"];
    place.refuse(&again, 1, "r.partial is where the folder is written until it is complete");
    assert!(results(&place.path("r.partial")) == before && !place.path("r").exists());
}

#[test]
fn a_run_goes_on_from_weights_and_says_so() {
    let place = Place::new(60);
    place.succeed(&train("first", &["--recipe", "fo", "--draws", "16"]));
    let on = |out, from, more: &[&'static str]| -> Vec<&'static str> {
        let plain = train(out, &["--recipe", "full", "--draws", "24", "--from", from]);
        let model = plain.iter().position(|word| *word == "--model").unwrap();
        [&plain[..model], &plain[model + 2..], more].concat()
    };
    place.succeed(&train("third", &["--recipe", "fo", "--draws", "20"]));
    let said = place.succeed(&on("second", "first", &[]));
    assert!(said.contains("going on from first/model.safetensors after 16 draws"), "{said}");
    let config = fs::read_to_string(place.path("second/config.toml")).unwrap();
    assert!(config.contains("[from.trained]") && !config.contains("name = \"pretrain\""), "{config}");
    assert!(place.succeed(&on("second", "first", &["--resume"])).contains("is finished"));
    let alone = ["--recipe", "full", "--draws", "24", "--resume"];
    place.refuse(&train("second", &alone), 1, "was begun with from = ");
    for (out, from) in [("second", "second"), ("first", "first/model.safetensors")] {
        place.refuse(&on(out, from, &["--resume"]), 1, "and the run would write over it");
    }
    let adapt = [
        "adapt", "--base", "first", "--data", "data", "--head", "1m", "--draws", "4", "--out", "first",
        "--resume",
    ];
    place.refuse(&adapt, 1, "and the run would write over it");
    place.refuse(&on("second", "third", &["--resume"]), 1, "was begun with from.trained.draws = 16");
    place.refuse(&train("x", &["--from", "first"]), 2, "cannot be used with");
    for kind in ["bf16", "int8"] {
        let file = format!("{kind}.safetensors");
        place.succeed(&["model", "pack", "--run", "first", "--kind", kind, "--out", &file]);
    }
    place.succeed(&on("from-bf16", "bf16.safetensors", &[]));
    assert!(place.succeed(&on("from-int8", "int8.safetensors", &[])).contains("rounded to eight bits"));
    let coarse = ["data", "generate", "poisson", "--resolution", "40", "--count", "4", "--out", "coarse"];
    place.succeed(&coarse);
    let elsewhere = ["train", "--pde", "poisson", "--data", "coarse", "--from", "first", "--out", "x"];
    place.refuse(
        &elsewhere,
        1,
        "coarse is on a grid of 40 x 40, and first/model.safetensors is of one of 32 x 32",
    );
    let waves = ["data", "generate", "helmholtz", "--resolution", "32", "--count", "8", "--out", "waves"];
    place.succeed(&waves);
    let carry = [
        "train",
        "--pde",
        "helmholtz",
        "--data",
        "waves",
        "--recipe",
        "fo",
        "--set",
        "batch=4",
        "--draws",
        "8",
        "--from",
        "first",
        "--out",
        "carried",
    ];
    let said = place.succeed(&carry);
    assert!(said.contains("they are of poisson") && said.contains("carried over to helmholtz"), "{said}");
    let config = fs::read_to_string(place.path("carried/config.toml")).unwrap();
    assert!(config.contains("problem = \"poisson\""), "{config}");
    let head = ["adapt", "--base", "first", "--data", "waves", "--head", "1m", "--draws", "4", "--out", "x"];
    place.refuse(&head, 1, "waves holds helmholtz, and first/model.safetensors is of poisson");
}

#[test]
fn the_model_inside_the_program_can_be_gone_on_from_and_adapted() {
    let place = Place(tempfile::tempdir().unwrap());
    place.succeed(&["data", "generate", "poisson", "--count", "4", "--out", "data"]);
    let train = |arguments: &[&str]| {
        let more = ["--data", "data", "--set", "batch=2", "--draws", "2"];
        let output = alone(place.0.path()).args(arguments).args(more).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let said = train(&["train", "--pde", "poisson", "--recipe", "fo", "--from", "poisson", "--out", "on"]);
    assert!(said.contains("going on from poisson (inside this program) after"), "{said}");
    let said = train(&["adapt", "--base", "poisson", "--head", "1m", "--out", "sp"]);
    assert!(said.contains("a new decoder on poisson (inside this program)"), "{said}");
}

/// Waits until a file exists and has more than some lines.
fn wait_for_lines(path: &Path, lines: usize) {
    let begin = Instant::now();
    while fs::read_to_string(path).map_or(0, |text| text.lines().count()) <= lines
        && begin.elapsed().as_secs() < 60
    {
        if path.exists() && lines == 0 {
            return;
        }
        std::thread::yield_now();
    }
}

#[test]
fn a_killed_run_goes_on_bit_for_bit() {
    let place = Place::new(60);
    let arguments = ["--recipe", "full", "--draws", "160", "--save-every", "0"];
    place.succeed(&train("straight", &arguments));
    let mut child = place.command(&train("killed", &arguments)).spawn().unwrap();
    wait_for_lines(&place.path("killed/metrics.jsonl"), 13);
    child.kill().unwrap();
    child.wait().unwrap();
    place.succeed(&train("killed", &[&arguments[..], &["--resume"]].concat()));
    assert!(results(&place.path("straight")) == results(&place.path("killed")));
}

/// How often a run is killed; `SCOPE_KILLS=200` looks further.
fn kills() -> u64 {
    std::env::var("SCOPE_KILLS").map_or(20, |n| n.parse().unwrap())
}

#[test]
fn kills_at_random_moments_lose_nothing() {
    let place = Place::new(60);
    let arguments = train("run", &["--recipe", "fo", "--draws", "4000000", "--save-every", "0", "--resume"]);
    let mut farthest = 0;
    for kill in 0..kills() {
        let mut child: Child = place.command(&arguments).spawn().unwrap();
        // The moment is what this test is about: spread over starting, stepping and saving, by a number that
        // looks random. What must hold, holds at every moment.
        std::thread::sleep(Duration::from_micros(20_000 + kill * 2_654_435_761 % 130_000));
        child.kill().unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), None, "{}", String::from_utf8_lossy(&output.stderr));
        let reached = newest(&place.path("run/state"));
        assert!(reached >= farthest, "kill {kill}: {reached} after {farthest}");
        farthest = reached;
    }
    // How far it gets between kills is the machine's affair; that it gets on when it is left alone is not.
    let mut child: Child = place.command(&arguments).spawn().unwrap();
    let begin = Instant::now();
    while newest(&place.path("run/state")) <= farthest && begin.elapsed().as_secs() < 60 {
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(newest(&place.path("run/state")) > farthest, "{farthest} draws");
}

/// The draws of the newest checkpoint.
fn newest(state: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(state) else { return 0 };
    let whole =
        entries.map(|entry| entry.unwrap().path()).filter(|path| path.join("checkpoint.json").is_file());
    whole.filter_map(|path| path.file_name()?.to_str()?.parse().ok()).max().unwrap_or(0)
}

#[cfg(unix)]
#[test]
fn a_write_that_fails_leaves_the_last_checkpoint() {
    let place = Place::new(60);
    let arguments = ["--recipe", "fo", "--draws", "40", "--save-every", "0"];
    place.succeed(&train("run", &arguments));
    let before = results(&place.path("run"));
    let longer = train("longer", &["--recipe", "fo", "--draws", "40", "--save-every", "0"]);
    // Files may have half the size of a checkpoint: as on a disk that is full.
    let script = format!("ulimit -f 2000; exec \"$0\" {}", longer.join(" "));
    let output = Command::new("bash")
        .args(["-c", &script, env!("CARGO_BIN_EXE_scope")])
        .current_dir(place.0.path())
        .output()
        .unwrap();
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{complaint}");
    assert!(complaint.contains("cannot write") && complaint.contains("state.safetensors"), "{complaint}");
    assert_eq!(newest(&place.path("longer/state")), 0, "nothing half is left");
    assert!(results(&place.path("run")) == before);
}

#[test]
fn bad_requests_are_refused_with_the_remedy() {
    let place = Place::new(60);
    let plain = ["--recipe", "fo", "--draws", "16"];
    place.succeed(&train("run", &plain));
    place.refuse(&train("run", &plain), 1, "resume it, or name another folder (--resume or --out)");
    fs::create_dir(place.path("theirs")).unwrap();
    fs::write(place.path("theirs/metrics.jsonl"), "precious").unwrap();
    for more in [&[][..], &["--resume"]] {
        place.refuse(
            &train("theirs", &[&plain[..], more].concat()),
            1,
            "theirs holds something that is no run",
        );
    }
    assert_eq!(fs::read_to_string(place.path("theirs/metrics.jsonl")).unwrap(), "precious");
    place.refuse(&train("x", &["--recipe", "foo", "--draws", "16"]), 2, "full, fjv, fo, fg, fjvg");
    let unknown = ["--recipe", "fo", "--draws", "16", "--set", "peak_rte=1"];
    place.refuse(&train("x", &unknown), 2, "did you mean \"peak_rate\"?");
    place.refuse(&train("x", &["--recipe", "fo", "--draws", "2"]), 2, "shorter than one batch");
    for option in ["--minutes", "--epochs"] {
        for length in ["inf", "nan", "0", "soon"] {
            place.refuse(&train("x", &[option, length]), 2, "expected a finite number above zero");
        }
    }
    let changed = ["--recipe", "fo", "--draws", "16", "--resume", "--seed", "5"];
    place.refuse(&train("run", &changed), 1, "was begun with seed = 20260913");
    let both = ["--recipe", "fo", "--draws", "16", "--minutes", "1"];
    place.refuse(&train("x", &both), 2, "cannot be used with");
    let elsewhere = ["train", "--pde", "darcy", "--data", "data", "--out", "x"];
    place.refuse(&elsewhere, 1, "data holds poisson and --pde says darcy");
    let absent = ["train", "--pde", "darcy", "--data", "nowhere", "--out", "x"];
    place.refuse(&absent, 1, "nowhere");
    let headless = ["adapt", "--base", "nowhere", "--data", "data", "--head", "1m", "--out", "x"];
    place.refuse(&headless, 1, "nowhere");
    assert!(!place.path("x").join("config.toml").exists());
}
