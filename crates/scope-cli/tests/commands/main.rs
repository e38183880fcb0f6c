//! Every command, as a user types it. One program of tests: a dozen would take a minute longer to link.
#![allow(clippy::unwrap_used)]

mod band;
mod card;
mod data;
mod demo;
mod diagnose;
mod escapes;
mod evaluate;
mod exact;
mod exit_codes;
mod help;
mod hostile;
mod known_facts;
mod linear;
mod mask;
mod mistakes;
mod model;
mod operator;
mod own_bench;
mod own_import;
mod own_names;
mod own_problem;
mod place;
mod processes;
mod program;
mod recover;
mod sensor_files;
mod serve;
mod spreadsheet;
mod train;
mod units;
mod verification;
