//! Findings for people: each one explained, a table of all of them last.
//!
//! What the next run of a recorded program numbers otherwise (events, processes, how often something happened) is printed for
//! traces only, or when everything is wanted: same findings, same bytes.

mod lines;
mod schedule;
mod source;
mod summary;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{self, Write};

use anstyle::Style;
use overtake_detect::Verdict;

use self::lines::{Line, side_by_side, stacked, wrapped};
use self::schedule::Drawn;
use super::{BOLD, DIM, Detail, Layout, printable, verdict_style};
use crate::cause::{Cause, Share, causes};
use crate::frames;
use crate::function_name::abridged;
use crate::number::{counted, grouped};
use crate::result::{Access, Finding, Frame, HeldLock, Kind, Report, Stand, Status, innermost_own};

/// The width of paragraphs where lines may be as long as they need.
const DEFAULT_WIDTH: usize = 100;
/// From here on both stacks stand side by side.
const WIDE: usize = 120;
/// Frames that are shown unless everything is wanted.
const FRAMES: usize = 12;
/// Longer headlines and paragraphs lose their middle.
const HEADLINE: usize = 300;
const PARAGRAPH: usize = 2_000;
/// Other findings of a cause that are listed unless everything is wanted.
const VARIANTS: usize = 5;
/// Source lines before and after the one that is marked.
const AROUND: u32 = 1;

/// The report as plain text: nothing hidden, no colours.
pub fn write(out: &mut dyn Write, report: &Report) -> io::Result<()> {
    let text = findings(report, &Layout { limit: None, ..Layout::default() });
    write!(out, "{}", anstream::adapter::strip_str(&text))
}

/// The causes of findings, then a table of the findings.
pub fn findings(report: &Report, layout: &Layout) -> String {
    let mut text = String::new();
    // What was accepted is counted, not explained.
    let causes = causes(report.new_findings());
    let mut share = Share::new(&causes, layout.limit);
    let (shown, hidden): (Vec<_>, Vec<_>) =
        causes.into_iter().partition(|cause| share.take(cause.head.verdict));
    for one in &shown {
        text.push_str(&cause(report, one, layout));
        if layout.detail != Detail::Headlines {
            text.push('\n');
        }
    }
    if !hidden.is_empty() {
        line(&mut text, format_args!("... and {}; --limit 0 shows all\n", more(&hidden)));
    }
    if layout.detail != Detail::Headlines && !report.findings.is_empty() {
        let unlisted: BTreeSet<u32> =
            hidden.iter().flat_map(Cause::findings).map(|finding| finding.id).collect();
        let is_listed = |finding: &&Finding| !unlisted.contains(&finding.id);
        let mut listed: Vec<&Finding> = report.findings.iter().filter(is_listed).collect();
        let all = listed.len();
        // Every cause that is shown has a row. Its other findings get what room is left.
        let heads: BTreeSet<u32> = shown.iter().map(|cause| cause.head.id).collect();
        let mut room = layout.limit.unwrap_or(usize::MAX).saturating_sub(heads.len());
        listed.retain(|finding| {
            let fits = heads.contains(&finding.id) || room > 0;
            room -= usize::from(fits && !heads.contains(&finding.id));
            fits
        });
        text.push_str(&summary::rows(&listed, layout));
        match all - listed.len() {
            0 => {}
            1 => line(&mut text, format_args!("... and 1 more row; --limit 0 shows all")),
            rows => line(
                &mut text,
                format_args!("... and {} more rows; --limit 0 shows all", grouped(rows as u64)),
            ),
        }
        text.push('\n');
    }
    line(&mut text, format_args!("{}", summary::total(report)));
    let mut printed = BTreeSet::new();
    for remark in remarks(report).filter(|remark| printed.insert(*remark)) {
        // In a file a remark is one line, for those who search it.
        let room = layout.width.map_or(usize::MAX, |_| width(layout) - 2);
        for part in wrapped(&printable(remark), room) {
            line(&mut text, format_args!("  {part}"));
        }
    }
    text
}

/// `3 more causes (7 findings)`.
fn more(hidden: &[Cause<'_>]) -> String {
    let findings: usize = hidden.iter().map(Cause::size).sum();
    let causes = counted(hidden.len() as u64, "more cause", "more causes");
    match findings == hidden.len() {
        true => causes,
        false => format!("{causes} ({})", counted(findings as u64, "finding", "findings")),
    }
}

/// A cause: the first of its findings, and a line for each of the others.
pub fn cause(report: &Report, cause: &Cause<'_>, layout: &Layout) -> String {
    let mut text = one(report, cause.head, layout);
    if cause.variants.is_empty() || layout.detail == Detail::Headlines {
        return text;
    }
    let places = counted(cause.variants.len() as u64, "more place", "more places");
    text.push('\n');
    stacked(&mut text, &[Line::new(BOLD, &format!("{places} with the same cause"))], INDENT, width(layout));
    let most = if layout.detail == Detail::Everything { usize::MAX } else { VARIANTS };
    for variant in cause.variants.iter().take(most) {
        let said = format!("{}. {} {}", variant.id, variant.verdict.word(), summary::sides(variant));
        stacked(&mut text, &[Line::plain(&said)], INDENT + 2, width(layout));
    }
    let rest = cause.variants.len().saturating_sub(most);
    if rest > 0 {
        let rest = counted(rest as u64, "other", "others");
        stacked(&mut text, &[Line::plain(&format!("... and {rest}"))], INDENT + 2, width(layout));
    }
    text
}

/// What people must know to understand the result.
fn remarks(report: &Report) -> impl Iterator<Item = &str> {
    let runs = report.runs.iter();
    runs.flat_map(|run| run.notes.iter().chain(run.detectors.iter().flat_map(|detector| &detector.remarks)))
        .map(String::as_str)
}

/// Everything about one finding that the layout has room for.
pub fn one(report: &Report, finding: &Finding, layout: &Layout) -> String {
    let mut text = String::new();
    let style = verdict_style(finding.verdict);
    let (id, title, joint) = (finding.id, finding.title(), finding.joint());
    let headline = abridged(&printable(&finding.headline), HEADLINE);
    let exact = layout.detail == Detail::Everything || !is_recorded(report, finding);
    let times = if exact { times(finding) } else { String::new() };
    line(&mut text, format_args!("{id}. {style}{title}{style:#}{joint}{BOLD}{headline}{BOLD:#}{times}"));
    if layout.detail != Detail::Headlines {
        let explainer = Explainer { report, finding, layout, exact, width: width(layout) };
        explainer.write(&mut text);
    }
    text
}

fn is_recorded(report: &Report, finding: &Finding) -> bool {
    let run = finding.runs.first().and_then(|&run| report.runs.get(run as usize));
    run.is_some_and(|run| run.is_recorded())
}

fn width(layout: &Layout) -> usize {
    layout.width.map_or(DEFAULT_WIDTH, |width| usize::from(width).max(40))
}

fn times(finding: &Finding) -> String {
    let Finding { count, observed, verdict, .. } = finding;
    match (*count, *verdict) {
        (0 | 1, _) => String::new(),
        (count, Verdict::Observed) if *observed < count => {
            format!(", {} times, {} of them observed", grouped(count), grouped(*observed))
        }
        (count, _) => format!(", {} times", grouped(count)),
    }
}

/// Explains one finding.
struct Explainer<'a> {
    report: &'a Report,
    finding: &'a Finding,
    layout: &'a Layout,
    exact: bool,
    width: usize,
}

const INDENT: usize = 3;

impl Explainer<'_> {
    fn write(&self, text: &mut String) {
        for part in wrapped(meaning(self.finding), self.width - INDENT) {
            stacked(text, &[Line::new(DIM, &part)], INDENT, self.width);
        }
        text.push('\n');
        let accesses = &self.finding.accesses;
        let is_wide = self.width >= WIDE;
        let threads = self.parts();
        let mut sides: Vec<_> = Vec::new();
        for (at, (access, thread)) in accesses.iter().zip(&threads).enumerate() {
            // If both accesses are on one line and stand below each other, the source is shown once.
            let repeats = !is_wide && accesses.get(at + 1).is_some_and(|next| next.site() == access.site());
            sides.push(self.side(access, thread, !repeats));
        }
        for pair in sides.chunks(2) {
            match pair {
                [left, right] if is_wide => side_by_side(text, [left, right], INDENT, self.width),
                _ => pair.iter().for_each(|side| stacked(text, side, INDENT, self.width)),
            }
        }
        self.memory(text);
        self.threads(text);
        self.confirmed(text);
        for note in &self.finding.notes {
            self.paragraph(text, "note", note);
        }
        self.paragraph(text, "why", &self.finding.why);
        self.paragraph(text, "fix", &self.finding.remedy);
        self.schedule(text);
        if self.is_everything() {
            self.rest(text);
        }
    }

    fn confirmed(&self, text: &mut String) {
        let Some(confirmed) = &self.finding.confirmed else { return };
        let (met, runs) = (grouped(confirmed.met.into()), counted(confirmed.runs.into(), "run", "runs"));
        let outcome = match confirmed.outcome.as_str() {
            "" => String::new(),
            outcome => format!("; then: {outcome}"),
        };
        let seen = if confirmed.seen.is_empty() { String::new() } else { format!(": {}", confirmed.seen) };
        self.paragraph(text, "again", &format!("the threads met in {met} of {runs}{seen}{outcome}"));
        for stand in &confirmed.stands {
            let Stand { thread, operation, address, bytes, stack } = stand;
            let is_shown = |frame: &&Frame| frame.is_own() || !stack.iter().any(Frame::is_own);
            let calls: Vec<_> = stack.iter().filter(is_shown).map(|frame| self.frame(frame)).collect();
            let what = match operation.as_str() {
                Stand::ACQUIRE => "the lock".to_owned(),
                _ => counted(*bytes, "byte", "bytes"),
            };
            let calls = calls.join(", called from ");
            let stood = format!("{thread} stood before its {operation} of {what} at {address} in {calls}");
            self.paragraph(text, "", &stood);
        }
        self.paragraph(text, "", &confirmed.repeat);
    }

    fn is_everything(&self) -> bool {
        self.layout.detail == Detail::Everything
    }

    /// The columns that one access has.
    fn room(&self) -> usize {
        match self.width >= WIDE {
            true => lines::column(INDENT, self.width),
            false => self.width - INDENT,
        }
    }

    fn mark(&self) -> Style {
        verdict_style(self.finding.verdict)
    }

    /// Who does what. Where both threads of a race run the same function, another run may exchange them.
    fn parts(&self) -> Vec<String> {
        let accesses = self.finding.accesses.iter();
        let names: Vec<_> =
            accesses.map(|access| thread_name(&access.thread.name, access.thread.main)).collect();
        match &names[..] {
            [one, other] if !self.exact && self.finding.has_threads_alike() => {
                let (low, high) = if one <= other { (one, other) } else { (other, one) };
                vec![format!("one of {low}, {high}"), "the other".into()]
            }
            _ => names,
        }
    }

    /// One access: what, who, the stack, locks, the source.
    fn side(&self, access: &Access, thread: &str, with_source: bool) -> Vec<Line> {
        let size = match access.bytes {
            0 => String::new(),
            bytes => format!(" of {}", counted(u64::from(bytes), "byte", "bytes")),
        };
        let event = if self.exact { format!("  event {}", grouped(access.event)) } else { String::new() };
        let object = if access.object.is_empty() { String::new() } else { format!(" of {}", access.object) };
        let heading = format!("{object}{size} by {thread}");
        let mut lines = vec![Line::new(BOLD, &access.operation).and(Style::new(), &heading).and(DIM, &event)];
        lines.extend(self.stack(&access.stack).into_iter().map(|frame| Line::plain(&format!("  {frame}"))));
        if access.stack.is_empty() {
            lines.push(Line::plain("  at an unknown location"));
        }
        lines.extend(access.held.iter().map(|lock| Line::plain(&format!("  {}", self.held(lock)))));
        if access.held.is_empty() && !self.finding.why.is_empty() {
            lines.push(Line::plain("  holds no lock"));
        }
        let around = if self.is_everything() { 3 * AROUND } else { AROUND };
        if let Some(frame) = access.site().filter(|_| with_source) {
            let excerpt = source::excerpt(self.report, frame, around, self.mark(), self.room());
            if !excerpt.is_empty() {
                lines.push(Line::default());
                lines.extend(excerpt);
            }
        }
        lines.push(Line::default());
        lines
    }

    fn held(&self, lock: &HeldLock) -> String {
        let mode = if lock.shared { " shared" } else { "" };
        let taken = innermost_own(&lock.taken_at).map(|frame| format!(", taken at {}", self.frame(frame)));
        format!("holds {}{mode}{}", lock.name, taken.unwrap_or_default())
    }

    /// The frames of a stack. What is of no interest is folded, and counted where it is deeper than what is shown.
    fn stack(&self, stack: &[Frame]) -> Vec<String> {
        if self.is_everything() {
            return stack.iter().enumerate().map(|(at, frame)| self.numbered(at, frame)).collect();
        }
        let shown = frames::shown(stack).count();
        let mut lines = Vec::new();
        for (at, (frame, folded)) in frames::shown(stack).take(FRAMES).enumerate() {
            let folded = match folded {
                0 => String::new(),
                folded => format!(" (+{} deeper)", counted(folded as u64, "frame", "frames")),
            };
            lines.push(format!("{}{folded}", self.numbered(at, frame)));
        }
        if shown > FRAMES {
            lines.push(format!("... {}", counted((shown - FRAMES) as u64, "frame", "frames")));
        }
        lines
    }

    fn numbered(&self, number: usize, frame: &Frame) -> String {
        let is_location = frame.function.is_empty() && frame.module.is_empty() && !frame.file.is_empty();
        match is_location {
            true => format!("at {}", frame.place()), // the location of a trace
            false => format!("#{number} {}", self.frame(frame)),
        }
    }

    /// `function file.c:12:3`, or where in which module.
    fn frame(&self, frame: &Frame) -> String {
        let function = match self.is_everything() {
            true => abridged(&frame.function, 400),
            false => frame.function_name(),
        };
        let file = if frame.is_own() || self.is_everything() { &*frame.file } else { base_name(&frame.file) };
        let place = match (file, frame.line, frame.column) {
            ("", _, _) if frame.module.is_empty() => "an unknown location".into(),
            // If the function is known, few people need the place in a library.
            ("", _, _) if !self.is_everything() && !function.is_empty() => {
                format!("({})", library(&frame.module))
            }
            ("", _, _) => format!("({}+{:#x})", frame.module, frame.offset),
            (file, 0, _) => file.to_owned(),
            (file, line, 0) => format!("{file}:{line}"),
            (file, line, column) => format!("{file}:{line}:{column}"),
        };
        match function.as_str() {
            "" => place,
            // Its place is its name.
            _ if frame.is_lambda() && !self.is_everything() => format!("lambda at {place}"),
            function => format!("{function} {place}"),
        }
    }

    fn memory(&self, text: &mut String) {
        let Some(memory) = &self.finding.memory else { return };
        let size = counted(memory.bytes, "byte", "bytes");
        let owner = printable(&memory.owner);
        // Misuses are of a block as a whole.
        let byte = match self.finding.kind {
            Kind::Misuse => String::new(),
            _ => format!("byte {} of ", grouped(memory.offset)),
        };
        let what = match memory.kind.as_str() {
            "global" => format!("{byte}the global {}, {size}", memory.whole()),
            "heap" if owner.is_empty() => format!("{byte}a heap block of {size}"),
            "heap" => format!("{byte}a heap block of {size}, allocated by {owner}"),
            "mapped" if memory.bytes == 0 => {
                format!("{byte}the {}, whose variables have no names", memory.whole())
            }
            "mapped" => format!("{byte}a mapping of {size}"),
            "stack" => format!("on the stack of {owner}"),
            _ => return,
        };
        self.paragraph(text, "memory", &what);
        self.frames(text, &memory.allocated_at);
        if !memory.freed_by.is_empty() {
            self.paragraph(text, "freed", &format!("by {}", printable(&memory.freed_by)));
            self.frames(text, &memory.freed_at);
        }
    }

    /// A stack below a paragraph.
    fn frames(&self, text: &mut String, stack: &[Frame]) {
        let frames = self.stack(stack);
        let frames: Vec<_> = frames.iter().map(|frame| Line::plain(frame)).collect();
        stacked(text, &frames, INDENT + 10, self.width);
    }

    fn threads(&self, text: &mut String) {
        let mut threads: Vec<_> = self.finding.accesses.iter().map(|access| &access.thread).collect();
        threads.sort_by(|one, other| one.name.cmp(&other.name));
        threads.dedup();
        for thread in threads.into_iter().filter(|thread| !thread.creator.is_empty()) {
            let place = innermost_own(&thread.created_at).map(|frame| format!(" at {}", self.frame(frame)));
            let (name, creator) = (&thread.name, &thread.creator);
            self.paragraph(
                text,
                "thread",
                &format!("{name} was started by {creator}{}", place.unwrap_or_default()),
            );
        }
    }

    fn paragraph(&self, text: &mut String, label: &str, paragraph: &str) {
        if paragraph.is_empty() {
            return;
        }
        const LABEL: usize = 8;
        let room = self.width.min(DEFAULT_WIDTH).saturating_sub(INDENT + LABEL);
        for (at, part) in wrapped(&abridged(paragraph, PARAGRAPH), room).iter().enumerate() {
            let label = if at == 0 { label } else { "" };
            let line = Line::new(BOLD, &format!("{label:LABEL$}")).and(Style::new(), part);
            stacked(text, &[line], INDENT, usize::MAX);
        }
    }

    fn schedule(&self, text: &mut String) {
        let Some(schedule) = &self.finding.schedule else { return };
        let width = self.width.saturating_sub(INDENT + 2);
        let drawn = Drawn { width, mark: self.mark(), exact: self.exact };
        let every: Vec<u32> = (0..schedule.steps.len() as u32).collect();
        let mut parts = Vec::new();
        if self.is_everything() {
            parts.push(("as it happened:", every));
        }
        if !schedule.witness.is_empty() {
            parts.push(("another order of the same run, checked:", schedule.witness.clone()));
            let left_out = schedule::left_out(schedule);
            if !left_out.is_empty() {
                parts.push(("not yet done when the accesses meet:", left_out));
            }
        }
        for (heading, order) in parts {
            let lines = schedule::columns(schedule, &order, drawn);
            stacked(text, &[Line::default(), Line::new(DIM, heading)], INDENT, self.width);
            stacked(text, &lines, INDENT + 2, usize::MAX);
        }
    }

    /// Details that few people need.
    fn rest(&self, text: &mut String) {
        let finding = self.finding;
        text.push('\n');
        self.paragraph(text, "found", &format!("by {}", finding.detectors.join(", ")));
        self.paragraph(text, "print", &format!("{} {}", finding.fingerprint, status(finding)));
        for run in finding.runs.iter().filter_map(|&run| self.report.runs.get(run as usize)) {
            let events = counted(run.events, "event", "events");
            let what = match run.is_recorded() {
                true => format!("process {} of {}, {events}", run.process, run.command.join(" ")),
                false => format!("{}, {events}", run.trace),
            };
            self.paragraph(text, "run", &what);
        }
    }
}

fn status(finding: &Finding) -> String {
    match &finding.status {
        Status::New => String::new(),
        Status::Known { reason, since, verdict } if finding.is_confirmed_since() => {
            format!("(known since {since} as {verdict}, confirmed now: {reason})")
        }
        Status::Known { reason, since, .. } => format!("(known since {since}: {reason})"),
        Status::Suppressed { by } => format!("(suppressed by {by})"),
    }
}

fn meaning(finding: &Finding) -> &'static str {
    match (finding.kind, finding.verdict) {
        (Kind::Race, _) if finding.confirmed.is_some() => {
            "confirmed: in another run, two threads stood at the two accesses at the same time"
        }
        (Kind::Deadlock, _) if finding.confirmed.is_some() => {
            "confirmed: in another run, each thread had the lock that the one before it was about to wait for"
        }
        (Kind::Race, Verdict::Observed) => "observed: nothing orders the two accesses in this run",
        (Kind::Race, Verdict::Predicted) => {
            "predicted: another schedule of this very run brings the two accesses side by side"
        }
        (Kind::Race, Verdict::Possible) => {
            "possible: another schedule brings the two accesses side by side, if reads that race saw what the merged order \
             suggests"
        }
        (Kind::Race, Verdict::Suspected) => {
            "suspected: no lock protects both accesses; something else may order them"
        }
        (Kind::Deadlock, Verdict::Observed) if finding.accesses.len() == 1 => {
            "observed: the thread waits for itself in this run"
        }
        (Kind::Deadlock, Verdict::Observed) => "observed: the threads wait for each other in this run",
        (Kind::Deadlock, Verdict::Predicted) => {
            "predicted: in another schedule of this very run each thread waits for the next one"
        }
        (Kind::Deadlock, Verdict::Possible) => {
            "possible: in another schedule each thread waits for the next one, if reads that race saw what the merged order \
             suggests"
        }
        (Kind::Deadlock, Verdict::Suspected) => {
            "suspected: the locks are taken in different orders; something else may keep the threads apart"
        }
        (Kind::Misuse, _) => finding.rule().help,
    }
}

fn thread_name(name: &str, main: bool) -> String {
    match (main, name) {
        (_, "") => "an unknown thread".into(),
        (true, name) => format!("the main thread {name}"),
        (false, name) => name.to_owned(),
    }
}

/// The library without its version: `libstdc++.so`.
fn library(module: &str) -> &str {
    module.find(".so.").map_or(module, |end| &module[..end + ".so".len()])
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    // Writing into a string does not fail.
    let _ = writeln!(text, "{line}");
}
