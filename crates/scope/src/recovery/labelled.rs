//! A recovery as arrays with names, coordinates and units, for the files that other programs open.

use scope_data::{
    Channel,
    labelled::{Attributes, LabelledArrays, Values, Variable},
};
use scope_pde::GridShape;

use super::{readings::SensorReading, recovered::Recovered, summary::MethodSummary};

/// What the endings of arrays' names mean.
const KINDS: [(&str, &str); 7] = [
    ("_band68", "half-width that holds 68% of pixels"),
    ("_band95", "half-width that holds 95% of pixels"),
    ("_sd", "standard deviation"),
    ("_map", "more probable value"),
    ("_probability", "probability of the larger value"),
    ("_unprojected", "before known facts were imposed"),
    ("_samples", "draws from the posterior"),
];

/// The places of the dimensions.
const X: usize = 0;
const Y: usize = 1;
const SENSOR: usize = 2;
const SAMPLE: usize = 3;

impl Recovered {
    /// All arrays of the recovery over x and y with CF attributes, and the readings over a dimension of their own.
    pub fn labelled(&self) -> LabelledArrays<'_> {
        let GridShape { rows, columns } = self.method.resolution;
        let readings = self.readings().len();
        let mut dimensions = vec![("x", rows), ("y", columns), ("sensor", readings)];
        dimensions.extend((!self.samples.is_empty()).then_some(("sample", self.samples.len())));
        let arrays = self.arrays();
        let fields = arrays.iter().map(|(file, fields)| self.labelled_field(file, fields));
        let variables = self.axes().into_iter().chain(fields).chain(self.labelled_readings()).collect();
        LabelledArrays { dimensions, variables, attributes: self.statements() }
    }

    /// What is said of the whole recovery.
    fn statements(&self) -> Attributes {
        let MethodSummary { pde, name, file, .. } = &*self.method;
        let warnings: Vec<String> = self.trust.warnings.iter().map(ToString::to_string).collect();
        let comment = if warnings.is_empty() { "no warnings".to_owned() } else { warnings.join("; ") };
        vec![
            ("Conventions", "CF-1.11".to_owned()),
            ("title", format!("{pde}, recovered from sensors: {}", self.problem.name)),
            ("source", format!("{name}: {file}")),
            ("comment", comment),
        ]
    }

    /// The coordinates of the grid.
    fn axes(&self) -> [Variable<'_>; 2] {
        let [x, y] = self.method.coordinates();
        let axis = |dimension: usize, places| {
            let name = ["x", "y"][dimension];
            let long_name = format!("{}, along axis {dimension}", self.axis_name(dimension));
            let axis = vec![("axis", name.to_uppercase()), ("long_name", long_name)];
            Variable {
                name: name.to_owned(),
                dimensions: vec![dimension],
                values: Values::Double(places),
                attributes: [axis, self.axis_unit()].concat(),
            }
        };
        [axis(X, x), axis(Y, y)]
    }

    /// What the user calls an axis.
    fn axis_name(&self, dimension: usize) -> &'static str {
        self.method.pde.descriptor().extent.names[dimension]
    }

    /// The unit of coordinates, where a problem file states one.
    fn axis_unit(&self) -> Attributes {
        let facts = self.method.pde.descriptor();
        let unit = facts.spec.map(|_| facts.extent.unit).filter(|unit| !unit.is_empty());
        unit.map(|unit| ("units", unit.to_owned())).into_iter().collect()
    }

    fn labelled_field<'a>(&self, file: &str, fields: &[&'a [f32]]) -> Variable<'a> {
        let name = file.trim_end_matches(".npy");
        let channel = if name.starts_with('a') { Channel::A } else { Channel::U };
        let pde = self.method.pde;
        let mut long_name = pde.channels()[channel].to_owned();
        let kind = KINDS.iter().find(|(ending, _)| name.ends_with(ending));
        if let Some((_, kind)) = kind {
            long_name = format!("{long_name}, {kind}");
        }
        let mut attributes = vec![("long_name", long_name)];
        let unit = pde.descriptor().spec.map(|_| pde.descriptor().fields[channel].unit);
        let unit =
            if name.ends_with("_probability") { Some("1") } else { unit.filter(|unit| !unit.is_empty()) };
        attributes.extend(unit.map(|unit| ("units", unit.to_owned())));
        let (dimensions, values) = match fields {
            [field] if !name.ends_with("_samples") => (vec![X, Y], Values::Single((*field).into())),
            samples => (vec![SAMPLE, X, Y], Values::Single(samples.concat().into())),
        };
        Variable { name: name.to_owned(), dimensions, values, attributes }
    }

    /// The readings that were used, as the user knows them.
    fn labelled_readings(&self) -> [Variable<'static>; 4] {
        let readings = self.readings();
        let variable = |what: &str, called: &str, values, attributes: Attributes| Variable {
            name: format!("sensor_{what}"),
            dimensions: vec![SENSOR],
            values,
            attributes: [attributes, vec![("long_name", format!("{called} of the sensor"))]].concat(),
        };
        let place = |what, dimension, of: fn(&SensorReading) -> f64| {
            let places = Values::Double(readings.iter().map(of).collect());
            variable(what, self.axis_name(dimension), places, self.axis_unit())
        };
        let channels = readings.iter().map(|reading| reading.channel as i8).collect();
        let flags = vec![("comment", "0 is a, 1 is u".to_owned())];
        [
            place("x", X, |reading| reading.x),
            place("y", Y, |reading| reading.y),
            variable("channel", "channel", Values::Bytes(channels), flags),
            variable(
                "value",
                "value",
                Values::Double(readings.iter().map(|reading| reading.value).collect()),
                vec![],
            ),
        ]
    }
}
