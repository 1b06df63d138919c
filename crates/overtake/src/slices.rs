//! The slices of a long job over one trace, kept in a directory until the job is done.
//!
//! A slice is the part of the variables that is judged at a time. What was found in it is a file, complete or not at all, named as
//! the finished traces of a directory are (`runs.rs`): whatever differs from the job of before is done again. The file has the words of
//! `overtake_cluster`, eight bytes each, and their checksum; one that is damaged counts as missing.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use overtake_cluster::Shelf;
use overtake_detect::{Entry, Options, Strictness};

use crate::files::OutputFile;
use crate::runs::name_of_job;
use crate::{Error, Listener};

/// In how many slices the variables are judged, and where finished ones are kept.
#[derive(Clone)]
pub struct Slices {
    /// At least one.
    pub count: u16,
    /// None if nothing is kept.
    pub kept: Option<Arc<KeptSlices>>,
}

/// The finished slices of a job, in a directory.
pub struct KeptSlices {
    /// Where they are, and how their names begin.
    directory: PathBuf,
    job: String,
    slices: u16,
    /// How many were there already.
    taken: AtomicUsize,
    failure: Mutex<Option<Error>>,
}

impl KeptSlices {
    /// The slices of a job, of which some may be there already. Fails if none could be kept.
    pub fn in_directory(
        directory: &Path,
        trace: &Path,
        entries: &[&'static Entry],
        (options, strictness): (&Options, Strictness),
        slices: u16,
    ) -> Result<KeptSlices, Error> {
        let names: Vec<_> = entries.iter().map(|entry| entry.name).collect();
        let asked = (names, format!("{options:?} {strictness:?}"), slices);
        let expected = "expected a trace in a file, whose slices can be told from those of others";
        let job = name_of_job(trace, asked).ok_or_else(|| Error::in_file(trace, expected))?;
        let (taken, failure) = (AtomicUsize::new(0), Mutex::new(None));
        let kept = KeptSlices { directory: directory.to_owned(), job, slices, taken, failure };
        OutputFile::check(&kept.path(0))?;
        Ok(kept)
    }

    /// Says what became of the slices.
    pub fn tell(&self, listener: &dyn Listener) {
        match self.taken.load(Ordering::Relaxed) {
            0 => {}
            taken => listener.say(&format!("{taken} of {} slices had been judged before", self.slices)),
        }
        if let Some(error) = self.failure.lock().unwrap_or_else(PoisonError::into_inner).take() {
            listener.say(&format!("finished slices could not be kept: {error}"));
        }
    }

    fn path(&self, slice: u16) -> PathBuf {
        self.directory.join(format!("{}.{}-of-{}.slice", self.job, slice + 1, self.slices))
    }

    fn write(&self, slice: u16, words: &[u64]) -> Result<(), Error> {
        let path = self.path(slice);
        let (file, mut output) = OutputFile::create(&path)?;
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let checksum = crc32fast::hash(&bytes);
        bytes.extend(checksum.to_le_bytes());
        let written = output.write_all(&bytes).and_then(|()| output.flush());
        written.map_err(|error| Error::in_file(&path, error))?;
        drop(output);
        file.complete().map(drop)
    }
}

impl Shelf for KeptSlices {
    fn take(&self, slice: u16) -> Option<Vec<u64>> {
        let bytes = fs::read(self.path(slice)).ok()?;
        let (bytes, checksum) = bytes.split_last_chunk()?;
        let (words, rest) = bytes.as_chunks();
        if !rest.is_empty() || crc32fast::hash(bytes) != u32::from_le_bytes(*checksum) {
            return None;
        }
        self.taken.fetch_add(1, Ordering::Relaxed);
        Some(words.iter().map(|word| u64::from_le_bytes(*word)).collect())
    }

    fn put(&self, slice: u16, words: &[u64]) {
        if let Err(error) = self.write(slice, words) {
            self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        }
    }
}
