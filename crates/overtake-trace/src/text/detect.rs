//! Which text format an input is in, by the first line that shows it.

use crate::open::Format;

use super::csv;
use super::lines::{BYTE_ORDER_MARK, trimmed};
use super::spelling::{split_call, verb_of};

/// What the first lines say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Guess {
    /// A line has the format's form.
    Certain(Format),
    /// A line looks like the format, but might be something else.
    Likely(Format),
    /// Blank lines and comments only: any of the formats.
    Empty,
    /// None of the lines is of any format.
    Unknown,
}

/// Looks at the first lines of a text, of which the last may be cut off.
pub(crate) fn detect(start: &[u8]) -> Guess {
    let start = start.strip_prefix(BYTE_ORDER_MARK).unwrap_or(start);
    let mut guess = Guess::Empty;
    for line in start.split(|&byte| byte == b'\n') {
        match detect_line(line) {
            Guess::Certain(format) => return Guess::Certain(format),
            likely @ Guess::Likely(_) if !matches!(guess, Guess::Likely(_)) => guess = likely,
            Guess::Unknown if guess == Guess::Empty => guess = Guess::Unknown,
            _ => {}
        }
    }
    guess
}

fn detect_line(line: &[u8]) -> Guess {
    let (text, indent) = trimmed(line);
    match text {
        [] | [b'#', ..] => return Guess::Empty,
        [b'@', b' ', ..] if indent == 0 => return Guess::Certain(Format::RoadRunner),
        _ => {}
    }
    let mut fields = text.split(|&byte| byte == b'|');
    let (first, second) = (fields.next().unwrap_or_default(), fields.next());
    if let Some(operation) = second {
        let known = is_operation(operation) && !is_operation(first);
        return if known { Guess::Certain(Format::Std) } else { Guess::Likely(Format::Std) };
    }
    if csv::first_cell(text).is_some_and(|cell| is_operation(&cell)) {
        return Guess::Certain(Format::Csv);
    }
    if text[0] == b'[' && text.ends_with(b"]") { Guess::Likely(Format::RoadRunner) } else { Guess::Unknown }
}

fn is_operation(text: &[u8]) -> bool {
    split_call(text.trim_ascii()).is_ok_and(|call| verb_of(call.word).is_ok())
}
