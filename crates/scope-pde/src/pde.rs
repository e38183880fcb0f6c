//! PDE problems by name, which is where a PDE is declared, and the two splits.

use std::{fmt, str::FromStr};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error as _, MapAccess, Visitor, value::MapAccessDeserializer},
};

use crate::{
    channel::PerChannel,
    cylinder::CYLINDER,
    darcy::DARCY,
    descriptor::{Descriptor, KnownRegion},
    elliptic::{HELMHOLTZ, POISSON},
    error::PdeError,
    generate::require_resolution,
    grid_shape::GridShape,
    handle::Handle,
    navier_stokes::NAVIER_STOKES,
    problem_spec::ProblemSpec,
    registry::Registry,
};

/// The problems that names are looked up among: the five built-in ones in the order of the paper's tables, then
/// declared ones.
pub(crate) static PROBLEMS: Registry<Descriptor> =
    Registry::new(&[&DARCY, &POISSON, &HELMHOLTZ, &NAVIER_STOKES, &CYLINDER]);

/// A PDE problem: a handle on its [`Descriptor`]. Two are equal when their names are; built-in ones come before others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pde(Handle<Descriptor>);

impl Pde {
    /// -div(a grad u) = 1 with a two-valued permeability a.
    pub const DARCY: Pde = Pde(Handle::new(&DARCY));
    /// Lap u = a.
    pub const POISSON: Pde = Pde(Handle::new(&POISSON));
    /// Lap u + u = a.
    pub const HELMHOLTZ: Pde = Pde(Handle::new(&HELMHOLTZ));
    /// Periodic vorticity at times 0 (a) and 1 (u).
    pub const NAVIER_STOKES: Pde = Pde(Handle::new(&NAVIER_STOKES));
    /// Speed of a flow past a disk at an earlier (a) and a later (u) time.
    pub const CYLINDER: Pde = Pde(Handle::new(&CYLINDER));

    /// The built-in five, in the order of the paper's tables.
    pub const ALL: [Pde; 5] = [Pde::DARCY, Pde::POISSON, Pde::HELMHOLTZ, Pde::NAVIER_STOKES, Pde::CYLINDER];

    /// Makes a problem of one's own known for as long as the program runs, so that files that name it can be read.
    /// Another problem of the same name is refused.
    pub fn declare(descriptor: &'static Descriptor) -> Result<Self, PdeError> {
        Ok(Self(Handle::declare(descriptor)?))
    }

    /// Makes a problem known that a file states. One that was declared before and is the same in every word is that
    /// one; another of its name is refused.
    pub fn of_spec(spec: ProblemSpec) -> Result<Self, PdeError> {
        spec.check()?;
        let known = |name: &str| match PROBLEMS.find(name) {
            Some(known) if known.spec == Some(&spec) => Some(Ok(Self(Handle::new(known)))),
            Some(_) => Some(Err(PdeError::SameName(name.to_owned()))),
            None => None,
        };
        if let Some(known) = known(&spec.name) {
            return known;
        }
        match Self::declare(spec.clone().describe()) {
            // Another thread may have declared it meanwhile.
            Err(error) => known(&spec.name).unwrap_or(Err(error)),
            declared => declared,
        }
    }

    /// Everything that is known of the problem.
    pub fn descriptor(self) -> &'static Descriptor {
        self.0.descriptor()
    }

    /// The name on the command line and in files.
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// The name in headings of tables and charts.
    pub fn title(self) -> &'static str {
        self.0.title
    }

    /// What the channels a and u are.
    pub fn channels(self) -> PerChannel<&'static str> {
        self.0.fields.map(|field| field.name)
    }

    /// The grid that a set or a model of the problem has: its only one, or else a square one.
    pub fn require_grid(self, grid: GridShape) -> Result<(), PdeError> {
        match self.0.shape {
            Some(own) if own == grid => Ok(()),
            Some(own) => Err(PdeError::OtherGrid { name: self.name(), expected: own, got: grid }),
            None => match grid.side() {
                Some(size) => require_resolution(size),
                None => Err(PdeError::NotSquare(grid)),
            },
        }
    }

    /// Which of the fields there are: both, but for a problem of one field.
    pub fn present(self) -> PerChannel<bool> {
        self.0.fields.map(|field| field.is_present())
    }

    /// Whether the ends of axis 0 and of axis 1 meet.
    pub fn periodic(self) -> [bool; 2] {
        self.0.grid.map(|points| points.is_periodic())
    }

    /// The values that a and u have on the outermost grid points, in physical units, where an equation's boundary
    /// condition fixes them there.
    pub fn edges(self) -> PerChannel<Option<f64>> {
        self.0.fields.map(|field| field.edge)
    }

    /// Whether each record has a disk inside which both fields are known.
    pub fn has_disk(self) -> bool {
        self.0.known_region == KnownRegion::Disk
    }

    /// Whether each record has a region of its own where both fields are known: a disk, or any points.
    pub fn has_record_regions(self) -> bool {
        matches!(self.0.known_region, KnownRegion::Disk | KnownRegion::PerRecord(_))
    }

    /// Whether fresh records can be made that someone's sensors might have measured: there is a solver, and records
    /// have no disks of their own.
    pub fn makes_fresh_records(self) -> bool {
        self.0.solver.is_some() && !self.has_disk()
    }
}

impl fmt::Display for Pde {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Pde {
    type Err = PdeError;

    fn from_str(name: &str) -> Result<Self, PdeError> {
        Handle::find(name).map(Pde).map_err(|known| PdeError::UnknownName {
            kind: "PDE",
            name: name.to_owned(),
            expected: known.join(", "),
        })
    }
}

impl Serialize for Pde {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.spec {
            Some(spec) => spec.serialize(serializer),
            None => serializer.serialize_str(self.name()),
        }
    }
}

impl<'de> Deserialize<'de> for Pde {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NameOrSpec)
    }
}

/// Reads the name of a problem, or a whole problem of one's own, which becomes known by that.
struct NameOrSpec;

impl<'de> Visitor<'de> for NameOrSpec {
    type Value = Pde;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("the name of a problem, or a problem of one's own")
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Pde, E> {
        name.parse().map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Pde, A::Error> {
        let spec = ProblemSpec::deserialize(MapAccessDeserializer::new(map))?;
        Pde::of_spec(spec).map_err(A::Error::custom)
    }
}

/// Which part of a data set a record belongs to. Splits never share a random stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Split {
    /// The record is for training.
    Train,
    /// The record is held out for testing.
    Test,
}

impl Split {
    /// The name on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Split::Train => "train",
            Split::Test => "test",
        }
    }
}

impl fmt::Display for Split {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Split {
    type Err = PdeError;

    fn from_str(name: &str) -> Result<Self, PdeError> {
        match name {
            "train" => Ok(Split::Train),
            "test" => Ok(Split::Test),
            _ => Err(PdeError::UnknownName {
                kind: "split",
                name: name.to_owned(),
                expected: "train, test".to_owned(),
            }),
        }
    }
}

impl Serialize for Split {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Split {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_problems_are_known_by_name_and_in_order() {
        let known: Vec<Pde> = PROBLEMS.all().into_iter().map(|known| Pde(Handle::new(known))).collect();
        assert_eq!(known, Pde::ALL);
        assert!(Pde::ALL.is_sorted());
        for pde in Pde::ALL {
            assert_eq!(pde.name().parse(), Ok(pde));
        }
    }

    #[test]
    fn an_unknown_name_is_refused_with_those_there_are() {
        let error = "burgers".parse::<Pde>().unwrap_err();
        let expected = "darcy, poisson, helmholtz, ns, cylinder".to_owned();
        assert_eq!(error, PdeError::UnknownName { kind: "PDE", name: "burgers".to_owned(), expected });
        assert!(serde_json::from_str::<Pde>("\"burgers\"").is_err());
    }
}
