//! Text formats: STD and its relatives, line by line.
//!
//! Every format is a [`LineFormat`](reader::LineFormat); [`TextReader`] does what they share: chunks, blocks, line
//! numbers. `docs/formats.md` lists every spelling.

mod build;
mod line_map;
mod lines;
mod place;
mod reader;
mod spelling;
mod std;

pub use self::reader::TextReader;
pub use self::std::{StdLines, StdReader};
