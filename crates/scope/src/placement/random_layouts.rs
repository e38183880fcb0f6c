//! What sensors placed at random would have given.

use rand::seq::index;
use scope_exact::{Placement, PosteriorError, Progress, Stage, Step};
use scope_pde::{Pde, random::Coordinates};
use serde::Serialize;

use super::PlacementOptions;

/// Expected errors of random layouts, in percent of the fields that are to be known well: for both, the root of the
/// mean square.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RandomLayouts {
    /// The number of random layouts.
    pub layouts: usize,
    /// The least expected error among them.
    pub best_percent: f64,
    /// The error that a tenth of them fall short of.
    pub best_decile_percent: f64,
    /// The error that half of them fall short of.
    pub median_percent: f64,
}

impl RandomLayouts {
    /// Draws layouts without repetition among all candidates; none if none were asked for.
    pub(super) fn draw(
        placement: &Placement,
        pde: Pde,
        options: &PlacementOptions,
        candidates: usize,
        progress: Progress,
    ) -> Result<Option<Self>, PosteriorError> {
        let layouts = options.random_layouts;
        let sensors = options.count.min(candidates);
        let mut errors = Vec::with_capacity(layouts);
        for layout in 0..layouts {
            if !progress(Step { stage: Stage::Samples, done: layout, of: layouts }) {
                return Err(PosteriorError::Interrupted);
            }
            let coordinates = Coordinates::new("random layout").text(pde.name());
            let mut stream = coordinates.number(options.seed).number(layout as u64).stream();
            let chosen = index::sample(&mut stream, candidates, sensors).into_vec();
            let expected = placement.expected_with(&chosen).map(Some);
            errors.push(super::wanted_percent(expected, options.target));
        }
        errors.sort_by(f64::total_cmp);
        Ok((layouts > 0).then(|| Self {
            layouts,
            best_percent: errors[0],
            best_decile_percent: errors[layouts / 10],
            median_percent: errors[layouts / 2],
        }))
    }
}
