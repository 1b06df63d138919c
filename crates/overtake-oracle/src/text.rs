//! Small traces as text, such as `T0 acq l; T0 w x; T1 w x`. Tests are written in it, and failures print it.
//!
//! An event is a thread, an operation and its operand, and ends with `;` or the line. A memory order follows its operation
//! (`store.release x`, `fence.acq_rel`; the default is seq_cst). An acquire that does not wait has the prefix `try` (`tryacq l`). A
//! location follows its event (`T0 w x @main.c:3`; the default is the event's index). A `#` after a space begins a comment.

use std::fmt::Write;

use overtake_trace::{Action, Event, MemoryOrder, Op, OperandKind, Symbols, Trace};

/// The operations and how they are written.
const WORDS: [(Op, &str); 22] = [
    (Op::Read, "r"),
    (Op::Write, "w"),
    (Op::Acquire, "acq"),
    (Op::Release, "rel"),
    (Op::AcquireShared, "racq"),
    (Op::ReleaseShared, "rrel"),
    (Op::Fork, "fork"),
    (Op::Join, "join"),
    (Op::Begin, "begin"),
    (Op::End, "end"),
    (Op::Load, "load"),
    (Op::Store, "store"),
    (Op::Rmw, "rmw"),
    (Op::Fence, "fence"),
    (Op::Post, "post"),
    (Op::Wait, "wait"),
    (Op::Alloc, "alloc"),
    (Op::Free, "free"),
    (Op::Request, "request"),
    (Op::Branch, "branch"),
    (Op::Misuse, "misuse"),
    (Op::Gap, "gap"),
];

/// The trace that `text` describes.
///
/// # Panics
/// If the text is not of this form; it is written by tests.
pub fn trace(text: &str) -> Trace {
    let mut trace = Trace::default();
    let lines = text.lines().map(|line| line.split(" #").next().unwrap_or_default());
    for item in lines.flat_map(|line| line.split(';')).map(str::trim).filter(|item| !item.is_empty()) {
        let event = parse_event(item, trace.events.len(), &mut trace.symbols);
        trace.events.push(event);
    }
    trace
}

fn parse_event(item: &str, index: usize, symbols: &mut Symbols) -> Event {
    let (item, location) = match item.split_once('@') {
        Some((item, location)) => (item, location.trim().to_owned()),
        None => (item, index.to_string()),
    };
    let mut words = item.split_whitespace();
    let (thread, op) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (word, order) = op.split_once('.').unwrap_or((op, MemoryOrder::SeqCst.name()));
    let acquire = word.strip_prefix("try");
    let op = WORDS.iter().find(|(_, known)| *known == acquire.unwrap_or(word)).map(|&(op, _)| op);
    let order = MemoryOrder::ALL.into_iter().find(|known| known.name() == order);
    let (Some(op), Some(order)) = (op, order) else { panic!("expected an operation, found `{item}`") };
    let thread = symbols.threads.intern(thread.as_bytes()).expect("few threads");
    let location = symbols.locations.intern(location.as_bytes()).expect("few locations");
    let operand = intern_operand(op, words.next().unwrap_or_default().as_bytes(), symbols);
    assert_eq!(words.next(), None, "expected one operand, found more: `{item}`");
    let order = if op.has_memory_order() { order } else { MemoryOrder::Relaxed };
    let event = Event::from_parts(thread, op, order, operand, location);
    if acquire.is_some() { event.as_try() } else { event }
}

fn intern_operand(op: Op, name: &[u8], symbols: &mut Symbols) -> u32 {
    let kind = op.operand_kind();
    assert_eq!(name.is_empty(), kind == OperandKind::None, "the operand of {op:?}");
    let interned = match kind {
        OperandKind::None => Ok(0),
        OperandKind::Thread => symbols.threads.intern(name).map(|id| id.0),
        OperandKind::Lock => symbols.locks.intern(name).map(|id| id.0),
        OperandKind::Sync => symbols.objects.intern(name).map(|id| id.0),
        OperandKind::Marker => symbols.markers.intern(name).map(|id| id.0),
        OperandKind::Variable if matches!(op, Op::Alloc | Op::Free) => {
            let array = symbols.variables.intern_array(name).expect("few arrays");
            symbols.variables.intern_block(array).map(|id| id.0)
        }
        OperandKind::Variable => symbols.variables.intern(name).map(|id| id.0),
    };
    interned.expect("few names")
}

/// The trace as text that [`trace()`] reads back, one event per line with its index behind it.
pub fn show(trace: &Trace) -> String {
    let mut text = String::new();
    for (index, event) in trace.events.iter().enumerate() {
        let _ = writeln!(text, "{:40} # {index}", show_event(event, index, &trace.symbols));
    }
    text
}

fn show_event(event: &Event, index: usize, symbols: &Symbols) -> String {
    let word = WORDS.iter().find(|(op, _)| *op == event.op()).map_or("skip", |(_, word)| word);
    let tried = if event.is_try() { "try" } else { "" };
    let mut text = format!("{} {tried}{word}", symbols.threads.display(event.thread()));
    if event.op().has_memory_order() {
        let _ = write!(text, ".{}", event.order().name());
    }
    let operand = match event.action() {
        Action::Fork(child) | Action::Join(child) => symbols.threads.display(child),
        Action::Post(object) | Action::Wait(object) => {
            let mut name = Vec::new();
            symbols.objects.write_name(object, &mut name);
            String::from_utf8_lossy(&name).into_owned()
        }
        Action::Read(var)
        | Action::Write(var)
        | Action::Load(var, _)
        | Action::Store(var, _)
        | Action::Rmw(var, _)
        | Action::Alloc(var)
        | Action::Free(var) => symbols.variables.display(var),
        Action::Acquire(lock)
        | Action::Release(lock)
        | Action::AcquireShared(lock)
        | Action::ReleaseShared(lock)
        | Action::Request(lock) => symbols.locks.display(lock),
        Action::Begin(marker) | Action::End(marker) | Action::Branch(marker) | Action::Misuse(marker) => {
            symbols.markers.display(marker)
        }
        Action::Fence(_) | Action::Skip | Action::Gap => String::new(),
    };
    if !operand.is_empty() {
        let _ = write!(text, " {operand}");
    }
    let location = symbols.location_name(event.location());
    if location != index.to_string() {
        let _ = write!(text, " @{location}");
    }
    text
}
