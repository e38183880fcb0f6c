//! One record against what its problem states.

use scope_pde::{
    Channel, GridShape, Pde,
    descriptor::{Field, FieldKind},
};

use crate::{error::DataError, observation::Mask, record_region::RecordRegion};

/// Values may be off what is stated by so much of the largest in the field: files of single precision are.
const TOLERANCE: f64 = 1e-5;
/// What messages call the masks of known regions.
pub(super) const KNOWN: &str = "the known region";

/// What records of a problem must be.
pub(super) struct RecordCheck {
    pde: Pde,
    shape: GridShape,
    /// The points that are known, of every record or of the one at hand.
    known: Mask,
}

impl RecordCheck {
    pub(super) fn new(pde: Pde) -> Self {
        let facts = pde.descriptor();
        let shape = facts.shape.unwrap_or(GridShape::square(0));
        Self { pde, shape, known: Mask::always_known(pde, shape) }
    }

    /// Takes the known region of the record that follows: where the values of its mask are not zero.
    pub(super) fn know(&mut self, record: usize, mask: &[f64]) -> Result<RecordRegion, DataError> {
        if let Some(at) = mask.iter().position(|value| !value.is_finite()) {
            let [row, column] = self.shape.place(at);
            return Err(DataError::NotFinite { record, channel: KNOWN, row, column, value: mask[at] });
        }
        self.known = Mask::from_fn(self.shape, |i, j| mask[self.shape.point(i, j)] != 0.0);
        if self.known.count() == self.shape.points() {
            return Err(DataError::Request(format!(
                "record {record} is known at all points: expected a part of the grid"
            )));
        }
        Ok(RecordRegion::Points(self.known.clone()))
    }

    /// Points of a field.
    pub(super) fn points(&self) -> usize {
        self.shape.points()
    }

    /// Checks a field, and sets what is always known to just what it is: files often have NaN there.
    pub(super) fn settle(&self, record: usize, channel: Channel, field: &mut [f64]) -> Result<(), DataError> {
        let facts = self.pde.descriptor().fields[channel];
        self.settle_known(record, channel, field)?;
        if let Some(at) = field.iter().position(|value| !(*value as f32).is_finite()) {
            if field[at].is_finite() {
                let expected =
                    format!("single precision ends at {:e}, state the field in another unit", f32::MAX);
                return Err(self.refuse(record, channel, at, field[at], &expected));
            }
            let [row, column] = self.shape.place(at);
            return Err(DataError::NotFinite {
                record,
                channel: channel.name(),
                row,
                column,
                value: field[at],
            });
        }
        let slack = TOLERANCE * largest(field);
        if let Some(at) = field.iter().position(|value| !is_possible(&facts, *value, slack)) {
            return Err(self.refuse(record, channel, at, field[at], &expected(&facts)));
        }
        match facts.edge {
            Some(edge) => self.require_edge(record, channel, field, edge, slack),
            None => Ok(()),
        }
    }

    fn settle_known(&self, record: usize, channel: Channel, field: &mut [f64]) -> Result<(), DataError> {
        let value = self.pde.descriptor().known_region.values()[channel];
        let slack = TOLERANCE * largest(field).max(value.abs());
        for point in self.known.points() {
            if (field[point] - value).abs() > slack {
                let expected = format!("the known region has {value:?} there; NaN is taken for it too");
                return Err(self.refuse(record, channel, point, field[point], &expected));
            }
            field[point] = value;
        }
        Ok(())
    }

    fn require_edge(
        &self,
        record: usize,
        channel: Channel,
        field: &[f64],
        edge: f64,
        slack: f64,
    ) -> Result<(), DataError> {
        let GridShape { rows, columns } = self.shape;
        let on_edge = |point: &usize| {
            let [i, j] = self.shape.place(*point);
            i == 0 || j == 0 || i + 1 == rows || j + 1 == columns
        };
        match (0..field.len()).filter(on_edge).find(|point| (field[*point] - edge).abs() > slack) {
            None => Ok(()),
            Some(at) => {
                let expected = format!("its edge is stated to be {edge}");
                Err(self.refuse(record, channel, at, field[at], &expected))
            }
        }
    }

    fn refuse(&self, record: usize, channel: Channel, at: usize, value: f64, expected: &str) -> DataError {
        let [row, column] = self.shape.place(at);
        let channel = channel.name();
        DataError::Request(format!(
            "record {record}, {channel} at row {row}, column {column} is {value:?}: {expected}; mend the records or the problem file"
        ))
    }
}

fn largest(field: &[f64]) -> f64 {
    field.iter().filter(|value| value.is_finite()).fold(0.0, |largest: f64, value| largest.max(value.abs()))
}

fn is_possible(facts: &Field, value: f64, slack: f64) -> bool {
    let above = facts.minimum.is_none_or(|minimum| value >= minimum - slack);
    let one_of_two = match facts.kind {
        FieldKind::TwoValued { low, high } => (value - low).abs() <= slack || (value - high).abs() <= slack,
        FieldKind::Continuous | FieldKind::Absent => true,
    };
    above && one_of_two
}

fn expected(facts: &Field) -> String {
    match (facts.kind, facts.minimum) {
        (FieldKind::TwoValued { low, high }, _) => format!("the field is stated to be {low} or {high}"),
        (_, Some(minimum)) => format!("its minimum is stated to be {minimum}"),
        _ => "the field cannot have it".to_owned(),
    }
}
