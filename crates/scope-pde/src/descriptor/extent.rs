//! Where a grid lies, in the coordinates of its problem.

/// The rectangle that a problem is posed on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extent {
    /// Where axis 0 and axis 1 begin and end.
    pub bounds: [[f64; 2]; 2],
    /// What they are called.
    pub names: [&'static str; 2],
    /// The unit of both, if they have one.
    pub unit: &'static str,
}

impl Extent {
    /// Both axes from 0 to 1.
    pub const UNIT_SQUARE: Extent = Extent { bounds: [[0.0, 1.0]; 2], names: ["x", "y"], unit: "" };

    /// What the axes are called, with their unit.
    pub fn labels(&self) -> [String; 2] {
        self.names.map(|name| with_unit(name, self.unit))
    }
}

/// A name with its unit in brackets, if it has one.
pub(super) fn with_unit(name: &str, unit: &str) -> String {
    if unit.is_empty() { name.to_owned() } else { format!("{name} ({unit})") }
}
