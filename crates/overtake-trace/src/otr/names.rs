//! Symbol chunks: the names that are new since the last symbol chunk, so that a block's names always precede it.
//!
//! The loader numbers names as the file does, unless somebody else added names meanwhile: the checker adds names for repaired
//! threads and blocks while a trace is being read. From then on the loader translates the file's numbers into ids.

mod writer;

pub(super) use writer::NameWriter;

use crate::error::{Error, ErrorKind, Position, Result};
use crate::event::{Event, OperandKind};
use crate::id::{ArrayId, Id, LocationId, ThreadId};
use crate::symbols::{Sizes, Symbols};

use super::layout::{MAX_CHUNK_NAMES, corrupt};
use super::program::{ProgramPieces, Translate};
use super::wire::Cursor;

/// A chunk is closed when its content reaches this size.
const FULL_CHUNK_BYTES: usize = 1 << 20;
/// Largest content that is accepted: more than a nearly full chunk and one more name.
const MAX_CONTENT_BYTES: usize = 4 << 20;
/// Longest name that can be written.
const MAX_NAME_BYTES: usize = 1 << 20;
const SECTION_HEADER_BYTES: usize = 13;
/// Names compress well enough at the level that costs least.
const ZSTD_LEVEL: i32 = 1;
/// A reader may skip tables with this number or a higher one.
const FIRST_OPTIONAL_TABLE: u8 = 128;
/// The table with the pieces of what is known of the recorded program.
const PROGRAM_TABLE: u8 = 128;

/// Tables, by their number in the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
enum Table {
    Threads = 0,
    Locks = 1,
    Markers = 2,
    Locations = 3,
    Arrays = 4,
    ArrayLengths = 5,
    Variables = 6,
    Objects = 7,
}

impl Table {
    /// In the order in which they are written: what others refer to comes first.
    const ALL: [Table; 8] = [
        Table::Threads,
        Table::Locks,
        Table::Markers,
        Table::Locations,
        Table::Arrays,
        Table::ArrayLengths,
        Table::Variables,
        Table::Objects,
    ];

    fn describe(self) -> &'static str {
        match self {
            Table::Threads => "thread",
            Table::Locks => "lock",
            Table::Markers => "marker",
            Table::Locations => "location",
            Table::Arrays => "array",
            Table::ArrayLengths => "array length",
            Table::Variables => "variable",
            Table::Objects => "object",
        }
    }
}

/// The kinds of variables, by their number in the file.
mod shape {
    pub(super) const NAMED: u8 = 0;
    pub(super) const ELEMENT: u8 = 1;
    pub(super) const BLOCK: u8 = 2;
}

/// The tables against which a block's ids are checked, and which translate them.
pub(super) trait Tables {
    /// How many ids of each kind the file has given so far.
    fn sizes(&self) -> Sizes;

    /// Turns the file's numbers, all within the table, into ids.
    fn translate(&self, _kind: OperandKind, _ids: &mut [u32]) {}

    /// The same for locations, where the unknown location stays what it is.
    fn translate_locations(&self, _ids: &mut [u32]) {}
}

/// For files whose names are all loaded and to which nothing was added: the file's numbers are the ids.
impl Tables for Sizes {
    fn sizes(&self) -> Sizes {
        *self
    }
}

/// The ids that the numbers of one table in the file stand for.
#[derive(Clone, Default, Debug)]
struct IdMap {
    count: usize,
    /// Empty as long as every number is its own id.
    ids: Vec<u32>,
}

impl IdMap {
    fn push(&mut self, id: usize) {
        if !self.ids.is_empty() || id != self.count {
            if self.ids.is_empty() {
                self.ids = (0..self.count as u32).collect();
            }
            self.ids.push(id as u32);
        }
        self.count += 1;
    }

    fn get(&self, number: usize) -> ArrayId {
        ArrayId(self.ids.get(number).copied().unwrap_or(number as u32))
    }

    fn translate(&self, numbers: &mut [u32]) {
        if !self.ids.is_empty() {
            numbers.iter_mut().for_each(|number| *number = self.ids[*number as usize]);
        }
    }
}

/// Translates the numbers of the file that are known.
struct FileNumbers<'a> {
    maps: &'a [IdMap; Table::ALL.len()],
}

impl FileNumbers<'_> {
    fn id<I: Id>(&self, table: Table, number: u32) -> Option<I> {
        let map = &self.maps[table as usize];
        ((number as usize) < map.count).then(|| I::from_index(map.get(number as usize).index()))
    }
}

impl Translate for FileNumbers<'_> {
    fn thread(&self, number: u32) -> Option<ThreadId> {
        self.id(Table::Threads, number)
    }

    fn array(&self, number: u32) -> Option<ArrayId> {
        self.id(Table::Arrays, number)
    }

    fn location(&self, number: u32) -> Option<LocationId> {
        self.id(Table::Locations, number)
    }
}

/// Loads symbol chunks in file order into symbol tables that others may extend in between.
#[derive(Default)]
pub(super) struct NameLoader {
    maps: [IdMap; Table::ALL.len()],
    program: ProgramPieces,
    decompressor: zstd::bulk::Decompressor<'static>,
    content: Vec<u8>,
    /// How many lost names may still be replaced by made-up ones; 0 except in salvage.
    lost_names_left: u64,
    lost_names: u64,
}

impl Tables for NameLoader {
    fn sizes(&self) -> Sizes {
        let count = |table: Table| self.maps[table as usize].count;
        Sizes {
            threads: count(Table::Threads),
            locks: count(Table::Locks),
            variables: count(Table::Variables),
            objects: count(Table::Objects),
            markers: count(Table::Markers),
            locations: count(Table::Locations),
        }
    }

    fn translate(&self, kind: OperandKind, ids: &mut [u32]) {
        if let Some(table) = table_of(kind) {
            self.maps[table as usize].translate(ids);
        }
    }

    fn translate_locations(&self, ids: &mut [u32]) {
        let map = &self.maps[Table::Locations as usize];
        if !map.ids.is_empty() {
            let known = ids.iter_mut().filter(|id| **id != LocationId::UNKNOWN.0);
            known.for_each(|id| *id = map.ids[*id as usize]);
        }
    }
}

fn table_of(kind: OperandKind) -> Option<Table> {
    match kind {
        OperandKind::None => None,
        OperandKind::Thread => Some(Table::Threads),
        OperandKind::Lock => Some(Table::Locks),
        OperandKind::Variable => Some(Table::Variables),
        OperandKind::Sync => Some(Table::Objects),
        OperandKind::Marker => Some(Table::Markers),
    }
}

impl NameLoader {
    /// Whether each number of a variable is its id.
    pub(super) fn keeps_numbers_of_variables(&self) -> bool {
        self.maps[Table::Variables as usize].ids.is_empty()
    }

    /// Turns the file's numbers in events into ids.
    pub(super) fn translate_events(&self, events: &mut [Event]) {
        if self.maps.iter().all(|map| map.ids.is_empty()) {
            return;
        }
        for event in events {
            let [mut thread, mut operand, mut location] =
                [[event.thread().0], [event.operand()], [event.location().0]];
            self.translate(OperandKind::Thread, &mut thread);
            self.translate(event.op().operand_kind(), &mut operand);
            self.translate_locations(&mut location);
            let (thread, location) = (ThreadId(thread[0]), LocationId(location[0]));
            *event = Event::from_parts(thread, event.op(), event.order(), operand[0], location);
        }
    }

    /// Allows up to this many missing names in all to be replaced by made-up ones.
    pub(super) fn allow_lost_names(&mut self, limit: u64) {
        self.lost_names_left = limit.saturating_sub(self.lost_names);
    }

    /// How many names were made up.
    pub(super) fn lost_names(&self) -> u64 {
        self.lost_names
    }

    /// Adds the `count` entries of a payload to `symbols`.
    pub(super) fn load(&mut self, payload: &[u8], count: usize, symbols: &mut Symbols) -> Result<()> {
        let content = std::mem::take(&mut self.content);
        let content = self.decompress(payload, content)?;
        let loaded = self.load_content(&content, count, symbols);
        self.content = content;
        loaded
    }

    fn decompress(&mut self, payload: &[u8], mut content: Vec<u8>) -> Result<Vec<u8>> {
        let mut cursor = Cursor::new(payload);
        let (length, method) = (cursor.u32()? as usize, cursor.u8()?);
        if length > MAX_CONTENT_BYTES {
            return Err(corrupt(format!(
                "expected at most {MAX_CONTENT_BYTES} bytes of names, found {length}"
            )));
        }
        content.clear();
        match method {
            0 => content.extend_from_slice(cursor.rest()),
            1 => {
                content.reserve_exact(length);
                let decompressed = self.decompressor.decompress_to_buffer(cursor.rest(), &mut content);
                decompressed.map_err(|error| corrupt(format!("zstd: {error}")))?;
            }
            _ => {
                let message = format!("compression {method} is not known to this version of the reader");
                return Err(Error::new(ErrorKind::Unsupported, Position::Nowhere, message));
            }
        }
        if content.len() != length {
            return Err(corrupt(format!("expected {length} bytes of names, found {}", content.len())));
        }
        Ok(content)
    }

    fn load_content(&mut self, content: &[u8], count: usize, symbols: &mut Symbols) -> Result<()> {
        let mut cursor = Cursor::new(content);
        let mut loaded = 0;
        while !cursor.is_empty() {
            let number = cursor.u8()?;
            let (first, entries) = (cursor.u32()? as usize, cursor.u32()? as usize);
            let length = cursor.u32()? as usize;
            let mut section = Cursor::new(cursor.bytes(length)?);
            loaded += entries;
            if loaded > count || loaded > MAX_CHUNK_NAMES {
                break;
            }
            match Table::ALL.get(number as usize) {
                Some(&table) => self.load_section(table, first, entries, &mut section, symbols)?,
                None if number == PROGRAM_TABLE => {
                    for _ in 0..entries {
                        self.load_program_piece(take_name(&mut section)?, symbols)?;
                    }
                }
                None if number >= FIRST_OPTIONAL_TABLE => {}
                None => {
                    let message = format!("symbol table {number} is not known to this version of the reader");
                    return Err(Error::new(ErrorKind::Unsupported, Position::Nowhere, message));
                }
            }
        }
        if loaded != count {
            return Err(corrupt(format!("expected {count} names in a symbol chunk, found {loaded}")));
        }
        Ok(())
    }

    fn load_section(
        &mut self,
        table: Table,
        first: usize,
        entries: usize,
        section: &mut Cursor<'_>,
        symbols: &mut Symbols,
    ) -> Result<()> {
        if table != Table::ArrayLengths {
            self.make_up_to(table, first, symbols)?;
            let known = self.maps[table as usize].count;
            if first != known {
                let name = table.describe();
                return Err(corrupt(format!("expected {name} {known} to follow, found {name} {first}")));
            }
        }
        for _ in 0..entries {
            self.load_entry(table, section, symbols)?;
        }
        if !section.is_empty() {
            let name = table.describe();
            return Err(corrupt(format!("{} bytes after the last {name} of a section", section.remaining())));
        }
        Ok(())
    }

    fn load_program_piece(&mut self, piece: &[u8], symbols: &mut Symbols) -> Result<()> {
        let NameLoader { maps, program, .. } = self;
        if let Some(program) = program.take(piece, &FileNumbers { maps })? {
            symbols.program = program;
        }
        Ok(())
    }

    fn load_entry(&mut self, table: Table, section: &mut Cursor<'_>, symbols: &mut Symbols) -> Result<()> {
        match table {
            Table::Variables => {
                match section.u8()? {
                    shape::NAMED => symbols.variables.push_scalar_unindexed(take_name(section)?),
                    shape::ELEMENT => {
                        let array = self.take_array(section, symbols)?;
                        symbols.variables.push_element_unindexed(array, section.varint()?);
                    }
                    shape::BLOCK => {
                        let array = self.take_array(section, symbols)?;
                        symbols.variables.push_block_unindexed(array);
                    }
                    found => return Err(corrupt(format!("expected a shape of variable, found {found}"))),
                }
                self.maps[Table::Variables as usize].push(symbols.variables.len() - 1);
            }
            Table::Objects => {
                let base = take_name(section)?;
                let generation = section.varint()?;
                self.maps[Table::Objects as usize].push(symbols.objects.len());
                symbols.objects.push_unindexed(base, generation)?;
            }
            Table::ArrayLengths => {
                let array = self.take_array(section, symbols)?;
                symbols.variables.set_length(array, section.varint()?);
            }
            Table::Threads | Table::Locks | Table::Markers | Table::Locations | Table::Arrays => {
                let name = take_name(section)?;
                self.push_name(table, name, symbols)?;
            }
        }
        Ok(())
    }

    /// Appends a name to a table. Variables and objects are appended here only in place of lost ones. A lost variable becomes a
    /// block, because every operation on variables can have a block as its operand.
    fn push_name(&mut self, table: Table, name: &[u8], symbols: &mut Symbols) -> Result<()> {
        let id = match table {
            Table::Threads => symbols.threads.len(),
            Table::Locks => symbols.locks.len(),
            Table::Markers => symbols.markers.len(),
            Table::Locations => symbols.locations.len(),
            Table::Arrays => symbols.variables.array_count(),
            Table::Variables => symbols.variables.len(),
            Table::Objects => symbols.objects.len(),
            Table::ArrayLengths => return Ok(()),
        };
        if id >= u32::MAX as usize - 1 {
            let message = format!("more {}s than can be numbered", table.describe());
            return Err(Error::new(ErrorKind::TooLarge, Position::Nowhere, message));
        }
        match table {
            Table::Threads => symbols.threads.push_unindexed(name),
            Table::Locks => symbols.locks.push_unindexed(name),
            Table::Markers => symbols.markers.push_unindexed(name),
            Table::Locations => symbols.locations.push_unindexed(name),
            Table::Arrays => symbols.variables.push_array_unindexed(name, None),
            Table::Variables => {
                let array = ArrayId::from_index(symbols.variables.array_count());
                symbols.variables.push_array_unindexed(name, None);
                symbols.variables.push_block_unindexed(array);
            }
            Table::Objects => symbols.objects.push_unindexed(name, 0)?,
            Table::ArrayLengths => {}
        }
        self.maps[table as usize].push(id);
        Ok(())
    }

    fn take_array(&mut self, section: &mut Cursor<'_>, symbols: &mut Symbols) -> Result<ArrayId> {
        let number = section.varint()?;
        let end = usize::try_from(number).ok().and_then(|number| number.checked_add(1)).unwrap_or(usize::MAX);
        self.make_up_to(Table::Arrays, end, symbols)?;
        Ok(self.maps[Table::Arrays as usize].get(number as usize))
    }

    /// Makes up names for lost ones, so that every table has at least as many as `sizes`.
    pub(super) fn make_up_for(&mut self, sizes: &Sizes, symbols: &mut Symbols) -> Result<()> {
        self.make_up_to(Table::Threads, sizes.threads, symbols)?;
        self.make_up_to(Table::Locks, sizes.locks, symbols)?;
        self.make_up_to(Table::Variables, sizes.variables, symbols)?;
        self.make_up_to(Table::Objects, sizes.objects, symbols)?;
        self.make_up_to(Table::Markers, sizes.markers, symbols)?;
        self.make_up_to(Table::Locations, sizes.locations, symbols)
    }

    fn make_up_to(&mut self, table: Table, end: usize, symbols: &mut Symbols) -> Result<()> {
        let known = self.maps[table as usize].count;
        let missing = end.saturating_sub(known) as u64;
        if missing == 0 {
            return Ok(());
        }
        if missing > self.lost_names_left {
            let name = table.describe();
            return Err(corrupt(format!("expected {name} numbers below {known}, found {}", end - 1)));
        }
        self.lost_names_left -= missing;
        self.lost_names += missing;
        for number in known..end {
            let name = format!("lost-{}-{number}", table.describe());
            self.push_name(table, name.as_bytes(), symbols)?;
        }
        Ok(())
    }
}

fn take_name<'a>(section: &mut Cursor<'a>) -> Result<&'a [u8]> {
    let length = section.varint()?;
    section.bytes(usize::try_from(length).unwrap_or(usize::MAX))
}
