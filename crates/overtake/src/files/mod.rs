//! Traces to read and files to write.

mod input;
mod output;
mod sealed;
mod sink;

pub(crate) use input::{Input, Opened};
pub(crate) use output::OutputFile;
pub(crate) use sealed::Sealed;
pub(crate) use sink::OutputTrace;

use std::path::Path;

/// Whether a path means standard input or output.
pub(crate) fn is_standard(path: &Path) -> bool {
    path.as_os_str() == "-"
}
