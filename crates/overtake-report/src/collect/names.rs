//! Names behind ids: stacks, threads and memory as a [`Report`](crate::result::Report) spells them out.

use std::path::{Component, Path, PathBuf};

use overtake_detect::{Access, AccessKind, Extent};
use overtake_trace::{
    self as trace, ArrayId, Event, Freed, LocationId, LockId, MemoryKind, OperandKind, Symbols, ThreadId,
    VarId, Variable,
};

use super::Settings;
use crate::event::operand_name;
use crate::number::counted;
use crate::result::{Frame, Memory, Thread, innermost_own};

/// Longer stacks are cut: nobody reads what recursion adds.
const MOST_FRAMES: usize = 100;

/// A heap block with a lock in it.
pub(super) struct LockBlock {
    /// `heap#3`: the number is one of this run.
    pub(super) name: String,
    pub(super) bytes: u64,
    /// The line that allocates it.
    pub(super) place: String,
}

/// Puts names to ids.
pub(super) struct Names<'a> {
    pub(super) symbols: &'a Symbols,
    /// Files below it are named relative to it.
    directory: PathBuf,
    /// The directory of the files that locations of a trace name.
    source_root: Option<PathBuf>,
}

impl<'a> Names<'a> {
    pub(super) fn new(symbols: &'a Symbols, settings: &Settings) -> Names<'a> {
        let Settings { directory, source_root, .. } = settings.clone();
        Names { symbols, directory, source_root }
    }

    /// Where relative files are.
    pub(super) fn source_directory(&self) -> &Path {
        self.source_root.as_ref().filter(|_| !self.is_recorded()).unwrap_or(&self.directory)
    }

    /// Whether there are call stacks rather than locations.
    pub(super) fn is_recorded(&self) -> bool {
        !self.symbols.program.command.is_empty()
    }

    /// The call stack at a location, innermost first; of a trace, its location.
    pub(super) fn stack(&self, location: LocationId) -> Vec<Frame> {
        if !location.is_known() {
            return Vec::new();
        }
        let stack = self.symbols.program.stack(location);
        if stack.is_empty() {
            return vec![self.located(self.symbols.location_name(location))];
        }
        // How threads start inside libc is of no interest.
        let last = |known: fn(&trace::Frame) -> bool| stack.iter().rposition(|frame| known(frame));
        let last = last(|frame| !frame.file.is_empty()).or_else(|| last(|frame| !frame.function.is_empty()));
        let known = last.map_or(stack.len(), |at| at + 1);
        stack[..known.min(MOST_FRAMES)].iter().map(|frame| self.frame(frame)).collect()
    }

    /// The location of a trace; a line of a file if that is among the sources.
    fn located(&self, location: String) -> Frame {
        let number = |text: &str| text.parse().ok().filter(|number| *number > 0);
        let line = |location: &str| -> Option<Frame> {
            let root = self.source_root.as_ref()?;
            let (before, last) = location.rsplit_once(':')?;
            let last: u32 = number(last)?;
            let with_column =
                before.rsplit_once(':').and_then(|(file, line)| Some((file, number(line)?, last)));
            let (file, line, column) = with_column.unwrap_or((before, last, 0));
            let is_there = !file.starts_with('/') && root.join(file).is_file();
            is_there.then(|| Frame { file: file.to_owned(), line, column, ..Frame::default() })
        };
        line(&location).unwrap_or_else(|| Frame { file: location, ..Frame::default() })
    }

    fn frame(&self, frame: &trace::Frame) -> Frame {
        Frame {
            function: frame.function.clone(),
            file: self.relative(&frame.file),
            line: frame.line,
            column: frame.column,
            module: base_name(&frame.module).to_owned(),
            offset: frame.offset,
        }
    }

    fn relative(&self, file: &str) -> String {
        // Relative names are those of libraries; how they begin shows whose they are.
        if !file.starts_with('/') {
            return file.to_owned();
        }
        let path = without_detours(Path::new(file));
        path.strip_prefix(&self.directory).unwrap_or(&path).display().to_string()
    }

    /// The thread with where it was created.
    pub(super) fn thread(&self, thread: ThreadId) -> Thread {
        let facts = self.symbols.program.threads.get(thread).copied().unwrap_or_default();
        Thread {
            name: self.thread_name(thread),
            main: thread == ThreadId(0) && self.is_recorded(),
            creator: facts.creator.map(|creator| self.thread_name(creator)).unwrap_or_default(),
            created_at: facts.created_at.map(|location| self.stack(location)).unwrap_or_default(),
        }
    }

    pub(super) fn thread_name(&self, thread: ThreadId) -> String {
        self.symbols.threads.display(thread)
    }

    /// The name of a lock.
    pub(super) fn lock_name(&self, lock: LockId) -> String {
        self.symbols.locks.display(lock)
    }

    /// A lock in a sentence. If its name only says where in memory it is, the line that takes it is added; where in a stack, depends on
    /// the run.
    pub(super) fn lock_taken(&self, lock: LockId, taken_at: Option<LocationId>) -> String {
        let name = self.lock_name(lock);
        let line = taken_at.map(|location| self.line(location)).unwrap_or_default();
        if !self.is_recorded() || line.is_empty() {
            return format!("`{name}`");
        }
        match name.strip_prefix("stack of ").and_then(|stack| stack.split_once('+')) {
            Some((thread, _)) => format!("the lock on the stack of {thread} (taken at {line})"),
            None if ["heap#", "mapping@", "0x"].iter().any(|start| name.starts_with(start)) => {
                format!("`{name}` (taken at {line})")
            }
            None => format!("`{name}`"),
        }
    }

    /// The heap block that a lock is in.
    pub(super) fn block_of(&self, lock: LockId) -> Option<LockBlock> {
        let name = self.lock_name(lock);
        let number = name.strip_prefix("heap#").filter(|_| self.is_recorded())?;
        let digits = number.bytes().take_while(u8::is_ascii_digit).count();
        let block = &name[..name.len() - number.len() + digits];
        let variables = &self.symbols.variables;
        let array = (0..variables.array_count() as u32)
            .map(ArrayId)
            .find(|&array| variables.array_name(array) == block.as_bytes())?;
        let facts = self.symbols.program.memory.get(array)?;
        let place =
            facts.allocated_at.map(|location| self.line(location)).filter(|place| !place.is_empty())?;
        Some(LockBlock { name: block.to_owned(), bytes: facts.bytes, place })
    }

    /// What an event is done to; empty for nothing.
    pub(super) fn operand(&self, event: &Event) -> String {
        match event.op().operand_kind() {
            OperandKind::Variable => self.memory(VarId(event.operand()), None).name,
            _ => operand_name(event, self.symbols),
        }
    }

    /// `function file:line`, or the location of a trace; empty if unknown.
    pub(super) fn place(&self, location: LocationId) -> String {
        let stack = self.stack(location);
        let Some(frame) = innermost_own(&stack) else { return String::new() };
        [frame.function_name(), frame.place()]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// `file:line`, or the location of a trace; empty if unknown.
    pub(super) fn line(&self, location: LocationId) -> String {
        innermost_own(&self.stack(location)).map(Frame::place).unwrap_or_default()
    }

    /// File, line and column, which compare as places in the file do; empty and 0 if unknown.
    pub(super) fn place_in_code(&self, location: LocationId) -> (String, u32, u32) {
        let own = innermost_own(&self.stack(location)).cloned().unwrap_or_default();
        (own.file, own.line, own.column)
    }

    /// How many bytes an access touches; 0 if unknown.
    pub(super) fn bytes(&self, access: &Access) -> u32 {
        let site = self.symbols.program.sites.get(access.at.location);
        site.filter(|_| !matches!(access.kind, AccessKind::Free | AccessKind::Alloc))
            .map_or(0, |site| site.bytes)
    }

    /// The memory of a race.
    pub(super) fn memory(&self, var: VarId, extent: Option<Extent>) -> Memory {
        let (array, offset) = match self.symbols.variables.get(var) {
            Variable::Named(name) => return variable(String::from_utf8_lossy(name).into_owned()),
            Variable::Element { array, index } => (array, index),
            Variable::Block(array) => (array, 0),
        };
        let facts = self.symbols.program.memory.get(array).copied().unwrap_or_default();
        if facts.kind == MemoryKind::Unknown && !self.is_recorded() {
            return Memory { offset, ..variable(self.elements(var, extent)) };
        }
        self.recorded_memory(array, offset, &facts)
    }

    /// The memory of a block that is used or freed again after it was freed, with who freed it where.
    pub(super) fn freed_memory(&self, freed: &Freed) -> Memory {
        let facts = self.symbols.program.memory.get(freed.array).copied().unwrap_or_default();
        Memory {
            freed_by: self.thread_name(freed.thread),
            freed_at: self.stack(freed.location),
            ..self.recorded_memory(freed.array, 0, &facts)
        }
    }

    fn recorded_memory(&self, array: ArrayId, offset: u64, facts: &trace::Memory) -> Memory {
        Memory {
            name: self.recorded_name(array, offset, facts),
            kind: kind_name(facts.kind).to_owned(),
            member: String::new(),
            bytes: facts.bytes,
            offset,
            owner: facts.thread.map(|thread| self.thread_name(thread)).unwrap_or_default(),
            allocated_at: facts.allocated_at.map(|location| self.stack(location)).unwrap_or_default(),
            ..Memory::default()
        }
    }

    /// A variable, or the elements of an array that race together.
    fn elements(&self, var: VarId, extent: Option<Extent>) -> String {
        match extent {
            Some(Extent { array, first, end, step }) if end - first > step => {
                let array = String::from_utf8_lossy(self.symbols.variables.array_name(array));
                match step {
                    1 => format!("{array}[{first}..{end}]"),
                    _ => format!("{array}[{first}..{end} step {step}]"),
                }
            }
            _ => self.symbols.variables.display(var),
        }
    }

    fn recorded_name(&self, array: ArrayId, offset: u64, facts: &trace::Memory) -> String {
        let name = self.array_name(array);
        match (facts.kind, offset) {
            (MemoryKind::Heap, _) => format!("a heap block of {}", counted(facts.bytes, "byte", "bytes")),
            (MemoryKind::Stack, _) => format!("the {name}"),
            (MemoryKind::Descriptor, _) => name,
            (MemoryKind::Unknown, _) => format!("{name}[{offset:#x}]"),
            (MemoryKind::Global | MemoryKind::Mapped, 0) => name,
            (MemoryKind::Global | MemoryKind::Mapped, _) => format!("{name}+{offset}"),
        }
    }

    pub(super) fn array_name(&self, array: ArrayId) -> String {
        String::from_utf8_lossy(self.symbols.variables.array_name(array)).into_owned()
    }
}

fn variable(name: String) -> Memory {
    Memory { name, kind: "variable".into(), ..Memory::default() }
}

fn kind_name(kind: MemoryKind) -> &'static str {
    match kind {
        MemoryKind::Unknown => "unknown",
        MemoryKind::Heap => "heap",
        MemoryKind::Global => "global",
        MemoryKind::Stack => "stack",
        MemoryKind::Mapped => "mapped",
        MemoryKind::Descriptor => "descriptor",
    }
}

/// `src/a.c` for `build/../src/./a.c`, as compilers name files that build systems give them. No link is followed: the names of
/// files that are not here matter, too.
fn without_detours(path: &Path) -> PathBuf {
    let mut direct = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir if matches!(direct.components().next_back(), Some(Component::Normal(_))) => {
                direct.pop();
            }
            other => direct.push(other),
        }
    }
    direct
}

/// What follows the last slash.
pub(super) fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn detours_are_left_out() {
        let direct = |path: &str| without_detours(Path::new(path)).display().to_string();
        assert_eq!(direct("/w/build/../src/./a.c"), "/w/src/a.c");
        assert_eq!(direct("/../a.c"), "/../a.c");
    }

    #[test]
    fn locations_are_lines_of_files_that_are_there() {
        let root = tempfile::tempdir().expect("a directory");
        std::fs::create_dir(root.path().join("src")).expect("created");
        std::fs::write(root.path().join("src/main.c"), "").expect("written");
        let symbols = Symbols::default();
        let names =
            Names { symbols: &symbols, directory: PathBuf::new(), source_root: Some(root.path().into()) };
        let located = |location: &str| {
            let Frame { file, line, column, .. } = names.located(location.into());
            (file, line, column)
        };
        assert_eq!(located("src/main.c:12"), ("src/main.c".into(), 12, 0));
        assert_eq!(located("src/main.c:12:3"), ("src/main.c".into(), 12, 3));
        for other in ["other.c:12", "345", "src/main.c", "src/main.c:0", ":12", "src:12"] {
            assert_eq!(located(other), (other.into(), 0, 0));
        }
    }
}
