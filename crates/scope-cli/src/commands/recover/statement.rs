//! What is said of a recovery on a terminal.

use std::{path::Path, time::Duration};

use scope::recovery::{BandSummary, ProblemSummary, Summary};

use super::remedy;
use crate::terminal::{Table, grouped, say, warn};

/// The most problems that are listed.
const MOST_ROWS: usize = 20;

/// The most warnings that are shown.
const MOST_WARNINGS: usize = 20;

/// Says what was recovered and written; pictures were asked for of that many problems.
pub(super) fn say_recovered(summary: &Summary, out: &Path, spent: Duration, pictures: usize) {
    let problems = &summary.problems;
    match &problems[..] {
        [one] => say_one(summary, one),
        many => say_many(summary, many),
    }
    let size = summary.resolution;
    let milliseconds = 1e3 * spent.as_secs_f64() / problems.len().max(1) as f64;
    let each = if problems.len() > 1 { " each" } else { "" };
    say(&format!("a and u on {size} x {size} in {milliseconds:.0} ms{each} ({})", summary.method.file));
    say_missing_bands(problems);
    let drawn = match pictures.min(problems.len()) {
        0 => String::new(),
        1 => "a picture, ".to_owned(),
        several => format!("{} pictures, ", grouped(several)),
    };
    say(&format!("wrote {}: a.npy, u.npy{}, {drawn}summary.json", out.display(), arrays(problems)));
}

/// What was written beside the fields.
fn arrays(problems: &[ProblemSummary]) -> String {
    let any = |has: fn(&ProblemSummary) -> bool| problems.iter().any(has);
    let uncertainty = if any(|problem| problem.deviations) {
        " with their standard deviations"
    } else if any(|problem| problem.bands.is_some()) {
        " with their error bands"
    } else {
        ""
    };
    let draws =
        if any(|problem| problem.samples > 0) { ", draws in a_samples.npy and u_samples.npy" } else { "" };
    let residuals = if any(|problem| problem.residuals) { ", residuals.csv" } else { "" };
    format!("{uncertainty}{draws}{residuals}")
}

fn say_one(summary: &Summary, one: &ProblemSummary) {
    let [a, u] = one.sensors();
    say(&format!("{}, {} sensors of a and {} of u", summary.pde, grouped(a), grouped(u)));
    if let (Some(nearest), Some(errors)) = (&one.trust.nearest, &one.trust.held_out_percent) {
        say(&format!(
            "most like {}, where the model's mean errors on {} held-out records are {} for a and {} for u",
            nearest.condition,
            grouped(summary.method.held_out_records.unwrap_or(0)),
            percent(errors.a),
            percent(errors.u),
        ));
    }
    if one.trust.is_contradicted() {
        say("no expected error: the readings contradict the model");
    }
    if let Some([a, u]) = one.expected_percent {
        let shown =
            |percent: f64| if percent < 0.1 { format!("{percent:.4}%") } else { format!("{percent:.2}%") };
        say(&format!("expected error in L2: {} for a and {} for u", shown(a), shown(u)));
    }
    if let Some(bands) = &one.bands {
        say_bands(bands);
    }
    let misfit = one.trust.misfit_percent;
    let named = [("a", misfit.a), ("u", misfit.u)];
    let shown = named.iter().filter_map(|(name, value)| Some(format!("{:.1}% for {name}", (*value)?)));
    let shown: Vec<String> = shown.collect();
    say(&format!("distance from the measurements themselves: {}", shown.join(", ")));
}

fn say_bands(BandSummary { levels, mean_half_width: [a, u], measured_on, .. }: &BandSummary) {
    for (k, level) in levels.iter().enumerate() {
        let percent = 100.0 * level;
        say(&format!(
            "{percent:.0}% of pixels lie within +-{:.2e} for a and +-{:.2e} for u on average",
            a[k], u[k]
        ));
    }
    say(&format!("(measured on {measured_on})"));
}

/// Says why there are no error bands, if there are not.
fn say_missing_bands(problems: &[ProblemSummary]) {
    let without: Vec<String> = problems
        .iter()
        .filter_map(|problem| problem.without_bands.as_ref())
        .map(remedy::of_missing_bands)
        .collect();
    match &without[..] {
        [] => {}
        [reason] => say(&format!("no error bands: {reason}")),
        [reason, ..] => {
            say(&format!("no error bands for {} problems; the first: {reason}", grouped(without.len())));
        }
    }
}

fn say_many(summary: &Summary, many: &[ProblemSummary]) {
    // The exact posterior expects errors of its own; a network has those of held-out records.
    let exact = many.iter().any(|problem| problem.deviations || problem.trust.is_contradicted());
    let own =
        if exact { ["model", "expected a", "expected u"] } else { ["most like", "held-out a", "held-out u"] };
    let mut table =
        Table::new(&[&["problem", "sensors a", "sensors u"], &own[..], &["misfit", "warnings"]].concat());
    for problem in many.iter().take(MOST_ROWS) {
        let trust = &problem.trust;
        let [a, u] = problem.sensors();
        let misfits = [trust.misfit_percent.a, trust.misfit_percent.u];
        let misfit =
            misfits.into_iter().flatten().fold(None, |most, x| Some(f64::max(most.unwrap_or(0.0), x)));
        let [like, of_a, of_u] = if exact { expected_errors(problem) } else { held_out_errors(problem) };
        table.row([
            problem.name.clone(),
            a.to_string(),
            u.to_string(),
            like,
            of_a,
            of_u,
            percent(misfit),
            trust.warnings.len().to_string(),
        ]);
    }
    say(&format!("{}, {} problems\n\n{table}", summary.pde, grouped(many.len())));
    if many.len() > MOST_ROWS {
        say(&format!("... and {} more, in summary.json", grouped(many.len() - MOST_ROWS)));
    }
}

/// Whether the readings agree with the exact posterior's model, and the errors that it expects.
fn expected_errors(problem: &ProblemSummary) -> [String; 3] {
    let model = if problem.trust.is_contradicted() { "contradicted" } else { "agrees" };
    let [a, u] = [0, 1].map(|channel| percent(problem.expected_percent.map(|expected| expected[channel])));
    [model.to_owned(), a, u]
}

/// The condition that a problem is most like, and a network's errors on held-out records under it.
fn held_out_errors(ProblemSummary { trust, .. }: &ProblemSummary) -> [String; 3] {
    let errors = trust.held_out_percent.unwrap_or_default();
    let like = trust.nearest.as_ref().map_or("-".into(), |nearest| nearest.condition.to_string());
    [like, percent(errors.a), percent(errors.u)]
}

fn percent(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.1}%"))
}

/// Warns of what speaks against each problem's recovery; of many problems, of some of it.
pub(super) fn warn_of(problems: &[ProblemSummary]) {
    let all = problems.iter().flat_map(|problem| {
        let which = if problems.len() > 1 { format!("problem {}: ", problem.name) } else { String::new() };
        let warnings = problem.trust.warnings.iter().map(remedy::of_warning);
        let remarks = problem.remarks.iter().map(remedy::of_remark);
        warnings.chain(remarks).map(move |warning| format!("{which}{warning}"))
    });
    let all: Vec<String> = all.collect();
    all.iter().take(MOST_WARNINGS).for_each(|line| warn(line));
    if all.len() > MOST_WARNINGS {
        warn(&format!("{} more are in summary.json", all.len() - MOST_WARNINGS));
    }
}
