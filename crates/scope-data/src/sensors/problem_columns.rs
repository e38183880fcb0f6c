//! What columns of tables are called in a problem: x, y, a and u, or as its file calls axes and fields.

use scope_pde::{Channel, Pde, PerChannel};

use super::meaning::Meaning;

/// What tables separate their cells with, or quote them.
const SEPARATORS: [char; 5] = [',', ';', '\t', '"', '\''];

/// The names of a problem's columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProblemColumns {
    /// The coordinates along axis 0 and along axis 1.
    pub axes: [String; 2],
    /// The values of a and of u.
    pub fields: PerChannel<String>,
    /// Which fields the problem has.
    pub present: PerChannel<bool>,
    /// The units of the fields and of the axes; empty where none is stated.
    pub(super) units: PerChannel<&'static str>,
    pub(super) unit_of_axes: &'static str,
}

impl ProblemColumns {
    /// Those of a problem. Fields of one's own are called by their names, "water level" as `water_level`, unless that
    /// would be another column's name: then both are called a and u.
    pub fn of(pde: Pde) -> Self {
        let plain = PerChannel::from_fn(|channel: Channel| channel.name().to_owned());
        let facts = pde.descriptor();
        let present = pde.present();
        let units = facts.fields.map(|field| field.unit);
        let unit_of_axes = facts.extent.unit;
        if facts.spec.is_none() {
            let axes = ["x", "y"].map(str::to_owned);
            return Self { axes, fields: plain, present, units, unit_of_axes };
        }
        let axes = facts.extent.names.map(str::to_owned);
        let own = facts.fields.map(|field| as_column(field.name));
        let is_free = |channel: Channel| {
            let name = own[channel].as_str();
            let is_unusable = name.is_empty() || name.contains(SEPARATORS) || Meaning::is_taken(name);
            !present[channel] || !(is_unusable || axes.iter().any(|axis| as_column(axis) == name))
        };
        let told_apart = !(present.a && present.u) || own.a != own.u;
        let fields = if told_apart && Channel::BOTH.into_iter().all(is_free) { own } else { plain };
        Self { axes, fields, present, units, unit_of_axes }
    }

    /// Whether a column is called just as an axis or a field is.
    pub(super) fn has(&self, cell: &str) -> bool {
        let cell = as_column(cell);
        self.axes.iter().any(|axis| as_column(axis) == cell) || self.fields.iter().any(|field| *field == cell)
    }
}

/// A name as that of a column: without capitals and spaces.
pub(super) fn as_column(name: &str) -> String {
    name.trim().to_lowercase().replace(' ', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(name: &str, a: &str, u: &str, axes: [&str; 2]) -> Pde {
        let text = format!(
            r#"{{"name": "{name}", "fields": {{"a": {{"name": "{a}"}}, "u": {{"name": "{u}"}}}},
                "grid": {{"rows": 32, "columns": 40}}, "domain": {{"names": ["{}", "{}"]}}}}"#,
            axes[0], axes[1]
        );
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn columns_are_called_as_the_problem_calls_them() {
        let waves = ProblemColumns::of(problem("waves", "height", "Water velocity", ["east", "north"]));
        assert_eq!(
            (waves.axes, waves.fields.u.as_str()),
            (["east", "north"].map(str::to_owned), "water_velocity")
        );
        assert_eq!(waves.fields.a, "height");
        for (name, a, u) in [
            ("taken", "u", "level"),
            ("row", "row", "level"),
            ("latitude", "level", "Latitude"),
            ("comma", "velocity, x", "level"),
        ] {
            let fields = ProblemColumns::of(problem(name, a, u, ["x", "y"])).fields;
            assert_eq!((fields.a.as_str(), fields.u.as_str()), ("a", "u"), "{name}");
        }
        assert_eq!(ProblemColumns::of(Pde::DARCY).fields.a, "a");
    }
}
