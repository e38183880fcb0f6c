//! Weight files in memory and on disk.

use std::{
    borrow::Cow,
    collections::HashMap,
    io::{self, Read},
    path::{Path, PathBuf},
};

use rayon::prelude::*;
use safetensors::{SafeTensors, tensor::TensorView};
use scope_data::{DataError, open_regular, write_atomic};
use scope_engine::{Param, Params};

use super::{
    about::{About, KEY},
    header::{PREFIX, header_end, require_tensors, understand},
    quantise::{LayerHessians, Quantisation, SCALE, StoredTensor, dequantise, integers_of},
};
use crate::error::ModelError;

/// A weight file in memory, its header understood and its tensors not yet looked at.
#[derive(Debug)]
pub struct WeightFile {
    path: PathBuf,
    bytes: Cow<'static, [u8]>,
    /// What it says about its model.
    pub about: About,
}

impl WeightFile {
    /// Reads a file. Its header comes first: it must state a network of ours, and tensors of that network which fill
    /// the file, before the rest is read.
    pub fn read(path: &Path) -> Result<Self, ModelError> {
        let refuse = |problem: String| ModelError::malformed(path, problem);
        let unreadable = |source: io::Error| ModelError::Io { path: path.to_owned(), source };
        let (mut file, length) = open_regular(path).map_err(|error| match error {
            DataError::Io { source, .. } => unreadable(source),
            other => other.into(),
        })?;
        let mut bytes = Vec::new();
        (&mut file).take(PREFIX as u64).read_to_end(&mut bytes).map_err(unreadable)?;
        let end = header_end(prefix_of(&bytes).map_err(refuse)?, length).map_err(refuse)?;
        (&mut file).take((end - PREFIX) as u64).read_to_end(&mut bytes).map_err(unreadable)?;
        if bytes.len() != end {
            return Err(refuse("it has become shorter while it was read".to_owned()));
        }
        let about = understand(&bytes, length).map_err(refuse)?;
        let rest = length - end as u64;
        let room = usize::try_from(rest).ok().and_then(|rest| bytes.try_reserve_exact(rest).ok());
        room.ok_or_else(|| unreadable(io::ErrorKind::OutOfMemory.into()))?;
        file.take(rest).read_to_end(&mut bytes).map_err(unreadable)?;
        if bytes.len() as u64 != length {
            return Err(refuse("it has become shorter while it was read".to_owned()));
        }
        Ok(Self { path: path.to_owned(), bytes: bytes.into(), about })
    }

    /// Reads the bytes of a file; errors call it `path`.
    pub fn parse(path: &Path, bytes: impl Into<Cow<'static, [u8]>>) -> Result<Self, ModelError> {
        let bytes = bytes.into();
        let refuse = |problem: String| ModelError::malformed(path, problem);
        let length = bytes.len() as u64;
        let end = header_end(prefix_of(&bytes).map_err(refuse)?, length).map_err(refuse)?;
        let about = understand(&bytes[..end], length).map_err(refuse)?;
        Ok(Self { path: path.to_owned(), bytes, about })
    }

    /// Where it was read from.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How many bytes were read.
    pub fn length(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// The file as it was read.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// BLAKE3 of the bytes that were read, whatever the file has become since.
    pub fn hash(&self) -> String {
        blake3::Hasher::new().update_rayon(&self.bytes).finalize().to_string()
    }

    /// What its weights are stored in.
    pub fn quantisation(&self) -> Result<Quantisation, ModelError> {
        let refuse =
            |error: safetensors::SafeTensorError| ModelError::malformed(&self.path, error.to_string());
        let file = SafeTensors::deserialize(&self.bytes).map_err(refuse)?;
        Ok(Quantisation::of(&file))
    }

    /// Puts the file's tensors into parameters: every one of them, nothing else, all finite. Where it fails, the
    /// parameters are unusable.
    pub fn fill(&self, params: &mut Params) -> Result<(), ModelError> {
        let refuse = |problem: String| ModelError::malformed(&self.path, problem);
        let unusable = |error: safetensors::SafeTensorError| refuse(error.to_string());
        let (_, header) = SafeTensors::read_metadata(&self.bytes).map_err(unusable)?;
        let layout = params.layout().clone();
        require_tensors(&header, &layout).map_err(refuse)?;
        let file = SafeTensors::deserialize(&self.bytes).map_err(unusable)?;
        let read = |(param, values): (&Param, &mut [f32])| {
            let view = file.tensor(&param.name).map_err(unusable)?;
            let scales = file.tensor(&format!("{}{SCALE}", param.name)).ok();
            let read = dequantise(&view, scales.as_ref(), &param.shape, values);
            read.map_err(|problem| refuse(format!("\"{}\" {problem}", param.name)))
        };
        params.write_flat(|flat| {
            let all: Vec<Result<(), ModelError>> = layout.split_mut(flat).into_par_iter().map(read).collect();
            all.into_iter().collect()
        })
    }

    /// Has layers multiply those matrices that the file holds in integers of eight bits as they are; the parameters
    /// must have been filled from it.
    pub(crate) fn keep_integers(&self, params: &mut Params) -> Result<(), ModelError> {
        let refuse = |problem: String| ModelError::malformed(&self.path, problem);
        let file = SafeTensors::deserialize(&self.bytes).map_err(|error| refuse(error.to_string()))?;
        let layout = params.layout().clone();
        for param in layout.params().iter().filter(|param| param.shape.len() == 2) {
            let tensor = |name: &str| file.tensor(name).ok();
            let scales = tensor(&format!("{}{SCALE}", param.name));
            let rows = tensor(&param.name)
                .zip(scales)
                .and_then(|(view, scales)| integers_of(&param.name, &view, &scales));
            if let (Some(rows), Some(id)) = (rows, layout.find(&param.name)) {
                params.keep_integers(id, rows)?;
            }
        }
        Ok(())
    }

    /// Writes parameters, whole or not at all. With the Hessians of layers, weights that become integers are rounded
    /// with error compensation, so that the outputs of their layers change least.
    pub fn write(
        path: &Path,
        params: &Params,
        about: &About,
        quantisation: Quantisation,
        hessians: Option<&LayerHessians>,
    ) -> Result<(), ModelError> {
        let refuse = |error: safetensors::SafeTensorError| ModelError::malformed(path, error.to_string());
        let flat = params.flat().to_vec::<f32>()?;
        let layout = params.layout();
        let factor = |name: &str| hessians.zip(layout.find(name)).and_then(|(all, id)| all.factor(id));
        let quantise = |p: &Param| {
            quantisation.quantise(&p.name, &p.shape, &flat[p.range.clone()], factor(&p.name).as_ref())
        };
        let tensors: Vec<StoredTensor> = layout.params().iter().flat_map(quantise).collect();
        let views: Vec<(&str, TensorView<'_>)> = tensors
            .iter()
            .map(|t| Ok((t.name.as_str(), TensorView::new(t.dtype, t.shape.clone(), &t.bytes)?)))
            .collect::<Result<_, _>>()
            .map_err(refuse)?;
        let metadata = HashMap::from([(KEY.to_owned(), about.write())]);
        let file = safetensors::serialize(views, Some(metadata)).map_err(refuse)?;
        // What could not be read is not written.
        let unreadable = |problem: String| ModelError::malformed(path, problem);
        header_end(prefix_of(&file).map_err(unreadable)?, file.len() as u64).map_err(unreadable)?;
        Ok(write_atomic(path, &file)?)
    }
}

/// The first bytes of a file.
fn prefix_of(bytes: &[u8]) -> Result<[u8; PREFIX], String> {
    let prefix = bytes.first_chunk().copied();
    prefix.ok_or_else(|| format!("it has {} bytes, too few for a header", bytes.len()))
}

#[cfg(test)]
mod tests {
    use scope_data::Constants;
    use scope_pde::Pde;

    use super::*;
    use crate::{config::Preset, model::Model};

    /// A live run replaces its weight file: figures must state the hash of the weights they are of.
    #[test]
    fn the_hash_is_of_the_bytes_that_were_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.safetensors");
        let pde = Pde::POISSON;
        let config = Preset::Tiny.config(32);
        let model = Model::initial(config.clone(), 1, &scope_engine::Device::cpu(1)).unwrap();
        let about =
            About { pde, constants: Constants::generated(pde), config: config.into(), training: None };
        model.save(&path, &about, Quantisation::F32).unwrap();
        let read = std::fs::read(&path).unwrap();
        let file = WeightFile::read(&path).unwrap();
        model.save(&path, &about, Quantisation::Bf16).unwrap();
        assert_eq!(file.hash(), blake3::hash(&read).to_string());
    }
}
