//! Operators, as a user trains, evaluates and looks at them.

use crate::program::{refused, succeed};

#[test]
fn operators_are_trained_resumed_evaluated_and_counted() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path();
    for (split, count) in [("train", "8"), ("test", "2")] {
        let generate =
            ["data", "generate", "poisson", "--resolution", "32", "--split", split, "--count", count];
        succeed(folder, &[&generate[..], &["--out", split]].concat());
    }
    for (model, label) in
        [("fno", "FNO"), ("deeponet", "DeepONet"), ("cno", "CNO"), ("transolver", "Transolver")]
    {
        let train = [
            "train", "--pde", "poisson", "--data", "train", "--model", model, "--recipe", "operator",
            "--draws", "2", "--set", "batch=1", "--out", model,
        ];
        succeed(folder, &[&train[..], &["--device", "cpu"]].concat());
        let again = succeed(folder, &[&train[..], &["--device", "cpu", "--resume"]].concat());
        assert!(again.contains("nothing was changed"), "{again}");
        let evaluate = ["evaluate", "--run", model, "--data", "test", "--device", "cpu", "--json", "-"];
        let results: serde_json::Value = serde_json::from_str(&succeed(folder, &evaluate)).unwrap();
        let method = &results["identity"]["method"];
        assert_eq!((&method["name"], &method["recipe"]), (&model.into(), &"operator".into()));
        assert!(results["conditions"]["forward/uniform/500"]["u"]["mean"].as_f64().unwrap() > 0.0);
        let shown = succeed(folder, &["evaluate", "--run", model, "--data", "test", "--device", "cpu"]);
        assert!(shown.contains(&format!("model: {label}, 2 draws")), "{shown}");
        let weights = format!("{model}/model.safetensors");
        let info = succeed(folder, &["model", "info", "--model", &weights]);
        assert!(info.contains(&format!("{model} on a 32 x 32 grid")), "{info}");
    }
    std::fs::write(folder.join("sensors.csv"), "x,y,channel,value\n0.1,0.4,a,0.5\n0.7,0.3,a,-0.2\n").unwrap();
    let recover =
        ["recover", "--model", "fno", "--sensors", "sensors.csv", "--out", "mine", "--device", "cpu"];
    succeed(folder, &recover);
    assert!(folder.join("mine").is_dir());
    let report = succeed(folder, &["compare", "fno/eval/uniform500.json", "cno/eval/uniform500.json"]);
    assert!(report.contains("FNO") && report.contains("CNO"), "{report}");
    let adapt = ["adapt", "--base", "fno", "--data", "train", "--head", "1m", "--out", "head"];
    assert!(refused(folder, &adapt, 1).contains("only a scope model has a decoder to replace"));
}

#[test]
fn counts_are_the_papers_and_requests_that_make_no_sense_are_refused() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path();
    for (model, count) in
        [("fno", "5,029,946"), ("deeponet", "4,977,354"), ("cno", "4,774,776"), ("transolver", "4,792,482")]
    {
        let info = succeed(folder, &["model", "info", "--model", model]);
        assert!(info.contains(count), "{info}");
    }
    assert!(
        refused(folder, &["model", "info", "--model", "fno", "--head", "1m"], 2).contains("has no decoder")
    );
    let generate = ["data", "generate", "poisson", "--resolution", "32", "--count", "4", "--out", "data"];
    succeed(folder, &generate);
    let train = ["train", "--pde", "poisson", "--data", "data", "--model", "fno", "--out", "run"];
    let with = |more: &[&str]| refused(folder, &[&train[..], more].concat(), 2);
    assert!(with(&["--recipe", "full", "--device", "cpu"]).contains("fno has no latents"));
}

#[test]
fn auxiliary_operators_are_trained_resumed_evaluated_and_counted() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path();
    for (split, count) in [("train", "8"), ("test", "2")] {
        let generate =
            ["data", "generate", "poisson", "--resolution", "32", "--split", split, "--count", count];
        succeed(folder, &[&generate[..], &["--out", split]].concat());
    }
    let cpu = ["--device", "cpu"];
    let train = |model: &'static str, recipe: &'static str| {
        let from = ["train", "--pde", "poisson", "--data", "train", "--model", model, "--recipe", recipe];
        [&from[..], &["--draws", "4", "--set", "batch=2"], &cpu].concat()
    };
    for (model, recipe, count) in [("aux-unet", "auxiliary", "4,740,101"), ("aux-fno", "pino-g", "9,522,113")]
    {
        let run = [&train(model, recipe)[..], &["--out", model]].concat();
        succeed(folder, &run);
        let again = succeed(folder, &[&run[..], &["--resume"]].concat());
        assert!(again.contains("nothing was changed"), "{again}");
        let evaluate = ["evaluate", "--run", model, "--data", "test", "--protocol", "auxiliary"];
        let text = succeed(folder, &[&evaluate[..], &cpu, &["--json", "-"]].concat());
        let results: serde_json::Value = serde_json::from_str(&text).unwrap();
        let identity = &results["identity"];
        assert_eq!(
            (&identity["method"]["name"], &identity["method"]["recipe"]),
            (&model.into(), &recipe.into())
        );
        assert_eq!(
            (&identity["masks"]["seed"], &identity["method"]["training"]["seed"]),
            (&12345.into(), &0.into())
        );
        for (condition, measures) in
            [("forward/bernoulli/300", ["u", "u/stored"]), ("inverse/bernoulli/300", ["a", "a/stored"])]
        {
            let found: Vec<&String> = results["conditions"][condition].as_object().unwrap().keys().collect();
            assert_eq!(found, measures);
            for measure in measures {
                assert_eq!(results["conditions"][condition][measure]["count"], 10, "two records, five masks");
            }
        }
        let elsewhere = [&["evaluate", "--run", model, "--data", "test"][..], &cpu].concat();
        assert!(refused(folder, &elsewhere, 1).contains("--protocol auxiliary"));
        assert!(succeed(folder, &["model", "info", "--model", model]).contains(count));
    }
    let report = succeed(folder, &["report", "aux-unet", "aux-fno", "--tables", "forward-sd,inverse-sd"]);
    assert!(report.contains("U-Net (auxiliary)") && report.contains("PINO 1.0 + G"), "{report}");
    std::fs::write(folder.join("sensors.csv"), "x,y,channel,value\n0.1,0.4,a,0.5\n").unwrap();
    let recover = ["recover", "--model", "aux-fno", "--sensors", "sensors.csv", "--out", "mine"];
    assert!(refused(folder, &[&recover[..], &cpu].concat(), 1).contains("auxiliary study"));
    let single = ["evaluate", "--run", "aux-fno", "--data", "test", "--condition", "forward/bernoulli/300"];
    assert!(refused(folder, &[&single[..], &cpu].concat(), 1).contains("--protocol auxiliary"));
    for (model, recipe) in [("fno", "auxiliary"), ("aux-fno", "operator"), ("aux-cno", "pino")] {
        let wrong = [&train(model, recipe)[..], &["--out", "wrong"]].concat();
        assert!(refused(folder, &wrong, 2).contains("recipe"));
    }
}
