//! Which tables are written.

use std::str::FromStr;

use scope_model::{UnknownName, named};

/// The tables by name: results in the order of the paper, then settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableName {
    /// Sparse recovery across problems: the literature, the paper's operators, SCOPE.
    Main,
    /// Backbone recipes with their native decoders.
    Recipes,
    /// Replacement decoders on the Full backbone.
    Adaptation,
    /// The errors of both reconstructed channels.
    Channels,
    /// Sizes and training views of replacement decoders.
    Capacity,
    /// The cylinder's own condition.
    Cylinder,
    /// Means and deviations over records of forward errors.
    ForwardSd,
    /// Means and deviations over records of inverse errors.
    InverseSd,
    /// Darcy's inverse as a classification.
    DarcyBer,
    /// Paired differences.
    Paired,
    /// The paper's orderings of methods, and whether ours are the same.
    Orderings,
    /// Pixels within error bands.
    Bands,
    /// How the recipes train.
    Training,
    /// Released records, and draws of training.
    Data,
    /// Constants of stored coordinates.
    Normalisation,
    /// Families of observations.
    Masks,
    /// Sizes of the operators.
    Operators,
    /// Numbers of parameters.
    Parameters,
    /// Those of the operators of the auxiliary study.
    AuxiliaryParameters,
    /// Where our rows come from.
    Runs,
}

impl TableName {
    /// All tables.
    pub const ALL: [Self; 20] = [
        TableName::Main,
        TableName::Recipes,
        TableName::Adaptation,
        TableName::Channels,
        TableName::Capacity,
        TableName::Cylinder,
        TableName::ForwardSd,
        TableName::InverseSd,
        TableName::DarcyBer,
        TableName::Paired,
        TableName::Orderings,
        TableName::Bands,
        TableName::Training,
        TableName::Data,
        TableName::Normalisation,
        TableName::Masks,
        TableName::Operators,
        TableName::Parameters,
        TableName::AuxiliaryParameters,
        TableName::Runs,
    ];

    /// Its name on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            TableName::Main => "main",
            TableName::Recipes => "recipes",
            TableName::Adaptation => "adaptation",
            TableName::Channels => "channels",
            TableName::Capacity => "capacity",
            TableName::Cylinder => "cylinder",
            TableName::ForwardSd => "forward-sd",
            TableName::InverseSd => "inverse-sd",
            TableName::DarcyBer => "darcy-ber",
            TableName::Paired => "paired",
            TableName::Orderings => "orderings",
            TableName::Bands => "bands",
            TableName::Training => "training",
            TableName::Data => "data",
            TableName::Normalisation => "normalisation",
            TableName::Masks => "masks",
            TableName::Operators => "operators",
            TableName::Parameters => "parameters",
            TableName::AuxiliaryParameters => "auxiliary-parameters",
            TableName::Runs => "runs",
        }
    }
}

impl FromStr for TableName {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        named("table", Self::ALL, Self::name, name)
    }
}

/// Which tables are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Those that a run has a row in, and the table of parameters.
    WithOurs,
    /// All that have a row, the paper's or ours.
    All,
    /// These, with rows or without.
    Named(Vec<TableName>),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for table in TableName::ALL {
            assert_eq!(table.name().parse(), Ok(table));
        }
        let refused = "no-such".parse::<TableName>().unwrap_err().to_string();
        assert!(
            refused.starts_with("no table is called \"no-such\"; there are main, recipes, "),
            "{refused}"
        );
    }
}
