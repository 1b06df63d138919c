//! The trace that a command reads.

use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

use overtake_detect::Strictness;
use overtake_report::TraceFacts;
use overtake_trace::{
    self as trace, Block, Checker, EventSink, EventSource, Format, OtrFile, OtrReader, OtrWriter, Repairs,
    Symbols,
};

use crate::reports::is_stored;
use crate::{Error, Listener};

use super::sealed::Sealed;

/// A trace to read: a file in any format, compressed or not. It can be opened again, unless it comes through a pipe and was
/// not kept.
pub struct Input {
    path: PathBuf,
    format: Option<Format>,
    salvage: bool,
    kept: Option<Kept>,
    /// A pipe was opened before, so nothing is left in it.
    drained: bool,
    /// The trace while it is made.
    live: Option<Live>,
}

/// A trace that is being made.
struct Live {
    /// The trace itself, until it is read.
    source: Option<Box<dyn EventSource>>,
    /// Writes the file of the trace, if it is not there afterwards.
    write: Box<dyn Fn() -> Result<(), Error>>,
}

/// A trace that came through a pipe, sealed in a file without a name.
struct Kept {
    file: File,
    /// What was known about the trace after it was read.
    facts: TraceFacts,
}

/// A trace being read.
pub struct Opened {
    source: Source,
    facts: TraceFacts,
}

enum Source {
    Whole(Box<dyn EventSource>),
    Salvaged(Box<OtrReader<Box<dyn Read>>>),
}

impl Input {
    /// The trace in a file; `-` is standard input.
    pub fn new(path: impl Into<PathBuf>) -> Input {
        Input { path: path.into(), format: None, salvage: false, kept: None, drained: false, live: None }
    }

    /// A trace that is being made: read from `source` once, and from the file when that has come to its end. If the file is not there
    /// then, `write` makes it.
    pub(crate) fn being_made(
        path: &Path,
        source: Box<dyn EventSource>,
        write: impl Fn() -> Result<(), Error> + 'static,
    ) -> Input {
        let live = Live { source: Some(source), write: Box::new(write) };
        Input { live: Some(live), ..Input::new(path) }
    }

    /// The same, read as this format; `None` recognises the format by its content.
    pub fn with_format(self, format: Option<Format>) -> Input {
        Input { format, ..self }
    }

    /// The same; with `salvage`, the intact parts of a damaged `.otr` file are read, and what is missing is reported.
    pub fn with_salvage(self, salvage: bool) -> Input {
        Input { salvage, ..self }
    }

    /// Makes sure that the trace can be opened more than once: what comes through a pipe is kept in a temporary file.
    ///
    /// A strict check happens on the way, because the lines of the text are not known later.
    pub fn make_rereadable(&mut self, strictness: Strictness, listener: &dyn Listener) -> Result<(), Error> {
        if self.live.is_some() || self.is_file() || self.kept.is_some() {
            return Ok(());
        }
        let file = tempfile::tempfile().map_err(|error| self.failure(error))?;
        let kept = file.try_clone().map_err(|error| self.failure(error))?;
        let facts = self.seal(file, strictness, listener)?;
        self.kept = Some(Kept { file: kept, facts });
        Ok(())
    }

    /// Reads all of the trace and seals it in a file. A strict check happens on the way.
    fn seal(
        &mut self,
        file: File,
        strictness: Strictness,
        listener: &dyn Listener,
    ) -> Result<TraceFacts, Error> {
        let mut opened = self.open()?;
        let mut bar = listener.reading();
        let mut writer = OtrWriter::new(file).map_err(|error| self.failure(error))?;
        let mut block = Block::default();
        let mut checker = Checker::strict();
        while opened.next_block(&mut block)? {
            bar(opened.source().progress());
            if strictness == Strictness::Refuse {
                let source = opened.source_mut();
                let refused = checker.check(&mut block, source.symbols_mut()).err();
                if let Some(error) = refused {
                    let located = source.located(error);
                    return Err(opened.failure(located));
                }
            }
            writer.write(&block.events, opened.source().symbols()).map_err(|error| self.failure(error))?;
        }
        writer.finish(opened.source().symbols()).map_err(|error| self.failure(error))?;
        Ok(opened.facts(0, &Repairs::default()))
    }

    /// Opens the trace at its start.
    pub fn open(&mut self) -> Result<Opened, Error> {
        if let Some(source) = self.live.as_mut().and_then(|live| live.source.take()) {
            return Ok(self.opened(Format::Otr, Source::Whole(source)));
        }
        if let Some(live) = self.live.as_ref().filter(|_| !self.is_file()) {
            (live.write)()?;
        }
        if self.kept.is_none() && !self.is_file() && std::mem::replace(&mut self.drained, true) {
            return Err(self.failure("expected a file that can be read more than once, found a pipe"));
        }
        self.opened_anyway()
    }

    /// Opens the trace, whatever was read of it before.
    fn opened_anyway(&self) -> Result<Opened, Error> {
        match self.something_else() {
            Some(other) => Err(self.failure(other)),
            None => self.try_open().map_err(|error| self.failure(error)),
        }
    }

    /// What the path names instead of a trace, and what to do with it.
    fn something_else(&self) -> Option<String> {
        let name = self.path.display();
        if self.kept.is_some() || super::is_standard(&self.path) {
            return None;
        }
        if self.path.join("process").is_file() {
            return Some(format!(
                "expected a trace, found the log of a process: overtake finish {name} reports its races, overtake seal {name} -o \
                 FILE.otr makes a trace of it"
            ));
        }
        if self.path.is_dir() {
            return Some(format!("expected a trace, found a directory; {}", traces_in(&self.path)));
        }
        let is_result = self.is_file() && is_stored(&self.path).is_ok_and(|is_stored| is_stored);
        is_result.then(|| format!("expected a trace, found a stored result: overtake report {name} shows it"))
    }

    /// How many threads and locks the trace has: from the footer of a sealed file, else by reading all of it.
    pub fn threads_and_locks(&mut self, listener: &dyn Listener) -> Result<(u64, u64), Error> {
        if let Ok(file) = OtrFile::open(&self.path) {
            return Ok((file.parameters().threads, file.parameters().locks));
        }
        self.make_rereadable(Strictness::Repair, listener)?;
        let mut opened = self.open()?;
        let mut bar = listener.reading();
        let mut block = Block::default();
        while opened.next_block(&mut block)? {
            bar(opened.source().progress());
        }
        let sizes = opened.source().symbols().sizes();
        Ok((sizes.threads as u64, sizes.locks as u64))
    }

    /// Whether the trace has more events than `events`: from the footer of a sealed file, else by reading as far as needed. The
    /// trace must be rereadable.
    pub fn is_longer_than(&self, events: u64) -> Result<bool, Error> {
        if let Some(file) = self.at_any_place() {
            return Ok(file.parameters().events > events);
        }
        let mut opened = self.opened_anyway()?;
        let mut block = Block::default();
        let mut read = 0;
        while read <= events && opened.next_block(&mut block)? {
            read += block.events.len() as u64;
        }
        Ok(read > events)
    }

    /// The trace for random access. A trace that is not sealed is read once, counted, and sealed in a temporary file.
    pub fn sealed(&mut self, strictness: Strictness, listener: &dyn Listener) -> Result<Sealed, Error> {
        if self.is_file() && self.salvage {
            let file = OtrFile::salvage(&self.path).map_err(|error| self.failure(error))?;
            return Ok(Sealed::new(file, self.facts(Format::Otr), None));
        }
        if self.is_file()
            && strictness == Strictness::Repair
            && let Ok(file) = OtrFile::open(&self.path)
        {
            return Ok(Sealed::new(file, self.facts(Format::Otr), None));
        }
        listener.say("reading the whole trace once, to choose windows at random");
        let temporary = tempfile::NamedTempFile::new().map_err(|error| self.failure(error))?;
        let file = temporary.reopen().map_err(|error| self.failure(error))?;
        let facts = self.seal(file, strictness, listener)?;
        let file = OtrFile::open(temporary.path()).map_err(|error| self.failure(error))?;
        Ok(Sealed::new(file, facts, Some(temporary)))
    }

    /// The trace as a file for random access, if it is a complete sealed file.
    pub fn at_any_place(&self) -> Option<OtrFile> {
        let may_be = self.kept.is_none() && !self.salvage && self.is_file();
        may_be.then(|| OtrFile::open(&self.path).ok()).flatten()
    }

    fn is_file(&self) -> bool {
        !super::is_standard(&self.path) && fs::metadata(&self.path).is_ok_and(|found| found.is_file())
    }

    fn try_open(&self) -> trace::Result<Opened> {
        if let Some(kept) = &self.kept {
            let mut file = kept.file.try_clone()?;
            file.rewind()?;
            let source = Source::Whole(Box::new(OtrReader::new(file)?));
            return Ok(Opened { source, facts: kept.facts.clone() });
        }
        if self.salvage && self.format.is_none_or(|format| format == Format::Otr) {
            return Ok(self.opened(Format::Otr, Source::Salvaged(Box::new(self.salvaged()?))));
        }
        let opened = trace::Opened::open(&self.path, self.format)?;
        Ok(self.opened(opened.format, Source::Whole(opened.source)))
    }

    fn salvaged(&self) -> trace::Result<OtrReader<Box<dyn Read>>> {
        if super::is_standard(&self.path) {
            return OtrReader::salvage(Box::new(io::stdin()));
        }
        let file = File::open(&self.path)?;
        let bytes = file.metadata()?.len();
        Ok(OtrReader::salvage(Box::new(file) as Box<dyn Read>)?.with_total_bytes(bytes))
    }

    fn opened(&self, format: Format, source: Source) -> Opened {
        Opened { source, facts: self.facts(format) }
    }

    fn facts(&self, format: Format) -> TraceFacts {
        let file = self.path.display().to_string();
        TraceFacts { file, format: format.name().to_owned(), ..TraceFacts::default() }
    }

    /// The failure for an error of this trace.
    pub fn failure(&self, error: impl std::fmt::Display) -> Error {
        Error::in_file(display_name(&self.path), error)
    }
}

impl Opened {
    /// The events.
    pub fn source(&self) -> &dyn EventSource {
        match &self.source {
            Source::Whole(source) => &**source,
            Source::Salvaged(source) => &**source,
        }
    }

    /// The events, to be read.
    pub fn source_mut(&mut self) -> &mut dyn EventSource {
        match &mut self.source {
            Source::Whole(source) => &mut **source,
            Source::Salvaged(source) => &mut **source,
        }
    }

    /// Reads the next block; false at the end.
    pub fn next_block(&mut self, block: &mut Block) -> Result<bool, Error> {
        self.source_mut().next_block(block).map_err(|error| self.failure(error))
    }

    /// What is known about the trace after it was read: `events` and `repairs` are what its checker counted.
    pub fn facts(&self, events: u64, repairs: &Repairs) -> TraceFacts {
        self.facts_with(self.source().symbols(), events, repairs)
    }

    /// The same for a trace that others have read, and of which these are the names.
    pub(crate) fn facts_with(&self, symbols: &Symbols, events: u64, repairs: &Repairs) -> TraceFacts {
        let mut facts = self.facts.clone();
        facts.events = events;
        facts.sizes = symbols.sizes();
        facts.repairs = repairs.clone();
        facts.ignored.extend(self.source().ignored());
        facts.missing.extend(symbols.program.missing.iter().cloned());
        if let Source::Salvaged(reader) = &self.source
            && !reader.damage().is_none()
        {
            facts.missing.push(reader.damage().to_string());
        }
        facts
    }

    /// The failure for an error of this trace.
    pub fn failure(&self, error: impl std::fmt::Display) -> Error {
        Error::in_file(display_name(Path::new(&self.facts.file)), error)
    }
}

/// Which traces lie in a directory, for people who named the directory.
fn traces_in(directory: &Path) -> String {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut traces: Vec<_> = entries.filter(|path| Format::from_extension(path).is_some()).collect();
    traces.sort();
    match traces.first() {
        Some(trace) => format!("name a file in it, such as {}", trace.display()),
        None => "there is no trace in it".into(),
    }
}

/// The name of an input in messages.
fn display_name(path: &Path) -> &Path {
    if super::is_standard(path) { Path::new("standard input") } else { path }
}
