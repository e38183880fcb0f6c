//! What a network sees of a record.

use scope_pde::cylinder::Disk;

use super::mask::Mask;
use crate::{Channel, pair::Pair};

/// The observed points of both channels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextMasks {
    /// Where the input field is seen.
    pub a: Mask,
    /// Where the response field is seen.
    pub u: Mask,
    /// Points of both that come with the problem and need no sensor: a known disk.
    pub given: Mask,
}

impl ContextMasks {
    /// Nothing observed.
    pub fn empty(size: usize) -> Self {
        Self { a: Mask::empty(size), u: Mask::empty(size), given: Mask::empty(size) }
    }

    /// Where a field is seen.
    pub fn of(&self, channel: Channel) -> &Mask {
        match channel {
            Channel::A => &self.a,
            Channel::U => &self.u,
        }
    }

    /// Where a field is seen because a sensor is there.
    pub fn sensors(&self, channel: Channel) -> Mask {
        self.of(channel).without(&self.given)
    }

    /// Supplies the values of a known disk on both channels.
    pub fn add_disk(&mut self, disk: &Disk) {
        for point in disk.points(self.a.size()) {
            self.a.insert(point);
            self.u.insert(point);
            self.given.insert(point);
        }
    }

    /// The share of observed points in each patch: \[S/patch, S/patch, 2\], a before u.
    pub fn visibility(&self, patch: usize) -> Vec<f32> {
        let a = self.a.visibility(patch);
        let u = self.u.visibility(patch);
        a.into_iter().zip(u).flat_map(|(a, u)| [a, u]).collect()
    }
}

/// Writes the context \[4, S, S\]: (Ma a, Ma, Mu u, Mu), unobserved values being zero.
pub fn gather_context<V: AsRef<[f32]>>(pair: &Pair<V>, masks: &ContextMasks, context: &mut [f32]) {
    let pixels = pair.a().len();
    assert_eq!(context.len(), 4 * pixels, "four channels");
    assert!(
        masks.a.size() == pair.resolution() && masks.u.size() == pair.resolution(),
        "masks of the pair's grid"
    );
    context.fill(0.0);
    let (a, u) = context.split_at_mut(2 * pixels);
    for (field, mask, out) in [(pair.a(), &masks.a, a), (pair.u(), &masks.u, u)] {
        let (values, seen) = out.split_at_mut(pixels);
        for point in mask.points() {
            values[point] = field[point];
            seen[point] = 1.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contexts_hold_observed_values_and_masks() {
        let values: Vec<f32> = (0..2 * 32 * 32).map(|k| k as f32 + 1.0).collect();
        let pair = Pair::new(&values, 32);
        let mut masks = ContextMasks::empty(32);
        masks.a.insert(5);
        masks.u.insert(40);
        let mut context = vec![f32::NAN; 4 * 1024];
        gather_context(&pair, &masks, &mut context);
        let (a, rest) = context.split_at(1024);
        let (seen_a, rest) = rest.split_at(1024);
        let (u, seen_u) = rest.split_at(1024);
        assert_eq!((a[5], seen_a[5], u[40], seen_u[40]), (6.0, 1.0, 1024.0 + 41.0, 1.0));
        assert_eq!(context.iter().filter(|x| **x != 0.0).count(), 4);
    }

    #[test]
    fn a_disk_is_seen_on_both_channels() {
        let mut masks = ContextMasks::empty(32);
        masks.add_disk(&Disk { cx: 10.0, cy: 12.0, r: 2.0 });
        assert_eq!(masks.a.count(), 13);
        assert_eq!(masks.a, masks.u);
        assert_eq!(masks.sensors(Channel::A).count(), 0);
        let mut one_more = masks.clone();
        one_more.u.insert(1023);
        assert_eq!(one_more.sensors(Channel::U).points().collect::<Vec<_>>(), [1023]);
        let visibility = masks.visibility(8);
        assert_eq!((visibility.len(), visibility.iter().sum::<f32>()), (32, 26.0 / 64.0));
    }
}
