//! Traces to read and files to write.

mod input;
mod output;
mod sealed;
mod sink;

pub use input::{Input, Opened};
pub use output::OutputFile;
pub use sealed::Sealed;
pub use sink::OutputTrace;

use std::path::Path;

/// Whether a path means standard input or output.
pub fn is_standard(path: &Path) -> bool {
    path.as_os_str() == "-"
}
