//! The lines that tools for ThreadSanitizer read.
//!
//! CTest counts `WARNING: ThreadSanitizer: ... (pid=N)`, editors and problem matchers jump to the frames, dashboards group by
//! `SUMMARY:`; these lines have the form they expect. CodeChecker wants a line that begins with `==N==ERROR: ThreadSanitizer:`;
//! it stands before the block and carries what the block has no place for: how sure the race is and what it is about.
//!
//! Only findings that fail a run are reported. Suppressed and known races are counted, as ThreadSanitizer does, or CTest would fail on them.
//!
//! **Differs.** A result has no addresses, so that it is the same every time: addresses are counted from the beginning of the
//! block or global that is accessed. Threads have the number that their name has in the trace, or the next free one; the number
//! stands for the system's thread id, too. Processes are numbered from 1 in the order in which they started. The result decides which
//! access is the "previous" one, and which of two threads that do the same makes it; timing does not.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;

use crate::result::{Access, Finding, Frame, HeldLock, Kind, Memory, Report, Run, Status, Thread};

const LINE: &str = "==================";

/// The rule about threads that end while they are ignored: its headline says which thread.
const IGNORED_AT_END: &str = "ignored-at-end";

/// Writes the new findings.
pub fn write(out: &mut dyn io::Write, report: &Report) -> io::Result<()> {
    let mut names = Names::of(report);
    let mut warnings = 0_u64;
    for finding in report.new_findings() {
        let run = finding.runs.first().copied().unwrap_or_default();
        let is_recorded = report.runs.get(run as usize).is_some_and(Run::is_recorded);
        let (process, finding) = match is_recorded {
            true => (run + 1, finding.settled()),
            false => (0, Cow::Borrowed(finding)),
        };
        Block { out, names: &mut names, process }.write(&finding)?;
        warnings += 1;
    }
    if warnings > 0 {
        writeln!(out, "ThreadSanitizer: reported {warnings} warnings")?;
    }
    write_suppressions(out, report)
}

fn write_suppressions(out: &mut dyn io::Write, report: &Report) -> io::Result<()> {
    let mut matched: BTreeMap<&str, u64> = BTreeMap::new();
    for finding in &report.findings {
        if let Status::Suppressed { by } = &finding.status {
            *matched.entry(by).or_default() += 1;
        }
    }
    if !matched.is_empty() {
        writeln!(out, "ThreadSanitizer: Matched {} suppressions", matched.len())?;
    }
    for (rule, count) in matched {
        writeln!(out, "{count} {}", clean(rule))?;
    }
    Ok(())
}

/// One finding being written.
struct Block<'a> {
    out: &'a mut dyn io::Write,
    names: &'a mut Names,
    process: u32,
}

impl Block<'_> {
    fn write(&mut self, finding: &Finding) -> io::Result<()> {
        let (process, what) = (self.process, self.what(finding));
        let sentence = clean(&finding.sentence());
        writeln!(self.out, "=={process}==ERROR: ThreadSanitizer: {sentence}")?;
        writeln!(self.out, "{LINE}\nWARNING: ThreadSanitizer: {what} (pid={process})")?;
        // The access that fails is named first, as if the other one had come before.
        let accesses: Vec<&Access> = finding.accesses.iter().rev().collect();
        match (finding.kind, &finding.memory) {
            (Kind::Race, Some(memory)) => self.race(&accesses, memory)?,
            (Kind::Deadlock, _) => self.deadlock(finding)?,
            _ => self.misuse(finding)?,
        }
        for access in &accesses {
            for lock in &access.held {
                self.lock(lock, &access.thread)?;
            }
        }
        let mut named: Vec<&str> = Vec::new();
        for access in &accesses {
            if !named.contains(&access.thread.name.as_str()) {
                named.push(&access.thread.name);
                self.thread(&access.thread)?;
            }
        }
        let confirmed = finding.confirmation().filter(|_| finding.confirmed.is_some());
        for paragraph in confirmed.iter().chain(&finding.notes).chain([&finding.why, &finding.remedy]) {
            if !paragraph.is_empty() {
                writeln!(self.out, "  {}\n", clean(paragraph))?;
            }
        }
        let place = accesses.first().map(|access| summary(access)).unwrap_or_default();
        writeln!(self.out, "SUMMARY: ThreadSanitizer: {what}{place}\n{LINE}")
    }

    fn race(&mut self, accesses: &[&Access], memory: &Memory) -> io::Result<()> {
        for (at, access) in accesses.iter().enumerate() {
            let kind = kind_of(access);
            let kind = if at == 0 { capitalised(kind) } else { format!("Previous {kind}") };
            self.access(&kind, access, memory)?;
        }
        self.memory(memory)
    }

    /// `Cycle in lock order graph: M0 => M1 => M0`, then where each lock is taken.
    fn deadlock(&mut self, finding: &Finding) -> io::Result<()> {
        let locks: Vec<_> = finding.objects.iter().chain(finding.objects.first()).collect();
        let cycle: Vec<_> =
            locks.iter().map(|name| format!("{} ({})", self.names.lock(name), clean(name))).collect();
        writeln!(self.out, "  Cycle in lock order graph: {}\n", cycle.join(" => "))?;
        for access in &finding.accesses {
            let (lock, who) = (self.names.lock(&access.object), self.names.thread(&access.thread));
            let holding = self.holding(access);
            writeln!(self.out, "  Mutex {lock} acquired here while holding{holding} in {who}:")?;
            self.stack(&access.stack)?;
        }
        Ok(())
    }

    /// What ThreadSanitizer calls a finding.
    fn what(&self, finding: &Finding) -> Cow<'static, str> {
        let rule = finding.rule();
        match finding.accesses.first().filter(|_| rule.id == IGNORED_AT_END) {
            Some(Access { thread, .. }) => {
                format!("{} finished with ignores enabled", self.names.thread(thread)).into()
            }
            None => rule.tsan.into(),
        }
    }

    /// Where a thread was created that ended while it was ignored, and where that began.
    fn ignored_at_end(&mut self, access: &Access) -> io::Result<()> {
        if !access.thread.main {
            let who = self.names.thread(&access.thread);
            writeln!(self.out, "ThreadSanitizer: {who} finished with ignores enabled, created at:")?;
            self.stack(&access.thread.created_at)?;
        }
        writeln!(self.out, "  Ignore was enabled at:")?;
        self.stack(&access.stack)
    }

    fn misuse(&mut self, finding: &Finding) -> io::Result<()> {
        if let [access] = &finding.accesses[..]
            && finding.rule().id == IGNORED_AT_END
        {
            return self.ignored_at_end(access);
        }
        for access in &finding.accesses {
            let who = self.names.thread(&access.thread);
            let object = if access.object.is_empty() {
                String::new()
            } else {
                format!(" of {}", clean(&access.object))
            };
            writeln!(self.out, "  {}{object} by {who}:", capitalised(&clean(&access.operation)))?;
            self.stack(&access.stack)?;
        }
        finding.memory.as_ref().map_or(Ok(()), |memory| self.memory(memory))
    }

    /// ` mutex M0, M1`.
    fn holding(&mut self, access: &Access) -> String {
        let locks: Vec<_> = access.held.iter().map(|lock| self.names.lock(&lock.name)).collect();
        if locks.is_empty() { " no mutex".into() } else { format!(" mutex {}", locks.join(", ")) }
    }

    fn access(&mut self, kind: &str, access: &Access, memory: &Memory) -> io::Result<()> {
        let who = self.names.thread(&access.thread);
        let locks: Vec<_> = access
            .held
            .iter()
            .map(|lock| {
                format!("{} {}", if lock.shared { "read" } else { "write" }, self.names.lock(&lock.name))
            })
            .collect();
        let holding = match locks.is_empty() {
            true => String::new(),
            false => format!(" (mutexes: {})", locks.join(", ")),
        };
        let (bytes, address) = (access.bytes, memory.offset);
        writeln!(self.out, "  {kind} of size {bytes} at {address:#014x} by {who}{holding}:")?;
        self.stack(&access.stack)
    }

    fn memory(&mut self, memory: &Memory) -> io::Result<()> {
        let Memory { name, kind, bytes, owner, allocated_at, freed_by, freed_at, .. } = memory;
        if !freed_by.is_empty() {
            let who = self.names.thread_named(freed_by);
            writeln!(self.out, "  Freed by {who}:")?;
            self.stack(freed_at)?;
        }
        let owner = self.names.thread_named(owner);
        match kind.as_str() {
            "heap" => {
                writeln!(
                    self.out,
                    "  Location is heap block of size {bytes} at {:#014x} allocated by {owner}:",
                    0
                )?;
                self.stack(allocated_at)
            }
            "global" | "variable" => {
                let name = clean(name);
                writeln!(self.out, "  Location is global '{name}' of size {bytes} at {:#014x}\n", 0)
            }
            "stack" => writeln!(self.out, "  Location is stack of {owner}.\n"),
            _ => Ok(()),
        }
    }

    fn lock(&mut self, lock: &HeldLock, thread: &Thread) -> io::Result<()> {
        let (number, name) = (self.names.lock(&lock.name), clean(&lock.name));
        let who = self.names.thread(thread);
        writeln!(self.out, "  Mutex {number} ({name}) acquired here by {who}:")?;
        self.stack(&lock.taken_at)
    }

    fn thread(&mut self, thread: &Thread) -> io::Result<()> {
        // A trace does not say which thread created which.
        if thread.main || thread.creator.is_empty() && thread.created_at.is_empty() {
            return Ok(());
        }
        let (number, name) = (self.names.number(&thread.name), clean(&thread.name));
        let creator = match thread.creator.as_str() {
            "" => "an unknown thread".to_owned(),
            creator => self.names.thread_named(creator),
        };
        writeln!(self.out, "  Thread T{number} '{name}' (tid={number}, running) created by {creator} at:")?;
        self.stack(&thread.created_at)
    }

    fn stack(&mut self, stack: &[Frame]) -> io::Result<()> {
        for (number, (frame, _)) in crate::frames::shown(stack).enumerate() {
            writeln!(self.out, "    #{number} {}", frame_line(frame))?;
        }
        if stack.is_empty() {
            writeln!(self.out, "    [failed to restore the stack]")?;
        }
        writeln!(self.out)
    }
}

fn kind_of(access: &Access) -> &'static str {
    match (access.operation.contains("atomic"), access.writes) {
        (false, true) => "write",
        (false, false) => "read",
        (true, true) => "atomic write",
        (true, false) => "atomic read",
    }
}

fn capitalised(kind: &str) -> String {
    let mut letters = kind.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// ` src/server.cc:52:17 in Server::poll()`.
fn summary(access: &Access) -> String {
    let Some(top) = access.site() else { return String::new() };
    let place = match (top.file.is_empty(), top.module.is_empty()) {
        (false, _) => place(top),
        (true, false) => module(top),
        (true, true) => "<null>".into(),
    };
    match top.full_name().as_ref() {
        "" => format!(" {place}"),
        function => format!(" {place} in {}", clean(function)),
    }
}

/// `Server::poll() src/server.cc:52:17 (server+0x1034)`, with `<null>` for what is unknown.
fn frame_line(frame: &Frame) -> String {
    let function = if frame.function.is_empty() { "<null>".into() } else { clean(&frame.full_name()) };
    let place = if frame.file.is_empty() { "<null>".into() } else { place(frame) };
    let module = if frame.module.is_empty() { String::new() } else { format!(" {}", module(frame)) };
    format!("{function} {place}{module}")
}

fn place(frame: &Frame) -> String {
    let mut place = clean(&frame.file);
    for number in [frame.line, frame.column].into_iter().take_while(|number| *number > 0) {
        place += &format!(":{number}");
    }
    place
}

fn module(frame: &Frame) -> String {
    format!("({}+{:#x})", clean(&frame.module), frame.offset)
}

/// On one line, without anything that a terminal obeys.
fn clean(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

/// Numbers for threads and locks.
#[derive(Default)]
struct Names {
    threads: BTreeMap<String, u64>,
    main: Option<String>,
    locks: BTreeMap<String, usize>,
}

impl Names {
    /// `T7` is 7; other names get the numbers that follow the largest of those, in order of appearance.
    fn of(report: &Report) -> Names {
        let mut names = Names::default();
        let mut others = Vec::new();
        for finding in &report.findings {
            for thread in finding.accesses.iter().rev().map(|access| &access.thread) {
                match numbered(&thread.name) {
                    _ if thread.main => names.main = Some(thread.name.clone()),
                    Some(number) => drop(names.threads.insert(thread.name.clone(), number)),
                    None => others.push(&thread.name),
                }
            }
        }
        let mut next = names.threads.values().max().map_or(1, |largest| largest + 1);
        for name in others {
            if !names.threads.contains_key(name) {
                names.threads.insert(name.clone(), next);
                next += 1;
            }
        }
        names
    }

    fn thread(&self, thread: &Thread) -> String {
        match thread.main {
            true => "main thread".into(),
            false => format!("thread T{}", self.number(&thread.name)),
        }
    }

    fn thread_named(&self, name: &str) -> String {
        match self.main.as_deref() == Some(name) {
            true => "main thread".into(),
            false => format!("thread T{}", self.number(name)),
        }
    }

    /// The number of a thread; 0 for one that is only named as another's creator.
    fn number(&self, name: &str) -> u64 {
        self.threads.get(name).copied().or_else(|| numbered(name)).unwrap_or(0)
    }

    fn lock(&mut self, name: &str) -> String {
        let next = self.locks.len();
        format!("M{}", self.locks.entry(name.to_owned()).or_insert(next))
    }
}

fn numbered(name: &str) -> Option<u64> {
    let digits = name.strip_prefix('T')?;
    // A larger number is treated as a name, so that there are numbers above it.
    digits.parse::<u32>().ok().filter(|number| number.to_string() == digits).map(u64::from)
}
