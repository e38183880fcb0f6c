//! The operators of the paper's auxiliary study ("Auxiliary reconstruction supervision"). Each reads what the others
//! read, with one of the two fields wholly hidden, and gives that field alone. They count in units of their own: the
//! mean and the standard deviation of each channel over the first records of their training set.

mod deeponet;
mod fno;
mod unet;

use scope_data::{Channel, PerChannel};
use scope_engine::{AxisMap, EngineError, Layout, Param, Tape, Tensor, Var};
use scope_pde::GridShape;
use serde::{Deserialize, Serialize};

pub use deeponet::AuxDeepOnetConfig;
pub use fno::AuxFnoConfig;
pub use unet::UnetConfig;

use self::{deeponet::AuxDeepOnet, fno::AuxFno, unet::Unet};
use super::{
    CONTEXT, FIELDS,
    cno::{Cno, CnoConfig, CnoForm},
};
use crate::{
    architecture::Architecture, error::ModelError, field_model::FieldNetwork, initial::Initial, names::named,
};

/// An operator of the auxiliary study.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Auxiliary {
    /// The Fourier neural operator; with a residual in its loss, PINO.
    Fno,
    /// DeepONet.
    DeepOnet,
    /// A U-Net.
    Unet,
    /// The convolutional neural operator.
    Cno,
}

impl Auxiliary {
    /// All of them, in the paper's order.
    pub const ALL: [Self; 4] = [Auxiliary::Fno, Auxiliary::DeepOnet, Auxiliary::Unet, Auxiliary::Cno];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Auxiliary::Fno => "aux-fno",
            Auxiliary::DeepOnet => "aux-deeponet",
            Auxiliary::Unet => "aux-unet",
            Auxiliary::Cno => "aux-cno",
        }
    }

    /// Its name in tables.
    pub fn label(self) -> &'static str {
        match self {
            Auxiliary::Fno => "FNO",
            Auxiliary::DeepOnet => "DeepONet",
            Auxiliary::Unet => "U-Net",
            Auxiliary::Cno => "CNO",
        }
    }

    /// The paper's sizes on a grid, in units that are not fitted yet.
    pub fn architecture(self, resolution: impl Into<GridShape>) -> Architecture {
        let resolution = resolution.into();
        let sizes = match self {
            Auxiliary::Fno => AuxiliarySizes::Fno(AuxFnoConfig::paper(resolution)),
            Auxiliary::DeepOnet => AuxiliarySizes::DeepOnet(AuxDeepOnetConfig::paper(resolution)),
            Auxiliary::Unet => AuxiliarySizes::Unet(UnetConfig::paper(resolution)),
            Auxiliary::Cno => AuxiliarySizes::Cno(CnoConfig::auxiliary(resolution)),
        };
        Architecture::Auxiliary(AuxiliaryConfig { units: PerChannel::default(), sizes })
    }
}

impl std::str::FromStr for Auxiliary {
    type Err = ModelError;

    fn from_str(name: &str) -> Result<Self, ModelError> {
        Ok(named("auxiliary operator", Self::ALL, Self::name, name)?)
    }
}

/// An auxiliary operator: its sizes, and the units that it counts in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuxiliaryConfig {
    /// The units of each channel.
    pub units: PerChannel<ChannelUnits>,
    /// Which operator, and how large.
    pub sizes: AuxiliarySizes,
}

/// Mean and standard deviation of a channel in stored coordinates: an auxiliary operator sees and gives (x - mean) /
/// deviation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChannelUnits {
    /// The mean.
    pub mean: f64,
    /// The standard deviation.
    pub deviation: f64,
}

impl Default for ChannelUnits {
    /// What stored coordinates are made to have.
    fn default() -> Self {
        Self { mean: 0.0, deviation: 0.5 }
    }
}

/// The sizes of an auxiliary operator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AuxiliarySizes {
    /// The sizes of an FNO.
    Fno(AuxFnoConfig),
    /// The sizes of a DeepONet.
    DeepOnet(AuxDeepOnetConfig),
    /// The sizes of a U-Net.
    Unet(UnetConfig),
    /// The sizes of a CNO.
    Cno(CnoConfig),
}

impl AuxiliaryConfig {
    /// Which operator.
    pub fn kind(&self) -> Auxiliary {
        match self.sizes {
            AuxiliarySizes::Fno(_) => Auxiliary::Fno,
            AuxiliarySizes::DeepOnet(_) => Auxiliary::DeepOnet,
            AuxiliarySizes::Unet(_) => Auxiliary::Unet,
            AuxiliarySizes::Cno(_) => Auxiliary::Cno,
        }
    }

    /// The grid.
    pub fn resolution(&self) -> GridShape {
        match &self.sizes {
            AuxiliarySizes::Fno(sizes) => sizes.resolution,
            AuxiliarySizes::DeepOnet(sizes) => sizes.resolution,
            AuxiliarySizes::Unet(sizes) => sizes.resolution,
            AuxiliarySizes::Cno(sizes) => sizes.resolution,
        }
    }

    /// Whether it can be built, and if not, why.
    pub(crate) fn validate(&self) -> Result<(), ModelError> {
        for (channel, ChannelUnits { mean, deviation }) in self.units.with_channels() {
            if !(mean.is_finite() && deviation.is_finite() && deviation > 0.0) {
                let name = self.kind().name();
                let channel = channel.name();
                return Err(ModelError::Config(format!(
                    "{name}: the units of {channel} have mean {mean} and standard deviation {deviation}, which must be \
                     finite and the latter positive"
                )));
            }
        }
        match &self.sizes {
            AuxiliarySizes::Fno(sizes) => sizes.validate(),
            AuxiliarySizes::DeepOnet(sizes) => sizes.validate(),
            AuxiliarySizes::Unet(sizes) => sizes.validate(),
            AuxiliarySizes::Cno(sizes) => sizes.validate(),
        }
    }
}

/// A network from pixels to the hidden field, in units of its own.
pub(super) trait HiddenFieldNetwork: std::fmt::Debug + Send + Sync {
    /// # Shapes
    /// pixels \[batch, rows, columns, 6\], the hidden field \[batch, rows, columns, 1\].
    fn hidden_field(&self, tape: &Tape<'_>, pixels: &Var) -> Result<Var, EngineError>;

    /// How a parameter begins.
    fn initial(&self, layout: &Layout, param: &Param) -> Initial;
}

/// An auxiliary operator. Of the two fields that it gives, the one that the context hides is its answer; the other is
/// the same numbers in the other channel's units and means nothing.
#[derive(Debug)]
pub struct AuxiliaryNetwork {
    network: Box<dyn HiddenFieldNetwork>,
    /// (M x, M) in stored coordinates to (M (x - mean) / deviation, M), both channels.
    into_units: AxisMap,
    /// (y, 1) to deviation y + mean, a channel each.
    from_units: AxisMap,
}

impl AuxiliaryNetwork {
    /// Declares its parameters.
    pub(crate) fn declare(layout: &mut Layout, config: &AuxiliaryConfig) -> Self {
        let network: Box<dyn HiddenFieldNetwork> = match &config.sizes {
            AuxiliarySizes::Fno(sizes) => Box::new(AuxFno::declare(layout, sizes)),
            AuxiliarySizes::DeepOnet(sizes) => Box::new(AuxDeepOnet::declare(layout, sizes)),
            AuxiliarySizes::Unet(sizes) => Box::new(Unet::declare(layout, sizes)),
            AuxiliarySizes::Cno(sizes) => Box::new(Cno::declare(layout, sizes, CnoForm::Classic)),
        };
        let units = config.units;
        let of = |channel: usize| units[Channel::BOTH[channel]];
        Self {
            network,
            into_units: AxisMap::new(CONTEXT, CONTEXT, |to, from| {
                let ChannelUnits { mean, deviation } = of(to / 2);
                match (to % 2, from % 2) {
                    _ if to / 2 != from / 2 => 0.0,
                    (0, 0) => 1.0 / deviation,
                    (0, _) => -mean / deviation,
                    (_, from) => from as f64,
                }
            }),
            from_units: AxisMap::new(FIELDS, 2, |to, from| {
                let ChannelUnits { mean, deviation } = of(to);
                if from == 0 { deviation } else { mean }
            }),
        }
    }
}

impl FieldNetwork for AuxiliaryNetwork {
    fn forward(&self, tape: &Tape<'_>, context: &Var) -> Result<Var, EngineError> {
        let pixels = tape.pixels(&tape.map_axis(context, 1, &self.into_units)?)?; // [batch, rows, columns, 6]
        let hidden = self.network.hidden_field(tape, &pixels)?; // [batch, rows, columns, 1]
        let one = Tensor::full(tape.device(), tape.params().dtype(), hidden.shape(), 1.0)?;
        let fields = tape.map_axis(&tape.concat(&hidden, &tape.input(one))?, 3, &self.from_units)?;
        tape.channels_first(&fields) // [batch, 2, rows, columns]
    }

    fn initial(&self, layout: &Layout, param: &Param) -> Initial {
        self.network.initial(layout, param)
    }
}
