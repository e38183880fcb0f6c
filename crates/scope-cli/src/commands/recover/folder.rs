//! The folder that a recovery leaves: whole or not at all.

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::Path,
};

use anyhow::Context;
use scope_data::{
    StagedFolder,
    npy::{Dtype, Header},
    observation::UserContext,
};
use scope_eval::figure::field_panels;

use super::{
    method::{Method, Recovered},
    picture,
    summary::Summary,
};

/// Results on their way to disk: fields are written as they come.
pub(super) struct ResultFolder {
    staged: StagedFolder,
    arrays: Vec<ArrayFile>,
    size: usize,
    count: usize,
    added: usize,
    drawn: usize,
}

/// One array: \[S, S\] for one problem, \[count, S, S\] for more; of samples, N to a problem, \[N, S, S\] or \[count, N, S, S\].
struct ArrayFile {
    name: String,
    /// Numbers of a problem.
    each: usize,
    file: BufWriter<File>,
}

impl ArrayFile {
    fn write(&mut self, values: impl Iterator<Item = f32>) -> io::Result<()> {
        let bytes: Vec<u8> = values.flat_map(f32::to_le_bytes).collect();
        self.file.write_all(&bytes)
    }

    /// Writes a problem that has no such array.
    fn skip(&mut self) -> io::Result<()> {
        let each = self.each;
        self.write(std::iter::repeat_n(f32::NAN, each))
    }
}

impl ResultFolder {
    /// Begins a folder for fields of `count` problems on S x S points.
    pub(super) fn create(out: &Path, count: usize, size: usize) -> anyhow::Result<Self> {
        let staged = StagedFolder::create(out)?;
        Ok(Self { staged, arrays: Vec::new(), size, count, added: 0, drawn: 0 })
    }

    /// Adds the fields of the next problem. An array that only some problems have is NaN for the others.
    pub(super) fn add(&mut self, recovered: &Recovered) -> anyhow::Result<()> {
        let own = recovered.arrays();
        for (name, fields) in &own {
            if !self.arrays.iter().any(|array| array.name == *name) {
                let array = self.begin(name, fields.len());
                self.arrays.push(array.with_context(|| format!("cannot write {name}"))?);
            }
        }
        for array in &mut self.arrays {
            let written = match own.iter().find(|(name, _)| *name == array.name) {
                Some((_, fields)) => array.write(fields.iter().flat_map(|field| field.iter().copied())),
                None => array.skip(),
            };
            written.with_context(|| format!("cannot write {}", array.name))?;
        }
        self.added += 1;
        Ok(())
    }

    /// Begins an array that problems before did not have.
    fn begin(&mut self, name: &str, fields: usize) -> anyhow::Result<ArrayFile> {
        let mut file = BufWriter::new(self.staged.create_file(name)?);
        let (problems, several) = ((self.count != 1).then_some(self.count), (fields != 1).then_some(fields));
        let shape: Vec<usize> = problems.into_iter().chain(several).chain([self.size, self.size]).collect();
        file.write_all(&Header::new(Dtype::F32, &shape).to_bytes())?;
        let mut array = ArrayFile { name: name.to_owned(), each: fields * self.size * self.size, file };
        (0..self.added).try_for_each(|_| array.skip())?;
        Ok(array)
    }

    /// Draws a problem: `fields.png`, or `fields-1.png` and so on where there are several.
    pub(super) fn draw(
        &mut self,
        name: &str,
        method: &Method,
        context: &UserContext,
        recovered: &Recovered,
    ) -> anyhow::Result<()> {
        self.drawn += 1;
        let file =
            if self.count == 1 { "fields.png".to_owned() } else { format!("fields-{}.png", self.drawn) };
        let mut heading = format!("{}, recovered from sensors", method.pde());
        if self.count > 1 {
            heading.push_str(&format!(": problem {name}"));
        }
        let sensors = picture::sensors(context, &method.constants());
        let spread = recovered.spread();
        let spread = spread.as_ref().map(|(title, fields)| (title.as_str(), *fields));
        let rows = picture::rows(method.pde(), context, &sensors, &recovered.fields, spread, None);
        self.staged.write(&file, &field_panels(&heading, &rows).to_png()?)?;
        Ok(())
    }

    /// Writes the summary, and gives the folder its name.
    pub(super) fn finish(mut self, summary: &Summary) -> anyhow::Result<()> {
        for array in self.arrays {
            let name = array.name;
            let file = array.file.into_inner().with_context(|| format!("cannot write {name}"))?;
            file.sync_all().with_context(|| format!("cannot write {name}"))?;
        }
        self.staged.write("summary.json", &serde_json::to_vec_pretty(summary)?)?;
        Ok(self.staged.finish()?)
    }
}
