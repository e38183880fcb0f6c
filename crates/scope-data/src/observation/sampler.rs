//! Masks as pure functions of what they are for.

use scope_pde::{
    GridShape, Pde,
    descriptor::KnownRegion,
    random::{Coordinates, Stream},
};

use super::{
    condition::{Condition, Layout},
    context::ContextMasks,
    families::{Budget, bernoulli},
    mask::Mask,
};
use crate::{PerChannel, draw::Draw, record_region::RecordRegion};

/// The seed of training masks.
pub const TRAIN_MASK_SEED: u64 = 20260913;
/// The seed of test masks.
pub const TEST_MASK_SEED: u64 = 20261013;

/// One part in a hundred, in units of 2^-32.
const ONE_PERCENT: u32 = 42_949_673;
/// Three parts in a hundred, in units of 2^-32.
const THREE_PERCENT: u32 = 128_849_019;
/// Epochs of training for which a record keeps its mask in the auxiliary operator study.
pub const BERNOULLI_EPOCHS: u64 = 5;

/// Which masks of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Namespace {
    /// Training masks, fresh each time a record is drawn.
    Train {
        /// How often the record was drawn before.
        draw: u64,
    },
    /// Test masks, one for each record and condition.
    Test,
}

/// Makes masks of one problem, seed and grid.
///
/// The stream of a mask has the coordinates `"mask"`, `"train"` or `"test"`, seed, problem, record, task, layout,
/// budget, channel and, for training, the draw. Nothing depends on field values, batch size, order or threads. Masks of
/// the auxiliary operator study have neither task nor channel in their coordinates, and one draw for five of training.
#[derive(Clone, Copy, Debug)]
pub struct MaskSampler {
    pde: Pde,
    seed: u64,
    shape: GridShape,
}

impl MaskSampler {
    /// Masks on grids of a shape.
    pub fn new(pde: Pde, seed: u64, shape: impl Into<GridShape>) -> Self {
        Self { pde, seed, shape: shape.into() }
    }

    /// The masks of a record under a condition. A region of the record is known on both channels, and so is what the
    /// problem always knows; but the auxiliary operator study hides the whole of one channel.
    pub fn masks(
        &self,
        namespace: Namespace,
        record: u64,
        condition: Condition,
        region: Option<&RecordRegion>,
    ) -> ContextMasks {
        let mut masks = ContextMasks::empty(self.shape);
        let observed = condition.task().observes();
        let present = self.pde.present();
        for (channel, mask) in masks.seen.each_mut().with_channels() {
            if observed[channel] && present[channel] {
                let mut stream = self.stream("mask", namespace, record, condition, channel.name());
                sample(condition.layout(), mask, &mut stream);
            }
        }
        if condition.layout() == Layout::Bernoulli {
            return masks;
        }
        if let Some(region) = region {
            masks.add_region(region, present);
        }
        if let KnownRegion::Fixed(known) = self.pde.descriptor().known_region {
            masks.add_known(known.points(), present);
        }
        masks
    }

    /// What the errors of a's and u's readings follow from, in the same coordinates as the masks under the name
    /// `"noise"`.
    pub fn noise_keys(&self, namespace: Namespace, record: u64, condition: Condition) -> PerChannel<u64> {
        PerChannel::from_fn(|channel| {
            let mut stream = self.stream("noise", namespace, record, condition, channel.name());
            let [low, high] = [stream.word(), stream.word()].map(u64::from);
            high << 32 | low
        })
    }

    /// Where the levels of a draw's noise come from: `"noise"` without a channel.
    pub(crate) fn noise_stream(&self, namespace: Namespace, record: u64, condition: Condition) -> Stream {
        self.stream("noise", namespace, record, condition, "")
    }

    fn stream(
        &self,
        purpose: &str,
        namespace: Namespace,
        record: u64,
        condition: Condition,
        channel: &str,
    ) -> Stream {
        let (name, draw) = match namespace {
            Namespace::Train { draw } => ("train", Some(draw)),
            Namespace::Test => ("test", None),
        };
        let is_shared = condition.layout() == Layout::Bernoulli && purpose == "mask";
        let (task, channel, draw) = if is_shared {
            ("", "", draw.map(|draw| draw / BERNOULLI_EPOCHS))
        } else {
            (condition.task().name(), channel, draw)
        };
        let coordinates = Coordinates::new(purpose)
            .text(name)
            .number(self.seed)
            .text(self.pde.name())
            .number(record)
            .text(task)
            .text(condition.layout_name())
            .number(condition.budget() as u64)
            .text(channel);
        draw.map_or(coordinates.clone(), |draw| coordinates.number(draw)).stream()
    }
}

/// Fills an empty mask.
fn sample(layout: Layout, mask: &mut Mask, stream: &mut Stream) {
    let shape = mask.shape();
    let (family, budget) = match layout {
        Layout::Full => return *mask = Mask::full(shape),
        Layout::BenchmarkUniform => return bernoulli::sample(mask, ONE_PERCENT, stream),
        Layout::Bernoulli => return bernoulli::sample(mask, THREE_PERCENT, stream),
        Layout::Family(family, budget) => (family, budget),
    };
    let points = family.points(budget, shape);
    if points == shape.points() {
        return *mask = Mask::full(shape);
    }
    (family.descriptor().sample)(mask, Budget { named: budget, points }, stream);
}
