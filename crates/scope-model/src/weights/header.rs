//! The header of a weight file: all that is read of a file before it is known to hold what it states.
//!
//! The first eight bytes are the length of the header, which is JSON; the tensors follow and fill the file. A file that
//! states sizes which its own length does not bear out is refused before memory is taken for them.

use safetensors::tensor::Metadata;
use scope_engine::Layout;

use super::{
    about::{About, KEY},
    quantise::SCALE,
};

/// The bytes of the header's own length.
pub(super) const PREFIX: usize = 8;
/// The most bytes of a header, and of our entry in it. That of the paper's network has thirty thousand bytes; read, a
/// header takes some thirty times its length.
const MOST_HEADER: u64 = 1 << 22;
const MOST_ENTRY: usize = 1 << 18;

/// Where the tensors of a file of `length` bytes begin.
pub(super) fn header_end(prefix: [u8; PREFIX], length: u64) -> Result<usize, String> {
    let header = u64::from_le_bytes(prefix);
    if header > MOST_HEADER {
        return Err(format!("its header is to have {header} bytes, and none has more than {MOST_HEADER}"));
    }
    let end = header + PREFIX as u64;
    if end > length {
        return Err(format!("it has {length} bytes, and its header alone is to have {header}"));
    }
    usize::try_from(end).map_err(|error| error.to_string())
}

/// Understands the start of a file of `length` bytes up to its tensors, which must be those of the network that it
/// states.
pub(super) fn understand(start: &[u8], length: u64) -> Result<About, String> {
    let header: Metadata =
        serde_json::from_slice(&start[PREFIX..]).map_err(|error| format!("its header: {error}"))?;
    let entry = header.metadata().as_ref().and_then(|metadata| metadata.get(KEY));
    let entry = entry.ok_or_else(|| format!("its metadata has no \"{KEY}\" entry: it is not one of ours"))?;
    if entry.len() > MOST_ENTRY {
        return Err(format!(
            "its \"{KEY}\" entry has {} bytes, and none has more than {MOST_ENTRY}",
            entry.len()
        ));
    }
    let about = About::parse(entry)?;
    let end = (start.len() as u64).checked_add(header.data_len() as u64);
    if end != Some(length) {
        let data = header.data_len();
        return Err(format!(
            "its tensors are to have {data} bytes, and {} are there",
            length - start.len() as u64
        ));
    }
    if about.config.is_known() {
        let layout = about.config.layout().map_err(|error| format!("its sizes: {error}"))?;
        require_tensors(&header, &layout)?;
    }
    Ok(about)
}

/// Requires every parameter of a layout in its shape, and nothing else.
pub(super) fn require_tensors(header: &Metadata, layout: &Layout) -> Result<(), String> {
    let known = |name: &str| layout.find(name.strip_suffix(SCALE).unwrap_or(name)).is_some();
    if let Some(stranger) = header.offset_keys().into_iter().filter(|name| !known(name)).min() {
        return Err(format!("it has a tensor \"{stranger}\" that the model does not have"));
    }
    for param in layout.params() {
        let name = &param.name;
        let shape = &param.shape;
        let tensor = header.info(name).ok_or_else(|| format!("it lacks the tensor \"{name}\" {shape:?}"))?;
        if tensor.shape != *shape {
            return Err(format!("\"{name}\" has shape {:?}, expected {shape:?}", tensor.shape));
        }
    }
    Ok(())
}
