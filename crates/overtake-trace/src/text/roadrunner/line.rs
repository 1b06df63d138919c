//! The forms of lines in the log.

use crate::error::Result;
use crate::text::lines::{shown, trimmed};
use crate::text::place::Place;

/// A parsed line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Parsed<'a> {
    Blank,
    Ignored(Ignored),
    Access { thread: &'a [u8], access: Access, variable: &'a [u8], location: &'a [u8] },
    Sync { thread: &'a [u8], sync: Sync, operand: &'a [u8] },
}

/// What is done to a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Access {
    Read,
    Write,
    VolatileRead,
    VolatileWrite,
}

/// What is done to other objects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sync {
    Acquire,
    Release,
    Start,
    Join,
    Wait,
    Notify,
    BarrierEnter,
    BarrierExit,
    ClassInited,
    ClassAccessed,
}

/// Kinds of lines without an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ignored {
    MethodEnter,
    MethodExit,
    Interrupt,
    Sleep,
    ThreadNote,
    LockQuery,
    PrintedTwice,
    JoinOfUnknown,
    OtherTool,
    Banner,
    OtherOutput,
}

impl Ignored {
    pub(super) const ALL: [Ignored; 11] = [
        Ignored::MethodEnter,
        Ignored::MethodExit,
        Ignored::Interrupt,
        Ignored::Sleep,
        Ignored::ThreadNote,
        Ignored::LockQuery,
        Ignored::PrintedTwice,
        Ignored::JoinOfUnknown,
        Ignored::OtherTool,
        Ignored::Banner,
        Ignored::OtherOutput,
    ];

    pub(super) fn describe(self) -> &'static str {
        match self {
            Ignored::MethodEnter => "method enter",
            Ignored::MethodExit => "method exit",
            Ignored::Interrupt => "interrupt",
            Ignored::Sleep => "sleep",
            Ignored::ThreadNote => "note that a thread started or stopped",
            Ignored::LockQuery => "query of a lock (test acquire, test release)",
            Ignored::PrintedTwice => "call printed twice (Start, Join, Notify)",
            Ignored::JoinOfUnknown => "join of a thread whose number was reused (-1)",
            Ignored::OtherTool => "print of another tool in the chain",
            Ignored::Banner => "message of RoadRunner in brackets",
            Ignored::OtherOutput => "output that is not of the print tool",
        }
    }
}

enum Form {
    Access(Access),
    Sync(Sync),
    /// The last part of the operand tells enter from exit.
    Barrier,
    Ignored(Ignored),
}

const FORMS: [(&str, Form); 21] = [
    ("Rd", Form::Access(Access::Read)),
    ("Wr", Form::Access(Access::Write)),
    ("ARd", Form::Access(Access::Read)),
    ("AWr", Form::Access(Access::Write)),
    ("VRd", Form::Access(Access::VolatileRead)),
    ("VWr", Form::Access(Access::VolatileWrite)),
    ("Acquire", Form::Sync(Sync::Acquire)),
    ("Release", Form::Sync(Sync::Release)),
    ("Start", Form::Sync(Sync::Start)),
    ("Join", Form::Sync(Sync::Join)),
    ("Wait", Form::Sync(Sync::Wait)),
    ("Notify", Form::Sync(Sync::Notify)),
    ("Barrier", Form::Barrier),
    ("ClassInited", Form::Sync(Sync::ClassInited)),
    ("ClassAccessed", Form::Sync(Sync::ClassAccessed)),
    ("ClassAccssed", Form::Sync(Sync::ClassAccessed)), // as RoadRunner itself spells it
    ("Enter", Form::Ignored(Ignored::MethodEnter)),
    ("Exit", Form::Ignored(Ignored::MethodExit)),
    ("Interrupt", Form::Ignored(Ignored::Interrupt)),
    ("Interrupted", Form::Ignored(Ignored::Interrupt)),
    ("Sleep", Form::Ignored(Ignored::Sleep)),
];

/// Parses `line`. Only a line that begins with `@` can be wrong, because the log also contains the program's own output.
pub(super) fn parse(line: &[u8], number: u64) -> Result<Parsed<'_>> {
    let line = line.trim_ascii_end();
    let Some(after) = line.strip_prefix(b"@") else { return Ok(without_event(line)) };
    let (text, blanks) = trimmed(after);
    let place = Place { line: number, column: 2 + blanks as u64 };
    if let Some(kind) = note(text) {
        return Ok(Parsed::Ignored(kind));
    }
    let open = memchr::memchr(b'(', text).unwrap_or(text.len());
    let form = FORMS.iter().find(|(word, _)| word.as_bytes() == &text[..open]).map(|(_, form)| form);
    match form {
        Some(Form::Ignored(kind)) => Ok(Parsed::Ignored(*kind)),
        Some(form) => event(text, open, form, place),
        None => {
            let words: Vec<_> = FORMS.iter().map(|&(word, _)| word).collect();
            let message =
                format!("expected an event after `@` ({}), found {}", words.join(", "), shown(text));
            Err(place.error(0, message))
        }
    }
}

fn without_event(line: &[u8]) -> Parsed<'_> {
    match line.trim_ascii_start() {
        [] => Parsed::Blank,
        // Each print tool of a chain has its own sign and prints every event again.
        [b'!' | b'#' | b'$' | b'%' | b'*', b' ', ..] => Parsed::Ignored(Ignored::OtherTool),
        [b'[', ..] => Parsed::Ignored(Ignored::Banner),
        _ => Parsed::Ignored(Ignored::OtherOutput),
    }
}

/// Lines in words, without the form of a call.
fn note(text: &[u8]) -> Option<Ignored> {
    if text.starts_with(b"test acquire ") || text.starts_with(b"test release ") {
        return Some(Ignored::LockQuery);
    }
    if text.starts_with(b"pre  sleep") || text.starts_with(b"pre sleep") {
        return Some(Ignored::Sleep);
    }
    let names_thread = memchr::memmem::find(text, b"[tid = ").is_some();
    let started_or_stopped =
        memchr::memmem::find(text, b"] started").is_some() || text.starts_with(b"stopped ");
    (names_thread && started_or_stopped).then_some(Ignored::ThreadNote)
}

/// `Word(thread,operand)` and what follows; `open` is where the parenthesis is.
fn event<'a>(text: &'a [u8], open: usize, form: &Form, place: Place) -> Result<Parsed<'a>> {
    let inside = text.get(open + 1..).unwrap_or_default();
    let Some(close) = memchr::memchr(b')', inside) else {
        return Err(place.error(text.len(), "expected `)` after the operand, found the end of the line"));
    };
    let Some(comma) = memchr::memchr(b',', &inside[..close]) else {
        let message = format!("expected a thread, `,` and an operand, found {}", shown(&inside[..close]));
        return Err(place.error(open + 1, message));
    };
    let thread = inside[..comma].trim_ascii();
    if thread.is_empty() || !thread.iter().all(u8::is_ascii_digit) {
        return Err(place.error(open + 1, format!("expected a thread's number, found {}", shown(thread))));
    }
    let operand = inside[comma + 1..close].trim_ascii();
    if operand.is_empty() {
        return Err(place.error(open + 1 + comma + 1, "expected an operand after `,`, found nothing"));
    }
    let place = place.plus(open + 1 + comma + 1);
    match form {
        Form::Access(access) => {
            let location = location(&inside[close + 1..], *access);
            Ok(Parsed::Access { thread, access: *access, variable: operand, location })
        }
        Form::Sync(sync @ (Sync::Start | Sync::Join)) => start_or_join(thread, *sync, operand, place),
        Form::Sync(sync) => Ok(Parsed::Sync { thread, sync: *sync, operand }),
        Form::Barrier | Form::Ignored(_) => barrier(thread, operand, place),
    }
}

fn start_or_join<'a>(thread: &'a [u8], sync: Sync, child: &'a [u8], place: Place) -> Result<Parsed<'a>> {
    if sync == Sync::Join && child == b"-1" {
        return Ok(Parsed::Ignored(Ignored::JoinOfUnknown));
    }
    if !child.iter().all(u8::is_ascii_digit) {
        return Err(place.error(0, format!("expected the other thread's number, found {}", shown(child))));
    }
    Ok(Parsed::Sync { thread, sync, operand: child })
}

fn barrier<'a>(thread: &'a [u8], operand: &'a [u8], place: Place) -> Result<Parsed<'a>> {
    let comma = memchr::memrchr(b',', operand).unwrap_or(operand.len());
    let direction = operand.get(comma + 1..).unwrap_or_default().trim_ascii();
    let sync = match direction {
        b"Enter" => Sync::BarrierEnter,
        b"Exit" => Sync::BarrierExit,
        _ => {
            let message = format!("expected `Enter` or `Exit` after the barrier, found {}", shown(direction));
            return Err(place.error(comma + 1, message));
        }
    };
    Ok(Parsed::Sync { thread, sync, operand: &operand[..comma] })
}

/// The source location at the end of an access: `  <shadow word>  File.java:50:7`, perhaps after values in brackets.
fn location(tail: &[u8], access: Access) -> &[u8] {
    if matches!(access, Access::VolatileRead | Access::VolatileWrite) {
        return &[]; // only the shadow word follows
    }
    let Some(last_gap) = memchr::memmem::rfind(tail, b"  ") else { return &[] };
    let last = tail[last_gap..].trim_ascii();
    let has_shadow_word = memchr::memmem::find(&tail[..last_gap], b"  ").is_some();
    let ends_in_line_number = last.iter().rev().find(|byte| !byte.is_ascii_digit()) == Some(&b':')
        && last.last().is_some_and(u8::is_ascii_digit);
    if has_shadow_word || ends_in_line_number { last } else { &[] }
}
