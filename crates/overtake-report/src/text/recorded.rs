//! Races of a recorded program, with stacks, locks and what the memory is.

use std::collections::BTreeSet;
use std::fmt::Write;

use overtake_detect::{Access, AccessKind, Verdict};
use overtake_trace::{Frame, LocationId, MemoryKind, Symbols, ThreadId, VarId, Variable};

use super::{BOLD, DIM, Layout, printable, verdict_style};
use crate::model::Analysed;
use crate::number::{counted, grouped};
use crate::recorded::{HeldLock, RecordedRace};

/// The races of one process, and one line that sums them up.
pub fn recorded(analysed: &Analysed<'_>, races: &[RecordedRace], layout: &Layout) -> String {
    let mut teller = Teller { text: String::new(), symbols: analysed.symbols };
    let shown = layout.limit.unwrap_or(usize::MAX).min(races.len());
    for race in &races[..shown] {
        teller.race(race);
    }
    if shown < races.len() {
        let hidden = counted((races.len() - shown) as u64, "race", "races");
        teller.line(0, format_args!("... and {hidden} more; --limit 0 shows all\n"));
    }
    teller.summary(races);
    teller.text
}

struct Teller<'a> {
    text: String,
    symbols: &'a Symbols,
}

impl Teller<'_> {
    fn line(&mut self, indent: usize, line: std::fmt::Arguments<'_>) {
        // Writing into a string does not fail.
        let _ = writeln!(self.text, "{:indent$}{line}", "");
    }

    fn race(&mut self, race: &RecordedRace) {
        let example = &race.example;
        let style = verdict_style(example.verdict);
        let what = printable(&self.what(example.var));
        let word = example.verdict.word();
        let times = if race.count > 1 { format!(", {} times", grouped(race.count)) } else { String::new() };
        self.line(0, format_args!("{style}{word} data race{style:#} on {BOLD}{what}{BOLD:#}{times}"));
        let meaning = match example.verdict {
            Verdict::Observed => "nothing orders the two accesses in this run",
            Verdict::Predicted => "another schedule of this very run brings the two accesses side by side",
            Verdict::Suspected => "no lock protects both accesses; something else may order them",
        };
        self.line(2, format_args!("{DIM}{meaning}{DIM:#}"));
        self.access(&example.second, &race.held[1], "");
        self.access(&example.first, &race.held[0], "earlier ");
        self.memory(example.var);
        let threads: BTreeSet<_> = [example.first.at.thread, example.second.at.thread].into();
        for thread in threads {
            self.creation(thread);
        }
        self.text.push('\n');
    }

    fn access(&mut self, access: &Access, held: &[HeldLock], when: &str) {
        let thread = self.thread(access.at.thread);
        let program = &self.symbols.program;
        let bytes = program.sites.get(access.at.location).map_or(0, |site| site.bytes);
        let size = match (bytes, access.kind) {
            (0, _) | (_, AccessKind::Free) => String::new(),
            (bytes, _) => format!(" of {}", counted(u64::from(bytes), "byte", "bytes")),
        };
        let kind = access.kind.describe();
        self.line(2, format_args!("{BOLD}{when}{kind}{BOLD:#}{size} by {thread}:"));
        self.stack(access.at.location);
        for lock in held {
            let name = printable(&self.symbols.locks.display(lock.lock));
            let mode = if lock.shared { " shared" } else { "" };
            let place = self.place(lock.taken_at);
            self.line(4, format_args!("holds {name}{mode}, taken {place}"));
        }
        if held.is_empty() {
            self.line(4, format_args!("holds no lock"));
        }
    }

    fn stack(&mut self, location: LocationId) {
        let stack = self.symbols.program.stack(location);
        if stack.is_empty() {
            return self.line(4, format_args!("at {}", printable(&self.symbols.location_name(location))));
        }
        // How threads start inside libc is of no interest.
        let known = stack.iter().rposition(|frame| !frame.file.is_empty()).map_or(stack.len(), |at| at + 1);
        for (number, frame) in stack[..known].iter().enumerate() {
            self.line(4, format_args!("#{number} {}", describe(frame)));
        }
    }

    /// The innermost line of a location.
    fn place(&self, location: LocationId) -> String {
        match self.symbols.program.innermost(location) {
            Some(frame) => format!("in {}", describe(frame)),
            None if location.is_known() => format!("at {}", printable(&self.symbols.location_name(location))),
            None => "at an unknown location".into(),
        }
    }

    fn thread(&self, thread: ThreadId) -> String {
        let name = printable(&self.symbols.threads.display(thread));
        if thread == ThreadId(0) { format!("main thread {name}") } else { format!("thread {name}") }
    }

    /// The variable, as a headline names it.
    fn what(&self, var: VarId) -> String {
        let symbols = self.symbols;
        let (array, index) = match symbols.variables.get(var) {
            Variable::Named(name) => return String::from_utf8_lossy(name).into_owned(),
            Variable::Element { array, index } => (array, index),
            Variable::Block(array) => (array, 0),
        };
        let name = String::from_utf8_lossy(symbols.variables.array_name(array)).into_owned();
        let facts = symbols.program.memory.get(array).copied().unwrap_or_default();
        let offset = if index == 0 { String::new() } else { format!("+{index}") };
        match facts.kind {
            MemoryKind::Heap => format!("a heap block of {}", counted(facts.bytes, "byte", "bytes")),
            MemoryKind::Stack => format!("the {name}"),
            MemoryKind::Global => format!("{name}{offset}"),
            MemoryKind::Mapped => format!("{name}{offset}"),
            MemoryKind::Unknown => format!("{name}[{index:#x}]"),
        }
    }

    fn memory(&mut self, var: VarId) {
        let Variable::Element { array, index } = self.symbols.variables.get(var) else {
            if let Variable::Block(array) = self.symbols.variables.get(var) {
                self.allocation(array, None);
            }
            return;
        };
        let facts = self.symbols.program.memory.get(array).copied().unwrap_or_default();
        let size = counted(facts.bytes, "byte", "bytes");
        let name = printable(&String::from_utf8_lossy(self.symbols.variables.array_name(array)));
        match facts.kind {
            MemoryKind::Heap | MemoryKind::Mapped => self.allocation(array, Some(index)),
            MemoryKind::Global => {
                self.line(2, format_args!("memory: byte {index} of the global {name}, {size}"));
            }
            MemoryKind::Stack => {
                let owner = facts.thread.map(|thread| self.thread(thread)).unwrap_or_default();
                self.line(2, format_args!("memory: on the stack of {owner}"));
            }
            MemoryKind::Unknown => {}
        }
    }

    fn allocation(&mut self, array: overtake_trace::ArrayId, index: Option<u64>) {
        let facts = self.symbols.program.memory.get(array).copied().unwrap_or_default();
        let size = counted(facts.bytes, "byte", "bytes");
        let byte = index.map(|index| format!("byte {} of ", grouped(index))).unwrap_or_default();
        let kind = if facts.kind == MemoryKind::Mapped { "a mapping" } else { "a heap block" };
        let owner = facts.thread.map(|thread| format!(", allocated by {}:", self.thread(thread)));
        self.line(2, format_args!("memory: {byte}{kind} of {size}{}", owner.unwrap_or_default()));
        if let Some(location) = facts.allocated_at {
            self.stack(location);
        }
    }

    fn creation(&mut self, thread: ThreadId) {
        let Some(facts) = self.symbols.program.threads.get(thread) else { return };
        let (Some(creator), Some(location)) = (facts.creator, facts.created_at) else { return };
        let (child, parent) = (self.thread(thread), self.thread(creator));
        self.line(2, format_args!("{child} was created by {parent}:"));
        self.stack(location);
    }

    fn summary(&mut self, races: &[RecordedRace]) {
        let count = |verdict| races.iter().filter(|race| race.example.verdict == verdict).count() as u64;
        let mut parts = Vec::new();
        for verdict in [Verdict::Observed, Verdict::Predicted, Verdict::Suspected] {
            let (number, word) = (count(verdict), verdict.word());
            if number > 0 {
                let singular = format!("{word} data race");
                parts.push(counted(number, &singular, &format!("{singular}s")));
            }
        }
        let program = self.symbols.program.command.first().map(|name| printable(name)).unwrap_or_default();
        let pid = self.symbols.program.pid;
        self.line(0, format_args!("{BOLD}{}{BOLD:#} in {program} (process {pid})", parts.join(", ")));
    }
}

/// `function file.c:12:3`, or where in which module.
fn describe(frame: &Frame) -> String {
    let function = if frame.function.is_empty() { "??" } else { &frame.function };
    let place = match (frame.file.as_str(), frame.line, frame.column) {
        ("", _, _) => format!("({}+{:#x})", frame.module, frame.offset),
        (file, 0, _) => file.to_owned(),
        (file, line, 0) => format!("{file}:{line}"),
        (file, line, column) => format!("{file}:{line}:{column}"),
    };
    printable(&format!("{function} {place}"))
}
