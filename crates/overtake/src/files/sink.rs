//! The trace that a command writes.

use std::io::Write;
use std::path::{Path, PathBuf};

use overtake_report::WrittenFacts;
use overtake_trace::{CsvWriter, Event, EventSink, Format, OtrWriter, Result, StdWriter, Symbols};

use super::output::OutputFile;
use crate::Error;

/// A trace being written in a format of choice.
pub struct OutputTrace {
    path: PathBuf,
    format: Format,
    file: OutputFile,
    writer: Writer,
    events: u64,
}

enum Writer {
    Std(StdWriter<Box<dyn Write>>),
    Csv(CsvWriter<Box<dyn Write>>),
    Otr(Box<OtrWriter<Box<dyn Write>>>),
}

impl OutputTrace {
    /// Starts the trace called `path`, in the format asked for or else the one the name ends in.
    pub fn create(path: &Path, format: Option<Format>) -> std::result::Result<OutputTrace, Error> {
        let format = match format {
            Some(format) => format,
            None => Format::from_extension(path).ok_or_else(|| unknown_format(path))?,
        };
        if matches!(format, Format::RoadRunner | Format::RapidBin) {
            let message = format!("the format {} can be read but not written", format.name());
            return Err(Error::usage(message));
        }
        let (file, output) = OutputFile::create(path)?;
        let writer = Writer::new(format, output).map_err(|error| Error::in_file(path, error))?;
        Ok(OutputTrace { path: path.to_owned(), format, file, writer, events: 0 })
    }

    /// Whether the trace goes to standard output.
    pub fn is_standard(&self) -> bool {
        super::is_standard(&self.path)
    }

    /// Whether the reader of the output has closed the pipe.
    pub fn pipe_is_closed(&self) -> bool {
        self.file.pipe_is_closed()
    }

    /// Bytes written so far.
    pub fn bytes(&self) -> u64 {
        self.file.bytes()
    }

    /// The failure for an error in writing.
    pub fn failure(&self, error: overtake_trace::Error) -> Error {
        Error::in_file(&self.path, error)
    }

    /// Gives the finished file its name and says what was written.
    pub fn complete(self) -> std::result::Result<WrittenFacts, Error> {
        let lost_locations = match &self.writer {
            Writer::Csv(writer) => writer.locations_dropped(),
            Writer::Std(_) | Writer::Otr(_) => 0,
        };
        drop(self.writer);
        Ok(WrittenFacts {
            file: self.path.display().to_string(),
            format: self.format.name().to_owned(),
            events: self.events,
            bytes: self.file.complete()?,
            lost_locations,
        })
    }
}

impl EventSink for OutputTrace {
    fn write(&mut self, events: &[Event], symbols: &Symbols) -> Result<()> {
        self.events += events.len() as u64;
        self.writer.sink().write(events, symbols)
    }

    fn finish(&mut self, symbols: &Symbols) -> Result<()> {
        self.writer.sink().finish(symbols)
    }
}

impl Writer {
    fn new(format: Format, output: Box<dyn Write>) -> Result<Writer> {
        Ok(match format {
            Format::Csv => Writer::Csv(CsvWriter::new(output)),
            Format::Otr => Writer::Otr(Box::new(OtrWriter::new(output)?)),
            _ => Writer::Std(StdWriter::new(output)),
        })
    }

    fn sink(&mut self) -> &mut dyn EventSink {
        match self {
            Writer::Std(writer) => writer,
            Writer::Csv(writer) => writer,
            Writer::Otr(writer) => &mut **writer,
        }
    }
}

fn unknown_format(path: &Path) -> Error {
    Error::usage(match super::is_standard(path) {
        true => {
            "standard output has no name that gives the format; say --to std, --to csv or --to otr".into()
        }
        false => {
            format!("{}: expected a name that ends in .std, .csv or .otr, or --to FORMAT", path.display())
        }
    })
}
