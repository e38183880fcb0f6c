//! The context: what a network sees of a record, \[Ma a, Ma, Mu u, Mu\].

use scope_pde::GridShape;

use super::mask::{Mask, points_of};
use crate::{Channel, PerChannel, record_region::RecordRegion};

/// The observed points of both channels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextMasks {
    /// Where each field is seen.
    pub seen: PerChannel<Mask>,
    /// Points of both that come with the problem and need no sensor: a known disk or region.
    pub given: Mask,
}

impl ContextMasks {
    /// Nothing observed.
    pub fn empty(shape: impl Into<GridShape>) -> Self {
        let empty = Mask::empty(shape);
        Self { seen: PerChannel::both(empty.clone()), given: empty }
    }

    /// The grid's points along each axis.
    pub fn shape(&self) -> GridShape {
        self.given.shape()
    }

    /// Where a field is seen because a sensor is there.
    pub fn sensors(&self, channel: Channel) -> Mask {
        self.seen[channel].without(&self.given)
    }

    /// Supplies the values of a record's own region, on the channels that there are.
    pub fn add_region(&mut self, region: &RecordRegion, present: PerChannel<bool>) {
        self.add_known(region.points(self.shape()).points(), present);
    }

    /// Supplies values that are known at points, on the channels that there are.
    pub(crate) fn add_known(&mut self, points: impl Iterator<Item = usize>, present: PerChannel<bool>) {
        for point in points {
            for (seen, present) in self.seen.each_mut().zip(present) {
                if present {
                    seen.insert(point);
                }
            }
            self.given.insert(point);
        }
    }

    /// The share of observed points in each patch: \[rows / patch, columns / patch, 2\], a before u.
    pub fn visibility(&self, patch: usize) -> Vec<f32> {
        let PerChannel { a, u } = self.seen.each_ref().map(|mask| mask.visibility(patch));
        a.into_iter().zip(u).flat_map(|(a, u)| [a, u]).collect()
    }
}

/// Writes the context \[4, rows, columns\] of fields \[rows, columns\] in stored coordinates: (Ma a, Ma, Mu u, Mu),
/// unobserved values being zero.
pub fn write_context(fields: PerChannel<&[f32]>, masks: &PerChannel<Mask>, context: &mut [f32]) {
    let pixels = masks.a.shape().points();
    assert_eq!(context.len(), 4 * pixels, "four channels");
    let channels = fields.zip(masks.each_ref());
    for ((field, mask), out) in channels.into_iter().zip(context.chunks_exact_mut(2 * pixels)) {
        assert!(field.len() == pixels && mask.shape().points() == pixels, "fields and masks of one grid");
        write_channel_context(field, mask.words(), |_, value| [value, 1.0], out);
    }
}

/// Writes one channel's part \[2, rows, columns\] of a context, (M x, M): whatever is shown to a network, of records,
/// sensors or batches, exact or noisy, is written here. `seen` are the words of a mask, and `reading` turns a seen
/// point and its value into what is shown of it: the reading times its weight, and the weight.
pub fn write_channel_context(
    field: &[f32],
    seen: &[u64],
    reading: impl Fn(usize, f32) -> [f32; 2],
    context: &mut [f32],
) {
    context.fill(0.0);
    let (values, weights) = context.split_at_mut(field.len());
    for point in points_of(seen) {
        [values[point], weights[point]] = reading(point, field[point]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pair::Pair;

    #[test]
    fn contexts_hold_observed_values_and_masks() {
        let values: Vec<f32> = (0..2 * 32 * 32).map(|k| k as f32 + 1.0).collect();
        let pair = Pair::new(&values, 32.into());
        let mut masks = ContextMasks::empty(32);
        masks.seen.a.insert(5);
        masks.seen.u.insert(40);
        let mut context = vec![f32::NAN; 4 * 1024];
        write_context(pair.fields(), &masks.seen, &mut context);
        let (a, rest) = context.split_at(1024);
        let (seen_a, rest) = rest.split_at(1024);
        let (u, seen_u) = rest.split_at(1024);
        assert_eq!((a[5], seen_a[5], u[40], seen_u[40]), (6.0, 1.0, 1024.0 + 41.0, 1.0));
        assert_eq!(context.iter().filter(|x| **x != 0.0).count(), 4);
    }

    #[test]
    fn a_disk_is_seen_on_both_channels() {
        let mut masks = ContextMasks::empty(32);
        let disk = scope_pde::cylinder::Disk { cx: 10.0, cy: 12.0, r: 2.0 };
        masks.add_region(&disk.into(), PerChannel::both(true));
        assert_eq!(masks.seen.a.count(), 13);
        assert_eq!(masks.seen.a, masks.seen.u);
        assert_eq!(masks.sensors(Channel::A).count(), 0);
        let mut one_more = masks.clone();
        one_more.seen.u.insert(1023);
        assert_eq!(one_more.sensors(Channel::U).points().collect::<Vec<_>>(), [1023]);
        let visibility = masks.visibility(8);
        assert_eq!((visibility.len(), visibility.iter().sum::<f32>()), (32, 26.0 / 64.0));
    }
}
