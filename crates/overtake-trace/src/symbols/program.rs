//! What is known of a recorded program beyond names: call stacks, threads' creators, what memory is.
//!
//! Traces from text have none of this; everything here is optional and empty for them.

use super::common::Common;
use crate::id::{ArrayId, Id, IdVec, LocationId, ThreadId};

/// One function on a call stack, as debug information describes it.
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
pub struct Frame {
    /// Demangled function name; empty if unknown.
    pub function: String,
    /// Source file; empty if unknown.
    pub file: String,
    /// Line, from 1; 0 if unknown.
    pub line: u32,
    /// Column, from 1; 0 if unknown.
    pub column: u32,
    /// File name of the module (executable or shared library); empty if unknown.
    pub module: String,
    /// Offset of the instruction in the module.
    pub offset: u64,
}

/// Where a location is: its frames, innermost first (several where functions were inlined), and where it was called from.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Site {
    /// Positions in [`Program::frames`], innermost first.
    pub frames: Vec<u32>,
    /// The call that led here.
    pub caller: Option<LocationId>,
    /// Bytes that are accessed here; 0 if nothing is accessed or the number is not known.
    pub bytes: u32,
}

/// What kind of memory an array stands for.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum MemoryKind {
    /// Not known, or not from a recording.
    #[default]
    Unknown = 0,
    /// A block from the heap.
    Heap = 1,
    /// A global or static variable.
    Global = 2,
    /// The stack of a thread.
    Stack = 3,
    /// Other mapped memory.
    Mapped = 4,
    /// A file descriptor; allocating it is opening it.
    Descriptor = 5,
}

impl MemoryKind {
    /// Every kind, in the order of its code.
    pub const ALL: [MemoryKind; 6] = [
        MemoryKind::Unknown,
        MemoryKind::Heap,
        MemoryKind::Global,
        MemoryKind::Stack,
        MemoryKind::Mapped,
        MemoryKind::Descriptor,
    ];
}

/// What is known of the memory behind an array.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub struct Memory {
    /// What kind of memory it is.
    pub kind: MemoryKind,
    /// Size in bytes; 0 if unknown.
    pub bytes: u64,
    /// Who allocated it (heap), or whose stack it is.
    pub thread: Option<ThreadId>,
    /// Where it was allocated.
    pub allocated_at: Option<LocationId>,
}

/// Where a block was freed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Freed {
    /// The block.
    pub array: ArrayId,
    /// Who freed it.
    pub thread: ThreadId,
    /// Where.
    pub location: LocationId,
}

/// What is known of a thread besides its name.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct ThreadFacts {
    /// The kernel's id of the thread; 0 if unknown.
    pub kernel_id: u32,
    /// The thread that created it.
    pub creator: Option<ThreadId>,
    /// Where it was created.
    pub created_at: Option<LocationId>,
}

/// A module that was loaded.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Module {
    /// Path of the file.
    pub path: String,
    /// Build id in hexadecimal; empty if it has none.
    pub build_id: String,
}

/// Everything known of the recorded program.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Program {
    /// Command line; empty for traces that were not recorded.
    pub command: Vec<String>,
    /// Process id.
    pub pid: u64,
    /// Distinct frames.
    pub frames: Vec<Frame>,
    /// Where each location is.
    pub sites: IdVec<LocationId, Site>,
    /// Facts about threads.
    pub threads: IdVec<ThreadId, ThreadFacts>,
    /// Facts about the memory behind arrays.
    pub memory: Common<ArrayId, Memory>,
    /// Modules that frames are from.
    pub modules: Vec<Module>,
    /// What is missing from the recording, a sentence each.
    pub missing: Vec<String>,
    /// Where blocks were freed which the program uses or frees again afterwards.
    pub freed: Vec<Freed>,
}

impl Program {
    /// Whether nothing is known: the trace was not recorded.
    pub fn is_empty(&self) -> bool {
        *self == Program::default()
    }

    /// Whether the trace is a recording. A recording has the true order of operations that synchronise, not of the accesses
    /// between them: where two accesses race, it is not known which came first.
    pub fn is_recorded(&self) -> bool {
        !self.is_empty()
    }

    /// The call stack at a location, innermost frame first. Empty if nothing is known.
    pub fn stack(&self, location: LocationId) -> Vec<&Frame> {
        let mut stack = Vec::new();
        let mut next = location.is_known().then_some(location);
        // A damaged file may hold a cycle; no stack visits more sites than there are.
        for _ in 0..self.sites.len() {
            let Some(site) = next.and_then(|location| self.sites.get(location)) else { break };
            stack.extend(site.frames.iter().filter_map(|&frame| self.frames.get(frame as usize)));
            next = site.caller;
        }
        stack
    }

    /// The innermost frame at a location.
    pub fn innermost(&self, location: LocationId) -> Option<&Frame> {
        let site = self.sites.get(location).filter(|_| location.index() < self.sites.len())?;
        self.frames.get(*site.frames.first()? as usize)
    }
}
