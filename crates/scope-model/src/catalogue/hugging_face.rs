//! A model as a folder of the kind that Hugging Face shares: `model.safetensors`, `config.json`, and `README.md` with
//! the card's figures in front. Our own card lies beside the weights, so that nothing is lost on the way.

use std::path::Path;

use scope_data::{
    StagedFolder,
    observation::{Family, Task},
};
use scope_pde::{Channel, Pde, PerChannel};

use super::{
    card::{Card, CardWeights},
    find::Found,
    run_folder::RUN_WEIGHTS,
};
use crate::{error::ModelError, weights::About};

/// The sizes and the normalisation, as the weight file's header has them.
const CONFIG: &str = "config.json";
/// Our own card, where [`Card::beside`] looks for that of the weights.
const CARD: &str = "model.toml";
/// The page that people see.
const README: &str = "README.md";

impl Found {
    /// Writes the model as a new folder, whole or not at all. Its weight file has the same bytes, so
    /// [`super::Catalogue::find`] finds the same model there, with the same card.
    pub fn write_hugging_face(&self, folder: &Path) -> Result<(), ModelError> {
        let file = self.open()?;
        let mut staged = StagedFolder::create(folder)?;
        staged.write(RUN_WEIGHTS, file.bytes())?;
        staged.write(CONFIG, file.about.write().as_bytes())?;
        staged.write(README, page(&file.about, self.card.as_ref()).as_bytes())?;
        if let Some(card) = &self.card {
            let weights = CardWeights { file: RUN_WEIGHTS.to_owned(), ..card.weights.clone() };
            let text = Card { weights, ..card.clone() }.text(&Card::beside(&folder.join(RUN_WEIGHTS)))?;
            staged.write(CARD, text.as_bytes())?;
        }
        Ok(staged.finish()?)
    }
}

/// The page: what machines read between lines of dashes, then what people read.
fn page(about: &About, card: Option<&Card>) -> String {
    let Some(card) = card else {
        let title = about.pde.name();
        return format!("{}---\n\n# {title}\n\n{}\n{}", front(about.pde), introduction(about), usage(title));
    };
    let name = &card.name;
    let lines = metrics(card);
    let rows: String = lines.iter().map(|(what, error)| format!("| {what} | {error:.2} |\n")).collect();
    format!(
        "{front}{index}---\n\n# {name}\n\n{introduction}\n{parameters} parameters, trained for {draws} draws with the recipe \
         {recipe} on {records} records ({data}).\n\n| held-out error, {readings} uniform readings | % |\n|---|---|\n{rows}\n\
         Measured on {held_out} records that training has not seen ({origin}). `model.toml` is the whole card.\n{usage}",
        front = front(about.pde),
        index = model_index(card, &lines),
        introduction = introduction(about),
        readings = readings(card),
        parameters = card.parameters,
        draws = card.training.draws,
        recipe = card.training.recipe,
        records = card.data.records,
        data = card.data.origin,
        held_out = card.held_out.records,
        origin = card.held_out.origin,
        usage = usage(name),
    )
}

/// Licence, the Python package that reads the folder, and tags.
fn front(pde: Pde) -> String {
    format!(
        "---\nlicense: [mit, apache-2.0]\nlibrary_name: fieldscope\ntags: [physics, pde, inverse-problems, sparse-sensors, \
         field-reconstruction, {}]\n",
        pde.name()
    )
}

fn introduction(about: &About) -> String {
    let problem = about.pde.name();
    let grid = about.config.resolution();
    let complete = match only_field(about.pde) {
        Some(_) => "the complete field",
        None => "both complete fields",
    };
    format!("A SCOPE model of {problem}: a few readings of a field in, {complete} on a {grid} grid out.\n")
}

/// The field of a problem that has one only.
fn only_field(pde: Pde) -> Option<Channel> {
    match pde.present() {
        PerChannel { a: true, u: true } => None,
        PerChannel { a: true, .. } => Some(Channel::A),
        PerChannel { .. } => Some(Channel::U),
    }
}

/// How many readings stand for 500 of 128 x 128 on the card's grid.
fn readings(card: &Card) -> usize {
    Family::UNIFORM.points(500, card.resolution)
}

fn usage(name: &str) -> String {
    format!(
        "\n```sh\nscope recover --model FOLDER --sensors sensors.csv --out recovered-{name}\n```\n\n\
         In Python, `fieldscope.load(\"FOLDER\")` is the model.\n"
    )
}

/// The main errors of a card: what is recovered from what, and the mean error in percent.
fn metrics(card: &Card) -> Vec<(String, f64)> {
    let [forward, inverse] = [Task::Forward, Task::Inverse].map(|task| card.held_out.primary(task));
    if let Some(field) = only_field(card.pde) {
        let error = match field {
            Channel::A => forward.a,
            Channel::U => inverse.u,
        };
        let what = format!("relative L2 error of {} from itself", field.name());
        return error.map(|error| (what, error)).into_iter().collect();
    }
    let all = [
        ("relative L2 error of u from a".to_owned(), forward.u),
        ("relative L2 error of a from u".to_owned(), inverse.a),
        ("wrong pixels of a from u".to_owned(), inverse.ber),
    ];
    all.into_iter().filter_map(|(what, error)| error.map(|error| (what, error))).collect()
}

/// The figures in the form that the Hub's index of models reads. Texts are JSON, which is YAML too.
fn model_index(card: &Card, metrics: &[(String, f64)]) -> String {
    if metrics.is_empty() {
        return String::new();
    }
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let dataset = quoted(&format!("{} held-out records, {}", card.held_out.records, card.held_out.origin));
    let metric = |(what, error): &(String, f64)| {
        format!("          - {{type: error-percent, name: {}, value: {error}}}\n", quoted(what))
    };
    let lines: String = metrics.iter().map(metric).collect();
    let source = if card.held_out.origin.starts_with("generated") { "generated" } else { "imported" };
    format!(
        "model-index:\n  - name: {name}\n    results:\n      - task: {{type: other, name: recovery from {readings} uniform \
         readings}}\n        dataset: {{type: {source}, name: {dataset}}}\n        metrics:\n{lines}",
        name = quoted(&card.name),
        readings = readings(card),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Catalogue;

    /// Every shipped model, written as such a folder and found there: the same bytes of weights, and the same card.
    #[test]
    fn folders_are_the_same_models() {
        for name in ["poisson", "helmholtz", "darcy", "ns", "cylinder"] {
            let shipped = shipped(name);
            let place = tempfile::tempdir().unwrap();
            let folder = place.path().join("hub");
            shipped.write_hugging_face(&folder).unwrap();
            let found = Catalogue::default().find(&folder).unwrap();
            assert_eq!(found.open().unwrap().bytes(), shipped.open().unwrap().bytes(), "{name}");
            let [mut card, expected] = [&found, &shipped].map(|found| found.card.clone().unwrap());
            assert_eq!(card.weights.file, RUN_WEIGHTS);
            card.weights.file = expected.weights.file.clone();
            assert_eq!(card, expected);
            let config = std::fs::read_to_string(folder.join(CONFIG)).unwrap();
            assert_eq!(About::parse(&config).unwrap(), shipped.open().unwrap().about);
            let page = std::fs::read_to_string(folder.join(README)).unwrap();
            let front = page.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n")).unwrap().0;
            assert!(front.contains("license: [mit, apache-2.0]\nlibrary_name: fieldscope\n"), "{front}");
            for (what, error) in metrics(&expected) {
                let metric = format!("{{type: error-percent, name: \"{what}\", value: {error}}}");
                assert!(front.contains(&metric), "{front}");
            }
        }
    }

    #[test]
    fn a_changed_weight_file_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("hub");
        shipped("darcy").write_hugging_face(&folder).unwrap();
        std::fs::write(folder.join(RUN_WEIGHTS), b"other").unwrap();
        assert!(matches!(Catalogue::default().find(&folder), Err(ModelError::Changed { .. })));
    }

    /// The share of wrong pixels is what Darcy's page states of a, and no other problem's.
    #[test]
    fn figures_are_those_of_the_problem() {
        let wrong = |name: &str| {
            let card = shipped(name).card.unwrap();
            metrics(&card).iter().any(|(what, _)| what == "wrong pixels of a from u")
        };
        assert!(wrong("darcy") && !wrong("poisson"));
    }

    fn shipped(name: &str) -> Found {
        let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
        Catalogue::new(vec![models], Vec::new()).find(name).unwrap()
    }
}
