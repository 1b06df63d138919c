//! Addresses turned into variables.
//!
//! Memory is divided into *areas*: heap blocks from allocation to free, stacks of threads, mappings, globals. An area is an array
//! of the trace, its variables are elements indexed by byte offset. A word's variables are made when the word is first
//! touched and forgotten when its area ends, so that reused memory is new variables.

use std::collections::BTreeMap;

use overtake_trace::{
    Action, ArrayId, Event, LocationId, Memory, MemoryKind, Result, Symbols, ThreadId, VarId,
};
use rustc_hash::FxHashMap;

use crate::code::Code;
use crate::scan::Cuts;

/// What is at which address now.
pub(crate) struct AddressSpace {
    cuts: Cuts,
    words: FxHashMap<u64, VarId>,
    areas: BTreeMap<u64, Area>,
    globals: FxHashMap<String, ArrayId>,
    heap_blocks: u64,
    elsewhere: Option<ArrayId>,
}

struct Area {
    end: u64,
    memory: Memory,
    name: String,
    /// The array, once a word of the area was touched.
    array: Option<ArrayId>,
    touched: Vec<u64>,
}

/// The bytes of one access as variables: consecutive ids per word.
pub(crate) struct Parts {
    next: u64,
    end: u64,
}

impl AddressSpace {
    pub(crate) fn new(cuts: Cuts) -> AddressSpace {
        AddressSpace {
            cuts,
            words: FxHashMap::default(),
            areas: BTreeMap::new(),
            globals: FxHashMap::default(),
            heap_blocks: 0,
            elsewhere: None,
        }
    }

    /// A heap block comes into being.
    pub(crate) fn alloc(&mut self, start: u64, bytes: u64, thread: ThreadId, location: LocationId) {
        self.heap_blocks += 1;
        let memory =
            Memory { kind: MemoryKind::Heap, bytes, thread: Some(thread), allocated_at: Some(location) };
        self.begin_area(start, bytes.max(1), memory, format!("heap#{}", self.heap_blocks));
    }

    /// A heap block ends. Returns the variable of the block if anything in it was accessed.
    pub(crate) fn free(&mut self, start: u64, symbols: &Symbols) -> Option<VarId> {
        let area = self.areas.get(&start).filter(|area| area.memory.kind == MemoryKind::Heap)?;
        let block = area.array.and_then(|array| symbols.variables.array_facts(array).block);
        self.end_area(start);
        block
    }

    /// A thread's stack is in use from now on.
    pub(crate) fn stack(&mut self, range: std::ops::Range<u64>, thread: ThreadId, name: &str) {
        if range.start < range.end {
            let bytes = range.end - range.start;
            let memory = Memory { kind: MemoryKind::Stack, bytes, thread: Some(thread), allocated_at: None };
            self.begin_area(range.start, bytes, memory, format!("stack of {name}"));
        }
    }

    /// Memory is mapped: whatever was there is gone.
    pub(crate) fn map(&mut self, start: u64, bytes: u64, thread: ThreadId, location: LocationId) {
        let memory =
            Memory { kind: MemoryKind::Mapped, bytes, thread: Some(thread), allocated_at: Some(location) };
        self.begin_area(start, bytes.max(1), memory, format!("mapping@{start:x}"));
    }

    /// Memory is unmapped.
    pub(crate) fn unmap(&mut self, start: u64, bytes: u64) {
        self.end_areas_within(start, start.saturating_add(bytes));
    }

    fn begin_area(&mut self, start: u64, bytes: u64, memory: Memory, name: String) {
        let end = start.saturating_add(bytes);
        self.end_areas_within(start, end);
        self.areas.insert(start, Area { end, memory, name, array: None, touched: Vec::new() });
    }

    /// Ends the areas that start within a range. An area that surrounds the range stays: a heap in a mapping.
    fn end_areas_within(&mut self, start: u64, end: u64) {
        let inside: Vec<u64> = self.areas.range(start..end).map(|(&start, _)| start).collect();
        for start in inside {
            self.end_area(start);
        }
    }

    fn end_area(&mut self, start: u64) {
        if let Some(area) = self.areas.remove(&start) {
            for word in area.touched {
                self.words.remove(&word);
            }
        }
    }

    /// The variables of an access, handed to `each` in address order. `emit` takes the allocation event of a heap block
    /// whose first access this is.
    #[inline]
    pub(crate) fn variables(
        &mut self,
        address: u64,
        length: u64,
        context: &mut Naming<'_>,
        mut each: impl FnMut(VarId, &mut Vec<Event>),
    ) -> Result<()> {
        let mut parts = Parts { next: address, end: address.saturating_add(length) };
        while let Some((word, bytes)) = parts.next_word() {
            let first = match self.words.get(&word) {
                Some(&var) => var,
                None => self.touch(word, context)?,
            };
            let cuts = self.cuts.get(&word).copied().unwrap_or(0) & !1;
            // The part that a byte lies in is the number of cuts at or before it.
            let part_of = |byte: u32| (cuts & (0xff_u8 >> (7 - byte))).count_ones();
            let (low, high) = (part_of(bytes.trailing_zeros()), part_of(7 - bytes.leading_zeros()));
            for part in low..=high {
                each(VarId(first.0 + part), context.events);
            }
        }
        Ok(())
    }

    /// Makes the variables of a word: one for each part between cuts.
    #[cold]
    fn touch(&mut self, word: u64, context: &mut Naming<'_>) -> Result<VarId> {
        let address = word * 8;
        let (array, base) = self.array_at(address, context)?;
        let cuts = self.cuts.get(&word).copied().unwrap_or(0) | 1;
        let mut first = None;
        for byte in 0..8 {
            if cuts & (1 << byte) != 0 {
                // An area need not start at a word; the bytes before it are nobody's.
                let index = (address + byte).saturating_sub(base);
                let var = context.symbols.variables.push_element(array, index)?;
                first.get_or_insert(var);
            }
        }
        let first = first.expect("bit 0 is always set");
        self.words.insert(word, first);
        Ok(first)
    }

    /// The array of the area that an address lies in, and the area's start.
    fn array_at(&mut self, address: u64, context: &mut Naming<'_>) -> Result<(ArrayId, u64)> {
        let word = address / 8;
        // A block may start within the word.
        let area = self.areas.range_mut(..address + 8).next_back().filter(|(_, area)| address < area.end);
        let Some((&start, area)) = area else { return self.outside_areas(address, context) };
        area.touched.push(word);
        if let Some(array) = area.array {
            return Ok((array, start));
        }
        let variables = &mut context.symbols.variables;
        let array = variables.intern_array(area.name.as_bytes())?;
        area.array = Some(array);
        *context.symbols.program.memory.entry(array) = area.memory;
        if area.memory.kind == MemoryKind::Heap {
            variables.set_length(array, area.memory.bytes);
            let block = variables.intern_block(array)?;
            // The allocation orders nothing, so it may stand here, where the block first matters.
            let location = area.memory.allocated_at.unwrap_or(LocationId::UNKNOWN);
            context.events.push(Event::new(context.thread, Action::Alloc(block), location));
        }
        Ok((array, start))
    }

    fn outside_areas(&mut self, address: u64, context: &mut Naming<'_>) -> Result<(ArrayId, u64)> {
        let symbols = &mut *context.symbols;
        if let Some(global) = context.code.global(address) {
            let array = match self.globals.get(&global.name) {
                Some(&array) => array,
                None => {
                    let array = symbols.variables.intern_array(printable(&global.name).as_bytes())?;
                    self.globals.insert(global.name, array);
                    *symbols.program.memory.entry(array) =
                        Memory { kind: MemoryKind::Global, bytes: global.bytes, ..Memory::default() };
                    array
                }
            };
            return Ok((array, address - global.offset));
        }
        let array = match self.elsewhere {
            Some(array) => array,
            None => symbols.variables.intern_array(b"memory")?,
        };
        self.elsewhere = Some(array);
        Ok((array, 0))
    }

    /// A name for the object at an address, for locks and the like.
    pub(crate) fn describe(&mut self, address: u64, code: &mut Code) -> String {
        if let Some((start, area)) =
            self.areas.range(..=address).next_back().filter(|(_, area)| address < area.end)
        {
            return format!("{}+{}", area.name, address - start);
        }
        match code.global(address) {
            Some(global) if global.offset == 0 => printable(&global.name),
            Some(global) => format!("{}+{}", printable(&global.name), global.offset),
            None => format!("{address:#x}"),
        }
    }
}

/// A C++ name without what text traces reserve.
fn printable(name: &str) -> String {
    name.replace(['|', '\n', '\r'], "_")
}

/// What naming a variable needs, and where an allocation event goes.
pub(crate) struct Naming<'a> {
    pub(crate) symbols: &'a mut Symbols,
    pub(crate) code: &'a mut Code,
    pub(crate) thread: ThreadId,
    pub(crate) events: &'a mut Vec<Event>,
}

impl Parts {
    /// The next word of the access and which of its bytes are meant.
    #[inline]
    fn next_word(&mut self) -> Option<(u64, u8)> {
        if self.next >= self.end {
            return None;
        }
        let word = self.next / 8;
        let stop = self.end.min(word * 8 + 8);
        let (low, high) = (self.next % 8, stop - word * 8);
        self.next = stop;
        let bytes = (0xff_u16 << low) & (0xff_u16 >> (8 - high));
        Some((word, bytes as u8))
    }
}
