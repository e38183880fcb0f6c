//! What is said of a recovery on a terminal.

use std::{path::Path, time::Duration};

use scope::{
    data::PerChannel,
    data::observation::Task,
    eval::trust::{ExactLimit, ReadingsNoise, Trust, Warning},
    pde::descriptor::GaussianPrior,
    recovery::{BandSummary, ProblemSummary, Summary, TwoValuedSummary},
};

use super::remedy;
use crate::terminal::{Table, grouped, notice, say, significant, warn};

/// The most problems that are listed.
const MOST_ROWS: usize = 20;

/// The most warnings that are shown.
const MOST_WARNINGS: usize = 20;

/// The most problems that a line names.
const MOST_NAMED: usize = 5;

/// Says what was recovered and written; pictures were asked for of that many problems, and these tables.
pub(super) fn say_recovered(
    summary: &Summary,
    out: &Path,
    spent: Duration,
    pictures: usize,
    tables: &[String],
) {
    let problems = &summary.problems;
    match &problems[..] {
        [one] => say_one(summary, one),
        many => say_many(summary, many),
    }
    let grid = summary.resolution;
    let milliseconds = 1e3 * spent.as_secs_f64() / problems.len().max(1) as f64;
    let each = if problems.len() > 1 { " each" } else { "" };
    let present = summary.method.pde.present();
    let fields = match present {
        PerChannel { a: true, u: true } => "a and u",
        PerChannel { a: true, .. } => "a",
        PerChannel { .. } => "u",
    };
    say(&format!("{fields} on {grid} in {milliseconds:.0} ms{each} ({})", summary.method.file));
    say_missing_bands(problems);
    let drawn = match pictures.min(problems.len()) {
        0 => String::new(),
        1 => "a picture, ".to_owned(),
        several => format!("{} pictures, ", grouped(several)),
    };
    let tables: String = tables.iter().map(|table| format!("{table}, ")).collect();
    let files: Vec<&str> = [(present.a, "a.npy"), (present.u, "u.npy")]
        .into_iter()
        .filter_map(|(present, file)| present.then_some(file))
        .collect();
    let files = files.join(", ");
    let arrays = arrays(problems, present);
    say(&format!("wrote {}: {files}{arrays}, {tables}{drawn}summary.json", out.display()));
    if let Some(equation) = summary.frame.as_ref().and_then(|frame| frame.equation.as_ref()) {
        say(&format!("in your units the fields obey {equation}: compare it with your problem"));
    }
}

/// What was written beside the fields.
fn arrays(problems: &[ProblemSummary], present: PerChannel<bool>) -> String {
    let any = |has: fn(&ProblemSummary) -> bool| problems.iter().any(has);
    let uncertainty = if any(|problem| problem.deviations && problem.bands.is_some()) {
        " with their standard deviations and error bands"
    } else if any(|problem| problem.deviations) {
        " with their standard deviations"
    } else if any(|problem| problem.bands.is_some()) {
        " with their error bands"
    } else {
        ""
    };
    let draws = match present {
        _ if !any(|problem| problem.samples > 0) => "",
        PerChannel { a: true, u: true } => ", draws in a_samples.npy and u_samples.npy",
        PerChannel { a: true, .. } => ", draws in a_samples.npy",
        PerChannel { .. } => ", draws in u_samples.npy",
    };
    let residuals = if any(|problem| problem.residuals) { ", residuals.csv" } else { "" };
    format!("{uncertainty}{draws}{residuals}")
}

fn say_one(summary: &Summary, one: &ProblemSummary) {
    let [a, u] = one.sensors();
    match summary.method.pde.present() {
        PerChannel { a: true, u: true } => {
            say(&format!("{}, {} sensors of a and {} of u", summary.pde, grouped(a), grouped(u)));
        }
        _ => say(&format!("{}, {} sensors", summary.pde, grouped(a + u))),
    }
    say_errors(summary, one);
    if one.trust.is_contradicted() {
        say("no expected error: the readings contradict the model");
    } else if one.deviations && one.trust.has_suspects() {
        say("no expected error: some readings do not fit the others");
    }
    if let Some([a, u]) = one.expected_percent {
        let shown =
            |percent: f64| if percent < 0.1 { format!("{percent:.4}%") } else { format!("{percent:.2}%") };
        let expected = of_fields(PerChannel { a, u }.map(|percent| percent.map(shown)));
        say(&format!("expected error in L2: {expected}"));
    }
    if let Some(bands) = &one.bands {
        say_bands(bands);
    }
    if let Some(TwoValuedSummary { values: [low, high], expected_wrong_percent }) = one.two_valued {
        say(&format!(
            "a is {low} or {high}: a_map.npy has the more probable value, expected to be wrong at {expected_wrong_percent:.1}% of \
             pixels; a_probability.npy is the probability of {high}"
        ));
    }
    let misfit = one.trust.misfit_percent;
    let named = [("a", misfit.a), ("u", misfit.u)];
    let shown = named.iter().filter_map(|(name, value)| Some(format!("{:.1}% for {name}", (*value)?)));
    let shown: Vec<String> = shown.collect();
    say(&format!("distance from the measurements themselves: {}", shown.join(", ")));
}

/// Figures of the fields that have one: "3% for a and 4% for u".
fn of_fields(figures: PerChannel<Option<String>>) -> String {
    let named = figures.with_channels();
    let said =
        named.into_iter().filter_map(|(channel, figure)| Some(format!("{} for {}", figure?, channel.name())));
    said.collect::<Vec<_>>().join(" and ")
}

/// The same of errors; a field that there is and whose error is unknown has a dash.
fn errors_of_fields(summary: &Summary, errors: PerChannel<Option<f64>>) -> String {
    let present = summary.method.pde.present();
    of_fields(errors.zip(present).map(|(error, present)| present.then(|| percent(error))))
}

/// Says what is known of the method's errors with such sensors.
fn say_errors(summary: &Summary, one: &ProblemSummary) {
    let trust = &one.trust;
    if let Some(calibrated) = &trust.calibrated {
        say(&format!(
            "mean errors on {} fresh records seen by these very sensors{} are {}",
            grouped(calibrated.records),
            if is_noisy(trust) { " with their noise" } else { " without noise" },
            errors_of_fields(summary, calibrated.error_percent),
        ));
    } else if let (Some(nearest), Some(errors)) = (&trust.nearest, &trust.held_out_percent) {
        say(&format!(
            "most like {}, where the model's mean errors on {} held-out records are {}",
            nearest.condition,
            grouped(summary.method.held_out_records.unwrap_or(0)),
            errors_of_fields(summary, PerChannel { a: errors.a, u: errors.u }),
        ));
    }
    if let Some(ExactLimit { condition, records, error_percent }) = &trust.exact {
        say(&format!(
            "(--method exact --pde {} has {} for a and {} for u under {condition}, on {} records with exact readings)",
            summary.pde,
            percent(Some(error_percent.a)),
            percent(Some(error_percent.u)),
            grouped(*records),
        ));
    } else if has_exact_posterior(summary, trust) && !trust.denies_errors() {
        say(&format!(
            "(--method exact --pde {} has the least error that is possible here, and states it)",
            summary.pde
        ));
    }
    for (channel, noise) in [("a", trust.noise_percent.a), ("u", trust.noise_percent.u)] {
        if let Some(ReadingsNoise { stated: Some(stated), .. }) = noise.filter(|_| is_noisy(trust)) {
            say(&format!("stated noise of {channel}: {stated:.2}% of the field's standard deviation"));
        }
    }
}

/// Whether a network's sensors have an exact posterior.
fn has_exact_posterior(summary: &Summary, trust: &Trust) -> bool {
    let pde = summary.method.pde;
    let exists = match pde.descriptor().prior {
        GaussianPrior::Linear { .. } => true,
        GaussianPrior::InitialState(_) => trust.task == Task::Forward.name(),
        GaussianPrior::None(_) => false,
    };
    // A model of records from elsewhere may be of other fields.
    exists && !summary.method.is_posterior && summary.method.makes_fresh_records
}

/// Whether a noise was stated.
fn is_noisy(trust: &Trust) -> bool {
    trust.noise_percent.iter().flatten().any(|noise| noise.stated.is_some_and(|stated| stated > 0.0))
}

fn say_bands(BandSummary { levels, mean_half_width: [a, u], measured_on, times_usual, .. }: &BandSummary) {
    for (k, level) in levels.iter().enumerate() {
        let percent = 100.0 * level;
        let widths = PerChannel { a, u }.map(|widths| Some(format!("+-{}", significant((*widths)?[k], 3))));
        say(&format!("{percent:.0}% of pixels lie within {} on average", of_fields(widths)));
    }
    let widened = times_usual.map(|[times_a, times_u]| {
        let times =
            [("a", times_a, a), ("u", times_u, u)].into_iter().filter(|(_, _, widths)| widths.is_some());
        let times: Vec<String> =
            times.map(|(name, times, _)| format!("{} ({name})", significant(times, 2))).collect();
        let times = times.join(" and ");
        format!("; {times} times as wide as usual, by how far the recovery is from the measurements")
    });
    say(&format!("(measured on {measured_on}{})", widened.unwrap_or_default()));
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
    let mut table = Table::new(&[
        "problem",
        "sensors a",
        "sensors u",
        "error a",
        "error u",
        "from",
        "misfit",
        "bands",
        "warnings",
    ]);
    for problem in many.iter().take(MOST_ROWS) {
        let trust = &problem.trust;
        let [a, u] = problem.sensors();
        let (errors, from) = errors_of(problem);
        let misfits = [trust.misfit_percent.a, trust.misfit_percent.u];
        let misfit =
            misfits.into_iter().flatten().fold(None, |most, x| Some(f64::max(most.unwrap_or(0.0), x)));
        table.row([
            problem.name.clone(),
            a.to_string(),
            u.to_string(),
            percent(errors.a),
            percent(errors.u),
            from,
            percent(misfit),
            bands_in_short(problem),
            warnings_in_short(problem),
        ]);
    }
    say(&format!("{}, {} problems\n\n{table}", summary.pde, grouped(many.len())));
    if many.len() > MOST_ROWS {
        say(&format!("... and {} more, in summary.json", grouped(many.len() - MOST_ROWS)));
    }
}

/// The errors of a and u that are known, and where from.
fn errors_of(problem: &ProblemSummary) -> (PerChannel<Option<f64>>, String) {
    let trust = &problem.trust;
    if let Some(calibrated) = &trust.calibrated {
        return (calibrated.error_percent, "fresh records".to_owned());
    }
    if let Some([a, u]) = problem.expected_percent {
        return (PerChannel { a, u }, "the method".to_owned());
    }
    match (&trust.nearest, &trust.held_out_percent) {
        (Some(nearest), Some(errors)) => {
            (PerChannel { a: errors.a, u: errors.u }, nearest.condition.to_string())
        }
        _ => (PerChannel::default(), "-".to_owned()),
    }
}

/// Whether a problem has error bands, and if not, why.
fn bands_in_short(problem: &ProblemSummary) -> String {
    match &problem.without_bands {
        Some(without) => format!("none: {}", without.short()),
        None if problem.bands.is_some() => "yes".to_owned(),
        None => "-".to_owned(),
    }
}

/// What speaks against a problem's recovery, each kind once.
fn warnings_in_short(problem: &ProblemSummary) -> String {
    let mut all: Vec<&str> = problem.trust.warnings.iter().map(Warning::short).collect();
    all.dedup();
    if all.is_empty() { "none".to_owned() } else { all.join(", ") }
}

fn percent(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.1}%"))
}

/// Warns of what speaks against each problem's recovery. What is said of several problems alike is one line; of many
/// different things, some are shown.
pub(super) fn warn_of(Summary { method, problems, .. }: &Summary) {
    let mut all: Vec<Warned> = Vec::new();
    for problem in problems {
        let warnings = problem.trust.warnings.iter();
        let both = problem.sensors().iter().all(|sensors| *sensors > 0);
        let of_warning =
            |warning: &Warning| remedy::of_warning(method.pde, method.makes_fresh_records, both, warning);
        let warnings = warnings.map(|warning| (warning.short(), of_warning(warning)));
        let cautions = problem.remarks.iter().filter(|remark| remark.is_caution());
        let remarks = cautions.map(|remark| ("", remedy::of_remark(remark)));
        for (kind, text) in warnings.chain(remarks) {
            let alike = |known: &&mut Warned| {
                known.text == text || problems.len() > 1 && !kind.is_empty() && known.kind == kind
            };
            match all.iter_mut().find(alike) {
                Some(known) => known.add(&problem.name, &text),
                None => all.push(Warned { kind, text, problems: vec![&problem.name], equal: true }),
            }
        }
    }
    tell_how(problems);
    all.iter().take(MOST_WARNINGS).for_each(|warned| warn(&warned.line(problems.len())));
    if all.len() > MOST_WARNINGS {
        warn(&format!("{} more are in summary.json", all.len() - MOST_WARNINGS));
    }
}

/// Tells how fields were made, where that speaks against none of them: each remark once.
fn tell_how(problems: &[ProblemSummary]) {
    let mut told: Vec<(String, usize)> = Vec::new();
    for remark in problems.iter().flat_map(|problem| &problem.remarks).filter(|remark| !remark.is_caution()) {
        let text = remark.to_string();
        match told.iter_mut().find(|(known, _)| *known == text) {
            Some((_, count)) => *count += 1,
            None => told.push((text, 1)),
        }
    }
    for (text, count) in told.iter().take(MOST_WARNINGS) {
        match problems.len() {
            1 => notice(text),
            all => notice(&format!("{} of {} problems: {text}", grouped(*count), grouped(all))),
        }
    }
}

/// What was said of one problem or more.
struct Warned<'a> {
    /// The warning in a word or two.
    kind: &'static str,
    /// The warning of the first of them.
    text: String,
    problems: Vec<&'a str>,
    /// Whether that of the others is the same, word for word.
    equal: bool,
}

impl<'a> Warned<'a> {
    fn add(&mut self, problem: &'a str, text: &str) {
        self.equal &= self.text == text;
        if self.problems.last() != Some(&problem) {
            self.problems.push(problem);
        }
    }

    /// One line, of so many problems in all.
    fn line(&self, of: usize) -> String {
        match &self.problems[..] {
            _ if of == 1 => self.text.clone(),
            [one] => format!("problem {one}: {}", self.text),
            all if self.equal => format!("{}: {}", named(all), self.text),
            [first, others @ ..] => {
                format!("problem {first}: {}; the same kind of warning for {}", self.text, named(others))
            }
            [] => self.text.clone(),
        }
    }
}

/// Problems by name, the first of them.
fn named(problems: &[&str]) -> String {
    let first = problems.iter().take(MOST_NAMED).copied().collect::<Vec<_>>().join(", ");
    let some = if problems.len() == 1 { "problem" } else { "problems" };
    match problems.len().saturating_sub(MOST_NAMED) {
        0 => format!("{some} {first}"),
        more => format!("{some} {first} and {} more", grouped(more)),
    }
}
