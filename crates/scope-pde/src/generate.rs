//! Records as pure functions of their coordinates.

use crate::{
    channel::Fields,
    cylinder::Disk,
    error::PdeError,
    pde::{Pde, Split},
    random::{Coordinates, Stream},
};

/// Changes whenever a record with the same coordinates would change.
pub const GENERATOR_VERSION: u32 = 1;

/// The coarsest grid on which the problems make sense.
pub const MIN_RESOLUTION: usize = 32;
/// The finest grid: one record of it takes 256 MB in memory.
pub const MAX_RESOLUTION: usize = 4096;

/// Refuses a number of points along an axis that the solvers do not support: it must be even and within
/// [`MIN_RESOLUTION`] and [`MAX_RESOLUTION`].
pub fn require_resolution(size: usize) -> Result<(), PdeError> {
    let supported = (MIN_RESOLUTION..=MAX_RESOLUTION).contains(&size) && size.is_multiple_of(2);
    if supported { Ok(()) } else { Err(PdeError::Resolution(size)) }
}

/// One pair of fields in physical units, each \[S, S\] row-major.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// The fields a and u.
    pub fields: Fields<f64>,
    /// The disk inside which both fields are known, for problems that have one.
    pub disk: Option<Disk>,
}

/// A problem from which records can be drawn. To add a PDE, implement this and declare a
/// [`Descriptor`](crate::descriptor::Descriptor) that makes it.
pub trait Problem: Send + Sync {
    /// Draws one record, taking randomness from `stream` alone.
    fn draw(&self, stream: &mut Stream) -> Result<Record, PdeError>;
}

/// Everything that decides a set of records, besides their index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The problem.
    pub pde: Pde,
    /// The seed of the set.
    pub seed: u64,
    /// The split that the record belongs to.
    pub split: Split,
    /// The number of grid points along each axis.
    pub resolution: usize,
}

/// Makes records of one [`Identity`], in any order and from any thread.
pub struct Generator {
    identity: Identity,
    problem: Box<dyn Problem>,
}

/// Has the allocator of glibc keep the memory of one record for the next: it gives blocks of 128 kB, which fields of
/// 128 x 128 points are, back to the system as soon as they are free, until a larger one was freed. New pages for each
/// take a fifth of the time of a fast problem.
fn keep_freed_memory() {
    const BYTES: usize = 8 << 20;
    drop(std::hint::black_box(Vec::<u8>::with_capacity(BYTES)));
}

impl Generator {
    /// Plans the transforms and tables of a problem.
    pub fn new(identity: Identity) -> Result<Self, PdeError> {
        let size = identity.resolution;
        require_resolution(size)?;
        let solver = identity.pde.descriptor().solver.ok_or(PdeError::NoSolver(identity.pde.name()))?;
        let problem = solver(size);
        keep_freed_memory();
        Ok(Self { identity, problem })
    }

    /// What this generator makes.
    pub fn identity(&self) -> Identity {
        self.identity
    }

    /// The record with the given index. The resolution is not among the coordinates of its stream: the same
    /// record at another resolution is the same physical draw.
    pub fn record(&self, index: u64) -> Result<Record, PdeError> {
        let mut stream = Coordinates::new("record")
            .number(GENERATOR_VERSION.into())
            .text(self.identity.pde.name())
            .number(self.identity.seed)
            .text(self.identity.split.name())
            .number(index)
            .stream();
        self.problem.draw(&mut stream)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn generator(pde: Pde, split: Split, resolution: usize) -> Generator {
        Generator::new(Identity { pde, seed: 1, split, resolution }).unwrap()
    }

    #[test]
    fn odd_and_coarse_grids_are_refused() {
        for resolution in [0, 30, 33, 127, 4098, usize::MAX - 1] {
            let identity = Identity { pde: Pde::POISSON, seed: 1, split: Split::Train, resolution };
            assert_eq!(Generator::new(identity).err(), Some(PdeError::Resolution(resolution)));
        }
    }

    #[test]
    fn a_record_does_not_depend_on_what_was_made_before() {
        for pde in Pde::ALL {
            let generator = generator(pde, Split::Train, 32);
            let first = generator.record(3).unwrap();
            generator.record(0).unwrap();
            assert_eq!(generator.record(3).unwrap(), first);
        }
    }

    #[test]
    fn splits_seeds_and_indices_differ() {
        let a = |split, seed, index| {
            let identity = Identity { pde: Pde::POISSON, seed, split, resolution: 32 };
            Generator::new(identity).unwrap().record(index).unwrap().fields.a
        };
        let base = a(Split::Train, 1, 0);
        assert_ne!(a(Split::Test, 1, 0), base);
        assert_ne!(a(Split::Train, 2, 0), base);
        assert_ne!(a(Split::Train, 1, 1), base);
    }

    /// Values that a new generator version may change and nothing else may.
    #[test]
    fn records_are_frozen() {
        let expected = [
            (Pde::DARCY, 3.0, 0.014078155716023347),
            (Pde::POISSON, -0.4797693839989122, 0.010872432682259141),
            (Pde::HELMHOLTZ, -0.3870134612733538, 0.009871913101740284),
            (Pde::NAVIER_STOKES, -0.14456613940900598, -0.1000561261789624),
            (Pde::CYLINDER, 2.5888645155902426, 3.550828896466262),
        ];
        for (pde, a, u) in expected {
            let record = generator(pde, Split::Test, 64).record(7).unwrap();
            let at = 40 * 64 + 21;
            let close = |got: f64, wanted: f64| (got - wanted).abs() <= 1e-8 * wanted.abs();
            assert!(
                close(record.fields.a[at], a) && close(record.fields.u[at], u),
                "{pde}: {} {}",
                record.fields.a[at],
                record.fields.u[at]
            );
        }
    }
}
