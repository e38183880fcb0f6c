//! The folder that a recovery leaves: whole or not at all.

use std::{
    fs::File,
    io::{BufWriter, Write},
    path::Path,
};

use anyhow::Context;
use scope_data::{
    StagedFolder,
    npy::{Dtype, Header},
    observation::UserContext,
};
use scope_eval::figure::field_panels;
use scope_model::Fields;

use super::{
    method::{Method, Recovered},
    picture,
    summary::Summary,
};

/// Results on their way to disk: fields are written as they come.
pub(super) struct ResultFolder {
    staged: StagedFolder,
    arrays: [BufWriter<File>; 2],
    count: usize,
    drawn: usize,
}

impl ResultFolder {
    /// Begins a folder for fields of `count` problems: \[S, S\] for one, \[count, S, S\] for more.
    pub(super) fn create(out: &Path, count: usize, size: usize) -> anyhow::Result<Self> {
        let staged = StagedFolder::create(out)?;
        let shape = [count, size, size];
        let header = Header::new(Dtype::F32, if count == 1 { &shape[1..] } else { &shape });
        let begin = |name: &str| {
            let path = staged.path(name);
            let file = File::create(&path).and_then(|file| {
                let mut file = BufWriter::new(file);
                file.write_all(&header.to_bytes())?;
                Ok(file)
            });
            file.with_context(|| format!("cannot write {}", path.display()))
        };
        let arrays = [begin("a.npy")?, begin("u.npy")?];
        Ok(Self { staged, arrays, count, drawn: 0 })
    }

    /// Adds the fields of the next problem.
    pub(super) fn add(&mut self, fields: &Fields) -> anyhow::Result<()> {
        for (array, field) in self.arrays.iter_mut().zip([&fields.a, &fields.u]) {
            let bytes: Vec<u8> = field.iter().flat_map(|value| value.to_le_bytes()).collect();
            array.write_all(&bytes).context("cannot write the fields")?;
        }
        Ok(())
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
        let rows = picture::rows(
            method.pde(),
            context,
            &sensors,
            &recovered.fields,
            recovered.deviation.as_ref(),
            None,
        );
        self.staged.write(&file, &field_panels(&heading, &rows).to_png()?)?;
        Ok(())
    }

    /// Writes the summary, and gives the folder its name.
    pub(super) fn finish(self, summary: &Summary) -> anyhow::Result<()> {
        for array in self.arrays {
            let file = array.into_inner().context("cannot write the fields")?;
            file.sync_all().context("cannot write the fields")?;
        }
        self.staged.write("summary.json", &serde_json::to_vec_pretty(summary)?)?;
        Ok(self.staged.finish()?)
    }
}
