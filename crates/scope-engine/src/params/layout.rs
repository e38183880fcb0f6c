//! Which parameter lies where in the flat buffer.

use std::{collections::HashMap, ops::Range};

/// Ranges begin at multiples of this many numbers: 256 bytes of f32.
pub(super) const ALIGNMENT: usize = 64;

/// Names one parameter of a [`Layout`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ParamId(pub(crate) usize);

/// A parameter: its name, shape and place in the flat buffer, and what optimizers do with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    /// Its path through the model, as in `encoder.blocks.3.qkv.weight`.
    pub name: String,
    /// Its shape.
    pub shape: Vec<usize>,
    /// Where it lies, in numbers.
    pub range: Range<usize>,
    /// Whether weight decay applies to it.
    pub decay: bool,
    /// Whether gradients reach it; running statistics are kept beside what is trained.
    pub trained: bool,
    /// The numbers of the flat buffer among its own that no step changes, in whole blocks; mostly none.
    pub held: Range<usize>,
    /// How many hidden matrices it is, one below the other; zero if it is none.
    pub hidden: usize,
}

/// A matrix from one hidden layer to another: a weight, or one of several that lie below each other in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HiddenMatrix {
    /// Where it begins in the flat buffer; row follows row.
    pub(crate) start: usize,
    pub(crate) rows: usize,
    pub(crate) columns: usize,
}

impl Param {
    /// The hidden matrices that it is made of.
    fn hidden_matrices(&self) -> impl Iterator<Item = HiddenMatrix> + use<> {
        let Range { start, end } = self.range;
        let rows = self.shape[0] / self.hidden.max(1);
        let columns = (end - start) / self.shape[0].max(1);
        (0..self.hidden).map(move |k| HiddenMatrix { start: start + k * rows * columns, rows, columns })
    }

    /// Where the numbers lie that steps change: before and after what is held.
    pub(crate) fn moving(&self) -> [Range<usize>; 2] {
        [self.range.start..self.held.start, self.held.end..self.range.end]
    }
}

/// Names, shapes and places of a model's parameters, in one flat buffer.
///
/// Ranges are aligned; the numbers between them are padding, always zero, and belong to nobody.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    params: Vec<Param>,
    by_name: HashMap<String, ParamId>,
}

impl Layout {
    /// An empty layout to declare parameters in.
    pub fn new() -> Self {
        Self::default()
    }

    /// The scope whose names have no prefix.
    pub fn root(&mut self) -> Scope<'_> {
        Scope { layout: self, prefix: String::new() }
    }

    /// All parameters, in order.
    pub fn params(&self) -> &[Param] {
        &self.params
    }

    /// The parameter of an id.
    pub fn param(&self, id: ParamId) -> &Param {
        &self.params[id.0]
    }

    /// The parameter of a name.
    pub fn find(&self, name: &str) -> Option<ParamId> {
        self.by_name.get(name).copied()
    }

    /// Length of the flat buffer, padding included. Where it is beyond what can be counted, it is the largest number
    /// there is, and no [`Params`](super::Params) can be made.
    pub fn len(&self) -> usize {
        self.params.last().map_or(0, |last| aligned(last.range.end))
    }

    /// Whether it declares nothing.
    pub fn is_empty(&self) -> bool {
        self.params.is_empty()
    }

    /// How many numbers are trained under a path (`""` for all), without padding.
    pub fn count(&self, path: &str) -> usize {
        let lengths = self.under(path).filter(|param| param.trained).map(|param| param.range.len());
        lengths.fold(0, usize::saturating_add)
    }

    /// The part of the flat buffer that holds the parameters under a path.
    pub fn range(&self, path: &str) -> Range<usize> {
        let mut found = self.under(path).map(|param| param.range.clone());
        let first = found.next().unwrap_or(0..0);
        first.start..aligned(found.last().map_or(first.end, |last| last.end)).min(self.len())
    }

    /// The parameters, each with its part of a flat buffer.
    pub fn split_mut<'s, 'a, T>(&'s self, mut flat: &'a mut [T]) -> Vec<(&'s Param, &'a mut [T])> {
        let mut at = 0;
        let part = |param: &'s Param| {
            let range = &param.range;
            let (values, rest) = std::mem::take(&mut flat)[range.start - at..].split_at_mut(range.len());
            (flat, at) = (rest, range.end);
            (param, values)
        };
        self.params.iter().map(part).collect()
    }

    /// The parameters of the first paths only, under the same names and at the same places.
    pub fn prefix(&self, path: &str) -> Self {
        let params: Vec<Param> = self.under(path).cloned().collect();
        let by_name = params.iter().enumerate().map(|(k, param)| (param.name.clone(), ParamId(k))).collect();
        Self { params, by_name }
    }

    /// The parameters that a step on some paths changes.
    pub(crate) fn chosen(&self, paths: &[&str]) -> impl Iterator<Item = &Param> {
        let ranges: Vec<Range<usize>> = paths.iter().map(|path| self.range(path)).collect();
        let chosen = move |range: &Range<usize>| {
            ranges.iter().any(|chosen| chosen.start <= range.start && range.end <= chosen.end)
        };
        self.params.iter().filter(move |param| chosen(&param.range))
    }

    /// The hidden matrices under some paths, in order.
    pub(crate) fn hidden_matrices(&self, paths: &[&str]) -> Vec<HiddenMatrix> {
        self.chosen(paths).flat_map(Param::hidden_matrices).collect()
    }

    /// The hidden matrices under some paths in shares of nearly equal work, as where they lie: the costliest are given
    /// out first, each to whoever has least.
    pub fn hidden_shares(&self, paths: &[&str], shares: usize) -> Vec<Vec<Range<usize>>> {
        let cost = |matrix: &HiddenMatrix| matrix.rows * matrix.columns * matrix.rows.min(matrix.columns);
        let mut matrices = self.hidden_matrices(paths);
        matrices.sort_by_key(|matrix| std::cmp::Reverse(cost(matrix)));
        let mut given: Vec<(usize, Vec<Range<usize>>)> = vec![(0, Vec::new()); shares];
        for matrix in &matrices {
            if let Some((work, share)) = given.iter_mut().min_by_key(|(work, _)| *work) {
                *work += cost(matrix);
                share.push(matrix.start..matrix.start + matrix.rows * matrix.columns);
            }
        }
        given.into_iter().map(|(_, share)| share).collect()
    }

    /// Whether any parameter is a hidden matrix.
    pub fn has_hidden(&self) -> bool {
        self.params.iter().any(|param| param.hidden > 0)
    }

    fn under<'a>(&'a self, path: &'a str) -> impl Iterator<Item = &'a Param> {
        let inside = move |name: &str| {
            path.is_empty() || name.strip_prefix(path).is_some_and(|rest| rest.starts_with('.'))
        };
        self.params.iter().filter(move |param| inside(&param.name))
    }

    fn add(&mut self, name: String, shape: &[usize], [decay, trained]: [bool; 2]) -> ParamId {
        let id = ParamId(self.params.len());
        let start = self.len();
        let length = shape.iter().fold(1, |length: usize, side| length.saturating_mul(*side));
        let range = start..start.saturating_add(length);
        assert!(self.by_name.insert(name.clone(), id).is_none(), "{name} is declared twice");
        let held = range.end..range.end;
        self.params.push(Param { name, shape: shape.to_vec(), range, decay, trained, held, hidden: 0 });
        id
    }
}

/// The next place where a range may begin, or the largest number.
fn aligned(place: usize) -> usize {
    place.checked_next_multiple_of(ALIGNMENT).unwrap_or(usize::MAX)
}

/// A place in the tree of names where parameters are declared.
#[derive(Debug)]
pub struct Scope<'a> {
    layout: &'a mut Layout,
    prefix: String,
}

impl Scope<'_> {
    /// A scope inside this one.
    pub fn scope(&mut self, name: impl std::fmt::Display) -> Scope<'_> {
        let prefix = self.path(&name);
        Scope { layout: self.layout, prefix }
    }

    /// Declares a weight, which decays.
    pub fn weight(&mut self, name: &str, shape: &[usize]) -> ParamId {
        let path = self.path(&name);
        self.layout.add(path, shape, [true, true])
    }

    /// Declares a bias, a gain or a table of positions, which do not decay.
    pub fn offset(&mut self, name: &str, shape: &[usize]) -> ParamId {
        let path = self.path(&name);
        self.layout.add(path, shape, [false, true])
    }

    /// Declares statistics that training keeps up to date without gradients; they lie among the parameters, so that
    /// checkpoints and weight files hold them, and are not counted.
    pub fn statistic(&mut self, name: &str, shape: &[usize]) -> ParamId {
        let path = self.path(&name);
        self.layout.add(path, shape, [false, false])
    }

    /// Keeps some of a parameter's numbers as they begin, as far as they fill whole blocks of 64: steps go by blocks.
    pub fn hold(&mut self, id: ParamId, numbers: Range<usize>) {
        let param = &mut self.layout.params[id.0];
        let Range { start, end } = param.range; // start is a multiple of a block
        let from = start.saturating_add(aligned(numbers.start));
        let to = start.saturating_add(numbers.end / ALIGNMENT * ALIGNMENT);
        assert!(start.saturating_add(numbers.end) <= end, "{} has no such numbers", param.name);
        param.held = if from < to { from..to } else { end..end };
    }

    /// Marks a weight as hidden matrices, `parts` of them one below the other: neither the first nor the last layer of
    /// a network, but one that an optimizer may treat as a map between hidden layers.
    pub fn hidden(&mut self, id: ParamId, parts: usize) {
        let param = &mut self.layout.params[id.0];
        let stacked = param.shape.len() == 2 && parts > 0 && param.shape[0].is_multiple_of(parts);
        assert!(stacked && param.decay, "{} is no weight of {parts} matrices", param.name);
        param.hidden = parts;
    }

    fn path(&self, name: &impl std::fmt::Display) -> String {
        if self.prefix.is_empty() { name.to_string() } else { format!("{}.{name}", self.prefix) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Layout {
        let mut layout = Layout::new();
        let mut root = layout.root();
        let mut encoder = root.scope("encoder");
        encoder.weight("patch.weight", &[3, 5]);
        encoder.scope("blocks").scope(0).offset("bias", &[70]);
        root.scope("encoder_two").weight("weight", &[2]);
        layout
    }

    #[test]
    fn ranges_are_aligned_named_and_counted_without_padding() {
        let layout = sample();
        let at = |name: &str| layout.param(layout.find(name).unwrap()).range.clone();
        assert_eq!(at("encoder.patch.weight"), 0..15);
        assert_eq!(at("encoder.blocks.0.bias"), 64..134);
        assert_eq!(at("encoder_two.weight"), 192..194);
        assert_eq!((layout.len(), layout.count(""), layout.count("encoder")), (256, 87, 85));
        assert_eq!(layout.range("encoder"), 0..192);
        assert_eq!(layout.range("encoder_two"), 192..256);
        assert!(layout.find("encoder.patch").is_none());
    }

    #[test]
    fn a_layout_beyond_all_numbers_has_the_largest_length() {
        let mut layout = sample();
        let mut root = layout.root();
        let huge = root.weight("huge", &[1 << 40, 1 << 40]);
        root.hold(huge, 64..128);
        root.weight("after", &[8]);
        assert_eq!(layout.len(), usize::MAX);
        assert_eq!(layout.range("encoder_two").end, 256);
        let made = crate::Params::zeros(&crate::Device::cpu(1), layout.into());
        assert!(matches!(made, Err(crate::EngineError::Memory { wanted: usize::MAX })), "{made:?}");
    }

    #[test]
    fn statistics_have_a_place_and_are_not_counted() {
        let mut layout = sample();
        layout.root().scope("norm").statistic("mean", &[3]);
        assert_eq!((layout.len(), layout.count("")), (320, 87));
    }

    #[test]
    fn whole_blocks_are_held_and_the_rest_moves() {
        let held = |numbers: Range<usize>| {
            let mut layout = sample();
            let mut root = layout.root();
            let bias = root.offset("bias", &[300]);
            root.hold(bias, numbers);
            let param = layout.param(bias);
            assert_eq!(param.range, 256..556);
            param.moving()
        };
        assert_eq!(held(64..128), [256..320, 384..556]);
        assert_eq!(held(100..200), [256..384, 448..556]);
        assert_eq!(held(10..100), [256..556, 556..556]);
    }

    #[test]
    fn hidden_matrices_are_marked_and_lie_where_they_lay() {
        let plain = sample();
        let mut layout = sample();
        let patch = layout.find("encoder.patch.weight").unwrap();
        layout.root().hidden(patch, 3);
        let at = |start| HiddenMatrix { start, rows: 1, columns: 5 };
        assert_eq!(layout.hidden_matrices(&[""]), [at(0), at(5), at(10)]);
        assert_eq!(layout.hidden_matrices(&["encoder_two"]), []);
        assert!(layout.has_hidden() && !plain.has_hidden());
        let places = |layout: &Layout| -> Vec<_> {
            layout.params().iter().map(|param| (param.name.clone(), param.range.clone())).collect()
        };
        assert_eq!(places(&layout), places(&plain));
    }

    #[test]
    fn shares_of_hidden_matrices_have_each_once_and_nearly_equal_work() {
        let mut layout = Layout::new();
        let sides = [[64, 8], [8, 64], [16, 16], [32, 32], [8, 8]];
        for (k, sides) in sides.iter().enumerate() {
            let weight = layout.root().weight(&k.to_string(), sides);
            layout.root().hidden(weight, 1);
        }
        let whole = layout.hidden_shares(&[""], 1).swap_remove(0);
        let shared = layout.hidden_shares(&[""], 2);
        // 32^3 is more work than all others together.
        assert_eq!(shared[0].len(), 1);
        assert_eq!(shared[0][0].len(), 1024);
        let mut all = shared.concat();
        all.sort_by_key(|range| range.start);
        let mut expected = whole;
        expected.sort_by_key(|range| range.start);
        assert_eq!(all, expected);
        assert_eq!(layout.hidden_shares(&[""], 7).iter().filter(|share| share.is_empty()).count(), 2);
    }

    #[test]
    fn a_prefix_keeps_names_ids_and_places() {
        let whole = sample();
        let part = sample().prefix("encoder");
        assert_eq!((part.len(), part.params().len()), (192, 2));
        assert!((0..part.params.len()).map(ParamId).all(|id| whole.param(id) == part.param(id)));
    }
}
