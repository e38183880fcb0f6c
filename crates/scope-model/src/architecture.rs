//! Which network a model is, and how large.

use scope_engine::Layout;
use scope_pde::GridShape;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _, ser::Error as _};
use serde_json::{Map, Value};

use crate::{
    config::ModelConfig,
    error::ModelError,
    field_model::FieldNetwork,
    limits::{require_count, require_grid},
    names::{UnknownName, named},
    network::Network,
    operators::{
        AuxiliaryConfig, AuxiliaryNetwork, CONTEXT, Cno, CnoConfig, DeepOnet, DeepOnetConfig, Fno, FnoConfig,
        Transolver, TransolverConfig,
    },
};

/// The key under which a network other than SCOPE's says what it is.
const KEY: &str = "architecture";

/// A browser knows SCOPE's own network only: the others would be a third of what it has to load.
const SCOPE_ONLY: bool = cfg!(target_family = "wasm");

/// A network and its sizes, as a weight file's header and a run's configuration hold them: the sizes, and beside them
/// what they are the sizes of; without that, of a SCOPE model.
#[derive(Clone, Debug, PartialEq)]
pub enum Architecture {
    /// The paper's own.
    Scope(ModelConfig),
    /// The Fourier neural operator.
    Fno(FnoConfig),
    /// A DeepONet of these sizes.
    DeepOnet(DeepOnetConfig),
    /// The convolutional neural operator.
    Cno(CnoConfig),
    /// Transolver.
    Transolver(TransolverConfig),
    /// An operator of the auxiliary study, which gives the hidden field alone.
    Auxiliary(AuxiliaryConfig),
    /// A network of one's own, which this program cannot build.
    Own(OwnConfig),
}

/// What is known of a network of one's own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnConfig {
    /// Its name, in tables.
    pub name: String,
    /// The grid.
    pub resolution: GridShape,
}

/// An operator of the paper's main comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// The Fourier neural operator.
    Fno,
    /// DeepONet.
    DeepOnet,
    /// The convolutional neural operator.
    Cno,
    /// Transolver.
    Transolver,
}

impl Operator {
    /// All operators, in the paper's order.
    pub const ALL: [Self; 4] = [Operator::Fno, Operator::DeepOnet, Operator::Cno, Operator::Transolver];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Operator::Fno => "fno",
            Operator::DeepOnet => "deeponet",
            Operator::Cno => "cno",
            Operator::Transolver => "transolver",
        }
    }

    /// Its name in tables.
    pub fn label(self) -> &'static str {
        match self {
            Operator::Fno => "FNO",
            Operator::DeepOnet => "DeepONet",
            Operator::Cno => "CNO",
            Operator::Transolver => "Transolver",
        }
    }

    /// The paper's sizes on a grid.
    pub fn architecture(self, resolution: impl Into<GridShape>) -> Architecture {
        match self {
            Operator::Fno => Architecture::Fno(FnoConfig::paper(resolution)),
            Operator::DeepOnet => Architecture::DeepOnet(DeepOnetConfig::paper(resolution)),
            Operator::Cno => Architecture::Cno(CnoConfig::paper(resolution)),
            Operator::Transolver => Architecture::Transolver(TransolverConfig::paper(resolution)),
        }
    }
}

impl std::str::FromStr for Operator {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        named("operator", Self::ALL, Self::name, name)
    }
}

impl Architecture {
    /// What it is called: `scope`, the name of an operator, or one's own.
    pub fn name(&self) -> &str {
        match self {
            Architecture::Scope(_) => "scope",
            Architecture::Fno(_) => Operator::Fno.name(),
            Architecture::DeepOnet(_) => Operator::DeepOnet.name(),
            Architecture::Cno(_) => Operator::Cno.name(),
            Architecture::Transolver(_) => Operator::Transolver.name(),
            Architecture::Auxiliary(config) => config.kind().name(),
            Architecture::Own(own) => &own.name,
        }
    }

    /// The grid.
    pub fn resolution(&self) -> GridShape {
        match self {
            Architecture::Scope(config) => config.resolution,
            Architecture::Fno(config) => config.resolution,
            Architecture::DeepOnet(config) => config.resolution,
            Architecture::Cno(config) => config.resolution,
            Architecture::Transolver(config) => config.resolution,
            Architecture::Auxiliary(config) => config.resolution(),
            Architecture::Own(own) => own.resolution,
        }
    }

    /// Channels of the contexts that it reads.
    pub fn context_channels(&self) -> usize {
        match self {
            Architecture::Scope(config) => config.context_channels,
            _ => CONTEXT,
        }
    }

    /// The sizes of a SCOPE model, if it is one.
    pub fn scope(&self) -> Option<&ModelConfig> {
        match self {
            Architecture::Scope(config) => Some(config),
            _ => None,
        }
    }

    /// The sizes and units of an auxiliary operator, if it is one.
    pub fn auxiliary(&self) -> Option<&AuxiliaryConfig> {
        match self {
            Architecture::Auxiliary(config) => Some(config),
            _ => None,
        }
    }

    /// Whether it can be built, and if not, why.
    pub fn validate(&self) -> Result<(), ModelError> {
        match self {
            Architecture::Scope(config) => config.validate(),
            Architecture::Fno(config) => config.validate(),
            Architecture::DeepOnet(config) => config.validate(),
            Architecture::Cno(config) => config.validate(),
            Architecture::Transolver(config) => config.validate(),
            Architecture::Auxiliary(config) => config.validate(),
            Architecture::Own(own) => require_grid(own.resolution),
        }
    }

    /// Whether it is a network that this program can build.
    pub(crate) fn is_known(&self) -> bool {
        !matches!(self, Architecture::Own(_))
    }

    /// Where its parameters lie.
    pub fn layout(&self) -> Result<Layout, ModelError> {
        let mut layout = Layout::new();
        self.declare(&mut layout)?;
        Ok(layout)
    }

    /// Declares its parameters.
    pub(crate) fn declare(&self, layout: &mut Layout) -> Result<Box<dyn FieldNetwork>, ModelError> {
        self.validate()?;
        let network = self.build(layout)?;
        require_count(layout)?;
        Ok(network)
    }

    fn build(&self, layout: &mut Layout) -> Result<Box<dyn FieldNetwork>, ModelError> {
        Ok(match self {
            Architecture::Scope(config) => Box::new(Network::declare(layout, config)),
            other if SCOPE_ONLY => return Err(ModelError::Config(unknown(&other.name().into()))),
            Architecture::Fno(config) => Box::new(Fno::declare(layout, config)),
            Architecture::DeepOnet(config) => Box::new(DeepOnet::declare(layout, config)),
            Architecture::Cno(config) => Box::new(Cno::declare_simplified(layout, config)),
            Architecture::Transolver(config) => Box::new(Transolver::declare(layout, config)),
            Architecture::Auxiliary(config) => Box::new(AuxiliaryNetwork::declare(layout, config)),
            Architecture::Own(own) => {
                return Err(ModelError::Config(format!(
                    "\"{}\" is a network of one's own: only the program that has it can build it",
                    own.name
                )));
            }
        })
    }
}

impl From<ModelConfig> for Architecture {
    fn from(config: ModelConfig) -> Self {
        Architecture::Scope(config)
    }
}

impl Serialize for Architecture {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let sizes = match self {
            Architecture::Scope(config) => return config.serialize(serializer),
            Architecture::Fno(config) => serde_json::to_value(config),
            Architecture::DeepOnet(config) => serde_json::to_value(config),
            Architecture::Cno(config) => serde_json::to_value(config),
            Architecture::Transolver(config) => serde_json::to_value(config),
            Architecture::Auxiliary(config) => serde_json::to_value(config),
            Architecture::Own(own) => serde_json::to_value(own),
        };
        let mut map = Map::new();
        let name = match self {
            Architecture::Own(_) => "own",
            Architecture::Auxiliary(_) => "auxiliary",
            known => known.name(),
        };
        map.insert(KEY.to_owned(), name.into());
        if let Value::Object(sizes) = sizes.map_err(S::Error::custom)? {
            map.extend(sizes);
        }
        map.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Architecture {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut map = Map::deserialize(deserializer)?;
        let name = map.remove(KEY).unwrap_or_else(|| "scope".into());
        let sizes = Value::Object(map);
        let read = match name.as_str().unwrap_or_default() {
            "scope" => serde_json::from_value(sizes).map(Architecture::Scope),
            _ if SCOPE_ONLY => return Err(D::Error::custom(unknown(&name))),
            "fno" => serde_json::from_value(sizes).map(Architecture::Fno),
            "deeponet" => serde_json::from_value(sizes).map(Architecture::DeepOnet),
            "cno" => serde_json::from_value(sizes).map(Architecture::Cno),
            "transolver" => serde_json::from_value(sizes).map(Architecture::Transolver),
            "auxiliary" => serde_json::from_value(sizes).map(Architecture::Auxiliary),
            "own" => serde_json::from_value(sizes).map(Architecture::Own),
            _ => return Err(D::Error::custom(unknown(&name))),
        };
        read.map_err(D::Error::custom)
    }
}

fn unknown(name: &Value) -> String {
    format!("this program knows no architecture {name}")
}
