//! Parameters before training.

use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};
use scope_engine::{EngineError, Layout, Param, Params};
use scope_pde::random::{Coordinates, Stream};

/// The standard deviation of positions, which are cut off at two of them.
const POSITION_SPREAD: f64 = 0.02;

/// How the numbers of a parameter begin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Initial {
    /// All begin with this value.
    Constant(f64),
    /// Uniform between minus and plus this.
    Uniform(f64),
    /// Uniform from zero to this.
    Positive(f64),
    /// Normal with this standard deviation.
    Normal(f64),
    /// The same, cut off at two standard deviations.
    Truncated(f64),
}

/// Draws every parameter from a stream of its own, named by the seed and the parameter, as [`default_initial`] says.
pub fn initialise(params: &mut Params, seed: u64) -> Result<(), EngineError> {
    initialise_as(params, seed, default_initial)
}

/// Draws every parameter from a stream of its own, named by the seed and the parameter.
pub(crate) fn initialise_as(
    params: &mut Params,
    seed: u64,
    initial: impl Fn(&Layout, &Param) -> Initial,
) -> Result<(), EngineError> {
    let layout = params.layout().clone();
    params.write_flat(|flat| {
        for param in layout.params() {
            let mut stream = Coordinates::new("initial parameters").number(seed).text(&param.name).stream();
            let values = &mut flat[param.range.clone()];
            let initial = initial(&layout, param);
            values.iter_mut().for_each(|x| *x = initial.draw(&mut stream));
        }
        Ok(())
    })
}

/// How a parameter begins if nothing else is said: positions are truncated normal; fused qkv weights are Xavier
/// uniform, as if three square matrices were one, with zero bias; normalisations begin as the identity; all else is
/// uniform in +-1 / sqrt(fan in).
pub fn default_initial(layout: &Layout, param: &Param) -> Initial {
    let (module, last) = param.name.rsplit_once('.').unwrap_or(("", &param.name));
    let part = module.rsplit_once('.').map_or(module, |(_, last)| last);
    match (part, last) {
        (_, "pos") => Initial::Truncated(POSITION_SPREAD),
        (_, "running_mean" | "zero") => Initial::Constant(0.0),
        (_, "running_var" | "normaliser") => Initial::Constant(1.0),
        (norm, "weight") if is_norm(norm) => Initial::Constant(1.0),
        (norm, "bias") if is_norm(norm) || norm == "qkv" => Initial::Constant(0.0),
        ("qkv", _) => Initial::Uniform((6.0 / (param.shape[0] + param.shape[1]) as f64).sqrt()),
        _ => Initial::Uniform(1.0 / (fan_in(layout, param, module) as f64).sqrt()),
    }
}

/// Whether a part is a normalisation: `ln`, `ln1`, `bn`, `bn0`, ...
fn is_norm(part: &str) -> bool {
    ["ln", "bn"].iter().any(|name| {
        part.strip_prefix(name).is_some_and(|rest| rest.chars().all(|digit| digit.is_ascii_digit()))
    })
}

impl Initial {
    fn draw(self, stream: &mut Stream) -> f32 {
        let mut normal = || -> f64 { StandardNormal.sample(stream) };
        let drawn = match self {
            Initial::Constant(value) => value,
            Initial::Normal(spread) => spread * normal(),
            Initial::Truncated(spread) => loop {
                let draw = normal();
                if draw.abs() <= 2.0 {
                    break spread * draw;
                }
            },
            Initial::Uniform(bound) => bound * (2.0 * stream.random::<f64>() - 1.0),
            Initial::Positive(bound) => bound * stream.random::<f64>(),
        };
        drawn as f32
    }
}

/// The numbers that one output sees: of a bias, those of its weight.
fn fan_in(layout: &Layout, param: &Param, module: &str) -> usize {
    let weight = layout.find(&format!("{module}.weight")).map_or(param, |id| layout.param(id));
    weight.shape[1..].iter().product::<usize>().max(1)
}
