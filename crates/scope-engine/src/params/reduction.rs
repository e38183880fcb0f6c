//! When the gradients of a backward pass can be reduced over GPUs while the pass goes on.
//!
//! Which operation is the last to add to a parameter is found out in one pass and used in the next like it. Gradients go in
//! buckets of neighbouring parameters, always from the end of the buffer to its beginning, which is about the order in which
//! they are finished: so all GPUs reduce the same buckets in the same order, whichever kernels each has chosen.

use std::ops::Range;

use super::{Layout, ParamId};

/// The least numbers of a bucket: 8 MB of f32.
const BUCKET: usize = 2 << 20;

/// Neighbouring parameters, and the operation after which all their gradients are final.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Bucket {
    range: Range<usize>,
    node: usize,
}

/// What is known of backward passes into one buffer of gradients.
#[derive(Debug, Default)]
pub(crate) struct Reduction {
    /// The operation that goes back now, counted from the tape's first.
    node: usize,
    /// Which operation was the last to add to each parameter in this pass.
    written: Vec<Option<usize>>,
    /// The buckets of passes over so many operations, those at the end of the buffer first.
    known: Vec<(usize, Vec<Bucket>)>,
    /// The buckets of this pass that are still to be reduced, the next one last.
    left: Vec<Bucket>,
    /// Numbers from here on are reduced already in this pass.
    reduced: Option<usize>,
    /// Whether any of them was added to since: this pass is not like the one before.
    late: bool,
}

impl Reduction {
    /// A pass over so many operations begins; whether its buckets are known.
    pub(crate) fn begin(&mut self, layout: &Layout, nodes: usize) -> bool {
        self.written = vec![None; layout.params().len()];
        self.reduced = None;
        self.late = false;
        let known = self.known.iter().find(|(known, _)| *known == nodes);
        self.left = known.map_or_else(Vec::new, |(_, buckets)| buckets.iter().rev().cloned().collect());
        known.is_some()
    }

    /// An operation goes back from now on.
    pub(crate) fn enter(&mut self, node: usize) {
        self.node = node;
    }

    /// A parameter is added to, whose gradients begin at some place.
    pub(crate) fn write(&mut self, id: ParamId, start: usize) {
        self.late |= self.reduced.is_some_and(|reduced| start >= reduced);
        if let Some(written) = self.written.get_mut(id.0) {
            *written = Some(self.node);
        }
    }

    /// The next range whose gradients are all final, if there is one.
    pub(crate) fn ready(&mut self) -> Option<Range<usize>> {
        let node = self.node;
        let Bucket { range, .. } = self.left.pop_if(|bucket| bucket.node >= node)?;
        self.reduced = Some(range.start);
        Some(range)
    }

    /// The pass has ended; keeps its buckets for the next over as many operations. Whether what was reduced is right.
    #[must_use]
    pub(crate) fn end(&mut self, layout: &Layout, nodes: usize) -> bool {
        if self.known.iter().all(|(known, _)| *known != nodes) {
            self.known.push((nodes, buckets(layout, &self.written)));
        }
        self.written.clear();
        self.reduced = None;
        !self.late
    }
}

/// Cuts the parameters that were added to into buckets, from the end of the buffer; others stay zero and are not reduced.
fn buckets(layout: &Layout, written: &[Option<usize>]) -> Vec<Bucket> {
    let mut made: Vec<Bucket> = Vec::new();
    let mut open = false;
    for (param, written) in layout.params().iter().zip(written).rev() {
        let Some(node) = *written else {
            open = false;
            continue;
        };
        match made.last_mut().filter(|bucket| open && bucket.range.len() < BUCKET) {
            Some(bucket) => {
                bucket.range.start = param.range.start;
                bucket.node = bucket.node.min(node);
            }
            None => made.push(Bucket { range: param.range.clone(), node }),
        }
        open = true;
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout() -> Layout {
        let mut layout = Layout::new();
        let mut root = layout.root();
        for (name, length) in [("a", 1 << 20), ("b", 1 << 20), ("idle", 64), ("c", 3 << 20), ("d", 100)] {
            root.weight(name, &[length]);
        }
        layout
    }

    /// A pass in which parameters are added to at some operations; what is reduced when.
    fn pass(
        reduction: &mut Reduction,
        layout: &Layout,
        writes: &[(usize, usize)],
    ) -> Vec<(usize, Range<usize>)> {
        let mut reduced = Vec::new();
        reduction.begin(layout, 10);
        for node in (0..10).rev() {
            reduction.enter(node);
            writes
                .iter()
                .filter(|(at, _)| *at == node)
                .for_each(|(_, id)| reduction.write(ParamId(*id), layout.params()[*id].range.start));
            while let Some(range) = reduction.ready() {
                reduced.push((node, range));
            }
        }
        assert!(reduction.end(layout, 10));
        reduced
    }

    #[test]
    fn buckets_go_in_order_from_the_end_once_all_in_them_is_final() {
        let layout = layout();
        let at = |name: &str| layout.param(layout.find(name).unwrap()).range.clone();
        let mut reduction = Reduction::default();
        // d at 9, c at 8 and 5, a at 7, b at 3.
        let writes = [(9, 4), (8, 3), (5, 3), (7, 0), (3, 1)];
        assert_eq!(pass(&mut reduction, &layout, &writes), []);
        let both = at("c").start..at("d").end;
        let front = 0..at("b").end;
        assert_eq!(pass(&mut reduction, &layout, &writes), [(5, both), (3, front)]);
        // Nobody may add to what is reduced.
        reduction.begin(&layout, 10);
        reduction.enter(5);
        assert!(reduction.ready().is_some());
        reduction.write(ParamId(1), at("b").start);
        assert!(!reduction.late);
        reduction.write(ParamId(4), at("d").start);
        assert!(!reduction.end(&layout, 10));
    }
}
