//! The SCOPE networks, their weight files, and sensors in, fields out.
//!
//! A [`ModelConfig`] says how large everything is; a [`Model`] is a network with its parameters, made by
//! [`Model::initial`] or read by [`Model::load`]. A [`Reconstructor`] turns contexts into physical fields. A
//! [`Catalogue`] finds models by name, with a [`Card`] each.

mod architecture;
mod arithmetic;
pub mod bands;
mod catalogue;
mod config;
mod error;
mod field_model;
mod initial;
mod known_facts;
mod limits;
mod measure;
mod model;
mod names;
mod network;
pub mod operators;
mod parameter_counts;
mod provenance;
mod reconstruct;
mod sensors;
mod weights;

pub use architecture::{Architecture, Operator, OwnConfig};
pub use arithmetic::{Arithmetic, decoder as decoder_arithmetic};
pub use catalogue::{
    Card, CardData, CardEarlier, CardTraining, CardWeights, Catalogue, ConditionErrors, Embedded, Found,
    HeldOut, Listing, RUN_CONFIG, RUN_EVALUATIONS, RUN_WEIGHTS,
};
pub use config::{DecoderConfig, FitConfig, Head, ModelConfig, Preset, Transformer};
pub use error::ModelError;
pub use field_model::{FieldModel, FieldNetwork};
pub use initial::{Initial, default_initial, initialise};
pub use known_facts::{impose_certainty, impose_known_facts};
pub use measure::{Interpolation, Measure, Region, UnknownMeasure};
pub use model::Model;
pub use names::{UnknownName, named};
pub use network::{Decoder, Encoder, Fits, Network, Predictor};
pub use operators::{Auxiliary, AuxiliaryConfig, ChannelUnits};
pub use parameter_counts::{Accounting, ParameterCount, parameter_counts, parameter_elements};
pub use provenance::{
    Adapted, Budget, DataIdentity, MOST_DRAWS, MaskIdentity, MethodIdentity, MethodKind, Provenance,
    Training, View,
};
pub use reconstruct::{Precision, Reconstructor};
pub use scope_data::Fields;
pub use sensors::recover_sensors;
pub use weights::{About, LayerHessians, Quantisation, WeightFile, multiply_in_int8};
