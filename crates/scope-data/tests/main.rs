//! The tests of datasets, masks, sensors and the schedule, in one program: linking many takes longer than running them.

#![allow(clippy::panic, clippy::unwrap_used)]

mod batch_schedule;
mod check_sets;
mod dataset_folders;
mod import_files;
mod masks;
mod own_columns;
mod own_family;
mod own_packing;
mod sensor_files;
mod sensor_mix;
