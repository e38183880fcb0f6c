//! Whether a problem of one's own can be.

use super::{FieldSpec, GRID_MULTIPLE, KindSpec, KnownSpec, MaskSpec, ProblemSpec, ProblemSpecError};
use crate::{
    channel::{Channel, PerChannel},
    descriptor::GridPoints,
    generate::{MAX_RESOLUTION, MIN_RESOLUTION},
};

/// The most letters of a name, a title and a unit.
const MOST_NAME: usize = 80;
const MOST_UNIT: usize = 24;
/// What columns of tables are called that are no coordinates.
const OTHER_COLUMNS: [&str; 7] = ["a", "u", "i", "j", "channel", "value", "problem"];
/// A domain is no narrower than this share of its distance from zero.
const NARROWEST: f64 = 1e-9;
/// The most runs of a mask: it stands in every file that has the problem.
const MOST_RUNS: usize = 1 << 16;

type Checked = Result<(), ProblemSpecError>;

impl ProblemSpec {
    /// Refuses what cannot be a problem.
    pub fn check(&self) -> Checked {
        require_text("name", &self.name, 1, MOST_NAME)?;
        if let Some(title) = &self.title {
            require_text("title", title, 1, MOST_NAME)?;
        }
        self.check_grid()?;
        self.check_domain()?;
        if self.fields.is_unknown() {
            return Err(ProblemSpecError::NoField);
        }
        for (channel, field) in self.fields.each_ref().with_channels() {
            if let Some(field) = field {
                self.check_field(channel, field)?;
            }
        }
        self.check_names()?;
        self.known.as_ref().map_or(Ok(()), |known| self.check_known(known))
    }

    /// Refuses axes and fields that could not be told apart in a table, or where x is the second axis and y the first:
    /// elsewhere x is always the first.
    fn check_names(&self) -> Checked {
        let axes = self.domain.names.iter().zip(["domain.names[0]", "domain.names[1]"]);
        let fields = self.fields.each_ref().into_array().into_iter().zip(["fields.a.name", "fields.u.name"]);
        let fields = fields.filter_map(|(field, key)| Some((&field.as_ref()?.name, key)));
        let all: Vec<(String, &str)> =
            axes.chain(fields).map(|(name, key)| (name.to_lowercase().replace(' ', "_"), key)).collect();
        for (k, (name, key)) in all.iter().enumerate() {
            if let Some((_, first)) = all[..k].iter().find(|(other, _)| other == name) {
                return Err(ProblemSpecError::SameName { first, second: key, name: name.clone() });
            }
        }
        if all[0].0 == "y" && all[1].0 == "x" {
            return Err(ProblemSpecError::AxesExchanged);
        }
        Ok(())
    }

    fn check_grid(&self) -> Checked {
        for (key, got) in [("rows", self.grid.rows), ("columns", self.grid.columns)] {
            if got.is_multiple_of(GRID_MULTIPLE) && (MIN_RESOLUTION..=MAX_RESOLUTION).contains(&got) {
                continue;
            }
            let below = got / GRID_MULTIPLE * GRID_MULTIPLE;
            let nearest = match got {
                MIN_RESOLUTION..=MAX_RESOLUTION => format!("; cut the fields to {below}, or pad them"),
                _ => "; resample the fields".to_owned(),
            };
            return Err(ProblemSpecError::Side { key, got, nearest });
        }
        Ok(())
    }

    fn check_domain(&self) -> Checked {
        let domain = &self.domain;
        require_extent("domain.x", domain.x)?;
        require_extent("domain.y", domain.y)?;
        require_text("domain.unit", &domain.unit, 0, MOST_UNIT)?;
        for name in &domain.names {
            require_text("domain.names", name, 1, MOST_UNIT)?;
            if OTHER_COLUMNS.contains(&name.to_lowercase().as_str()) || name.contains([',', ';', '"', '\'']) {
                return Err(ProblemSpecError::AxisName(name.clone()));
            }
        }
        Ok(())
    }

    fn check_field(&self, channel: Channel, field: &FieldSpec) -> Checked {
        let key = |what: &str| format!("fields.{}.{what}", channel.name());
        require_text(&key("name"), &field.name, 1, MOST_NAME)?;
        require_text(&key("unit"), &field.unit, 0, MOST_UNIT)?;
        match (field.kind, field.values) {
            (KindSpec::Continuous, None) => {}
            (KindSpec::Continuous, Some(_)) => {
                return Err(ProblemSpecError::ValuesOfContinuous(channel.name()));
            }
            (KindSpec::TwoValued, None) => return Err(ProblemSpecError::ValuesMissing(channel.name())),
            (KindSpec::TwoValued, Some(values)) => require_interval(&key("values"), values)?,
        }
        if let Some(minimum) = field.minimum {
            require_finite(&key("minimum"), minimum)?;
            field.values.map_or(Ok(()), |[low, _]| require_possible(&key("values"), low, field))?;
        }
        if let Some(edge) = field.edge {
            require_possible(&key("edge"), edge, field)?;
            if self.grid.points.of_axes() != [GridPoints::Nodes; 2] {
                return Err(ProblemSpecError::NoEdge(channel.name()));
            }
        }
        Ok(())
    }

    fn check_known(&self, known: &KnownSpec) -> Checked {
        match (&known.mask, known.per_record) {
            (Some(MaskSpec::File(file)), false) => return Err(ProblemSpecError::MaskFile(file.clone())),
            (Some(MaskSpec::Runs(runs)), false) => self.check_mask(runs)?,
            (None, true) => {}
            (Some(_), true) | (None, false) => return Err(ProblemSpecError::KnownWhere),
        }
        let own = PerChannel { a: known.a, u: known.u };
        for (channel, stated) in own.with_channels() {
            if stated.is_some() && self.fields[channel].is_none() {
                return Err(ProblemSpecError::KnownUnused(channel.name()));
            }
        }
        if known.value.is_some()
            && Channel::BOTH.iter().all(|c| own[*c].is_some() || self.fields[*c].is_none())
        {
            return Err(ProblemSpecError::KnownUnused("value"));
        }
        for (channel, field) in self.fields.each_ref().with_channels() {
            if let Some(field) = field {
                let value = known.value_of(channel).ok_or(ProblemSpecError::KnownValue(channel.name()))?;
                require_possible(&format!("known value of {}", channel.name()), value, field)?;
            }
        }
        Ok(())
    }

    fn check_mask(&self, runs: &[u32]) -> Checked {
        if runs.len() > MOST_RUNS {
            return Err(ProblemSpecError::MaskPieces(MOST_RUNS));
        }
        let sum = |runs: &mut dyn Iterator<Item = &u32>| runs.map(|run| u64::from(*run)).sum::<u64>();
        let got = sum(&mut runs.iter());
        let expected = self.grid.shape().points();
        if got != expected as u64 {
            return Err(ProblemSpecError::MaskPoints { got, expected });
        }
        match sum(&mut runs.iter().skip(1).step_by(2)) {
            0 => Err(ProblemSpecError::MaskShare("no point")),
            all if all == got => Err(ProblemSpecError::MaskShare("all points")),
            _ => Ok(()),
        }
    }
}

impl KnownSpec {
    /// What a field is inside the mask, if it is said.
    pub(crate) fn value_of(&self, channel: Channel) -> Option<f64> {
        match channel {
            Channel::A => self.a.or(self.value),
            Channel::U => self.u.or(self.value),
        }
    }
}

fn require_text(key: &str, text: &str, least: usize, most: usize) -> Checked {
    let letters = text.chars().count();
    let printable =
        text.trim() == text && !text.chars().any(|letter| letter.is_control() || is_invisible(letter));
    if printable && (least..=most).contains(&letters) {
        return Ok(());
    }
    let text = text.chars().take(most).collect();
    Err(ProblemSpecError::Text { key: key.to_owned(), text, least, most })
}

/// Spaces without width, and marks that turn what follows around: a name with one is not the name that is seen.
fn is_invisible(letter: char) -> bool {
    matches!(letter, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

fn require_finite(key: &str, value: f64) -> Checked {
    if value.is_finite() {
        return Ok(());
    }
    Err(ProblemSpecError::NotFinite { key: key.to_owned(), value })
}

fn require_interval(key: &str, [low, high]: [f64; 2]) -> Checked {
    require_finite(key, low)?;
    require_finite(key, high)?;
    require_finite(&format!("the length of {key}"), high - low)?;
    if low < high {
        return Ok(());
    }
    Err(ProblemSpecError::Order { key: key.to_owned(), low, high })
}

/// Refuses where an axis cannot begin and end.
fn require_extent(key: &str, [low, high]: [f64; 2]) -> Checked {
    require_interval(key, [low, high])?;
    if high - low > NARROWEST * low.abs().max(high.abs()) {
        return Ok(());
    }
    Err(ProblemSpecError::Narrow { key: key.to_owned(), low, high })
}

/// Refuses a value that a field cannot have.
fn require_possible(key: &str, value: f64, field: &FieldSpec) -> Checked {
    require_finite(key, value)?;
    let why = match (field.minimum, field.values) {
        (Some(minimum), _) if value < minimum => format!("its minimum is {minimum:?}"),
        (_, Some([low, high])) if value != low && value != high => {
            format!("its values are {low:?} and {high:?}")
        }
        _ => return Ok(()),
    };
    Err(ProblemSpecError::Impossible { key: key.to_owned(), value, why })
}
