//! Stopping in good order.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::Context;
use signal_hook::{
    consts::{SIGINT, SIGTERM},
    iterator::Signals,
};

/// Signals closer together than this are one wish: `timeout` and job schedulers send theirs to the program and to its group.
const ONE_WISH: Duration = Duration::from_secs(1);

/// Set by the first interrupt or termination signal; a second interrupt, a second or more later, ends the program at once.
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Starts listening.
    pub(crate) fn listen() -> anyhow::Result<Self> {
        let requested = Arc::new(AtomicBool::new(false));
        let mut signals = Signals::new([SIGINT, SIGTERM]).context("signals cannot be caught")?;
        let told = Arc::clone(&requested);
        thread::Builder::new()
            .name("signals".into())
            .spawn(move || {
                let mut first: Option<Instant> = None;
                for signal in signals.forever() {
                    told.store(true, Ordering::Relaxed);
                    let since = first.get_or_insert_with(Instant::now).elapsed();
                    if signal == SIGINT && since >= ONE_WISH {
                        std::process::exit(128 + SIGINT);
                    }
                }
            })
            .context("no thread can wait for signals")?;
        Ok(Self(requested))
    }

    /// Whether the user has asked to stop.
    pub(crate) fn requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
