//! When the gradients of backward passes can be reduced over devices while the last pass goes on.
//!
//! A step may go back more than once into one buffer, as over two views of a batch; what is reduced is the sum, during
//! the last pass. Which operation is the last to add to a parameter is found out in one step and used in the next like
//! it. Gradients go in buckets of neighbouring parameters, always from the end of the buffer to its beginning, which is
//! about the order in which they are finished: so all devices reduce the same buckets in the same order, whichever
//! kernels each has chosen.

use std::ops::Range;

use super::{Layout, ParamId};

/// The least numbers of a bucket: 8 MB of f32.
const BUCKET: usize = 2 << 20;

/// In the place of an operation of the pass under way: the gradient is of a pass before it, and final already.
const EARLIER: usize = usize::MAX;

/// Neighbouring parameters, and the operation after which all their gradients are final.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Bucket {
    range: Range<usize>,
    node: usize,
}

/// What tells a backward pass from others: how many operations it goes over, and from which of them it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pass {
    pub(crate) nodes: usize,
    pub(crate) seeds: Vec<usize>,
}

/// What became of a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reduced {
    /// Everything that was added to is reduced.
    All,
    /// Nothing is: which operation is the last to add to a parameter was not known, and is known from now on.
    Nothing,
    /// These passes were not like those before them, and some gradients were reduced too early or not at all.
    Wrong,
}

/// What is known of backward passes into one buffer of gradients.
#[derive(Debug, Default)]
pub(crate) struct Reduction {
    /// The passes since the buffer was emptied; the last of them is under way.
    passes: Vec<Pass>,
    /// The operation that goes back now, counted from the tape's first.
    node: usize,
    /// Which operation of the pass under way was the last to add to each parameter.
    written: Vec<Option<usize>>,
    /// The buckets of the last of several passes, those at the end of the buffer first.
    known: Vec<(Vec<Pass>, Vec<Bucket>)>,
    /// Whether the buckets of this pass are known.
    is_known: bool,
    /// The buckets of this pass that are still to be reduced, the next one last.
    left: Vec<Bucket>,
    /// Numbers from here on are reduced already in this pass.
    reduced: Option<usize>,
    /// Whether any of them was added to since.
    late: bool,
}

impl Reduction {
    /// The buffer is emptied.
    pub(crate) fn restart(&mut self) {
        self.passes.clear();
        self.written.clear();
    }

    /// A pass begins, which is the last of a step if it `reduces`.
    pub(crate) fn begin(&mut self, layout: &Layout, pass: Pass, reduces: bool) {
        self.passes.push(pass);
        self.written.resize(layout.params().len(), None);
        self.written.iter_mut().flatten().for_each(|node| *node = EARLIER);
        self.reduced = None;
        self.late = false;
        let known = self.known.iter().find(|(passes, _)| reduces && *passes == self.passes);
        self.is_known = known.is_some();
        self.left = known.map_or_else(Vec::new, |(_, buckets)| buckets.iter().rev().cloned().collect());
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

    /// The pass that reduces has ended; its buckets are kept for the next like it.
    pub(crate) fn end(&mut self, layout: &Layout) -> Reduced {
        let found = buckets(layout, &self.written);
        if !self.is_known {
            self.known.push((self.passes.clone(), found));
            return Reduced::Nothing;
        }
        let known = self.known.iter().find(|(passes, _)| *passes == self.passes);
        let ranges =
            |buckets: &[Bucket]| buckets.iter().map(|bucket| bucket.range.clone()).collect::<Vec<_>>();
        let same = known.is_some_and(|(_, buckets)| ranges(buckets) == ranges(&found));
        if same && self.left.is_empty() && !self.late { Reduced::All } else { Reduced::Wrong }
    }
}

/// Cuts the parameters that were added to into buckets, from the end of the buffer; others stay zero and are not
/// reduced.
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

    fn pass_from(seed: usize) -> Pass {
        Pass { nodes: 10, seeds: vec![seed] }
    }

    /// A pass in which parameters are added to at some operations; what is reduced when, and what became of it.
    fn go_back(
        reduction: &mut Reduction,
        layout: &Layout,
        reduces: bool,
        writes: &[(usize, usize)],
    ) -> (Vec<(usize, Range<usize>)>, Reduced) {
        let mut reduced = Vec::new();
        reduction.begin(layout, pass_from(9), reduces);
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
        let outcome = if reduces { reduction.end(layout) } else { Reduced::Nothing };
        (reduced, outcome)
    }

    #[test]
    fn buckets_go_in_order_from_the_end_once_all_in_them_is_final() {
        let layout = layout();
        let at = |name: &str| layout.param(layout.find(name).unwrap()).range.clone();
        let mut reduction = Reduction::default();
        // d at 9, c at 8 and 5, a at 7, b at 3.
        let writes = [(9, 4), (8, 3), (5, 3), (7, 0), (3, 1)];
        assert_eq!(go_back(&mut reduction, &layout, true, &writes), (vec![], Reduced::Nothing));
        let both = at("c").start..at("d").end;
        let front = 0..at("b").end;
        reduction.restart();
        let known = vec![(5, both), (3, front)];
        assert_eq!(go_back(&mut reduction, &layout, true, &writes), (known, Reduced::All));
        // Nobody may add to what is reduced, nor leave out or add a parameter.
        for other in [&writes[1..], &[&writes[..], &[(4, 4)]].concat(), &[&writes[..], &[(9, 2)]].concat()] {
            reduction.restart();
            assert_eq!(go_back(&mut reduction, &layout, true, other).1, Reduced::Wrong, "{other:?}");
        }
    }

    #[test]
    fn what_an_earlier_pass_alone_has_added_to_is_reduced_in_the_last() {
        let layout = layout();
        let at = |name: &str| layout.param(layout.find(name).unwrap()).range.clone();
        let mut reduction = Reduction::default();
        // The first pass adds to all but the idle one, the second to the first and the last of them only.
        let [first, last] = [&[(9, 4), (8, 3), (7, 1), (6, 0)][..], &[(5, 4), (2, 0)]];
        let mut step = || {
            reduction.restart();
            let before = go_back(&mut reduction, &layout, false, first);
            assert_eq!(before.0, []);
            go_back(&mut reduction, &layout, true, last)
        };
        assert_eq!(step().1, Reduced::Nothing);
        let both = at("c").start..at("d").end;
        assert_eq!(step(), (vec![(5, both), (2, 0..at("b").end)], Reduced::All));
        // A step of the last pass alone is another one.
        reduction.restart();
        assert_eq!(go_back(&mut reduction, &layout, true, last).1, Reduced::Nothing);
    }

    #[test]
    fn a_last_pass_without_any_operation_reduces_all_that_is_left() {
        let layout = layout();
        let mut reduction = Reduction::default();
        let mut step = || {
            reduction.restart();
            go_back(&mut reduction, &layout, false, &[(9, 4), (7, 1)]);
            reduction.begin(&layout, Pass { nodes: 0, seeds: vec![] }, true);
            reduction.enter(0);
            let ready: Vec<_> = std::iter::from_fn(|| reduction.ready()).collect();
            (ready.len(), reduction.end(&layout))
        };
        assert_eq!([step(), step()], [(0, Reduced::Nothing), (2, Reduced::All)]);
    }
}
