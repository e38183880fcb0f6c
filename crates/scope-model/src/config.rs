//! How large a model is.

use scope_data::{PerChannel, known_values};
use scope_engine::LocalFit;
use scope_pde::GridShape;
use serde::{Deserialize, Serialize};

use crate::{
    error::ModelError,
    limits::{require_grid, require_layers},
    names::{UnknownName, named},
};

/// The side of a patch, and of a token's tile.
const PATCH: usize = 8;

/// A stack of Transformer blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transformer {
    /// Numbers per token.
    pub width: usize,
    /// The number of blocks.
    pub depth: usize,
    /// Attention heads.
    pub heads: usize,
}

/// The hidden widths of a decoder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DecoderConfig {
    /// The widths of the tokenwise linear layers.
    pub mlp: Vec<usize>,
    /// The widths of the 3x3 convolutions.
    pub conv: Vec<usize>,
}

/// Local polynomial fits of the sensors that the encoder sees beside the context.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FitConfig {
    /// The standard deviations of the weights, in pixels.
    pub scales: Vec<f64>,
    /// The degree of the polynomials: two or four.
    pub degree: usize,
    /// Pixels from one point of the fits to the next, of which a whole number makes a patch.
    pub stride: usize,
    /// The ridge of value and slopes and that of all higher coefficients, or one for every channel of the fits (scale,
    /// field, coefficient).
    pub ridge: Vec<f64>,
    /// Whether the ends of each axis meet.
    pub periodic: [bool; 2],
    /// The values that fields have on the outermost pixels, whatever the sensors say, in stored coordinates.
    #[serde(default, with = "known_values", skip_serializing_if = "PerChannel::is_unknown")]
    pub edges: PerChannel<Option<f64>>,
}

impl FitConfig {
    /// The most scales that a model may have.
    const MOST: usize = 16;

    /// The fits as the engine computes them.
    pub fn local_fit(&self) -> LocalFit {
        let Self { scales, degree, stride, ridge, periodic, edges } = self.clone();
        LocalFit {
            scales,
            degree,
            stride,
            ridge,
            periodic,
            edges: if edges.is_unknown() { Vec::new() } else { edges.into_array().to_vec() },
        }
    }

    fn validate(&self, patch: usize, fields: usize) -> Result<(), ModelError> {
        if self.stride == 0 || !patch.is_multiple_of(self.stride) {
            let stride = self.stride;
            return Err(ModelError::Config(format!(
                "local fits every {stride} pixels do not fill patches of {patch} pixels"
            )));
        }
        if self.scales.len() > Self::MOST {
            let count = self.scales.len();
            return Err(ModelError::Config(format!(
                "{count} scales of local fits are more than {}",
                Self::MOST
            )));
        }
        let fit = self.local_fit();
        fit.check()
            .and_then(|()| fit.require_ridges(fields))
            .map_err(|error| ModelError::Config(error.to_string()))
    }
}

/// Every size of a SCOPE model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelConfig {
    /// The grid: multiples of the patch.
    pub resolution: GridShape,
    /// The side of a patch and of a tile.
    pub patch: usize,
    /// Channels of a context: values and mask of each field.
    pub context_channels: usize,
    /// Fields recovered.
    pub fields: usize,
    /// Numbers per latent token.
    pub latent: usize,
    /// A block's hidden width, as a multiple of its width.
    pub expansion: usize,
    /// The encoder.
    pub encoder: Transformer,
    /// The predictor.
    pub predictor: Transformer,
    /// The decoder.
    pub decoder: DecoderConfig,
    /// Local fits of the sensors, if the encoder sees them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fits: Option<FitConfig>,
}

/// A model of a known size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// The paper's model: 40,040,834 parameters.
    Base,
    /// For half an hour of one GPU: 6,786,178 parameters at resolution 128.
    Small,
    /// For tests and first steps on a laptop.
    Tiny,
}

impl Preset {
    /// All presets.
    pub const ALL: [Self; 3] = [Preset::Base, Preset::Small, Preset::Tiny];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Preset::Base => "base",
            Preset::Small => "small",
            Preset::Tiny => "tiny",
        }
    }

    /// The preset that a model is of, whatever its decoder.
    pub fn of(config: &ModelConfig) -> Option<Self> {
        let same = |preset: &Self| {
            let known = preset.config(config.resolution);
            (known.encoder, known.predictor, known.latent)
                == (config.encoder, config.predictor, config.latent)
        };
        Self::ALL.into_iter().find(same)
    }

    /// Its sizes on a grid.
    pub fn config(self, resolution: impl Into<GridShape>) -> ModelConfig {
        let base = ModelConfig {
            resolution: resolution.into(),
            patch: PATCH,
            context_channels: 4,
            fields: 2,
            latent: 128,
            expansion: 4,
            encoder: Transformer { width: 512, depth: 12, heads: 8 },
            predictor: Transformer { width: 256, depth: 2, heads: 8 },
            decoder: DecoderConfig { mlp: vec![256; 2], conv: vec![64; 2] },
            fits: None,
        };
        match self {
            Preset::Base => base,
            Preset::Small => ModelConfig {
                encoder: Transformer { width: 256, depth: 6, heads: 4 },
                predictor: Transformer { width: 256, depth: 2, heads: 4 },
                ..base
            },
            Preset::Tiny => ModelConfig {
                latent: 64,
                encoder: Transformer { width: 96, depth: 3, heads: 3 },
                predictor: Transformer { width: 64, depth: 1, heads: 2 },
                decoder: DecoderConfig { mlp: vec![128; 2], conv: vec![16; 2] },
                ..base
            },
        }
    }
}

impl std::str::FromStr for Preset {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        named("model", Self::ALL, Self::name, name)
    }
}

/// A replacement decoder of the paper's capacity study.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Head {
    /// 1,000,194 parameters.
    M1,
    /// 5,003,170 parameters.
    M5,
    /// 10,010,658 parameters.
    M10,
    /// 15,018,218 parameters.
    M15,
}

impl Head {
    /// All heads.
    pub const ALL: [Self; 4] = [Head::M1, Head::M5, Head::M10, Head::M15];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Head::M1 => "1m",
            Head::M5 => "5m",
            Head::M10 => "10m",
            Head::M15 => "15m",
        }
    }

    /// Its hidden widths: three linear layers, four convolutions.
    pub fn config(self) -> DecoderConfig {
        let (mlp, conv) = match self {
            Head::M1 => (512, 112),
            Head::M5 => (1248, 240),
            Head::M10 => (1760, 352),
            Head::M15 => (2168, 432),
        };
        DecoderConfig { mlp: vec![mlp; 3], conv: vec![conv; 4] }
    }
}

impl std::str::FromStr for Head {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        named("head", Self::ALL, Self::name, name)
    }
}

/// The most a size may be: far beyond any use, and small enough that no product of sizes overflows.
const MOST: usize = 1 << 16;

impl ModelConfig {
    /// Tokens per field.
    pub fn tokens(&self) -> usize {
        self.token_grid().points()
    }

    /// How tokens lie: one a patch.
    pub fn token_grid(&self) -> GridShape {
        self.resolution.divided(self.patch)
    }

    /// Numbers that the encoder sees of a patch: the context's, and the coefficients of its fits.
    pub(crate) fn encoder_inputs(&self) -> usize {
        let fits = self.fits.as_ref().map_or(0, |fits| {
            fits.local_fit().channels(self.context_channels / 2) * (self.patch / fits.stride.max(1)).pow(2)
        });
        self.context_channels * self.patch.pow(2) + fits
    }

    /// Numbers that a token's tile holds, for all fields.
    pub fn tile(&self) -> usize {
        self.fields * self.patch * self.patch
    }

    /// Whether such a model can be built, and if not, why.
    pub fn validate(&self) -> Result<(), ModelError> {
        let refuse = |problem: String| Err(ModelError::Config(problem));
        let hidden = self.decoder.mlp.iter().chain(&self.decoder.conv).copied();
        let sizes = [self.patch, self.context_channels, self.fields, self.latent, self.expansion];
        let stacks = [("encoder", self.encoder), ("predictor", self.predictor)];
        let all = sizes.into_iter().chain(hidden).chain(stacks.iter().flat_map(|(_, s)| [s.width, s.heads]));
        if let Some(size) = all.into_iter().find(|size| !(1..=MOST).contains(size)) {
            return refuse(format!("a size of {size} is outside 1 to {MOST}"));
        }
        require_grid(self.resolution)?;
        require_layers("an encoder", self.encoder.depth)?;
        require_layers("a predictor", self.predictor.depth)?;
        require_layers("a decoder", self.decoder.mlp.len().max(self.decoder.conv.len()))?;
        if !self.resolution.is_multiple_of(self.patch) {
            let resolution = self.resolution;
            let patch = self.patch;
            return refuse(format!("resolution {resolution} is not a multiple of the patch {patch}"));
        }
        if !self.context_channels.is_multiple_of(2) {
            let got = self.context_channels;
            return refuse(format!("a context of {got} channels is not values and masks in turn"));
        }
        self.fits.as_ref().map_or(Ok(()), |fits| fits.validate(self.patch, self.context_channels / 2))?;
        for (name, stack) in stacks {
            if !stack.width.is_multiple_of(2 * stack.heads) {
                let Transformer { width, heads, .. } = stack;
                return refuse(format!("the {name}'s width {width} is not {heads} heads of an even size"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_are_valid_at_every_multiple_of_the_patch() {
        for preset in Preset::ALL {
            assert_eq!(preset.name().parse::<Preset>().unwrap(), preset);
            for resolution in [8, 32, 40, 128, 256] {
                preset.config(resolution).validate().unwrap();
            }
            assert!(preset.config(100).validate().is_err());
        }
    }

    #[test]
    fn impossible_sizes_are_named() {
        let base = || Preset::Base.config(128);
        let wrong = [
            (ModelConfig { latent: 0, ..base() }, "a size of 0 is outside 1 to 65536"),
            (
                ModelConfig { context_channels: 3, ..base() },
                "a context of 3 channels is not values and masks in turn",
            ),
            (
                ModelConfig { encoder: Transformer { width: 512, depth: 2, heads: 7 }, ..base() },
                "the encoder's width 512 is not 7 heads of an even size",
            ),
            (
                ModelConfig { context_channels: 1 << 63, ..base() },
                "a size of 9223372036854775808 is outside 1 to 65536",
            ),
            (ModelConfig { resolution: 8192.into(), ..base() }, "a grid of 8192 is outside 1 to 4096"),
            (
                ModelConfig { predictor: Transformer { width: 64, depth: 1025, heads: 8 }, ..base() },
                "a predictor of 1025 layers: 1024 at most",
            ),
            (
                ModelConfig { decoder: DecoderConfig { mlp: vec![], conv: vec![1; 1025] }, ..base() },
                "a decoder of 1025 layers: 1024 at most",
            ),
        ];
        for (config, problem) in wrong {
            assert_eq!(config.validate().unwrap_err().to_string(), problem);
        }
    }
}
