//! Pictures of observation masks.

use scope_data::observation::{Condition, Family, Mask, MaskSampler, Namespace, Task};
use scope_pde::{GridShape, Pde};

use super::{
    canvas::Colour,
    drawing::{Anchor, Drawing, INK, Letters},
};

const SEEN: Colour = [33, 74, 85];
const UNSEEN: Colour = [226, 234, 236];
/// Space between panels, and below them for a title.
const GAP: f64 = 8.0;
const TITLE: f64 = 16.0;

/// Masks side by side, each with its title, the longer side of each being `side`.
pub fn mask_panels(panels: &[(String, &Mask)], side: f64) -> Drawing {
    let scale = |shape: GridShape| side / shape.rows.max(shape.columns) as f64;
    let size = |mask: &Mask| mask.shape().lengths().map(|length| length as f64 * scale(mask.shape()));
    let width: f64 = panels.iter().map(|(_, mask)| size(mask)[1] + GAP).sum();
    let height = panels.iter().map(|(_, mask)| size(mask)[0]).fold(0.0, f64::max);
    let mut drawing = Drawing::new(GAP + width, height + 2.0 * GAP + TITLE);
    let mut left = GAP;
    for (title, mask) in panels {
        let [height, width] = size(mask);
        draw(&mut drawing, (left, GAP), (width, height), mask, title);
        left += width + GAP;
    }
    drawing
}

/// Every family with every budget.
pub fn mask_gallery(pde: Pde, seed: u64, record: u64) -> Drawing {
    let size = 128;
    let right = size as f64 + GAP;
    let down = size as f64 + GAP + TITLE;
    let rows = gallery_rows();
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let mut drawing = Drawing::new(GAP + columns as f64 * right, GAP + rows.len() as f64 * down);
    let sampler = MaskSampler::new(pde, seed, size);
    for (row, panels) in rows.into_iter().enumerate() {
        for (column, (family, budget)) in panels.into_iter().enumerate() {
            // The paper's budgets are conditions; anything else has no place in the gallery.
            let Ok(condition) = Condition::new(Task::Forward, family, budget) else { continue };
            let mask = sampler.masks(Namespace::Test, record, condition, None).seen.a;
            let at = (GAP + column as f64 * right, GAP + row as f64 * down);
            draw(&mut drawing, at, (size as f64, size as f64), &mask, &format!("{} {budget}", family.name()));
        }
    }
    drawing
}

/// The protocol's families and budgets in rows: a family goes on in the row of the one before it if there is room.
fn gallery_rows() -> Vec<Vec<(Family, usize)>> {
    let columns = Family::ALL.iter().map(|family| family.budgets().len()).max().unwrap_or(0);
    let mut rows: Vec<Vec<(Family, usize)>> = Vec::new();
    for family in Family::ALL {
        let panels = family.budgets().iter().map(|budget| (family, *budget));
        match rows.last_mut().filter(|row| row.len() + panels.len() <= columns) {
            Some(row) => row.extend(panels),
            None => rows.push(panels.collect()),
        }
    }
    rows
}

/// A mask with its upper left corner at a place and its title below.
fn draw(drawing: &mut Drawing, (x, y): (f64, f64), size: (f64, f64), mask: &Mask, title: &str) {
    let mut pixels = vec![UNSEEN; mask.shape().points()];
    mask.points().for_each(|point| pixels[point] = SEEN);
    drawing.image((x, y), size, mask.shape().columns, pixels);
    drawing.text((x, y + size.1 + 12.0), title, Letters::Small, Anchor::Start, INK);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_is_drawn_where_it_is() {
        let mut mask = Mask::empty(32);
        mask.insert(3 * 32 + 7);
        let canvas = mask_panels(&[("x".into(), &mask)], 32.0).canvas();
        // Row 3 is down, column 7 is right; two pixels a unit.
        assert_eq!(canvas.pixel(16 + 14, 16 + 6), SEEN);
        assert_eq!(canvas.pixel(16 + 15, 16 + 7), SEEN);
        assert_eq!(canvas.pixel(16 + 16, 16 + 6), UNSEEN);
        assert_eq!(canvas.pixel(0, 0), [255; 3]);
    }

    #[test]
    fn the_gallery_has_room_for_all() {
        let drawing = mask_gallery(Pde::POISSON, 1, 0);
        assert_eq!(drawing.size(), (8.0 + 7.0 * 136.0, 8.0 + 4.0 * 152.0));
    }
}
