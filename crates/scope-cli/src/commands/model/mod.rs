//! `scope model`: models, their cards and their sizes.

mod calibrate;
mod card;
mod export;
mod info;
mod list;
mod pack;
mod shown_card;

use clap::Subcommand;

use super::Outcome;

#[derive(Debug, Subcommand)]
pub(crate) enum ModelCommand {
    /// List the models that can be named
    List(list::ModelList),
    /// Show a model's card, or count a network's parameters, part by part
    Info(info::ModelInfo),
    /// Write a run's weights in fewer bits
    Pack(pack::ModelPack),
    /// Write a model's card from its run and its evaluations
    Card(card::ModelCard),
    /// Write a model for other programs: an ONNX graph, or a folder as Hugging Face has them
    Export(export::ModelExport),
    /// Measure a model's error bands on held-out records, into its card
    Calibrate(calibrate::ModelCalibrate),
}

impl ModelCommand {
    pub(crate) fn run(self) -> anyhow::Result<Outcome> {
        match self {
            ModelCommand::List(list) => list.run(),
            ModelCommand::Info(info) => info.run(),
            ModelCommand::Pack(pack) => pack.run(),
            ModelCommand::Card(card) => card.run(),
            ModelCommand::Export(export) => export.run(),
            ModelCommand::Calibrate(calibrate) => calibrate.run(),
        }
    }
}
