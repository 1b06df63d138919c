//! The lines that make up nearly all of a trace: an access or a lock operation, written without blanks.
//!
//! Whatever is out of the ordinary is left to the general parser, which is the definition; this one only has to notice.
//! Fields that were met before are recognised by one look at a table of words. A field gets into the table only after
//! it was found clean: not empty, nothing to trim, no separator inside.

use crate::error::Result;
use crate::event::{Event, MemoryOrder, Op};
use crate::id::{LocationId, LockId, ThreadId};
use crate::text::build::Builder;
use crate::text::lines::line_length;
use crate::text::short_names::{Field, ShortNames, short_field};

/// Tables of clean fields.
#[derive(Default, Debug)]
pub(super) struct FastPath {
    threads: ShortNames,
    variables: ShortNames,
    locks: ShortNames,
    locations: ShortNames,
}

impl FastPath {
    /// Appends the event of the first line of `text` and returns the line's length with its line end; nothing for a line
    /// that the general parser has to look at.
    #[inline]
    pub(super) fn line(
        &mut self,
        text: &[u8],
        builder: &mut Builder,
        out: &mut Vec<Event>,
    ) -> Result<Option<usize>> {
        let Some((thread, length)) = self.thread(text, builder)? else { return Ok(None) };
        let mut at = length + 1;
        let Some((word, operand_at)) = Word::at(&text[at..]) else { return Ok(None) };
        at += operand_at;
        let Some((operand, length)) = self.operand(word, &text[at..], builder)? else { return Ok(None) };
        at += length + 1;
        let mut location = LocationId::UNKNOWN;
        if text[at] == b'|' {
            at += 1;
            let Some((known, length)) = self.location(&text[at..], builder)? else { return Ok(None) };
            location = known;
            at += length;
        }
        builder.come_back(thread, out)?;
        let op = match word {
            Word::Access(op) => op,
            Word::Lock(op) => {
                builder.track(thread, op, LockId(operand));
                op
            }
        };
        out.push(Event::from_parts(thread, op, MemoryOrder::Relaxed, operand, location));
        Ok(Some(at + 1))
    }

    /// The thread, and the length of its field.
    #[inline]
    fn thread(&mut self, text: &[u8], builder: &mut Builder) -> Result<Option<(ThreadId, usize)>> {
        let Some(Field { length, key }) = short_field(text, b'|') else { return Ok(None) };
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

    /// The operand that `text` begins with, and its length. The operand ends with the field.
    #[inline]
    fn operand(&mut self, word: Word, text: &[u8], builder: &mut Builder) -> Result<Option<(u32, usize)>> {
        let table = match word {
            Word::Access(_) => &mut self.variables,
            Word::Lock(_) => &mut self.locks,
        };
        let short = short_field(text, b')').filter(|field| matches!(text[field.length + 1], b'|' | b'\n'));
        if let Some(Field { length, key }) = short
            && let Some(id) = table.get(key)
        {
            return Ok(Some((id, length)));
        }
        let length = match short {
            Some(field) => field.length,
            None => match long_operand(text) {
                Some(length) => length,
                None => return Ok(None),
            },
        };
        let name = &text[..length];
        if !is_clean(name) {
            return Ok(None);
        }
        let id = match word {
            Word::Access(_) => builder.symbols.variables.intern(name)?.0,
            Word::Lock(_) => builder.symbols.locks.intern(name)?.0,
        };
        if let Some(field) = short {
            table.insert(field.key, id);
        }
        Ok(Some((id, length)))
    }

    /// The location, and the length of its field, which is the rest of the line.
    #[inline]
    fn location(&mut self, text: &[u8], builder: &mut Builder) -> Result<Option<(LocationId, usize)>> {
        let short = short_field(text, b'\n');
        if let Some(Field { length, key }) = short
            && let Some(id) = self.locations.get(key)
        {
            return Ok(Some((LocationId(id), length)));
        }
        let length = line_length(text);
        if length == 0 {
            return Ok(Some((LocationId::UNKNOWN, 0)));
        }
        let name = &text[..length];
        if !is_clean(name) {
            return Ok(None);
        }
        let location = builder.symbols.locations.intern(name)?;
        if let Some(field) = short {
            self.locations.insert(field.key, location.0);
        }
        Ok(Some((location, length)))
    }
}

/// The operations of nearly all lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Word {
    Access(Op),
    Lock(Op),
}

impl Word {
    /// The word that `text` begins with, and the length up to the operand.
    #[inline]
    fn at(text: &[u8]) -> Option<(Word, usize)> {
        let start: [u8; 4] = *text.first_chunk()?;
        if start[1] == b'(' {
            // Which of the two comes next is anyone's guess, so there is no branch on it.
            let op = if start[0] == b'w' { Op::Write } else { Op::Read };
            return matches!(start[0], b'r' | b'w').then_some((Word::Access(op), 2));
        }
        let op = if start[0] == b'a' { Op::Acquire } else { Op::Release };
        matches!(&start, b"acq(" | b"rel(").then_some((Word::Lock(op), 4))
    }
}

/// The length of an operand that is long or has a `)` inside: up to the `)` that ends the field.
fn long_operand(text: &[u8]) -> Option<usize> {
    let end = memchr::memchr2(b'|', b'\n', text)?;
    text[..end].strip_suffix(b")").map(<[u8]>::len)
}

/// Whether a field is a name as it stands.
fn is_clean(field: &[u8]) -> bool {
    !field.is_empty() && field.trim_ascii() == field && memchr::memchr2(b'|', b'\n', field).is_none()
}
