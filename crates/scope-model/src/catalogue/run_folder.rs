//! What a run folder calls its files: training writes them, everything else finds runs by them.

/// The resolved configuration: what makes a folder a run, written before anything else of it.
pub const RUN_CONFIG: &str = "config.toml";
/// The deployable model.
pub const RUN_WEIGHTS: &str = "model.safetensors";
/// The folder of evaluations.
pub const RUN_EVALUATIONS: &str = "eval";
