//! A uniform subset without replacement.

use super::{FamilyDescriptor, POINT_BUDGETS, POINT_TRAINING_BUDGETS, scaled_points};
use crate::{draw::Draw, observation::mask::Mask};

/// A uniform subset.
pub(in crate::observation) static UNIFORM: FamilyDescriptor = FamilyDescriptor {
    name: "uniform",
    construction: || "a uniform subset without replacement".to_owned(),
    budgets: &POINT_BUDGETS,
    training_budgets: &POINT_TRAINING_BUDGETS,
    any_budget: true,
    takes_few: true,
    points: scaled_points,
    sample: |mask, budget, stream| sample(mask, budget.points, stream),
};

/// Floyd's method: for each j of the last `points` points, take a random one up to j, or j itself if that
/// is taken. Every subset is equally likely, and the work is one draw a point; of more than half of the
/// grid the complement is drawn.
fn sample(mask: &mut Mask, points: usize, stream: &mut impl Draw) {
    let all = mask.shape().points();
    let inverted = 2 * points > all;
    let drawn = if inverted { all - points } else { points };
    for last in all - drawn..all {
        if !mask.insert(stream.below(last + 1)) {
            mask.insert(last);
        }
    }
    if inverted {
        mask.invert();
    }
}
