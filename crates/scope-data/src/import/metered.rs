//! A file whose reading is metered: an index may lead to one place again and again, and a few kilobytes then take for
//! ever.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use hdf5_pure::{FormatError, Source};
use memmap2::Mmap;

/// What may be read of any file at a time, however short it is.
const BASE_READ: u64 = 8 << 20;
/// What a read counts besides its bytes.
const READ_COST: u64 = 64;

/// What may still be read: twice the file and 8 MB at a time. A true file is read once, and its headers a few times.
#[derive(Debug)]
pub(super) struct Meter {
    most: u64,
    left: AtomicU64,
}

impl Meter {
    pub(super) fn of_file(bytes: u64) -> Self {
        let most = bytes.saturating_mul(2).saturating_add(BASE_READ);
        Self { most, left: AtomicU64::new(most) }
    }

    /// Allows as much as in the beginning: the next thing is read.
    pub(super) fn restart(&self) {
        self.left.store(self.most, Ordering::Relaxed);
    }

    fn spend(&self, bytes: u64) -> Result<(), FormatError> {
        let take = |left: u64| left.checked_sub(bytes.saturating_add(READ_COST));
        let taken = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
        let refused = |_| {
            FormatError::Source("the same parts are read again and again: its index runs in circles".into())
        };
        taken.map(|_| ()).map_err(refused)
    }
}

/// A mapped file and its meter.
pub(super) struct Metered {
    map: Arc<Mmap>,
    meter: Arc<Meter>,
}

impl Metered {
    pub(super) fn new(map: Arc<Mmap>, meter: Arc<Meter>) -> Self {
        Self { map, meter }
    }
}

impl Source for Metered {
    fn len(&self) -> u64 {
        self.map.len() as u64
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), FormatError> {
        self.meter.spend(buffer.len() as u64)?;
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let end = start.saturating_add(buffer.len());
        let cut = FormatError::UnexpectedEof { expected: end, available: self.map.len() };
        buffer.copy_from_slice(self.map.get(start..end).ok_or(cut)?);
        Ok(())
    }
}
