//! Stopping in good order.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use anyhow::Context;
use signal_hook::{
    consts::{SIGINT, SIGTERM},
    flag,
};

/// Set by the first interrupt or termination signal; a second one ends the program at once.
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Starts listening.
    pub(crate) fn listen() -> anyhow::Result<Self> {
        let requested = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            let again = Arc::clone(&requested);
            flag::register_conditional_shutdown(signal, 1, again)
                .and_then(|_| flag::register(signal, Arc::clone(&requested)))
                .context("signals cannot be caught")?;
        }
        Ok(Self(requested))
    }

    /// Whether the user has asked to stop.
    pub(crate) fn requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
