//! A fast path for the lines that make up nearly all of a trace: an access or a lock operation, written without blanks.
//!
//! The general parser defines the format. The fast path only has to notice which lines it must leave to the general parser.
//! Known fields are recognised by one look-up in a table of words. A field gets into the table only if
//! it is clean: not empty, nothing to trim, no separator inside.
//!
//! [`FastPath::known_line`] takes lines whose three fields are all short and known, [`FastPath::line`] those with long or new fields.

use crate::error::Result;
use crate::event::{Event, MemoryOrder, Op};
use crate::id::{LocationId, LockId, ThreadId};
use crate::text::build::Builder;
use crate::text::lines::line_length;
use crate::text::short_names::{Key, ShortNames, short_name};

/// Tables of clean fields.
#[derive(Default, Debug)]
pub(super) struct FastPath {
    threads: ShortNames,
    variables: ShortNames,
    locks: ShortNames,
    locations: ShortNames,
}

/// A line with names of up to 7 bytes and a location of up to 15 bytes is not longer than this.
const WINDOW: usize = 40;

impl FastPath {
    /// Appends the event of the first line of `text` and returns the line's length with its line end. Returns None for a line
    /// with a field that is long or new.
    #[inline(always)]
    pub(super) fn known_line(
        &self,
        text: &[u8],
        builder: &mut Builder,
        out: &mut Vec<Event>,
    ) -> Option<usize> {
        let window: &[u8; WINDOW] = text.first_chunk()?;
        if builder.anyone_waits() {
            return None;
        }
        let (thread, length) = self.threads.find_word(window, 0, b'|')?;
        let (thread, at) = (ThreadId(thread), length + 1);
        let word = u32::from_le_bytes(window.get(at..at + 4)?.try_into().ok()?);
        if let Some(op) = access(word) {
            let (var, length) = self.variables.find_word(window, at + 2, b')')?;
            self.finish(window, at + 2 + length + 1, (thread, op, var), out)
        } else {
            let op = lock_operation(word)?;
            let (lock, length) = self.locks.find_word(window, at + 4, b')')?;
            let end = self.finish(window, at + 4 + length + 1, (thread, op, lock), out)?;
            builder.track(thread, op, LockId(lock));
            Some(end)
        }
    }

    /// The location from `at` on, and the event.
    #[inline(always)]
    fn finish(
        &self,
        window: &[u8; WINDOW],
        at: usize,
        (thread, op, operand): (ThreadId, Op, u32),
        out: &mut Vec<Event>,
    ) -> Option<usize> {
        if *window.get(at)? != b'|' {
            return None;
        }
        let (location, length) = self.locations.find(window, at + 1, b'\n')?;
        out.push(Event::from_parts(thread, op, MemoryOrder::Relaxed, operand, LocationId(location)));
        Some(at + 1 + length + 1)
    }

    /// As [`known_line`](Self::known_line), for fields of any length, which become known. Returns None for a line that the
    /// general parser has to read.
    #[inline(never)]
    pub(super) fn line(
        &mut self,
        text: &[u8],
        builder: &mut Builder,
        out: &mut Vec<Event>,
    ) -> Result<Option<usize>> {
        let Some((thread, length)) = self.thread(text, builder)? else { return Ok(None) };
        let mut at = length + 1;
        let Some(&start) = text[at..].first_chunk() else { return Ok(None) };
        let word = u32::from_le_bytes(start);
        let Some(op) = access(word).or_else(|| lock_operation(word)) else { return Ok(None) };
        at += if is_access(op) { 2 } else { 4 };
        let Some((operand, length)) = self.operand(op, &text[at..], builder)? else { return Ok(None) };
        at += length + 1;
        let mut location = LocationId::UNKNOWN;
        if text[at] == b'|' {
            at += 1;
            let Some((known, length)) = self.location(&text[at..], builder)? else { return Ok(None) };
            location = known;
            at += length;
        }
        builder.come_back(thread, out)?;
        if !is_access(op) {
            builder.track(thread, op, LockId(operand));
        }
        out.push(Event::from_parts(thread, op, MemoryOrder::Relaxed, operand, location));
        Ok(Some(at + 1))
    }

    /// The thread, and the length of its field.
    fn thread(&mut self, text: &[u8], builder: &mut Builder) -> Result<Option<(ThreadId, usize)>> {
        let Some((key, length)) = short_name(text, b'|') else { return Ok(None) };
        if let Some(id) = self.threads.get(key) {
            return Ok(Some((ThreadId(id), length)));
        }
        let name = &text[..length];
        if !is_clean(name) || name[0] == b'#' {
            return Ok(None);
        }
        let thread = builder.symbols.threads.intern(name)?;
        self.threads.insert(key, thread.0);
        Ok(Some((thread, length)))
    }

    /// Forgets which variables names stand for: a name became that of a block.
    pub(super) fn forget_variables(&mut self) {
        self.variables = ShortNames::default();
    }

    /// The operand that `text` begins with, and its length. The operand ends with the field.
    fn operand(&mut self, op: Op, text: &[u8], builder: &mut Builder) -> Result<Option<(u32, usize)>> {
        let table = if is_access(op) { &mut self.variables } else { &mut self.locks };
        let short = short_name(text, b')').filter(|&(_, length)| matches!(text[length + 1], b'|' | b'\n'));
        if let Some((id, length)) = known(table, short) {
            return Ok(Some((id, length)));
        }
        let length = short.map(|(_, length)| length).or_else(|| long_operand(text));
        let Some(name) = length.map(|length| &text[..length]).filter(|name| is_clean(name)) else {
            return Ok(None);
        };
        let id = if is_access(op) {
            builder.variable_named(name)?.0
        } else {
            builder.symbols.locks.intern(name)?.0
        };
        if let Some((key, _)) = short {
            table.insert(key, id);
        }
        Ok(Some((id, name.len())))
    }

    /// The location, and the length of its field, which is the rest of the line.
    fn location(&mut self, text: &[u8], builder: &mut Builder) -> Result<Option<(LocationId, usize)>> {
        let short = short_name(text, b'\n');
        if let Some((id, length)) = known(&self.locations, short) {
            return Ok(Some((LocationId(id), length)));
        }
        let name = &text[..line_length(text)];
        if name.is_empty() {
            return Ok(Some((LocationId::UNKNOWN, 0)));
        }
        if !is_clean(name) {
            return Ok(None);
        }
        let location = builder.symbols.locations.intern(name)?;
        if let Some((key, _)) = short {
            self.locations.insert(key, location.0);
        }
        Ok(Some((location, name.len())))
    }
}

/// The access that a line's operation begins with, its parenthesis included.
#[inline]
fn access(word: u32) -> Option<Op> {
    const READ: u16 = u16::from_le_bytes(*b"r(");
    const WRITE: u16 = u16::from_le_bytes(*b"w(");
    let word = word as u16;
    // Which of the two it is cannot be predicted, so there is no branch on it.
    let op = if word == WRITE { Op::Write } else { Op::Read };
    ((word == READ) | (word == WRITE)).then_some(op)
}

fn is_access(op: Op) -> bool {
    matches!(op, Op::Read | Op::Write)
}

/// The lock operation that a line's operation begins with, its parenthesis included.
#[inline]
fn lock_operation(word: u32) -> Option<Op> {
    const ACQUIRE: u32 = u32::from_le_bytes(*b"acq(");
    const RELEASE: u32 = u32::from_le_bytes(*b"rel(");
    let op = if word == ACQUIRE { Op::Acquire } else { Op::Release };
    ((word == ACQUIRE) | (word == RELEASE)).then_some(op)
}

fn known(table: &ShortNames, name: Option<(Key, usize)>) -> Option<(u32, usize)> {
    let (key, length) = name?;
    table.get(key).map(|id| (id, length))
}

/// The length of an operand that is long or has a `)` inside: up to the `)` that ends the field.
fn long_operand(text: &[u8]) -> Option<usize> {
    let end = memchr::memchr2(b'|', b'\n', text)?;
    text[..end].strip_suffix(b")").map(<[u8]>::len)
}

/// Whether a field is a name without any change.
fn is_clean(field: &[u8]) -> bool {
    !field.is_empty() && field.trim_ascii() == field && memchr::memchr2(b'|', b'\n', field).is_none()
}
