//! How much one request may ask for, and how much may wait.

use std::time::Duration;

/// What is refused because it is too much.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The longest body, in bytes.
    pub body: usize,
    /// The most bytes of all bodies that are held at once.
    pub bodies: usize,
    /// The most problems of a request.
    pub problems: usize,
    /// The most sensors of a problem.
    pub sensors: usize,
    /// The most problems that wait for the engine.
    pub queue: usize,
    /// The most connections.
    pub connections: usize,
    /// How long a request's head or body may take to arrive.
    pub arrival: Duration,
    /// How long fields may take from there on.
    pub computing: Duration,
    /// How long connections may take to end once the server is asked to stop.
    pub drain: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: 16 << 20,
            bodies: 256 << 20,
            problems: 32,
            sensors: 16_384,
            queue: 256,
            connections: 1024,
            arrival: Duration::from_secs(30),
            computing: Duration::from_secs(60),
            drain: Duration::from_secs(30),
        }
    }
}
