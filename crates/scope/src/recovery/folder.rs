//! The folder that recoveries leave: whole or not at all.

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::Path,
};

use scope_data::{
    GridShape, StagedFolder,
    labelled::LabelledFormat,
    npy::{Dtype, Header},
};

use scope_eval::trust::Residuals;

use super::{
    error::RecoveryError,
    recovered::Recovered,
    summary::{MethodSummary, ProblemSummary, Summary},
    table::Points,
};

/// The file that readings stand in beside what the other sensors say of them.
const RESIDUALS: &str = "residuals.csv";

/// The file that values at the user's points stand in, and that of every pixel.
const AT: &str = "at.csv";
const FIELDS: &str = "fields.csv";

/// Recoveries on their way to disk: fields are written as they come.
pub struct ResultFolder {
    staged: StagedFolder,
    arrays: Vec<ArrayFile>,
    count: usize,
    problems: Vec<ProblemSummary>,
    drawn: usize,
    /// A line for each reading, of methods that know what the other sensors say of it.
    residuals: Option<BufWriter<File>>,
    /// A line for each point where values are wanted, and for each pixel.
    tables: Vec<TableFile>,
    /// A file for each problem that other programs open.
    labelled: Option<LabelledFormat>,
}

/// A table of values at points.
struct TableFile {
    name: &'static str,
    points: Points,
    file: BufWriter<File>,
}

/// One array: \[S, S\] for one problem, \[count, S, S\] for more; of samples, N to a problem, \[N, S, S\] or \[count,
/// N, S, S\].
struct ArrayFile {
    name: String,
    /// Numbers of a problem.
    each: usize,
    file: BufWriter<File>,
}

impl ArrayFile {
    /// Writes the header of an array of so many fields a problem.
    fn begin(file: File, name: &str, count: usize, fields: usize, grid: GridShape) -> io::Result<Self> {
        let mut file = BufWriter::new(file);
        let mut shape = Vec::new();
        shape.extend((count != 1).then_some(count));
        shape.extend((fields != 1).then_some(fields));
        shape.extend(grid.lengths());
        file.write_all(&Header::new(Dtype::F32, &shape).to_bytes())?;
        Ok(Self { name: name.to_owned(), each: fields * grid.points(), file })
    }

    fn write(&mut self, values: impl Iterator<Item = f32>) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(4 * self.each);
        values.for_each(|value| bytes.extend_from_slice(&value.to_le_bytes()));
        self.file.write_all(&bytes)
    }

    /// Writes NaN for a problem that has no such array.
    fn skip(&mut self) -> io::Result<()> {
        let each = self.each;
        self.write(std::iter::repeat_n(f32::NAN, each))
    }

    /// Brings to the disk what was written so far.
    fn sync(&mut self) -> io::Result<()> {
        self.file.flush()?;
        self.file.get_ref().sync_all()
    }
}

impl ResultFolder {
    /// Begins a folder for `count` problems. It must be new or empty.
    pub fn create(path: &Path, count: usize) -> Result<Self, RecoveryError> {
        let staged = StagedFolder::create(path)?;
        Ok(Self {
            staged,
            arrays: Vec::new(),
            count,
            problems: Vec::new(),
            drawn: 0,
            residuals: None,
            tables: Vec::new(),
            labelled: None,
        })
    }

    /// Also writes all arrays of each problem with their coordinates: `fields.nc` and its like, `fields-1.nc` and so on
    /// where there are several problems.
    pub fn add_labelled(&mut self, format: LabelledFormat) {
        self.labelled = Some(format);
    }

    /// Begins `at.csv`: both fields, and how far they may be off, at points.
    pub fn add_points(&mut self, method: &MethodSummary, points: Points) -> Result<(), RecoveryError> {
        self.begin_table(method, AT, points)
    }

    /// Begins `fields.csv`: the same at every pixel.
    pub fn add_pixels(&mut self, method: &MethodSummary) -> Result<(), RecoveryError> {
        self.begin_table(method, FIELDS, Points::pixels(method))
    }

    fn begin_table(
        &mut self,
        method: &MethodSummary,
        name: &'static str,
        points: Points,
    ) -> Result<(), RecoveryError> {
        let mut file = BufWriter::new(self.staged.create_file(name)?);
        file.write_all(points.header(method, self.count > 1).as_bytes()).map_err(unwritten(name))?;
        self.tables.push(TableFile { name, points, file });
        Ok(())
    }

    /// Adds the fields of the next problem. An array that only some problems have is NaN for the others.
    pub fn add(&mut self, recovered: &Recovered) -> Result<(), RecoveryError> {
        let own = recovered.arrays();
        for (name, fields) in &own {
            if !self.arrays.iter().any(|array| array.name == *name) {
                self.begin(name, fields.len(), recovered.method.resolution)?;
            }
        }
        for array in &mut self.arrays {
            let written = match own.iter().find(|(name, _)| *name == array.name) {
                Some((_, fields)) => array.write(fields.iter().flat_map(|field| field.iter().copied())),
                None => array.skip(),
            };
            written.map_err(unwritten(&array.name))?;
        }
        if let Some(residuals) = &recovered.residuals {
            self.add_residuals(&residuals.csv(&recovered.problem.name))?;
        }
        for TableFile { name, points, file } in &mut self.tables {
            let written = points.write(recovered, self.count > 1, file);
            written.map_err(unwritten(name))?;
        }
        self.problems.push(recovered.into());
        if let Some(format) = self.labelled {
            let file = self.numbered("fields", self.problems.len(), format.ending());
            let bytes = format.bytes(&recovered.labelled()).map_err(unwritten(&file))?;
            self.staged.write(&file, &bytes)?;
        }
        Ok(())
    }

    /// A name, with the number of the problem where there are several.
    fn numbered(&self, name: &str, number: usize, ending: &str) -> String {
        if self.count > 1 { format!("{name}-{number}.{ending}") } else { format!("{name}.{ending}") }
    }

    /// Adds lines to the table of residuals.
    fn add_residuals(&mut self, lines: &str) -> Result<(), RecoveryError> {
        let file = match &mut self.residuals {
            Some(file) => file,
            None => {
                let mut file = BufWriter::new(self.staged.create_file(RESIDUALS)?);
                file.write_all(Residuals::CSV_HEADER.as_bytes()).map_err(unwritten(RESIDUALS))?;
                self.residuals.insert(file)
            }
        };
        file.write_all(lines.as_bytes()).map_err(unwritten(RESIDUALS))
    }

    /// Begins an array that problems before did not have.
    fn begin(&mut self, name: &str, fields: usize, grid: GridShape) -> Result<(), RecoveryError> {
        let file = self.staged.create_file(name)?;
        let mut array = ArrayFile::begin(file, name, self.count, fields, grid).map_err(unwritten(name))?;
        (0..self.problems.len()).try_for_each(|_| array.skip()).map_err(unwritten(name))?;
        self.arrays.push(array);
        Ok(())
    }

    /// Draws a problem: `fields.png`, or `fields-1.png` and so on where there are several.
    pub fn draw(&mut self, recovered: &Recovered) -> Result<(), RecoveryError> {
        self.drawn += 1;
        let file = self.numbered("fields", self.drawn, "png");
        let MethodSummary { pde, resolution: grid, .. } = &*recovered.method;
        let mut heading = format!("{pde}, recovered from sensors, {grid} points");
        if self.count > 1 {
            heading.push_str(&format!(": problem {}", recovered.problem.name));
        }
        let picture = recovered.picture(&heading);
        // The arrays reach the disk while the picture is being compressed.
        let (png, synced) = rayon::join(|| picture.to_png(), || self.sync_arrays());
        synced?;
        self.staged.write(&file, &png?)?;
        Ok(())
    }

    fn sync_arrays(&mut self) -> Result<(), RecoveryError> {
        self.arrays.iter_mut().try_for_each(|array| array.sync().map_err(unwritten(&array.name)))
    }

    /// Writes the summary, and gives the folder its name. `sensors` says where the sensors come from, and `notes` what
    /// was read otherwise than one may expect.
    pub fn finish(
        mut self,
        method: &MethodSummary,
        sensors: &str,
        notes: &[String],
    ) -> Result<Summary, RecoveryError> {
        self.sync_arrays()?;
        let tables = self.tables.into_iter().map(|table| (table.name, table.file));
        for (name, file) in self.residuals.map(|file| (RESIDUALS, file)).into_iter().chain(tables) {
            let written = file.into_inner().map_err(io::Error::from).and_then(|file| file.sync_all());
            written.map_err(unwritten(name))?;
        }
        let summary = Summary::new(method, sensors, notes, self.problems);
        let json = serde_json::to_vec_pretty(&summary).map_err(io::Error::from);
        self.staged.write("summary.json", &json.map_err(unwritten("summary.json"))?)?;
        self.staged.finish()?;
        Ok(summary)
    }
}

/// An error that names the file, for `map_err`.
fn unwritten(file: &str) -> impl FnOnce(io::Error) -> RecoveryError {
    let file = file.to_owned();
    move |source| RecoveryError::Write { file, source }
}
