//! Traces to read and files to write.

mod input;
mod output;
mod sealed;
mod sink;

pub use input::{Input, Opened};
pub use output::OutputFile;
pub use sealed::Sealed;
pub use sink::OutputTrace;

use std::fs;
use std::path::{Path, PathBuf};

use overtake_trace::Format;

use crate::Error;

/// Whether a path means standard input or output.
pub fn is_standard(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// The traces that paths stand for: a directory stands for the traces in it, by name. Others stay as they are if there is something.
pub fn traces_of(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Error> {
    let mut traces = Vec::new();
    for path in paths {
        let failed = |error| Error::in_file(path, error);
        if !path.is_dir() || path.join("process").is_file() {
            if !is_standard(path) {
                fs::metadata(path).map_err(failed)?;
            }
            traces.push(path.clone());
            continue;
        }
        let mut inside = traces_in(path)?;
        if inside.is_empty() {
            return Err(Error::in_file(path, "expected traces, found none"));
        }
        traces.append(&mut inside);
    }
    Ok(traces)
}

/// The traces of a directory, by name.
fn traces_in(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    let failed = |error| Error::in_file(directory, error);
    let mut traces = Vec::new();
    for entry in fs::read_dir(directory).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_file() && Format::from_extension(&path).is_some() {
            traces.push(path);
        }
    }
    traces.sort();
    Ok(traces)
}
