//! The disk as the flow feels it: a drag on the faces it covers.
//!
//! A face whose cell is covered by a share c of the disk decays at the rate (V / spacing) c / (1 - c): not
//! at all in the fluid, at once in the solid, and within about one passage of the inflow V in between. The
//! rate does not depend on the time step, so neither does the body that the flow sees, and it moves
//! smoothly with the disk.

use super::{
    disk::Disk,
    staggered::{Staggered, origin, pitch},
};

/// Faces with a drag: their place in a [`Staggered`] field and their rate, infinite in the solid.
#[derive(Clone, Debug)]
pub(super) struct Obstacle {
    u: Vec<(usize, f64)>,
    v: Vec<(usize, f64)>,
}

impl Obstacle {
    /// The drag of `disk` in an inflow of `speed` pixels per second.
    pub(super) fn new(size: usize, disk: &Disk, speed: f64) -> Self {
        let origin = origin(size);
        // Pixel centres are whole numbers, so faces lie half a pixel before them.
        let faces = |dx: f64, dy: f64| {
            let mut faces = Vec::new();
            for i in 0..=size {
                for j in 0..=size {
                    let covered = disk.coverage(i as f64 - dx, j as f64 - dy);
                    if covered > 0.0 {
                        faces.push((origin + i * pitch(size) + j, speed * covered / (1.0 - covered)));
                    }
                }
            }
            faces
        };
        Self { u: faces(0.5, 0.0), v: faces(0.0, 0.5) }
    }

    /// Lets the drag act for `dt` seconds, implicitly: q / (1 + dt rate).
    pub(super) fn slow(&self, flow: &mut Staggered, dt: f64) {
        for &(face, rate) in &self.u {
            flow.u[face] /= 1.0 + dt * rate;
        }
        for &(face, rate) in &self.v {
            flow.v[face] /= 1.0 + dt * rate;
        }
    }

    /// The largest speed component on a face that is wholly inside the disk.
    pub(super) fn slip(&self, flow: &Staggered) -> f64 {
        let solid = |faces: &[(usize, f64)], q: &[f64]| {
            let solid = faces.iter().filter(|(_, rate)| rate.is_infinite());
            solid.fold(0.0, |worst: f64, &(face, _)| worst.max(q[face].abs()))
        };
        solid(&self.u, &flow.u).max(solid(&self.v, &flow.v))
    }
}
