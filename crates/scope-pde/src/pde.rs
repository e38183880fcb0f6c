//! The five problems and the two splits, by name.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::{channel::PerChannel, error::PdeError};

/// One of the five PDE problems.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Pde {
    /// -div(a grad u) = 1 with a two-valued permeability a.
    Darcy,
    /// Lap u = a.
    Poisson,
    /// Lap u + u = a.
    Helmholtz,
    /// Periodic vorticity at times 0 (a) and 1 (u).
    NavierStokes,
    /// Speed of a flow past a disk at an earlier (a) and a later (u) time.
    Cylinder,
}

impl Pde {
    /// All five, in the order of the paper's tables.
    pub const ALL: [Pde; 5] = [Pde::Darcy, Pde::Poisson, Pde::Helmholtz, Pde::NavierStokes, Pde::Cylinder];

    /// The name on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Pde::Darcy => "darcy",
            Pde::Poisson => "poisson",
            Pde::Helmholtz => "helmholtz",
            Pde::NavierStokes => "ns",
            Pde::Cylinder => "cylinder",
        }
    }

    /// What the channels a and u are.
    pub fn channels(self) -> PerChannel<&'static str> {
        let [a, u] = match self {
            Pde::Darcy => ["permeability", "pressure"],
            Pde::Poisson | Pde::Helmholtz => ["source", "solution"],
            Pde::NavierStokes => ["vorticity at t = 0", "vorticity at t = 1"],
            Pde::Cylinder => ["speed, earlier", "speed, later"],
        };
        PerChannel { a, u }
    }

    /// Whether the ends of axis 0 and of axis 1 meet.
    pub fn periodic(self) -> [bool; 2] {
        [self == Pde::NavierStokes; 2]
    }

    /// The values that a and u have on the outermost grid points, in physical units, where an equation's boundary condition fixes
    /// them there. Darcy's pressure is zero too, but half a cell beyond its outermost points.
    pub fn edges(self) -> PerChannel<Option<f64>> {
        match self {
            Pde::Poisson | Pde::Helmholtz => PerChannel { a: None, u: Some(0.0) },
            Pde::Darcy | Pde::NavierStokes | Pde::Cylinder => PerChannel::default(),
        }
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
        Pde::ALL.into_iter().find(|pde| pde.name() == name).ok_or_else(|| PdeError::UnknownName {
            kind: "PDE",
            name: name.to_owned(),
            expected: "darcy, poisson, helmholtz, ns, cylinder",
        })
    }
}

impl Serialize for Pde {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Pde {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// Which part of a data set a record belongs to. Splits never share a random stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Split {
    /// For training.
    Train,
    /// Held out.
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
            _ => Err(PdeError::UnknownName { kind: "split", name: name.to_owned(), expected: "train, test" }),
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
