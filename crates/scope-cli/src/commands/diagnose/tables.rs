//! A diagnosis in words and tables.

use scope_eval::diagnose::{ChannelDiagnosis, Cohort, Diagnosis, Readout, Spread};

use super::Results;
use crate::terminal::{Table, grouped, say, significant};

/// Significant digits shown.
const DIGITS: usize = 4;

fn shown(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| significant(value, DIGITS))
}

impl Results {
    /// Prints everything but what only machines want.
    pub(super) fn say(&self) {
        let Diagnosis { records, tokens, width, .. } = self.diagnosis;
        let records = grouped(records);
        say(&format!(
            "{}, {records} records, latents of {tokens} tokens x {width}\n",
            self.identity.condition
        ));
        say(&readouts(&self.diagnosis).to_string());
        say(&inequalities(&self.diagnosis).to_string());
        say(&latents(&self.diagnosis).to_string());
        if let Some(why) = &self.without_teacher {
            say(&format!(
                "J, delta_EMA, the bound by them and what is recovered of the teacher's latents need a teacher: {why}"
            ));
        }
        say(&format!("records: {}", self.identity.data.origin));
        if let Some(training) = &self.identity.method.training {
            let cut = if training.cut_short { ", cut short" } else { "" };
            say(&format!(
                "model: {}, {}{cut}",
                self.identity.method.label(),
                training.described(|draws| grouped(draws as usize))
            ));
        }
    }
}

/// A table of the decoders' errors, with a and u side by side.
fn readouts(diagnosis: &Diagnosis) -> Table {
    let mut table = Table::new(&["figure", "a", "u", "meaning"]);
    let mut row = |figure: &str, value: &dyn Fn(&ChannelDiagnosis) -> Option<f64>, meaning: &str| {
        let of = |channel: &str| shown(diagnosis.channels.get(channel).and_then(value));
        table.row([figure.to_owned(), of("a"), of("u"), meaning.to_owned()]);
    };
    let replaced = diagnosis.channels.values().any(|channel| channel.base.is_some());
    let decoders: &[(&str, Pick, &str)] = if replaced {
        &[
            ("(d1)", |channel| Some(&channel.decoder), ", this decoder"),
            ("(d0)", |channel| channel.base.as_ref(), ", the base's decoder"),
        ]
    } else {
        &[("", |channel| Some(&channel.decoder), "")]
    };
    for (name, pick, whose) in decoders {
        for (figure, value, meaning) in READOUT_ROWS {
            let value = |channel: &ChannelDiagnosis| pick(channel).and_then(value);
            row(&format!("{figure}{name}"), &value, &format!("{meaning}{whose}"));
        }
    }
    for (figure, value, meaning) in COHORT_ROWS {
        row(figure, &|channel| channel.cohort.as_ref().and_then(value), meaning);
    }
    let scored =
        |name: &str| diagnosis.channels.get(name).map_or(0, |found| found.decoder.context_error.count);
    let [a, u] = ["a", "u"].map(|name| scored(name).to_string());
    table.row(["scored".to_owned(), a, u, "records whose field is not zero".to_owned()]);
    table
}

type Pick = fn(&ChannelDiagnosis) -> Option<&Readout>;
type Row<T> = (&'static str, fn(&T) -> Option<f64>, &'static str);

const READOUT_ROWS: [Row<Readout>; 5] = [
    ("R_F", |r| r.complete_error.mean, "relative error of what is decoded from the complete pair's latents"),
    ("R_M", |r| r.context_error.mean, "relative error of what is recovered from the context"),
    ("B_M", |r| r.discrepancy.mean, "how far these two are apart"),
    (
        "L_d records",
        |r| Some(r.lipschitz.records),
        "slope of the decoder, at least: pairs of records' latents",
    ),
    ("L_d probed", |r| Some(r.lipschitz.local), "slope of the decoder, at least: steepest direction found"),
];

const COHORT_ROWS: [Row<Cohort>; 4] = [
    ("kappa_y", |c| Some(c.kappa), "1 / norm of the field (root mean square)"),
    ("|z_M - z_F|", |c| Some(c.latent_distance), "distance of predicted from complete latents"),
    ("J", |c| c.j, "mean squared distance of predicted latents from the teacher's"),
    ("delta_EMA", |c| c.delta_ema, "distance of the teacher's latents from the encoder's own"),
];

fn inequalities(diagnosis: &Diagnosis) -> Table {
    let mut table = Table::new(&["inequality", "field", "left", "right", "holds"]);
    for (channel, found) in &diagnosis.channels {
        for inequality in &found.inequalities {
            table.row([
                inequality.statement.to_owned(),
                (*channel).to_owned(),
                significant(inequality.left, DIGITS),
                significant(inequality.right, DIGITS),
                if inequality.holds { "yes" } else { "NO" }.to_owned(),
            ]);
        }
    }
    table
}

/// A table of the latents' spread, with the complete and the predicted ones side by side.
fn latents(diagnosis: &Diagnosis) -> Table {
    let mut table = Table::new(&["latents", "z_F", "z_M", "meaning"]);
    let mut row = |figure: &str, value: fn(&Spread) -> Option<f64>, meaning: &str| {
        let [complete, predicted] =
            [&diagnosis.complete, &diagnosis.predicted].map(|spread| shown(value(spread)));
        table.row([figure.to_owned(), complete, predicted, meaning.to_owned()]);
    };
    row("SD, least", |s| Some(s.sd.min), "standard deviation over records of a coordinate");
    row("SD, median", |s| Some(s.sd.median), "half of the coordinates vary less");
    row("SD, largest", |s| Some(s.sd.max), "");
    row("below 0.1", |s| Some(s.below_floor), "share of coordinates under the floor that training sets");
    row("effective rank", |s| s.effective_rank, "directions of a token that matter, from 1 to the width");
    row("participation", |s| s.participation, "the same, counting strong directions only");
    if let Some(recovery) = &diagnosis.recovery {
        let mut row = |figure: &str, value: String, meaning: &str| {
            table.row([figure.to_owned(), "-".to_owned(), value, meaning.to_owned()]);
        };
        let explained = "share of the variance of the teacher's latents that is recovered";
        row("explained", significant(recovery.explained, DIGITS), explained);
        row(
            "directions 90%",
            recovery.nine_tenths.to_string(),
            "directions of a token nine tenths recovered",
        );
        row("directions 50%", recovery.half.to_string(), "half recovered");
    }
    table
}
