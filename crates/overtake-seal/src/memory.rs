//! Addresses turned into variables.
//!
//! Memory is divided into *areas*: heap blocks, stacks of threads, mappings, globals. An area is an array of the trace, its
//! variables are elements indexed by byte offset. The variables that start in a word are made when the word is first accessed and
//! forgotten when another area takes its place, so that reused memory has new variables. A freed block stays until then, so that an
//! access to it is compared with the free; its words are looked up again, so that the first access is noticed. Memory is cut where areas
//! start and end, so that no variable outlives its area.

mod endings;

use std::collections::BTreeMap;
use std::ops::Range;

use overtake_trace::{
    Action, ArrayId, Event, Freed, LocationId, Memory, MemoryKind, MisuseKind, Result, Symbols, ThreadId,
    VarId,
};
use rustc_hash::FxHashMap;

use crate::code::Code;
use crate::pages::{Cuts, Directory, Filled, PAGE_WORDS};
use endings::Endings;

/// What is at which address now.
pub(crate) struct AddressSpace {
    directory: Directory,
    pages: Vec<[Word; PAGE_WORDS]>,
    /// Pages with words that have variables.
    touched: Filled,
    areas: BTreeMap<u64, Area>,
    endings: Endings,
    /// How often areas began or ended.
    changes: u64,
    /// The area that was looked up last.
    latest: Option<(Range<u64>, ArrayId)>,
    names: FxHashMap<String, u32>,
    heap_blocks: u64,
    elsewhere: Option<ArrayId>,
    /// Data of modules without symbols, by path.
    of_modules: FxHashMap<String, ArrayId>,
    /// Ranges that are not checked.
    benign: Vec<Range<u64>>,
    /// No record of the log is lost.
    is_complete: bool,
}

/// What is known of a word. Cuts and variables are asked for together, so they share a cache line.
#[derive(Clone, Copy)]
struct Word {
    /// The first of the variables that start in it; they have consecutive numbers.
    first: u32,
    /// As in [`Cuts`].
    cuts: u8,
}

struct Area {
    end: u64,
    memory: Memory,
    name: AreaName,
    /// The array, once a word of the area was accessed.
    array: Option<ArrayId>,
    /// Who freed it, and where.
    freed: Option<(ThreadId, LocationId)>,
    /// It was used after that.
    is_misused: bool,
    /// Only code that is not instrumented has to do with it so far.
    is_foreign: bool,
}

/// The name of an area. The text is made only when it is needed: most areas are never named.
enum AreaName {
    Heap(u64),
    Mapping,
    Given(String),
}

/// Whether memory is in use.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Now,
    /// It lies in a block that was freed.
    Before,
    /// Nobody said that it is.
    Unknown,
}

/// No variable yet.
const UNTOUCHED: u32 = u32::MAX;

impl AddressSpace {
    /// Nothing is known yet, of a log that is complete or has lost records: then a block that seems freed may be a new one.
    pub(crate) fn new(cuts: Cuts, is_complete: bool) -> AddressSpace {
        AddressSpace {
            directory: cuts.directory,
            pages: cuts.pages.iter().map(|page| page.map(|cuts| Word { first: UNTOUCHED, cuts })).collect(),
            touched: Filled::default(),
            areas: BTreeMap::new(),
            endings: Endings::default(),
            changes: 0,
            latest: None,
            names: FxHashMap::default(),
            heap_blocks: 0,
            elsewhere: None,
            of_modules: FxHashMap::default(),
            benign: Vec::new(),
            is_complete,
        }
    }

    /// A heap block is allocated, with `more` bytes behind it that belong to it as well. The allocation is an event of the
    /// thread, unless it does not count as an access.
    pub(crate) fn alloc(
        &mut self,
        start: u64,
        (bytes, more): (u64, u64),
        is_access: bool,
        location: LocationId,
        context: &mut Naming<'_>,
    ) -> Result<()> {
        self.heap_blocks += 1;
        let thread = Some(context.thread);
        let memory = Memory { kind: MemoryKind::Heap, bytes, thread, allocated_at: Some(location) };
        self.begin(start, bytes.saturating_add(more).max(1), memory, AreaName::Heap(self.heap_blocks));
        if is_access { self.allocated(start, context) } else { Ok(()) }
    }

    /// Writes the event of an area that was just made.
    fn allocated(&mut self, start: u64, context: &mut Naming<'_>) -> Result<()> {
        let Some(area) = self.areas.get_mut(&start) else { return Ok(()) };
        let array = area.make_array(start, &mut self.names, context)?;
        let block = context.symbols.variables.intern_block(array)?;
        self.endings.note(start, array, block);
        let location = area.memory.allocated_at.unwrap_or(LocationId::UNKNOWN);
        context.events.push(Event::new(context.thread, Action::Alloc(block), location));
        Ok(())
    }

    /// A heap block is freed. Returns the variable of the block if its allocation is in the trace, and the thread that freed it before,
    /// if any.
    pub(crate) fn free(
        &mut self,
        start: u64,
        thread: ThreadId,
        location: LocationId,
        symbols: &mut Symbols,
    ) -> Option<(VarId, Option<ThreadId>)> {
        let area = self.areas.get_mut(&start).filter(|area| area.memory.kind == MemoryKind::Heap)?;
        if area.freed.is_some() {
            area.note_freed(symbols);
        }
        let (before, end) = (area.freed.replace((thread, location)), area.end);
        let block = symbols.variables.array_facts(area.array?).block?;
        self.forget_words(start..end);
        Some((block, before.map(|(thread, _)| thread)))
    }

    /// A heap block is freed by code whose frees are not compared with accesses.
    pub(crate) fn free_unseen(&mut self, start: u64) {
        let area = self.areas.get(&start).filter(|area| area.memory.kind == MemoryKind::Heap);
        if let Some(area) = area {
            self.clear(start..area.end);
        }
    }

    /// The heap block at this address was allocated by code that is not instrumented.
    pub(crate) fn set_foreign(&mut self, start: u64) {
        if let Some(area) = self.areas.get_mut(&start) {
            area.is_foreign = true;
        }
    }

    /// Whether instrumented code neither allocated nor used the heap block at this address.
    pub(crate) fn is_foreign(&self, start: u64) -> bool {
        self.areas.get(&start).is_some_and(|area| area.is_foreign)
    }

    /// Whether an address lies in a block of the heap.
    pub(crate) fn is_heap(&self, address: u64) -> bool {
        self.is_in(address, MemoryKind::Heap)
    }

    /// As long as this number stays, addresses lie where they did.
    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    /// Whether an address lies in the stack of a thread.
    pub(crate) fn is_stack(&self, address: u64) -> bool {
        self.is_in(address, MemoryKind::Stack)
    }

    fn is_in(&self, address: u64, kind: MemoryKind) -> bool {
        let area = self.areas.range(..=address).next_back();
        area.is_some_and(|(_, area)| address < area.end && area.memory.kind == kind)
    }

    /// A thread's stack is in use from now on.
    pub(crate) fn stack(&mut self, range: Range<u64>, thread: ThreadId, name: &str) {
        if range.start < range.end {
            let bytes = range.end - range.start;
            let memory = Memory { kind: MemoryKind::Stack, bytes, thread: Some(thread), allocated_at: None };
            self.begin(range.start, bytes, memory, AreaName::Given(format!("stack of {name}")));
        }
    }

    /// Memory is mapped. What was there before is gone.
    pub(crate) fn map(
        &mut self,
        start: u64,
        bytes: u64,
        is_access: bool,
        location: LocationId,
        context: &mut Naming<'_>,
    ) -> Result<()> {
        let thread = Some(context.thread);
        let memory = Memory { kind: MemoryKind::Mapped, bytes, thread, allocated_at: Some(location) };
        self.begin(start, bytes.max(1), memory, AreaName::Mapping);
        if is_access { self.allocated(start, context) } else { Ok(()) }
    }

    /// Memory is unmapped.
    pub(crate) fn unmap(&mut self, start: u64, bytes: u64) {
        self.clear(start..start.saturating_add(bytes));
    }

    /// Accesses to these bytes are not checked from now on.
    pub(crate) fn ignore(&mut self, start: u64, bytes: u64) {
        self.benign.push(start..start.saturating_add(bytes));
    }

    fn begin(&mut self, start: u64, bytes: u64, memory: Memory, name: AreaName) {
        let end = start.saturating_add(bytes);
        self.clear(start..end);
        self.areas.insert(
            start,
            Area { end, memory, name, array: None, freed: None, is_misused: false, is_foreign: false },
        );
    }

    /// Ends the areas within a range. An area that starts before it stays (a heap in a mapping), unless it is a freed block.
    fn clear(&mut self, range: Range<u64>) {
        self.latest = None;
        self.changes += 1;
        let before = self.areas.range(..range.start).next_back();
        let overlapped =
            before.filter(|(_, area)| area.freed.is_some() && area.end > range.start).map(|(&at, _)| at);
        if let Some(start) = overlapped {
            self.areas.remove(&start);
            self.endings.forget(start);
        }
        while let Some((&start, &Area { end, .. })) = self.areas.range(range.clone()).next() {
            self.areas.remove(&start);
            match end <= range.end {
                true => self.endings.end(start),
                false => _ = self.endings.forget(start),
            }
        }
        self.forget_words(range);
    }

    fn forget_words(&mut self, range: Range<u64>) {
        let AddressSpace { directory, pages, touched, .. } = self;
        touched.empty(range.start / 8..range.end.div_ceil(8), directory, |place, words| {
            pages[place][words].iter_mut().for_each(|word| word.first = UNTOUCHED);
        });
    }

    /// Calls `each` with the variables of an access, in address order. The scan has cut memory where the access starts and ends.
    /// Returns whether it is done: it stops at memory that is not in use if the access can wait until it is.
    #[inline]
    pub(crate) fn variables(
        &mut self,
        address: u64,
        length: u64,
        context: &mut Naming<'_>,
        mut each: impl FnMut(VarId, &mut Vec<Event>),
    ) -> Result<bool> {
        let (mut start, end) = (address, address.saturating_add(length));
        while start < end {
            let (word, offset) = (start / 8, start % 8);
            let place = match self.directory.find(word) {
                Some(place) => place,
                None => self.new_page(word),
            };
            let at = word as usize % PAGE_WORDS;
            let Word { mut first, mut cuts } = self.pages[place][at];
            if cuts >> offset & 1 == 0 {
                Word { first, cuts } = self.late_cut(start, place);
            }
            if first == UNTOUCHED {
                let Some(touched) = self.touch(word, place, context)? else { return Ok(false) };
                first = touched;
            }
            let before = |byte: u64| (u16::from(cuts) & ((1 << byte) - 1)).count_ones();
            for part in before(offset)..before((end - word * 8).min(8)) {
                if self.benign.is_empty() || !self.is_benign(word, cuts, part) {
                    each(VarId(first + part), context.events);
                }
            }
            if end <= (word + 1) * 8 {
                break;
            }
            let next = self.known_words(place, word + 1, end, |var| each(var, context.events));
            start = self.next_cut(next, end);
        }
        Ok(true)
    }

    /// Calls `each` with the variables that start in words from `word` on, on its page, as long as the words end before `end` and were accessed
    /// before. Returns the first word that is left.
    #[inline]
    fn known_words(&self, place: usize, word: u64, end: u64, mut each: impl FnMut(VarId)) -> u64 {
        let at = word as usize % PAGE_WORDS;
        if at == 0 || !self.benign.is_empty() {
            return word;
        }
        let most = (end / 8).saturating_sub(word).min((PAGE_WORDS - at) as u64);
        for (Word { first, cuts }, word) in self.pages[place][at..at + most as usize].iter().zip(word..) {
            if *cuts != 0 {
                if *first == UNTOUCHED {
                    return word;
                }
                (0..cuts.count_ones()).for_each(|part| each(VarId(first + part)));
            }
        }
        word + most
    }

    /// Where the variable ends that starts at an address, or `end` if that is before.
    pub(crate) fn variable_end(&mut self, start: u64, end: u64) -> u64 {
        let (word, offset) = (start / 8, start % 8);
        let at = word as usize % PAGE_WORDS;
        let cuts = self.directory.find(word).map_or(0, |place| self.pages[place][at].cuts);
        match u32::from(cuts) >> (offset + 1) {
            0 => self.next_cut(word + 1, end),
            behind => (start + 1 + u64::from(behind.trailing_zeros())).min(end),
        }
    }

    /// The first cut at or behind the start of a word and before `end`; `end` if there is none.
    #[inline]
    fn next_cut(&mut self, mut word: u64, end: u64) -> u64 {
        while word * 8 < end {
            let at = word as usize % PAGE_WORDS;
            let in_page = (end.div_ceil(8) - word).min((PAGE_WORDS - at) as u64);
            if let Some(place) = self.directory.find(word) {
                let mut words = self.pages[place][at..at + in_page as usize].iter().zip(word..);
                if let Some((Word { cuts, .. }, word)) = words.find(|(word, _)| word.cuts != 0) {
                    return (word * 8 + u64::from(cuts.trailing_zeros())).min(end);
                }
            }
            word += in_page;
        }
        end
    }

    #[cold]
    fn new_page(&mut self, word: u64) -> usize {
        self.pages.push([Word { first: UNTOUCHED, cuts: 0 }; PAGE_WORDS]);
        self.directory.add(word)
    }

    /// An access that the scan did not see, because the log changed while it was read. Forgets the variables of the word.
    #[cold]
    fn late_cut(&mut self, start: u64, place: usize) -> Word {
        let word = &mut self.pages[place][(start / 8) as usize % PAGE_WORDS];
        *word = Word { first: UNTOUCHED, cuts: word.cuts | 1 << (start % 8) };
        *word
    }

    #[cold]
    fn is_benign(&self, word: u64, cuts: u8, part: u32) -> bool {
        let mut starts = (0..8).filter(|byte| cuts & (1 << byte) != 0);
        let address = word * 8 + starts.nth(part as usize).unwrap_or(0);
        self.benign.iter().any(|range| range.contains(&address))
    }

    /// Makes the variables that start in a word, with consecutive ids, and returns the first one. If the memory is not in use and the
    /// access can wait, it does nothing.
    #[cold]
    fn touch(&mut self, word: u64, place: usize, context: &mut Naming<'_>) -> Result<Option<u32>> {
        let use_of_word = self.use_of(word * 8, context.code);
        if context.can_wait && use_of_word != Use::Now {
            return Ok(None);
        }
        let cuts = self.pages[place][word as usize % PAGE_WORDS].cuts;
        let mut elements = [None; 8];
        // An area may start within a word: neighbouring globals may share one.
        for byte in (0..8).filter(|byte| cuts & (1 << byte) != 0) {
            let address = word * 8 + byte;
            let (array, base) = self.array_at(address, context)?;
            elements[byte as usize] = Some((array, base, address.wrapping_sub(base)));
        }
        let is_freed = use_of_word == Use::Before;
        if is_freed {
            self.note_use_after_free(word * 8, context)?;
        }
        let mut first = None;
        for (array, base, index) in elements.into_iter().flatten() {
            let variables = &mut context.symbols.variables;
            let var = match is_freed {
                true => variables.intern_element(array, index)?,
                false => variables.push_element(array, index)?,
            };
            first.get_or_insert(var.0);
            self.note_variable(base, array, var);
        }
        let first = first.expect("a word is touched where it is cut");
        self.pages[place][word as usize % PAGE_WORDS].first = first;
        self.touched.add(word, place);
        Ok(Some(first))
    }

    /// Notes to which area a variable belongs, if it belongs to one.
    fn note_variable(&mut self, start: u64, array: ArrayId, var: VarId) {
        let is_of_area =
            |areas: &BTreeMap<u64, Area>| areas.get(&start).and_then(|area| area.array) == Some(array);
        if !self.endings.continues(start, array, var) && is_of_area(&self.areas) {
            self.endings.note(start, array, var);
        }
    }

    /// The variables that no further event names, as far as that became known since it was asked last.
    pub(crate) fn take_ended(&mut self) -> Vec<Range<VarId>> {
        self.endings.take()
    }

    /// Whether the word at an address is in use. Instrumented code uses it.
    fn use_of(&mut self, address: u64, code: &mut Code) -> Use {
        let area = self.areas.range_mut(..address.saturating_add(8)).next_back();
        match area.filter(|(_, area)| area.end > address) {
            Some((_, area)) if area.freed.is_some() => Use::Before,
            Some((_, area)) => {
                area.is_foreign = false;
                Use::Now
            }
            None if code.global(address).is_some() || code.module_at(address).is_some() => Use::Now,
            None => Use::Unknown,
        }
    }

    /// Says, once for each block, that a block is used after it was freed. Whether the free comes before the use by happens-before, or
    /// races with it, is for detectors to find out.
    fn note_use_after_free(&mut self, address: u64, context: &mut Naming<'_>) -> Result<()> {
        let Some((_, area)) = self.areas.range_mut(..address.saturating_add(8)).next_back() else {
            return Ok(());
        };
        let is_first = !std::mem::replace(&mut area.is_misused, true);
        if let Some(array) = area.array.filter(|_| is_first && self.is_complete) {
            let name = MisuseKind::AccessAfterFree.text(context.symbols.variables.array_name(array));
            let marker = context.symbols.markers.intern(&name)?;
            context.events.push(Event::new(context.thread, Action::Misuse(marker), context.location));
            area.note_freed(context.symbols);
        }
        Ok(())
    }

    /// The array of the area that an address lies in, and the area's start.
    fn array_at(&mut self, address: u64, context: &mut Naming<'_>) -> Result<(ArrayId, u64)> {
        if let Some((range, array)) = &self.latest
            && range.contains(&address)
        {
            return Ok((*array, range.start));
        }
        let area = self.areas.range_mut(..=address).next_back().filter(|(_, area)| address < area.end);
        let Some((&start, area)) = area else { return self.outside_areas(address, context) };
        let array = match area.array {
            Some(array) => array,
            None => area.make_array(start, &mut self.names, context)?,
        };
        // The cached range ends where the next area starts, so that it does not hide an inner area.
        let end = self.areas.range(start + 1..).next().map_or(u64::MAX, |(&next, _)| next);
        let end = self.areas.get(&start).map_or(end, |area| area.end.min(end));
        self.latest = Some((start..end, array));
        Ok((array, start))
    }

    fn outside_areas(&mut self, address: u64, context: &mut Naming<'_>) -> Result<(ArrayId, u64)> {
        if let Some(global) = context.code.global(address) {
            let memory = Memory { kind: MemoryKind::Global, bytes: global.bytes, ..Memory::default() };
            let (start, end) = (address - global.offset, address - global.offset + global.bytes);
            let name = AreaName::Given(printable(&global.name));
            let mut area =
                Area { end, memory, name, array: None, freed: None, is_misused: false, is_foreign: false };
            let array = area.make_array(start, &mut self.names, context)?;
            self.areas.insert(start, area);
            self.changes += 1;
            return Ok((array, start));
        }
        // Without symbols, only the module is known.
        if let Some((path, module, offset)) = context.code.module_at(address) {
            let array = match self.of_modules.get(path) {
                Some(array) => *array,
                None => {
                    let name = unused(format!("data of {}", printable(module)), &mut self.names);
                    let array = context.symbols.variables.intern_array(name.as_bytes())?;
                    self.of_modules.insert(path.to_owned(), array);
                    let memory = Memory { kind: MemoryKind::Mapped, ..Memory::default() };
                    context.symbols.program.memory.set(array, memory);
                    array
                }
            };
            return Ok((array, address.wrapping_sub(offset)));
        }
        let array = match self.elsewhere {
            Some(array) => array,
            None => context.symbols.variables.intern_array(b"memory")?,
        };
        self.elsewhere = Some(array);
        Ok((array, 0))
    }

    /// A name for the object at an address, for locks and the like.
    pub(crate) fn describe(&mut self, address: u64, code: &mut Code) -> String {
        let area = self.areas.range(..=address).next_back().filter(|(_, area)| address < area.end);
        let (name, offset) = match area {
            Some((start, area)) => (area.name.text(*start), address - start),
            None => match code.global(address) {
                Some(global) => (printable(&global.name), global.offset),
                None => match code.module_at(address) {
                    Some((_, module, offset)) => return format!("{}+{offset:#x}", printable(module)),
                    None => return format!("{address:#x}"),
                },
            },
        };
        if offset == 0 { name } else { format!("{name}+{offset}") }
    }
}

impl Area {
    fn make_array(
        &mut self,
        start: u64,
        names: &mut FxHashMap<String, u32>,
        context: &mut Naming<'_>,
    ) -> Result<ArrayId> {
        let mut name = self.name.text(start);
        if !matches!(self.name, AreaName::Heap(_)) {
            name = unused(name, names);
        }
        let variables = &mut context.symbols.variables;
        let array = variables.intern_array(name.as_bytes())?;
        self.array = Some(array);
        context.symbols.program.memory.set(array, self.memory);
        if matches!(self.memory.kind, MemoryKind::Heap | MemoryKind::Mapped) {
            variables.set_length(array, self.memory.bytes);
        }
        Ok(array)
    }

    /// Remembers for the report where the block was freed, because it is used or freed again.
    fn note_freed(&self, symbols: &mut Symbols) {
        let freed = self.array.zip(self.freed);
        let freed = freed.map(|(array, (thread, location))| Freed { array, thread, location });
        symbols.program.freed.extend(freed);
    }
}

impl AreaName {
    fn text(&self, start: u64) -> String {
        match self {
            AreaName::Heap(number) => format!("heap#{number}"),
            AreaName::Mapping => format!("mapping@{start:x}"),
            AreaName::Given(name) => name.clone(),
        }
    }
}

/// A name that no other area has. Static variables of several files may have the same name, and so may modules.
fn unused(name: String, names: &mut FxHashMap<String, u32>) -> String {
    let count = names.entry(name.clone()).or_default();
    *count += 1;
    if *count > 1 { format!("{name}~{count}") } else { name }
}

/// A C++ name without the characters that text traces reserve.
fn printable(name: &str) -> String {
    name.replace(['|', '\n', '\r'], "_")
}

/// What is needed to name a variable, and the list that allocation events are added to.
pub(crate) struct Naming<'a> {
    pub(crate) symbols: &'a mut Symbols,
    pub(crate) code: &'a mut Code,
    pub(crate) thread: ThreadId,
    /// Where the thread is.
    pub(crate) location: LocationId,
    /// The access may be put later in the trace.
    pub(crate) can_wait: bool,
    pub(crate) events: &'a mut Vec<Event>,
}
