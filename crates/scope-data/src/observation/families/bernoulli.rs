//! Independent points.

use crate::{draw::Draw, observation::mask::Mask};

/// Observes each point on its own with probability `numerator` / 2^32: where its word is below the
/// numerator.
pub(in crate::observation) fn sample(mask: &mut Mask, numerator: u32, stream: &mut impl Draw) {
    for point in 0..mask.shape().points() {
        if stream.word() < numerator {
            mask.insert(point);
        }
    }
}
