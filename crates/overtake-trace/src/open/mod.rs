//! Opening a trace: which format it is in, and the reader for it.

#[cfg(test)]
mod tests;

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::block::EventSource;
use crate::error::{Error, ErrorKind, Position, Result};
use crate::input::{Input, InputProgress, damaged};
use crate::otr::OtrReader;
use crate::rapid_bin::{self, RapidBinReader};
use crate::text::{CsvReader, Guess, RoadRunnerReader, StdReader, detect};

/// The formats a trace can be stored in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Format {
    /// One event a line, `thread|op(operand)|location`.
    Std,
    /// One column per thread.
    Csv,
    /// The log of RoadRunner's print tool.
    RoadRunner,
    /// RAPID's binary format.
    RapidBin,
    /// The sealed binary format.
    Otr,
}

/// The first bytes of a sealed file.
const OTR_MAGIC: &[u8; 8] = b"\x89OTR\r\n\x1a\n";

/// How much of the contents is read to find the format.
const PEEKED_BYTES: usize = 4096;

impl Format {
    /// Every format.
    pub const ALL: [Format; 5] =
        [Format::Std, Format::Csv, Format::RoadRunner, Format::RapidBin, Format::Otr];

    /// The name used on command lines.
    pub fn name(self) -> &'static str {
        match self {
            Format::Std => "std",
            Format::Csv => "csv",
            Format::RoadRunner => "roadrunner",
            Format::RapidBin => "rapidbin",
            Format::Otr => "otr",
        }
    }

    /// The format with this name.
    pub fn from_name(name: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|format| format.name() == name)
    }

    /// The format that the extension of a file's name stands for. Extensions of compressed files are skipped.
    pub fn from_extension(path: &Path) -> Option<Format> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        match extension.as_str() {
            "gz" | "zst" | "xz" => Format::from_extension(Path::new(path.file_stem()?)),
            "std" => Some(Format::Std),
            "csv" => Some(Format::Csv),
            "rr" | "roadrunner" => Some(Format::RoadRunner),
            "data" | "rapidbin" => Some(Format::RapidBin),
            "otr" => Some(Format::Otr),
            _ => None,
        }
    }

    /// The format of contents that begin with `start`. Where the contents leave it open, the format of the file's name decides.
    fn detect(start: &[u8], named: Option<Format>) -> Option<Format> {
        if start.starts_with(OTR_MAGIC) {
            return Some(Format::Otr);
        }
        if rapid_bin::is_likely(start) {
            return Some(Format::RapidBin);
        }
        match detect(start) {
            Guess::Certain(format) => Some(format),
            Guess::Likely(format) => named.or(Some(format)),
            Guess::Empty => named.or(Some(Format::Std)),
            Guess::Unknown => named,
        }
    }
}

/// A trace that was opened.
pub struct Opened {
    /// The format it is in.
    pub format: Format,
    /// Its events.
    pub source: Box<dyn EventSource>,
}

/// Opens the trace at `path`; `-` is standard input.
///
/// Compression (gzip, zstd, xz) is recognised by content. So is the format, unless `format` names it; where the content
/// leaves it open, the file's name decides.
pub fn open(path: impl AsRef<Path>, format: Option<Format>) -> Result<Box<dyn EventSource>> {
    Opened::open(path, format).map(|opened| opened.source)
}

impl fmt::Debug for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opened").field("format", &self.format).finish_non_exhaustive()
    }
}

impl Opened {
    /// As [`open`], and says which format it is.
    pub fn open(path: impl AsRef<Path>, format: Option<Format>) -> Result<Opened> {
        let path = path.as_ref();
        if path == Path::new("-") {
            return Opened::read(io::stdin(), None, None, format);
        }
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        let bytes = metadata.is_file().then_some(metadata.len());
        Opened::read(file, bytes, Format::from_extension(path), format)
    }

    /// Opens the trace that `input` yields. `bytes` is its size and `named` the format of its name, if they are known.
    pub fn read(
        input: impl Read + Send + 'static,
        bytes: Option<u64>,
        named: Option<Format>,
        format: Option<Format>,
    ) -> Result<Opened> {
        let progress = InputProgress::new(bytes);
        let mut input = Input::decompressed(input, &progress)?;
        let start = input.peek(PEEKED_BYTES).map_err(|error| damaged(error, &progress))?;
        let Some(format) = format.or_else(|| Format::detect(start, named)) else {
            return Err(unknown_format(start));
        };
        let source: Box<dyn EventSource> = match format {
            Format::Std => Box::new(StdReader::new(input).with_progress(progress)),
            Format::Csv => Box::new(CsvReader::new(input).with_progress(progress)),
            Format::RoadRunner => Box::new(RoadRunnerReader::new(input).with_progress(progress)),
            Format::RapidBin => Box::new(RapidBinReader::new(input).with_progress(progress)),
            Format::Otr => Box::new(sealed(input, progress.get().bytes_total)?),
        };
        Ok(Opened { format, source })
    }
}

fn sealed(input: Input, bytes: Option<u64>) -> Result<OtrReader<Input>> {
    let reader = OtrReader::new(input)?;
    Ok(match bytes {
        Some(bytes) => reader.with_total_bytes(bytes),
        None => reader,
    })
}

#[cold]
fn unknown_format(start: &[u8]) -> Error {
    let line = start.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let shown = line[..line.len().min(60)].escape_ascii();
    let names: Vec<_> = Format::ALL.iter().map(|format| format.name()).collect();
    let message = format!(
        "expected a trace ({}), found `{shown}`; if it is a trace, name its format",
        names.join(", ")
    );
    Error::new(ErrorKind::Syntax, Position::Line { line: 1, column: 1 }, message)
}
