//! What all records tell: normalisation of the training split, fields that never change, records that occur twice.

use std::collections::{HashMap, HashSet};

use scope_pde::{
    Channel, Constants, GridShape, Pde, PerChannel, Scaling,
    descriptor::{FieldKind, KnownRegion},
};

use super::split::Part;
use crate::{error::DataError, observation::Mask, record_region::RecordRegion, significant};

/// Thumbnails are so many points a side.
const THUMBNAIL: usize = 8;
/// Neighbours in a file that differ by less than this share of what any two records differ are probably times of one
/// simulation.
const ALIKE: f64 = 0.5;
/// What a field is in a known region is far from it if it lies so many standard deviations from the mean elsewhere.
const FAR: f64 = 5.0;
/// A field of one sign whose sizes span so many powers of ten is told of: the largest values alone make its errors.
const DECADES: f64 = 3.0;

/// What is gathered while records pass by.
pub(super) struct Survey<'a> {
    pde: Pde,
    parts: &'a [Part],
    groups: Option<&'a [u64]>,
    /// The points that every record has in its known region.
    known: Mask,
    /// The moments of the training split, without what is known before anything is measured.
    moments: PerChannel<Moments>,
    /// Those of all points.
    whole: PerChannel<Moments>,
    /// The record that first had some values.
    seen: HashMap<[u8; 32], usize>,
    /// Pairs of equal records of one group.
    repeated: usize,
    /// Whether a and u have been equal in every record so far.
    one_field_twice: bool,
    thumbnails: Vec<[f32; 2 * THUMBNAIL * THUMBNAIL]>,
}

/// What it has found.
pub(super) struct Surveyed {
    /// Constants of the training split.
    pub(super) constants: Constants,
    /// What is worth knowing.
    pub(super) notes: Vec<String>,
}

impl<'a> Survey<'a> {
    pub(super) fn new(pde: Pde, parts: &'a [Part], groups: Option<&'a [u64]>) -> Self {
        let shape = pde.descriptor().shape.unwrap_or(GridShape::square(1));
        Self {
            pde,
            parts,
            groups,
            known: Mask::always_known(pde, shape),
            moments: PerChannel::default(),
            whole: PerChannel::default(),
            seen: HashMap::new(),
            repeated: 0,
            one_field_twice: pde.present() == PerChannel::both(true),
            thumbnails: Vec::with_capacity(parts.len()),
        }
    }

    /// Takes a record, numbered from 0, with its known region if that is its own.
    pub(super) fn add(
        &mut self,
        number: usize,
        record: PerChannel<&[f64]>,
        region: Option<&RecordRegion>,
    ) -> Result<(), DataError> {
        self.require_new(number, record)?;
        self.one_field_twice &= record.a == record.u;
        if self.parts[number] == Part::Train {
            let own = region.map(|region| region.points(self.known.shape()));
            let known = own.as_ref().unwrap_or(&self.known);
            for (channel, field) in record.with_channels() {
                let values = field.iter().enumerate().filter(|(point, _)| !known.contains(*point));
                self.moments[channel].add(&values.map(|(_, value)| *value).collect::<Vec<f64>>());
                self.whole[channel].add(field);
            }
        }
        let shape = self.pde.descriptor().shape.unwrap_or(GridShape::square(1));
        self.thumbnails.push(thumbnail(record, shape));
        Ok(())
    }

    /// Refuses a record that is another one again: it would be tested on what was trained on, or count twice. Within a
    /// group it stays in one split.
    fn require_new(&mut self, number: usize, record: PerChannel<&[f64]>) -> Result<(), DataError> {
        let mut hasher = blake3::Hasher::new();
        record.iter().for_each(|field| {
            hasher.update(bytemuck::cast_slice(field));
        });
        let Some(first) = self.seen.insert(hasher.finalize().into(), number) else { return Ok(()) };
        if self.groups.is_some_and(|groups| groups[first] == groups[number]) {
            self.repeated += 1;
            return Ok(());
        }
        Err(DataError::Request(format!(
            "records {first} and {number} are equal in every value: leave one of them out, or put both into one group, so that none is \
             tested on what another was trained on"
        )))
    }

    pub(super) fn finish(self) -> Result<Surveyed, DataError> {
        if self.one_field_twice {
            return Err(DataError::Request(
                "a and u are equal in every value of every record: was one file named for both? A problem may have one field only"
                    .to_owned(),
            ));
        }
        let fields = self.pde.descriptor().fields;
        let constants = PerChannel::try_from_fn(|channel: Channel| {
            let measured = match fields[channel].kind {
                FieldKind::Absent => Ok(Constants::UNSCALED[channel]),
                FieldKind::TwoValued { low, high } => self.moments[channel]
                    .require_variation()
                    .map(|()| Scaling { mean: 0.5 * (low + high), sigma: 0.5 * (high - low) }),
                // A value that is far away would be so large beside the others that a network learned nothing else.
                FieldKind::Continuous => self.moments[channel].scaling().and_then(|elsewhere| {
                    match self.far_known_value(channel, elsewhere) {
                        None => Ok(elsewhere),
                        Some(_) => self.whole[channel].scaling(),
                    }
                }),
            };
            measured.map_err(|problem| {
                DataError::Request(format!("{} ({}) {problem}", channel.name(), fields[channel].name))
            })
        })?;
        let mut notes = Vec::new();
        if self.repeated > 0 {
            notes.push(format!("{} records are equal to another one of their group", self.repeated));
        }
        notes.extend(self.neighbours_alike());
        notes.extend(self.scattered_groups());
        for (channel, field) in fields.with_channels() {
            if let (FieldKind::Continuous, Ok(elsewhere)) = (field.kind, self.moments[channel].scaling()) {
                let named = |problem: String| format!("{} ({}) {problem}", channel.name(), field.name);
                notes.extend(self.far_known_value(channel, elsewhere).map(named));
                notes.extend(self.moments[channel].decades().map(named));
            }
        }
        Ok(Surveyed { constants, notes })
    }

    /// Says so of a known value that is far from all others, as a mark for land is.
    fn far_known_value(&self, channel: Channel, Scaling { mean, sigma }: Scaling) -> Option<String> {
        let region = self.pde.descriptor().known_region;
        if !matches!(region, KnownRegion::Fixed(_) | KnownRegion::PerRecord(_)) {
            return None;
        }
        let known = region.values()[channel];
        let apart = (known - mean).abs() / sigma;
        (apart > FAR).then(|| {
            format!(
                "is {known} in the known region, {apart:.0} standard deviations from its mean of {} elsewhere, beside which a network \
                 sees less of how the field varies: if it is only a mark, as for land, have NaN in the records there and state a value near \
                 the mean",
                significant(mean, 4)
            )
        })
    }

    /// Says so if records of one group do not follow each other in the training split. A set does not say which group a
    /// record is of, so that whoever keeps its last records from a fit takes them from groups that were fitted.
    fn scattered_groups(&self) -> Option<String> {
        let trained = self.groups?.iter().zip(self.parts).filter(|(_, part)| **part == Part::Train);
        let mut in_turn: Vec<u64> = trained.map(|(group, _)| *group).collect();
        in_turn.dedup();
        let different: HashSet<&u64> = in_turn.iter().collect();
        (different.len() < in_turn.len()).then(|| {
            "records of one group lie apart in the files: put them in the order of their groups, or a linear fit, which is tried on the \
             last records of the training set, is tried on groups that it was made from, and its errors look smaller than they are"
                .to_owned()
        })
    }

    /// Says so if records that follow each other are alike, and nothing keeps them in one split.
    fn neighbours_alike(&self) -> Option<String> {
        let count = self.thumbnails.len();
        if self.groups.is_some() || count < 4 {
            return None;
        }
        let apart = |one: usize, other: usize| -> f64 {
            let pairs = self.thumbnails[one].iter().zip(&self.thumbnails[other]);
            pairs.map(|(x, y)| f64::from(x - y).powi(2)).sum::<f64>().sqrt()
        };
        let next: f64 = (1..count).map(|k| apart(k - 1, k)).sum::<f64>() / (count - 1) as f64;
        let half = count / 2;
        let far: f64 = (0..half).map(|k| apart(k, k + half)).sum::<f64>() / half as f64;
        (next < ALIKE * far).then(|| {
            format!(
                "records that follow each other differ by {:.0}% of what others differ: if they are times of one simulation, give groups, \
                 or errors on the held-out records will look better than they are",
                100.0 * next / far
            )
        })
    }
}

/// Sizes of values that single precision holds with room for what is computed of them.
const SIZES: [f64; 2] = [1e-30, 1e30];
/// A field that varies by less than this share of its mean has steps of an eighth of its deviation in single precision.
const LEAST_VARIATION: f64 = 1e-6;

/// Mean and deviation of a stream of values (Chan's pairwise update, one field at a time), and its extremes.
#[derive(Clone, Copy, Debug)]
struct Moments {
    count: f64,
    mean: f64,
    squares: f64,
    least: f64,
    greatest: f64,
}

impl Default for Moments {
    fn default() -> Self {
        Self { count: 0.0, mean: 0.0, squares: 0.0, least: f64::INFINITY, greatest: f64::NEG_INFINITY }
    }
}

impl Moments {
    fn add(&mut self, field: &[f64]) {
        if field.is_empty() {
            return;
        }
        let n = field.len() as f64;
        let mean = field.iter().sum::<f64>() / n;
        let squares: f64 = field.iter().map(|value| (value - mean).powi(2)).sum();
        let apart = mean - self.mean;
        let total = self.count + n;
        self.squares += squares + apart * apart * self.count * n / total;
        self.mean += apart * n / total;
        self.count = total;
        self.least = field.iter().copied().fold(self.least, f64::min);
        self.greatest = field.iter().copied().fold(self.greatest, f64::max);
    }

    /// Says so of values of one sign that span powers of ten.
    fn decades(&self) -> Option<String> {
        let [least, greatest] = [self.least, self.greatest].map(f64::abs);
        let decades = (greatest / least).log10().abs();
        let is_wide = self.least * self.greatest > 0.0 && decades > DECADES;
        is_wide.then(|| {
            format!(
                "spans {decades:.1} powers of ten: its largest values alone make what is called its error; import its logarithm if small \
                 ones matter"
            )
        })
    }

    /// Refuses values that never change, and says so of the field.
    fn require_variation(&self) -> Result<(), String> {
        if self.least < self.greatest {
            return Ok(());
        }
        let value = self.least;
        Err(format!("is {value:?} everywhere in the training split: there is nothing to learn of it"))
    }

    /// The constants that values are stored with, or what is wrong with the field.
    fn scaling(&self) -> Result<Scaling, String> {
        self.require_variation()?;
        let Self { least, greatest, mean, .. } = *self;
        let size = least.abs().max(greatest.abs());
        if !(SIZES[0]..=SIZES[1]).contains(&size) {
            let [low, high] = SIZES;
            return Err(format!(
                "goes from {least:e} to {greatest:e}: state it in another unit, in which the largest value is from {low:e} to {high:e}"
            ));
        }
        let sigma = (self.squares / self.count).sqrt();
        if sigma <= LEAST_VARIATION * mean.abs() {
            return Err(format!(
                "varies by {} about {}, which single precision hardly resolves: subtract the mean from it before the import",
                significant(sigma, 2),
                significant(mean, 6)
            ));
        }
        Ok(Scaling { mean, sigma })
    }
}

/// Means over blocks of both fields.
fn thumbnail(record: PerChannel<&[f64]>, shape: GridShape) -> [f32; 2 * THUMBNAIL * THUMBNAIL] {
    let mut sums = [0.0_f64; 2 * THUMBNAIL * THUMBNAIL];
    for (field, sums) in record.into_iter().zip(sums.chunks_exact_mut(THUMBNAIL * THUMBNAIL)) {
        for (point, value) in field.iter().enumerate() {
            let [i, j] = shape.place(point);
            sums[i * THUMBNAIL / shape.rows * THUMBNAIL + j * THUMBNAIL / shape.columns] += value;
        }
    }
    let block = (shape.points() / (THUMBNAIL * THUMBNAIL)).max(1) as f64;
    sums.map(|sum| (sum / block) as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_those_of_all_values_together() {
        let fields = [[1e6, 1e6 + 2.0, 1e6 + 5.0], [1e6 - 3.0, 1e6, 1e6 + 1.0], [1e6; 3]];
        let mut moments = Moments::default();
        fields.iter().for_each(|field| moments.add(field));
        let all: Vec<f64> = fields.concat();
        let mean = all.iter().sum::<f64>() / 9.0;
        let variance = all.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 9.0;
        let Scaling { mean: got, sigma } = moments.scaling().unwrap();
        assert!((got - mean).abs() < 1e-8 && (sigma - variance.sqrt()).abs() < 1e-8);
        let mut constant = Moments::default();
        [[0.1; 3]; 4].iter().for_each(|field| constant.add(field));
        let refusal = constant.scaling().unwrap_err();
        assert!(refusal.contains("is 0.1 everywhere"), "{refusal}");
    }

    #[test]
    fn what_single_precision_cannot_hold_is_refused_with_what_to_do() {
        let of = |field: [f64; 3]| {
            let mut moments = Moments::default();
            moments.add(&field);
            moments.scaling()
        };
        for (field, expected) in [
            ([1e-300, 2e-300, 0.0], "goes from 0e0 to 2e-300: state it in another unit"),
            ([1e37, -3e37, 0.0], "goes from -3e37 to 1e37: state it in another unit"),
            (
                [1e8, 1e8 + 1.0, 1e8 - 1.0],
                "about 1.00000e8, which single precision hardly resolves: subtract",
            ),
        ] {
            let refusal = of(field).unwrap_err();
            assert!(refusal.contains(expected), "{refusal}");
        }
        assert!(of([300.0, 300.01, 299.99]).is_ok());
    }
}
