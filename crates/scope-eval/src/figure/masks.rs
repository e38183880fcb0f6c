//! Pictures of observation masks.

use scope_data::observation::{Condition, Family, Mask, MaskSampler, Namespace, Task};
use scope_pde::Pde;

use super::canvas::{CHARACTER, Canvas, Colour};

const PAPER: Colour = [255, 255, 255];
const INK: Colour = [40, 40, 40];
const SEEN: Colour = [33, 74, 85];
const UNSEEN: Colour = [226, 234, 236];
/// Space between panels.
const GAP: usize = 12;

/// Masks side by side, each with its title, `scale` pixels a point.
pub fn mask_panels(panels: &[(String, &Mask)], scale: usize) -> Canvas {
    let side = panels.iter().map(|(_, mask)| mask.size() * scale).max().unwrap_or(0);
    let width = GAP + panels.len() * (side + GAP);
    let mut canvas = Canvas::new(width, side + 2 * GAP + CHARACTER + 4, PAPER);
    for (k, (title, mask)) in panels.iter().enumerate() {
        draw(&mut canvas, GAP + k * (side + GAP), GAP, mask, scale, title);
    }
    canvas
}

/// The rows of the gallery: families with seven budgets fill one, those with two share one.
const ROWS: [&[Family]; 4] =
    [&[Family::Uniform], &[Family::Grid], &[Family::Cluster], &[Family::Lines, Family::Block]];

/// Every family with every budget.
pub fn mask_gallery(pde: Pde, seed: u64, record: u64) -> Canvas {
    let size = 128;
    let (right, down) = (size + GAP, size + GAP + CHARACTER + 4);
    let panels = |row: &[Family]| -> Vec<(Family, usize)> {
        row.iter().flat_map(|family| family.budgets().iter().map(|budget| (*family, *budget))).collect()
    };
    let columns = ROWS.iter().map(|row| panels(row).len()).max().unwrap_or(0);
    let mut canvas = Canvas::new(GAP + columns * right, GAP + ROWS.len() * down, PAPER);
    let sampler = MaskSampler::new(pde, seed, size);
    for (row, families) in ROWS.iter().enumerate() {
        for (column, (family, budget)) in panels(families).into_iter().enumerate() {
            // The paper's budgets are conditions; anything else has no place in the gallery.
            let Ok(condition) = Condition::new(Task::Forward, family, budget) else { continue };
            let mask = sampler.masks(Namespace::Test, record, condition, None).a;
            let title = format!("{} {budget}", family.name());
            draw(&mut canvas, GAP + column * right, GAP + row * down, &mask, 1, &title);
        }
    }
    canvas
}

/// A mask with its upper left corner at (x, y) and its title below.
fn draw(canvas: &mut Canvas, x: usize, y: usize, mask: &Mask, scale: usize, title: &str) {
    let size = mask.size();
    canvas.fill(x, y, size * scale, size * scale, UNSEEN);
    for point in mask.points() {
        canvas.fill(x + point % size * scale, y + point / size * scale, scale, scale, SEEN);
    }
    canvas.write(x, y + size * scale + 4, title, 1, INK);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_is_drawn_where_it_is() {
        let mut mask = Mask::empty(32);
        mask.insert(3 * 32 + 7);
        let canvas = mask_panels(&[("x".into(), &mask)], 2);
        // Row 3 is down, column 7 is right.
        assert_eq!(canvas.pixel(GAP + 14, GAP + 6), SEEN);
        assert_eq!(canvas.pixel(GAP + 15, GAP + 7), SEEN);
        assert_eq!(canvas.pixel(GAP + 16, GAP + 6), UNSEEN);
        assert_eq!(canvas.pixel(0, 0), PAPER);
    }

    #[test]
    fn the_gallery_has_room_for_all() {
        let canvas = mask_gallery(Pde::Poisson, 1, 0);
        assert_eq!(canvas.size(), (12 + 7 * 140, 12 + 4 * 152));
    }
}
