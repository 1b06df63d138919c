//! Text formats: STD and its relatives, line by line.
//!
//! Every format is a [`LineFormat`]; [`TextReader`] does what they share: chunks, blocks, line
//! numbers. `docs/formats.md` lists every spelling.

mod build;
mod csv;
mod detect;
mod line_map;
mod lines;
mod output;
mod place;
mod reader;
mod roadrunner;
mod short_names;
mod spelling;
mod std;
#[cfg(test)]
mod tests;
mod write;

pub(crate) use self::detect::{Guess, detect};

pub use self::csv::{CsvLines, CsvReader, CsvWriter};
pub use self::reader::{LineFormat, TextReader};
pub use self::roadrunner::{RoadRunnerLines, RoadRunnerReader};
pub use self::std::{StdLines, StdReader, StdWriter};
