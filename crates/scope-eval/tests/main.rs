//! The tests of evaluation, in one program: linking many takes longer than running them.

#![allow(clippy::panic, clippy::unwrap_used)]

mod calibrated_bands;
mod metrics;
mod noisy_readings;
mod report;
mod several_evaluations;
mod shipped_models;
mod theory;
