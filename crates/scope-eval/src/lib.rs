//! Pictures of masks. Metrics, tables and further figures will live here.

pub mod figure;
