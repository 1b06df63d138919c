//! Bytes of the input, counted below the decompressor.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::block::Progress;

/// How far a file has been read; shared between the end that reads the file and the end that is asked.
#[derive(Clone, Default, Debug)]
pub(crate) struct InputProgress {
    bytes_read: Arc<AtomicU64>,
    bytes_total: Option<u64>,
}

impl InputProgress {
    /// What was read so far.
    pub(crate) fn get(&self) -> Progress {
        // A count for people: nothing else is read on the strength of it.
        Progress { bytes_read: self.bytes_read.load(Ordering::Relaxed), bytes_total: self.bytes_total }
    }
}
