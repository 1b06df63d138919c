//! What is known of a recorded program, as bytes in an optional symbol table.
//!
//! The table's entries are pieces of one byte string. The string starts with its own length, so that the reader knows which
//! piece is the last. Readers that do not know the table skip it. A short string before the first event, with the process and its command
//! only, says that the trace is a recording; the last one counts.

use crate::error::Result;
use crate::id::{ArrayId, Id, LocationId, ThreadId};
use crate::symbols::{Frame, Freed, Memory, MemoryKind, Module, Program, Site, ThreadFacts};

use super::layout::corrupt;
use super::wire::{Cursor, put_bytes, put_varint};

/// Bytes of a piece.
pub(super) const PIECE_BYTES: usize = 256 * 1024;

/// The program as bytes; none if nothing is known.
pub(super) fn to_bytes(program: &Program) -> Vec<u8> {
    if program.is_empty() {
        return Vec::new();
    }
    // Its length comes first.
    let mut out = vec![0; size_of::<u64>()];
    put_varint(program.pid, &mut out);
    put_list(&program.command, &mut out, |argument, out| put_bytes(argument.as_bytes(), out));
    put_list(&program.modules, &mut out, |module, out| {
        put_bytes(module.path.as_bytes(), out);
        put_bytes(module.build_id.as_bytes(), out);
    });
    put_list(&program.frames, &mut out, put_frame);
    put_list(program.sites.iter(), &mut out, |site, out| {
        put_list(&site.frames, out, |&frame, out| put_varint(u64::from(frame), out));
        put_option(site.caller, out);
        put_varint(u64::from(site.bytes), out);
    });
    put_list(program.threads.iter(), &mut out, |facts, out| {
        put_varint(u64::from(facts.kernel_id), out);
        put_option(facts.creator, out);
        put_option(facts.created_at, out);
    });
    put_list(program.memory.iter(), &mut out, |memory, out| {
        out.push(memory.kind as u8);
        put_varint(memory.bytes, out);
        put_option(memory.thread, out);
        put_option(memory.allocated_at, out);
    });
    put_list(&program.missing, &mut out, |sentence, out| put_bytes(sentence.as_bytes(), out));
    put_list(&program.freed, &mut out, |freed, out| {
        put_option(Some(freed.array), out);
        put_option(Some(freed.thread), out);
        put_option(freed.location.is_known().then_some(freed.location), out);
    });
    let length = (out.len() - size_of::<u64>()) as u64;
    out[..size_of::<u64>()].copy_from_slice(&length.to_le_bytes());
    out
}

fn put_list<'a, T: 'a>(
    list: impl IntoIterator<Item = &'a T, IntoIter: ExactSizeIterator>,
    out: &mut Vec<u8>,
    put: impl Fn(&T, &mut Vec<u8>),
) {
    let list = list.into_iter();
    put_varint(list.len() as u64, out);
    list.for_each(|entry| put(entry, out));
}

fn put_frame(frame: &Frame, out: &mut Vec<u8>) {
    for text in [&frame.function, &frame.file, &frame.module] {
        put_bytes(text.as_bytes(), out);
    }
    for number in [u64::from(frame.line), u64::from(frame.column), frame.offset] {
        put_varint(number, out);
    }
}

/// 0 for none, else the number plus one.
fn put_option<I: Id>(id: Option<I>, out: &mut Vec<u8>) {
    put_varint(id.map_or(0, |id| id.index() as u64 + 1), out);
}

/// Turns the file's numbers of threads and arrays into ids.
pub(super) trait Translate {
    fn thread(&self, number: u32) -> Option<ThreadId>;
    fn array(&self, number: u32) -> Option<ArrayId>;
    fn location(&self, number: u32) -> Option<LocationId>;
}

/// Collects the pieces of the byte string.
#[derive(Default)]
pub(super) struct ProgramPieces {
    bytes: Vec<u8>,
}

impl ProgramPieces {
    /// Takes a piece. Returns the program after the last one.
    pub(super) fn take(&mut self, piece: &[u8], ids: &dyn Translate) -> Result<Option<Program>> {
        self.bytes.extend_from_slice(piece);
        let mut cursor = Cursor::new(&self.bytes);
        if cursor.remaining() < 8 {
            return Ok(None);
        }
        let length = cursor.u64()?;
        if (cursor.remaining() as u64) < length {
            return Ok(None);
        }
        if cursor.remaining() as u64 > length {
            return Err(corrupt(format!(
                "expected {length} bytes about the program, found {}",
                cursor.remaining()
            )));
        }
        let program = take_program(&mut cursor, ids)?;
        self.bytes = Vec::new();
        Ok(Some(program))
    }
}

fn take_program(cursor: &mut Cursor<'_>, ids: &dyn Translate) -> Result<Program> {
    let mut program = Program { pid: cursor.varint()?, ..Program::default() };
    take_list(cursor, |cursor| {
        program.command.push(take_text(cursor)?);
        Ok(())
    })?;
    take_list(cursor, |cursor| {
        program.modules.push(Module { path: take_text(cursor)?, build_id: take_text(cursor)? });
        Ok(())
    })?;
    take_list(cursor, |cursor| {
        program.frames.push(take_frame(cursor)?);
        Ok(())
    })?;
    let frames = program.frames.len() as u64;
    take_numbered(cursor, |cursor, number| {
        let site = take_site(cursor, ids, frames)?;
        if let Some(location) = ids.location(number) {
            *program.sites.entry(location) = site;
        }
        Ok(())
    })?;
    take_numbered(cursor, |cursor, number| {
        let facts = ThreadFacts {
            kernel_id: cursor.varint()? as u32,
            creator: take_option(cursor)?.and_then(|number| ids.thread(number)),
            created_at: take_option(cursor)?.and_then(|number| ids.location(number)),
        };
        if let Some(thread) = ids.thread(number) {
            *program.threads.entry(thread) = facts;
        }
        Ok(())
    })?;
    take_numbered(cursor, |cursor, number| {
        let memory = take_memory(cursor, ids)?;
        if let Some(array) = ids.array(number) {
            program.memory.set(array, memory);
        }
        Ok(())
    })?;
    if cursor.remaining() > 0 {
        // Files of earlier versions end here.
        take_list(cursor, |cursor| {
            program.missing.push(take_text(cursor)?);
            Ok(())
        })?;
    }
    if cursor.remaining() > 0 {
        take_list(cursor, |cursor| {
            let array = take_option(cursor)?.and_then(|number| ids.array(number));
            let thread = take_option(cursor)?.and_then(|number| ids.thread(number));
            let location = take_option(cursor)?.and_then(|number| ids.location(number));
            let location = location.unwrap_or(LocationId::UNKNOWN);
            program.freed.extend(array.zip(thread).map(|(array, thread)| Freed { array, thread, location }));
            Ok(())
        })?;
    }
    Ok(program)
}

/// A site whose frames are below `frames`.
fn take_site(cursor: &mut Cursor<'_>, ids: &dyn Translate, frames: u64) -> Result<Site> {
    let mut site = Site::default();
    take_list(cursor, |cursor| {
        let frame = cursor.varint()?;
        if frame >= frames {
            return Err(corrupt(format!("expected a frame below {frames}, found {frame}")));
        }
        site.frames.push(frame as u32);
        Ok(())
    })?;
    site.caller = take_option(cursor)?.and_then(|number| ids.location(number));
    site.bytes = cursor.varint()? as u32;
    Ok(site)
}

fn take_memory(cursor: &mut Cursor<'_>, ids: &dyn Translate) -> Result<Memory> {
    let kind = cursor.u8()?;
    Ok(Memory {
        kind: MemoryKind::ALL.get(kind as usize).copied().unwrap_or_default(),
        bytes: cursor.varint()?,
        thread: take_option(cursor)?.and_then(|number| ids.thread(number)),
        allocated_at: take_option(cursor)?.and_then(|number| ids.location(number)),
    })
}

/// Calls `take` for each entry. Each entry has at least one byte, so that the rest of the input limits their number.
fn take_list(cursor: &mut Cursor<'_>, mut take: impl FnMut(&mut Cursor<'_>) -> Result<()>) -> Result<()> {
    take_numbered(cursor, |cursor, _| take(cursor))
}

fn take_numbered(
    cursor: &mut Cursor<'_>,
    mut take: impl FnMut(&mut Cursor<'_>, u32) -> Result<()>,
) -> Result<()> {
    let count = cursor.varint()?;
    if count > cursor.remaining() as u64 {
        return Err(corrupt(format!("expected at most {} entries, found {count}", cursor.remaining())));
    }
    (0..count as u32).try_for_each(|number| take(cursor, number))
}

fn take_text(cursor: &mut Cursor<'_>) -> Result<String> {
    let length = cursor.varint()?;
    let bytes = cursor.bytes(usize::try_from(length).unwrap_or(usize::MAX))?;
    Ok(String::from_utf8_lossy(bytes).into_owned())
}

fn take_frame(cursor: &mut Cursor<'_>) -> Result<Frame> {
    Ok(Frame {
        function: take_text(cursor)?,
        file: take_text(cursor)?,
        module: take_text(cursor)?,
        line: cursor.varint()? as u32,
        column: cursor.varint()? as u32,
        offset: cursor.varint()?,
    })
}

fn take_option(cursor: &mut Cursor<'_>) -> Result<Option<u32>> {
    let number = cursor.varint()?;
    if number > u64::from(u32::MAX) {
        return Err(corrupt(format!("expected the number of an entry, found {number}")));
    }
    Ok((number as u32).checked_sub(1))
}
