//! Progress with rate and remaining time: a bar on a terminal, a line now and then elsewhere.

use std::{
    io::{self, IsTerminal},
    sync::Mutex,
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressStyle};

use super::{grouped, tell};

/// How often a line is written where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// The progress of a known number of records.
pub(crate) struct Progress {
    label: String,
    total: usize,
    start: Instant,
    shown: Shown,
}

enum Shown {
    Bar(ProgressBar),
    /// When the last line was written.
    Lines(Mutex<Instant>),
}

impl Progress {
    pub(crate) fn new(label: &str, total: usize) -> Self {
        let start = Instant::now();
        let shown = if io::stderr().is_terminal() {
            Shown::Bar(bar(label, total))
        } else {
            Shown::Lines(Mutex::new(start))
        };
        Self { label: label.to_owned(), total, start, shown }
    }

    /// Tells how many records are done.
    pub(crate) fn at(&self, done: usize) {
        match &self.shown {
            Shown::Bar(bar) => bar.set_position(done as u64),
            Shown::Lines(last) => {
                let mut last = last.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                if last.elapsed() >= LINE_EVERY {
                    *last = Instant::now();
                    tell(&self.line(done));
                }
            }
        }
    }

    /// Says what is being done, between two records.
    pub(crate) fn note(&self, doing: &str) {
        match &self.shown {
            Shown::Bar(bar) => bar.set_message(format!("{}: {doing}", self.label)),
            Shown::Lines(last) => {
                let mut last = last.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                if last.elapsed() >= LINE_EVERY {
                    *last = Instant::now();
                    tell(&format!(
                        "{}: {doing}, {:.0} s so far",
                        self.label,
                        self.start.elapsed().as_secs_f64()
                    ));
                }
            }
        }
    }

    fn line(&self, done: usize) -> String {
        if done == 0 {
            return format!("{}: 0 of {} records", self.label, grouped(self.total));
        }
        let rate = done as f64 / self.start.elapsed().as_secs_f64().max(1e-9);
        let left = (self.total - done.min(self.total)) as f64 / rate.max(1e-9);
        format!(
            "{}: {} of {} records, {rate:.1} a second, {left:.0} s left",
            self.label,
            grouped(done),
            grouped(self.total)
        )
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        if let Shown::Bar(bar) = &self.shown {
            bar.finish_and_clear();
        }
    }
}

fn bar(label: &str, total: usize) -> ProgressBar {
    let template = "{msg} [{bar:30}] {human_pos}/{human_len} records, {per_sec}, {eta} left";
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(total as u64).with_message(label.to_owned()).with_style(style.progress_chars("=> "))
}
