//! The live line of a training run.

use std::{
    io::{self, IsTerminal},
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressStyle};
use scope_train::{Callback, Component, MetricsLine, RunConfig, StepReport};

use crate::terminal::{Interrupt, grouped, tell, warn};

/// How often a line is written where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Shows draws, rate, time left, losses, cap and spread; and listens for a request to stop.
pub(super) struct Live {
    interrupt: Interrupt,
    /// When the first step of this session ended, and the draws then: the rate counts from there.
    first: Option<(Instant, u64)>,
    last_line: Instant,
    bar: Option<ProgressBar>,
}

impl Live {
    pub(super) fn new(config: &RunConfig) -> anyhow::Result<Self> {
        let bar = io::stderr().is_terminal().then(|| {
            let template = "[{bar:20}] {human_pos}/{human_len} draws {msg}";
            let style =
                ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
            ProgressBar::new(config.total()).with_style(style.progress_chars("=> "))
        });
        Ok(Self { interrupt: Interrupt::listen()?, first: None, last_line: Instant::now(), bar })
    }

    pub(super) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    /// "1,234 draws/s, 12 min left, F 0.123 J 0.4, alpha 0.05, spread 0.2".
    fn describe(&self, line: &MetricsLine, draws: u64, total: u64) -> String {
        let mut text = line.stage.clone();
        if let Some((start, before)) = self.first.filter(|(_, before)| draws > *before) {
            let rate = (draws - before) as f64 / start.elapsed().as_secs_f64().max(1e-9);
            let left = (total - draws) as f64 / rate;
            let left = if left < 120.0 { format!("{left:.0} s") } else { format!("{:.0} min", left / 60.0) };
            text.push_str(&format!(", {rate:.1} draws/s, {left} left"));
        }
        let StepReport { losses, norms, alpha, latent_std, .. } = &line.report;
        let losses: Vec<String> =
            losses.iter().map(|(component, loss)| format!("{} {loss:.4}", component.letter())).collect();
        text.push_str(&format!(", {}", losses.join(" ")));
        if let Some([field, _]) = norms.get(&Component::Field) {
            let others = norms
                .iter()
                .filter(|(component, _)| **component != Component::Field)
                .map(|(_, [all, _])| all);
            let share = alpha * others.sum::<f64>() / field.max(1e-30);
            text.push_str(&format!(", alpha {:.3}, other gradients {:.0}%", alpha, 100.0 * share));
        }
        if let Some(std) = latent_std {
            text.push_str(&format!(", spread {std:.3}"));
        }
        text
    }
}

impl Callback for Live {
    fn on_step(&mut self, line: &MetricsLine, draws: u64, total: u64) {
        self.first.get_or_insert((Instant::now(), draws));
        if let Some(bar) = &self.bar {
            bar.set_position(draws);
            bar.set_message(self.describe(line, draws, total));
        } else if self.last_line.elapsed() >= LINE_EVERY {
            self.last_line = Instant::now();
            let done = grouped(draws as usize);
            let text = self.describe(line, draws, total);
            tell(&format!("{done} of {} draws, {text}", grouped(total as usize)));
        }
    }

    fn on_warning(&mut self, text: &str) {
        warn(text);
    }

    fn should_stop(&self) -> bool {
        self.interrupt.requested()
    }
}
