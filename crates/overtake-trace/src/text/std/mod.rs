//! STD: one event a line, `thread|op(operand)|location`. The text in which race detectors exchange traces.

mod fast;
#[cfg(test)]
mod tests;
mod write;

use crate::error::Result;
use crate::event::Event;
use crate::symbols::Symbols;

use crate::text::build::Builder;
use crate::text::lines::{line_length, shown, trimmed};
use crate::text::place::Place;
use crate::text::reader::{LineFormat, TextReader};

use fast::FastPath;
pub use write::StdWriter;

/// Reads STD text.
///
/// ```
/// use overtake_trace::{EventSource, StdReader, Trace};
///
/// let text = "T0|fork(T1)|12\nT0|w(x)|13\nT1|r(x)|40\n";
/// let trace = Trace::read(&mut StdReader::new(text.as_bytes()))?;
/// assert_eq!(trace.events.len(), 3);
/// # Ok::<(), overtake_trace::Error>(())
/// ```
pub type StdReader<R> = TextReader<R, StdLines>;

/// What lines of STD mean.
#[derive(Default, Debug)]
pub struct StdLines {
    builder: Builder,
    fast_path: FastPath,
    stack_frames: u64,
}

impl LineFormat for StdLines {
    #[inline]
    fn take_line(&mut self, text: &[u8], number: u64, out: &mut Vec<Event>) -> Result<usize> {
        match self.fast_path.known_line(text, &mut self.builder, out) {
            Some(length) => Ok(length),
            None => self.other_line(text, number, out),
        }
    }

    fn symbols(&self) -> &Symbols {
        &self.builder.symbols
    }

    fn symbols_mut(&mut self) -> &mut Symbols {
        &mut self.builder.symbols
    }

    fn ignored(&self) -> Vec<(String, u64)> {
        let frames = (self.stack_frames > 0).then(|| ("stack frame".to_string(), self.stack_frames));
        frames.into_iter().collect()
    }
}

impl StdLines {
    /// A line that the fastest path did not take.
    #[inline(never)]
    fn other_line(&mut self, text: &[u8], number: u64, out: &mut Vec<Event>) -> Result<usize> {
        if let Some(length) = self.fast_path.line(text, &mut self.builder, out)? {
            return Ok(length);
        }
        let length = line_length(text);
        self.any_line(&text[..length], number, out)?;
        Ok(length + 1)
    }

    /// A line in any of its forms: blank, comment, stack frame or event.
    fn any_line(&mut self, line: &[u8], number: u64, out: &mut Vec<Event>) -> Result<()> {
        let (text, indent) = trimmed(line);
        if text.is_empty() {
            return Ok(());
        }
        if text[0] == b'#' {
            // An indented line such as `#3 main file.c:12` is a stack frame.
            self.stack_frames += u64::from(indent > 0 && text.get(1).is_some_and(u8::is_ascii_digit));
            return Ok(());
        }
        let bar = memchr::memchr(b'|', text);
        if bar.is_none() && indent > 0 {
            self.stack_frames += 1;
            return Ok(());
        }
        let place = Place { line: number, column: 1 + indent as u64 };
        let Some(bar) = bar else {
            let message =
                format!("expected `|` after the thread, found the end of the line after {}", shown(text));
            return Err(place.error(text.len(), message));
        };
        self.event(text, bar, place, out)
    }

    /// A line that is an event: `bar` is where the first `|` is.
    fn event(&mut self, text: &[u8], bar: usize, place: Place, out: &mut Vec<Event>) -> Result<()> {
        let thread = text[..bar].trim_ascii_end();
        if thread.is_empty() {
            return Err(place.error(0, "expected a thread before `|`, found nothing"));
        }
        let rest = &text[bar + 1..];
        let second = memchr::memchr(b'|', rest);
        let (operation, cut) = trimmed(&rest[..second.unwrap_or(rest.len())]);
        let location = second.map_or(&[][..], |second| rest[second + 1..].trim_ascii());
        if let Some(third) = memchr::memchr(b'|', location) {
            let message = format!("expected three fields, found a fourth: {}", shown(&location[third..]));
            return Err(place.error(text.len() - location.len() + third, message));
        }
        let thread = self.builder.symbols.threads.intern(thread)?;
        let renamed = self.builder.renamed();
        self.builder.operation(thread, operation, location, place.plus(bar + 1 + cut), out)?;
        if self.builder.renamed() > renamed {
            self.fast_path.forget_variables();
        }
        Ok(())
    }
}
