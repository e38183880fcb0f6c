//! Joining the shards of one set.

use std::path::{Path, PathBuf};

use super::{
    meta::{Meta, Shard},
    reader::Dataset,
    writer::{DatasetWriter, Plan},
};
use crate::error::DataError;

/// Joins all shards of a set, given in any order, into the folder that one run would have written: equal in
/// every byte. Each shard is verified first. `progress` hears how many records are done, and stops the work by
/// returning false.
pub fn merge(
    folders: &[PathBuf],
    out: &Path,
    mut progress: impl FnMut(usize) -> bool,
) -> Result<Meta, DataError> {
    let mut shards = folders.iter().map(|folder| open_shard(folder)).collect::<Result<Vec<_>, _>>()?;
    shards.sort_by_key(|(_, shard)| shard.part);
    let Some((first, of)) = shards.first().map(|(set, shard)| (set.meta().clone(), shard.of)) else {
        return Err(DataError::Request("no shards were named".into()));
    };
    for (set, shard) in &shards {
        let fits = compare(set.meta(), *shard, &first);
        fits.map_err(|problem| DataError::Shard { path: set.folder().to_owned(), problem })?;
    }
    require_all_parts(&shards, of)?;
    let total = shards.iter().map(|(set, _)| set.len()).sum();
    let plan = Plan {
        pde: first.pde,
        split: first.split,
        resolution: first.resolution,
        count: total,
        constants: first.constants(),
        origin: first.origin,
        shard: None,
    };
    let mut writer = DatasetWriter::create(out, plan)?;
    let mut done = 0;
    for (set, _) in &shards {
        set.verify()?;
        for index in 0..set.len() {
            writer.push(set.pair(index)?.values(), set.region(index))?;
            done += 1;
            if !progress(done) {
                return Err(DataError::Interrupted);
            }
        }
    }
    writer.finish()
}

fn open_shard(folder: &Path) -> Result<(Dataset, Shard), DataError> {
    let set = Dataset::inspect(folder)?;
    let shard = set.meta().shard.ok_or_else(|| DataError::Shard {
        path: folder.to_owned(),
        problem: "it is a whole set, not a shard".into(),
    })?;
    Ok((set, shard))
}

/// Everything but the part itself must agree.
fn compare(meta: &Meta, shard: Shard, first: &Meta) -> Result<(), String> {
    let whole = |shard: Option<Shard>| shard.map(|s| (s.of, s.total));
    let pairs = [
        ("pde", meta.pde.to_string(), first.pde.to_string()),
        ("split", meta.split.to_string(), first.split.to_string()),
        ("resolution", meta.resolution.to_string(), first.resolution.to_string()),
        ("origin", format!("{:?}", meta.origin), format!("{:?}", first.origin)),
        ("constants", format!("{:?}", meta.constants()), format!("{:?}", first.constants())),
        (
            "number of parts and of records",
            format!("{:?}", whole(Some(shard))),
            format!("{:?}", whole(first.shard)),
        ),
    ];
    match pairs.into_iter().find(|(_, here, there)| here != there) {
        Some((key, here, there)) => Err(format!("its {key} is {here}, the first shard's is {there}")),
        None => Ok(()),
    }
}

fn require_all_parts(shards: &[(Dataset, Shard)], of: usize) -> Result<(), DataError> {
    for part in 1..=of {
        let holders: Vec<_> = shards.iter().filter(|(_, shard)| shard.part == part).collect();
        match holders.as_slice() {
            [_] => {}
            [] => return Err(DataError::Request(format!("part {part} of {of} is missing"))),
            [(first, _), (second, _), ..] => {
                let problem = format!("it is part {part} of {of}, and so is {}", first.folder().display());
                return Err(DataError::Shard { path: second.folder().to_owned(), problem });
            }
        }
    }
    Ok(())
}
