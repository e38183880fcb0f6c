//! The observation protocol: which points of which channel are seen.

mod carry;
mod condition;
mod context;
mod coverage;
mod families;
mod family;
mod mask;
mod noise;
mod pixels;
mod place;
mod sampler;
mod seen;
mod sensor_error;
mod sensors;
mod test_noise;

pub use condition::{Condition, ConditionError, Layout, NAMED_POINTS, Task};
pub use context::{ContextMasks, write_channel_context, write_context};
pub use coverage::{Coverage, gaps};
pub use families::{Budget, FamilyDescriptor, scaled_points};
pub use family::Family;
pub use mask::{Mask, masks_to_npy, words_for};
pub use noise::{ReadingNoise, trust};
pub use place::{Place, STENCIL_POINTS, Spot, Stencil};
pub use sampler::{BERNOULLI_EPOCHS, MaskSampler, Namespace, TEST_MASK_SEED, TRAIN_MASK_SEED};
pub use seen::Seen;
pub use sensor_error::SensorError;
pub(crate) use sensors::locate;
pub use sensors::{Placed, Sensor, UserContext};
pub use test_noise::TestNoise;
