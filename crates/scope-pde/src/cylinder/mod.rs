//! Flow past a disk in a channel: the speed at an earlier and a later time.
//!
//! Similar to the released cylinder data, whose generator is not public, and not the same: an
//! incompressible flow in the unit square (inflow along axis 0, walls on axis 1) with viscosity 1e-3,
//! started at once, recorded at 0.5 s (a) and 0.9 s (u). Disk and inflow are drawn from the published
//! ranges. Speeds inside the disk are stored as zero.

mod descriptor;
mod disk;
mod flow;
mod momentum;
mod obstacle;
mod staggered;

pub use descriptor::CYLINDER;
pub use disk::Disk;
use flow::Flow;
use rand::RngExt;

use crate::{Fields, PerChannel, Problem, Record, error::PdeError, linear::SeparableSolver, random::Stream};

const VISCOSITY: f64 = 1e-3;
/// Seconds at which a and u are recorded: the published "step 4" and "step 8" of ten per second.
const SNAPSHOTS: PerChannel<f64> = PerChannel { a: 0.5, u: 0.9 };
/// The range of inflow speeds, domain widths per second.
const INFLOW: [f64; 2] = [0.5, 3.0];

/// The cylinder problem.
#[derive(Clone, Debug)]
pub struct Cylinder {
    size: usize,
    pressure_solver: SeparableSolver,
}

/// A flow's two snapshots, and how well it kept its constraints.
#[derive(Clone, Debug)]
pub struct Solution {
    /// The speeds, each \[S, S\], zero inside the disk.
    pub speeds: Fields<f64>,
    /// The largest |divergence| of a cell at either snapshot, in inflow speeds per pixel.
    pub divergence: f64,
    /// The largest velocity component inside the disk at either snapshot, in inflow speeds.
    pub slip: f64,
}

impl Cylinder {
    /// Plans the problem on `size` x `size` cells.
    pub fn new(size: usize) -> Self {
        Self { size, pressure_solver: SeparableSolver::neumann(size, 1.0) }
    }

    /// The flow past `disk` with the given inflow speed.
    pub fn solve(&self, disk: &Disk, inflow: f64) -> Result<Solution, PdeError> {
        let mut flow = Flow::start(self.size, disk, inflow, VISCOSITY, &self.pressure_solver);
        let mut divergence = 0.0;
        let mut slip = 0.0;
        let mut snapshot = |time| {
            flow.run_to(time)?;
            let mut speed = flow.speed();
            if speed.iter().any(|s| !s.is_finite()) {
                return Err(PdeError::BlowUp { solver: "the cylinder solver", time });
            }
            divergence = flow.divergence().max(divergence);
            slip = flow.slip().max(slip);
            disk.points(self.size).for_each(|point| speed[point] = 0.0);
            Ok(speed)
        };
        let speeds = PerChannel::try_from_fn(|channel| snapshot(SNAPSHOTS[channel]))?;
        Ok(Solution { speeds, divergence, slip })
    }
}

impl Problem for Cylinder {
    fn draw(&self, stream: &mut Stream) -> Result<Record, PdeError> {
        let disk = Disk::draw(stream, self.size);
        let inflow = INFLOW[0] + (INFLOW[1] - INFLOW[0]) * stream.random::<f64>();
        let fields = self.solve(&disk, inflow)?.speeds;
        Ok(Record { fields, disk: Some(disk) })
    }
}
