//! What the name of a column means.

use std::str::FromStr;

use scope_pde::Pde;

use super::{
    error::Fault,
    problem_columns::{ProblemColumns, as_column},
};

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    X,
    Y,
    I,
    J,
    Channel,
    Value,
    Problem,
    A,
    U,
}

impl Meaning {
    /// What a name means that a person would type; none of a name that may mean anything. A unit behind it, as in
    /// `x [m]` or `u (K)`, says nothing of it.
    fn of(name: &str) -> Option<Self> {
        Some(match without_unit(name).to_lowercase().as_str() {
            "x" | "lon" | "long" | "longitude" | "easting" => Meaning::X,
            "y" | "lat" | "latitude" | "northing" => Meaning::Y,
            "i" | "row" => Meaning::I,
            "j" | "column" | "col" => Meaning::J,
            "channel" | "field" => Meaning::Channel,
            "value" => Meaning::Value,
            "problem" | "record" | "sample" => Meaning::Problem,
            "a" | "source" | "forcing" | "permeability" | "conductivity" | "transmissivity" => Meaning::A,
            "u" | "head" | "pressure" | "potential" | "solution" | "response" => Meaning::U,
            _ => return None,
        })
    }

    /// What a name means in a problem of one's own: what its file calls so, with a unit behind it or without. Other
    /// names of fields are not guessed there, since a pressure may be anything; nor are other names of axes where the
    /// file names them, since its first axis may be the latitude.
    fn in_problem(own: &ProblemColumns, cell: &str) -> Option<Self> {
        let ProblemColumns { axes: [x, y], fields, .. } = own;
        let called = [(Meaning::X, x), (Meaning::Y, y), (Meaning::A, &fields.a), (Meaning::U, &fields.u)];
        let spelled = [cell, without_unit(cell)].map(as_column);
        let named = called.into_iter().find(|(_, name)| spelled.contains(&as_column(name)));
        let plain = ["a", "u", "x", "y"].contains(&spelled[1].as_str());
        let guessed = |meaning: &Meaning| match meaning {
            Meaning::A | Meaning::U => plain,
            Meaning::X | Meaning::Y => plain || [x, y] == ["x", "y"],
            _ => true,
        };
        named.map(|(meaning, _)| meaning).or_else(|| Meaning::of(cell).filter(guessed))
    }

    /// Whether a name stands for a place, a channel or a problem in any table, or is that of a channel.
    pub(super) fn is_taken(name: &str) -> bool {
        match Self::of(name) {
            None => false,
            Some(Meaning::A | Meaning::U) => ["a", "u"].contains(&without_unit(name)),
            Some(_) => true,
        }
    }

    /// The name that it goes by in [`ColumnNames`].
    fn of_key(key: &str) -> Option<Self> {
        Some(match key {
            "x" => Meaning::X,
            "y" => Meaning::Y,
            "i" => Meaning::I,
            "j" => Meaning::J,
            "channel" => Meaning::Channel,
            "value" => Meaning::Value,
            "problem" => Meaning::Problem,
            "a" => Meaning::A,
            "u" => Meaning::U,
            _ => return None,
        })
    }
}

/// Whether a name is one of an angle on the globe.
pub(super) fn is_angle(name: &str) -> bool {
    ["lon", "long", "longitude", "lat", "latitude"].contains(&without_unit(name).to_lowercase().as_str())
}

/// A name without the unit in brackets behind it.
fn without_unit(name: &str) -> &str {
    name_and_unit(name).0
}

/// A name, and the unit in brackets behind it.
fn name_and_unit(name: &str) -> (&str, Option<&str>) {
    let name = name.trim();
    for [open, close] in [['[', ']'], ['(', ')']] {
        if let Some((before, unit)) = name.strip_suffix(close).and_then(|name| name.rsplit_once(open)) {
            return (before.trim(), Some(unit.trim()));
        }
    }
    (name, None)
}

/// Which columns of a table hold what, stated by the user, as in `x=lon,y=lat,u=head`, or by the problem of the table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColumnNames {
    stated: Vec<(Meaning, String)>,
    /// What a problem of one's own calls them.
    problem: Option<ProblemColumns>,
}

impl ColumnNames {
    /// Also takes the names that a problem of one's own has for its axes and fields.
    pub fn of_problem(self, pde: Pde) -> Self {
        let own = pde.descriptor().spec.map(|_| ProblemColumns::of(pde));
        Self { problem: own, ..self }
    }

    /// What the columns of a place may be called, for messages.
    pub(super) fn place(&self) -> String {
        let pixels = "or i and j (row and column of the grid)";
        match &self.problem {
            None => format!("x and y (points of the unit square), {pixels}"),
            Some(ProblemColumns { axes: [x, y], .. }) => {
                format!("{x} and {y} (coordinates of the problem's domain), {pixels}")
            }
        }
    }

    /// What the columns of values may be called, for messages, with a word between the two.
    pub(super) fn values(&self, between: &str) -> String {
        match &self.problem {
            None => format!("a {between} u, as in x,y,u"),
            Some(ProblemColumns { axes: [x, y], fields, present, .. }) => {
                let fields = fields.each_ref().zip(*present).into_array();
                let names: Vec<&str> =
                    fields.iter().filter(|(_, present)| *present).map(|(name, _)| name.as_str()).collect();
                let last = names.last().unwrap_or(&"u");
                format!("{}, as in {x},{y},{last}", names.join(&format!(" {between} ")))
            }
        }
    }

    /// Whether a problem of one's own calls an axis so.
    pub(super) fn is_axis(&self, cell: &str) -> bool {
        let axes = self.problem.as_ref().map(|own| &own.axes);
        axes.is_some_and(|axes| axes.iter().any(|axis| as_column(axis) == as_column(without_unit(cell))))
    }

    /// Says so of a column that names another unit than its field or axis has in a problem of one's own: values are
    /// not converted.
    pub(super) fn other_unit(&self, cell: &str) -> Option<String> {
        let own = self.problem.as_ref()?;
        let (_, unit) = name_and_unit(cell);
        // A field's own name may end in brackets.
        let unit = unit.filter(|_| !own.has(cell))?;
        let expected = match self.meaning_of(cell)? {
            Meaning::A => own.units.a,
            Meaning::U => own.units.u,
            Meaning::X | Meaning::Y => own.unit_of_axes,
            _ => "",
        };
        let is_other = !expected.is_empty() && as_column(expected) != as_column(unit);
        is_other.then(|| {
            format!("the column {cell} names the unit {unit}, and the problem has {expected} there: values are taken for {expected}")
        })
    }

    /// Whether nothing is stated.
    pub(super) fn is_empty(&self) -> bool {
        self.stated.is_empty()
    }

    /// What a name means: what the problem calls so, or what anybody would.
    fn meaning_of(&self, cell: &str) -> Option<Meaning> {
        match &self.problem {
            None => Meaning::of(cell),
            Some(own) => Meaning::in_problem(own, cell),
        }
    }

    /// What each column of a header means. A stated meaning is its column's alone: no other one is taken for it by its
    /// name.
    pub(super) fn meanings(&self, header: &[&str]) -> Result<Vec<Option<Meaning>>, Fault> {
        let mut meanings: Vec<Option<Meaning>> = header.iter().map(|cell| self.meaning_of(cell)).collect();
        for (stated, _) in &self.stated {
            meanings
                .iter_mut()
                .filter(|meaning| **meaning == Some(*stated))
                .for_each(|meaning| *meaning = None);
        }
        for (stated, name) in &self.stated {
            meanings[column_called(name, header)?] = Some(*stated);
        }
        Ok(meanings)
    }
}

impl ColumnNames {
    /// What each column of a header says of places, and nothing else: a table of points may lack the columns of values
    /// that are stated for another one.
    pub(super) fn place_meanings(&self, header: &[&str]) -> Result<Vec<Option<Meaning>>, Fault> {
        let is_place =
            |meaning: &Meaning| matches!(meaning, Meaning::X | Meaning::Y | Meaning::I | Meaning::J);
        let stated = self.stated.iter().filter(|(meaning, _)| is_place(meaning)).cloned().collect();
        let meanings = Self { stated, problem: self.problem.clone() }.meanings(header)?.into_iter();
        Ok(meanings.map(|meaning| meaning.filter(is_place)).collect())
    }
}

/// The column of a name: spelled so, or else spelled so but for capitals and a unit.
fn column_called(name: &str, header: &[&str]) -> Result<usize, Fault> {
    let equal: [fn(&str, &str) -> bool; 3] = [
        |cell, name| cell == name,
        |cell, name| cell.to_lowercase() == name.to_lowercase(),
        |cell, name| without_unit(cell).to_lowercase() == name.to_lowercase(),
    ];
    for equal in equal {
        let found: Vec<usize> = (0..header.len()).filter(|k| equal(header[*k].trim(), name)).collect();
        match found[..] {
            [] => {}
            [one] => return Ok(one),
            [first, second, ..] => {
                return Err(Fault::TwoColumns { first: header[first].into(), second: header[second].into() });
            }
        }
    }
    Err(Fault::NoSuchColumn { name: name.to_owned(), header: header.join(", ") })
}

impl FromStr for ColumnNames {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const EXPECTED: &str = "expected what columns hold and their names, as in x=lon,y=lat,u=head; what they hold is one of x, y, i, \
                                j, a, u, channel, value and problem, each once";
        let malformed = || EXPECTED.to_owned();
        let mut all: Vec<(Meaning, String)> = Vec::new();
        for part in text.split(',') {
            let (key, name) = part.split_once('=').ok_or_else(malformed)?;
            let meaning = Meaning::of_key(key.trim()).ok_or_else(malformed)?;
            let name = name.trim().to_owned();
            if name.is_empty() || all.iter().any(|(known, called)| *known == meaning || *called == name) {
                return Err(malformed());
            }
            all.push((meaning, name));
        }
        Ok(Self { stated: all, ..Self::default() })
    }
}
