//! Other people's files: Hugging Face folders, DiffusionPDE's MATLAB and numpy files, plain arrays.
//!
//! Each reader checks headers, shapes and sizes before it believes them, and hands records on one at a time
//! in stored coordinates. What a file is, is told by its content and never by its name alone.

mod arrow;
mod flatbuffer;
mod geometry;
mod hugging_face;
mod mat;
mod mat5;
mod mat73;
mod metered;
mod numpy;
mod own;
mod released;
mod source;
mod source_files;

use std::{
    io::Read,
    path::{Path, PathBuf},
};

pub use geometry::GeometryFiles;
use hugging_face::HuggingFace;
use mat::MatFile;
use numpy::Arrays;
pub use own::{FieldSource, HeldOut, OwnImport, OwnImported, import_own};
pub use released::ZeroTargets;
use scope_pde::{Pde, PdeError, Split, cylinder::Disk, require_resolution};
pub use source::Units;
use source::{Conversion, Source};
use source_files::source_list;
pub use source_files::{SOURCES, SourceFile};

use crate::{
    Constants,
    bounded_read::open_regular,
    dataset::{DatasetWriter, Meta, Origin, Plan},
    error::DataError,
    record_region::RecordRegion,
};

/// What to import.
#[derive(Clone, Debug)]
pub struct ImportRequest {
    /// The problem.
    pub pde: Pde,
    /// The split that the records belong to.
    pub split: Split,
    /// Files or folders, read one after another.
    pub from: Vec<PathBuf>,
    /// The cylinder's disks; found beside `v.npy` when not named.
    pub geometry: Option<GeometryFiles>,
    /// What the numbers mean; by default stored coordinates in Hugging Face folders, physical values
    /// elsewhere.
    pub units: Option<Units>,
}

/// Reads foreign files into a dataset folder. `progress` hears (done, of all), and stops the work by
/// returning false.
pub fn import(
    request: &ImportRequest,
    out: &Path,
    mut progress: impl FnMut(usize, usize) -> bool,
) -> Result<Meta, DataError> {
    let records = ForeignRecords::open(request)?;
    let mut writer = DatasetWriter::create(out, records.plan(request))?;
    let mut done = 0;
    records.read(|pair, disk| {
        writer.push(pair, disk.map(RecordRegion::Disk).as_ref())?;
        done += 1;
        if progress(done, records.count) { Ok(()) } else { Err(DataError::Interrupted) }
    })?;
    writer.attach(SOURCES, &source_list(&records.files(request))?)?;
    writer.finish()
}

/// The records of foreign files, checked as far as headers go.
pub struct ForeignRecords {
    parts: Vec<Part>,
    constants: Constants,
    /// What the numbers of all files mean, where it was said.
    units: Option<Units>,
    /// One a record for the cylinder, none for others.
    disks: Vec<Disk>,
    resolution: usize,
    count: usize,
}

impl ForeignRecords {
    /// Opens the files of a request; the records must have one resolution.
    pub fn open(request: &ImportRequest) -> Result<Self, DataError> {
        let parts = request.from.iter().map(|path| open(path, request.pde)).collect::<Result<Vec<_>, _>>()?;
        let resolution = common_resolution(&request.from, &parts)?;
        let count = parts.iter().map(|part| part.source.count()).sum();
        let disks = read_disks(request, &parts, resolution)?;
        let constants = Constants::released(request.pde);
        Ok(Self { parts, constants, units: request.units, disks, resolution, count })
    }

    /// Hands out every record \[2, S, S\] in stored coordinates, with its disk if it is a cylinder's.
    pub fn read(
        &self,
        mut take: impl FnMut(&[f32], Option<Disk>) -> Result<(), DataError>,
    ) -> Result<(), DataError> {
        let mut done = 0;
        for part in &self.parts {
            let conversion = Conversion::new(self.constants, self.units.unwrap_or(part.units));
            part.source.read(conversion, &mut |pair| {
                take(pair, self.disks.get(done).copied())?;
                done += 1;
                Ok(())
            })?;
        }
        Ok(())
    }

    /// The files that fields are read from, in order.
    fn source_files(&self) -> impl Iterator<Item = PathBuf> {
        self.parts.iter().flat_map(|part| part.source.files())
    }

    /// These files, and those of the disks after them.
    fn files(&self, request: &ImportRequest) -> Vec<PathBuf> {
        let disks: Vec<GeometryFiles> = match &request.geometry {
            Some(named) => vec![named.clone()],
            None if request.pde.has_disk() => {
                request.from.iter().filter_map(|folder| GeometryFiles::beside(folder)).collect()
            }
            None => Vec::new(),
        };
        self.source_files().chain(disks.iter().flat_map(GeometryFiles::paths)).collect()
    }

    /// What the set of these records will be.
    fn plan(&self, request: &ImportRequest) -> Plan {
        let mut kinds: Vec<&str> = self.parts.iter().map(|part| part.kind).collect();
        kinds.dedup();
        let files = self.source_files().map(|path| file_name(&path)).collect();
        Plan {
            pde: request.pde,
            split: request.split,
            resolution: self.resolution.into(),
            count: self.count,
            constants: self.constants,
            origin: Origin::Imported { source: kinds.join(", "), files },
            shard: None,
        }
    }
}

/// One of the files or folders named.
struct Part {
    source: Box<dyn Source>,
    kind: &'static str,
    units: Units,
}

/// Finds out what a path is.
fn open(path: &Path, pde: Pde) -> Result<Part, DataError> {
    let part = |source: Box<dyn Source>, kind, units| Ok(Part { source, kind, units });
    let unknown = |problem: &str| Err(DataError::malformed(path, "source of data", problem));
    if path.is_dir() {
        return match path {
            path if HuggingFace::recognises(path) => {
                part(Box::new(HuggingFace::open(path)?), "Hugging Face folder", Units::Stored)
            }
            path if Arrays::recognises(path) => {
                part(Box::new(Arrays::open_folder(path, pde)?), "numpy folder", Units::Physical)
            }
            _ => {
                unknown("the folder holds none of: state.json with .arrow shards, a.npy with u.npy, or v.npy")
            }
        };
    }
    let mut start = Vec::new();
    let (file, _) = open_regular(path)?;
    file.take(10).read_to_end(&mut start).map_err(DataError::io("read", path))?;
    match start.as_slice() {
        start if start.starts_with(b"\x93NUMPY") => {
            part(Box::new(Arrays::open_file(path, pde)?), "numpy file", Units::Physical)
        }
        start if start.starts_with(b"MATLAB") || start.starts_with(b"\x89HDF") => {
            part(Box::new(MatFile::open(path, pde)?), "MATLAB file", Units::Physical)
        }
        start if start.starts_with(b"\xff\xff\xff\xff") || start.starts_with(b"ARROW1") => {
            unknown("it is a single Arrow shard: name the folder with its state.json instead")
        }
        _ => unknown(
            "it begins neither as a .npy nor as a .mat file; a folder of .arrow shards needs its state.json",
        ),
    }
}

fn common_resolution(paths: &[PathBuf], parts: &[Part]) -> Result<usize, DataError> {
    let mut common = None;
    for (path, part) in paths.iter().zip(parts) {
        if part.source.count() == 0 {
            return Err(DataError::malformed(path, "source of data", "it holds no records"));
        }
        let size = part.source.resolution();
        let refuse = |error: PdeError| DataError::malformed(path, "source of data", error.to_string());
        require_resolution(size).map_err(refuse)?;
        if *common.get_or_insert(size) != size {
            let problem = format!("its resolution is {size}, that of the files before it {common:?}");
            return Err(DataError::malformed(path, "source of data", problem));
        }
    }
    common.ok_or_else(|| DataError::Request("no files were named".into()))
}

/// The records' disks, for a problem that has any: from the files named, or from those that lie beside each `v.npy`.
fn read_disks(request: &ImportRequest, parts: &[Part], resolution: usize) -> Result<Vec<Disk>, DataError> {
    let pde = request.pde;
    match &request.geometry {
        None if !pde.has_disk() => Ok(Vec::new()),
        Some(_) if !pde.has_disk() => {
            Err(DataError::Geometry(format!("{pde} has no geometry: leave it out")))
        }
        Some(files) => {
            let count = parts.iter().map(|part| part.source.count()).sum();
            files.read(count, resolution)
        }
        None => {
            let mut disks = Vec::new();
            for (folder, part) in request.from.iter().zip(parts) {
                let files = GeometryFiles::beside(folder).ok_or_else(|| {
                    DataError::Geometry(format!(
                        "the {pde} needs a disk for each record, and {} has none beside it: name their file, or \
                         three as in cx.npy,cy.npy,r.npy",
                        folder.display()
                    ))
                })?;
                disks.extend(files.read(part.source.count(), resolution)?);
            }
            Ok(disks)
        }
    }
}

/// The last part of a path.
fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
