//! Records of one's own: fields from arrays or variables, checked, normalised, and split for training and testing.
//!
//! Two passes over the files, one record at a time. The first checks every value and measures the training split; the
//! second writes both sets.

mod arrays;
mod hdf5;
mod matlab;
mod npz;
mod record;
mod source;
mod split;
mod survey;

use std::path::{Path, PathBuf};

use scope_pde::{Constants, GridShape, Pde, PerChannel, Split};

pub use source::FieldSource;
pub use split::HeldOut;

use self::{
    record::RecordCheck,
    source::OpenField,
    split::{Part, SplitPlan},
    survey::{Survey, Surveyed},
};
use super::file_name;
use crate::{
    dataset::{DatasetWriter, Meta, Origin, Plan},
    error::DataError,
    record_region::RecordRegion,
};

/// What to import.
#[derive(Clone, Debug)]
pub struct OwnImport {
    /// The problem, which has one grid.
    pub pde: Pde,
    /// Where the fields are; none for a field that the problem has not.
    pub fields: PerChannel<Option<FieldSource>>,
    /// Where the known regions of records are, if these have regions of their own: arrays that are not zero there.
    pub known: Option<FieldSource>,
    /// An array \[N\] that numbers the groups of records: those of a group stay in one split.
    pub groups: Option<PathBuf>,
    /// Which records are held out for testing.
    pub test: HeldOut,
    /// The share of records that is held out for error bands, if any is.
    pub calibration_fraction: Option<f64>,
}

/// What was imported.
#[derive(Clone, Debug)]
pub struct OwnImported {
    /// The set for training.
    pub train: Meta,
    /// The held-out set.
    pub test: Meta,
    /// Another held-out set, for error bands, if one was asked for.
    pub calibration: Option<Meta>,
    /// What is worth knowing of the records.
    pub notes: Vec<String>,
}

/// Reads fields of one's own into the folders `train` and `test` of a folder, and `calibration` if that is asked for.
/// `progress` hears (done, of all), and stops the work by returning false.
pub fn import_own(
    request: &OwnImport,
    out: &Path,
    mut progress: impl FnMut(usize, usize) -> bool,
) -> Result<OwnImported, DataError> {
    let fields = OwnFields::open(request)?;
    let groups = request.groups.as_deref().map(|path| split::read_groups(path, fields.count)).transpose()?;
    let plan = SplitPlan { test: request.test, calibration: request.calibration_fraction };
    let parts = split::choose(request.pde.name(), fields.count, plan, groups.as_deref())?;
    let mut survey = Survey::new(request.pde, &parts, groups.as_deref());
    let all = 2 * fields.count;
    let mut done = 0;
    let mut tick = || {
        done += 1;
        if progress(done, all) { Ok(()) } else { Err(DataError::Interrupted) }
    };
    fields.each(|number, record, region| {
        survey.add(number, record, region)?;
        tick()
    })?;
    let Surveyed { constants, notes } = survey.finish()?;
    let mut open: Vec<(Part, DatasetWriter)> = Vec::new();
    for part in [Part::Calibration, Part::Test, Part::Train] {
        let count = parts.iter().filter(|other| **other == part).count();
        if count > 0 {
            let plan = fields.plan(part, count, constants);
            open.push((part, DatasetWriter::create(&out.join(folder(part)), plan)?));
        }
    }
    let mut stored = Vec::new();
    fields.each(|number, record, region| {
        stored.clear();
        for (field, scaling) in record.zip(constants) {
            stored.extend(field.iter().map(|value| scaling.store(*value)));
        }
        if let Some((_, writer)) = open.iter_mut().find(|(part, _)| *part == parts[number]) {
            writer.push(&stored, region)?;
        }
        tick()
    })?;
    let mut written = [None, None, None];
    for (part, writer) in open {
        written[part as usize] = Some(writer.finish()?);
    }
    let [Some(train), Some(test), calibration] = written else {
        return Err(DataError::Request("there are too few records to train and to test".to_owned()));
    };
    Ok(OwnImported { train, test, calibration, notes })
}

/// Where the records of a part go.
fn folder(part: Part) -> &'static str {
    match part {
        Part::Train => "train",
        Part::Test => "test",
        Part::Calibration => "calibration",
    }
}

/// The fields of a request, open and of one shape.
struct OwnFields {
    pde: Pde,
    fields: PerChannel<Option<Box<dyn OpenField>>>,
    /// Where the known regions of records are.
    known: Option<Box<dyn OpenField>>,
    files: Vec<String>,
    count: usize,
}

impl OwnFields {
    fn open(request: &OwnImport) -> Result<Self, DataError> {
        let pde = request.pde;
        let Some(shape) = pde.descriptor().shape else {
            return Err(DataError::Request(format!(
                "{pde} has no grid of its own: import its released files"
            )));
        };
        let present = pde.present();
        let mut files: Vec<String> = Vec::new();
        let fields = PerChannel::try_from_fn(|channel| {
            let name = channel.name();
            match (&request.fields[channel], present[channel]) {
                (None, false) => Ok(None),
                (None, true) => Err(DataError::Request(format!(
                    "the problem {pde} has the field {name} ({}), and no file was named for it",
                    pde.channels()[channel]
                ))),
                (Some(_), false) => Err(DataError::Request(format!(
                    "the problem {pde} has no field {name}: leave its file out, or state [fields.{name}]"
                ))),
                (Some(source), true) => {
                    let file = file_name(&source.path);
                    if !files.contains(&file) {
                        files.push(file);
                    }
                    source.open(shape).map(Some)
                }
            }
        })?;
        let known = Self::open_known(request, shape)?;
        let counts: Vec<usize> = fields.iter().flatten().map(|field| field.count()).collect();
        let count = counts.first().copied().unwrap_or(0);
        if let Some(other) = counts.iter().find(|other| **other != count) {
            return Err(DataError::Request(format!(
                "there are {count} records of a and {other} of u: they must be as many, in the same order"
            )));
        }
        if let Some(other) = known.as_ref().map(|known| known.count()).filter(|other| *other != count) {
            return Err(DataError::Request(format!(
                "there are {count} records and {other} known regions: they must be as many, in the same order"
            )));
        }
        Ok(Self { pde, fields, known, files, count })
    }

    /// The known regions, which must be named just if records have any of their own.
    fn open_known(request: &OwnImport, shape: GridShape) -> Result<Option<Box<dyn OpenField>>, DataError> {
        let pde = request.pde;
        match (&request.known, pde.has_record_regions()) {
            (Some(source), true) => source.open(shape).map(Some),
            (None, false) => Ok(None),
            (None, true) => Err(DataError::Request(format!(
                "the problem {pde} has a known region in each record, and no file was named for them: masks [N, rows, columns]"
            ))),
            (Some(_), false) => Err(DataError::Request(format!(
                "the problem {pde} has no known region in each record: leave the file out, or state per_record = true under [known]"
            ))),
        }
    }

    /// Hands out every record in physical units, checked against what the problem states, with its known region if it
    /// has one of its own; a field that there is not is zero.
    fn each(
        &self,
        mut take: impl FnMut(usize, PerChannel<&[f64]>, Option<&RecordRegion>) -> Result<(), DataError>,
    ) -> Result<(), DataError> {
        let mut check = RecordCheck::new(self.pde);
        let mut masks = self.known.as_ref().map(|known| known.reader()).transpose()?;
        let mut mask = vec![0.0; check.points()];
        let mut readers = PerChannel::try_from_fn(|channel| {
            self.fields[channel].as_ref().map(|field| field.reader()).transpose()
        })?;
        let mut values = PerChannel::both(vec![0.0; check.points()]);
        for number in 0..self.count {
            let region = match &mut masks {
                None => None,
                Some(masks) => {
                    masks.read(&mut mask)?;
                    Some(check.know(number, &mask)?)
                }
            };
            for (channel, reader) in readers.each_mut().with_channels() {
                if let Some(reader) = reader {
                    reader.read(&mut values[channel])?;
                    check.settle(number, channel, &mut values[channel])?;
                }
            }
            take(number, values.each_ref().map(Vec::as_slice), region.as_ref())?;
        }
        Ok(())
    }

    fn plan(&self, part: Part, count: usize, constants: Constants) -> Plan {
        let split = if part == Part::Train { Split::Train } else { Split::Test };
        // Sets that were held out for different purposes are told apart by where they come from.
        let source = if part == Part::Calibration { "own records for calibration" } else { "own records" };
        Plan {
            pde: self.pde,
            split,
            resolution: self.pde.descriptor().shape.unwrap_or(GridShape::square(0)),
            count,
            constants,
            origin: Origin::Imported { source: source.to_owned(), files: self.files.clone() },
            shard: None,
        }
    }
}
