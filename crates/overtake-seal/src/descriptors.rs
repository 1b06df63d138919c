//! File descriptors as variables: opening and closing one write it, using it reads it.
//!
//! A descriptor that is opened again is a new variable. So is one that is used after it was closed: it must have been opened again by
//! a function that is not recorded.

use overtake_trace::{LocationId, Memory, MemoryKind, Result, Symbols, ThreadId, VarId};
use rustc_hash::FxHashMap;

/// The variables of the open descriptors that were used.
#[derive(Default)]
pub(crate) struct DescriptorVariables {
    open: FxHashMap<u64, VarId>,
    /// How many variables each number had.
    generations: FxHashMap<u64, u64>,
}

impl DescriptorVariables {
    /// The descriptor is new. Returns its variable.
    pub(crate) fn opened(
        &mut self,
        descriptor: u64,
        (thread, location): (ThreadId, LocationId),
        symbols: &mut Symbols,
    ) -> Result<VarId> {
        self.closed(descriptor);
        self.make(descriptor, Some(thread), Some(location), symbols)
    }

    /// The variable of a descriptor.
    pub(crate) fn variable(&mut self, descriptor: u64, symbols: &mut Symbols) -> Result<VarId> {
        match self.open.get(&descriptor) {
            Some(var) => Ok(*var),
            None => self.make(descriptor, None, None, symbols),
        }
    }

    /// The descriptor is closed; its number may get a new meaning.
    pub(crate) fn closed(&mut self, descriptor: u64) {
        self.open.remove(&descriptor);
    }

    fn make(
        &mut self,
        descriptor: u64,
        thread: Option<ThreadId>,
        allocated_at: Option<LocationId>,
        symbols: &mut Symbols,
    ) -> Result<VarId> {
        let generation = self.generations.entry(descriptor).or_default();
        *generation += 1;
        let name = match *generation {
            1 => format!("file descriptor {descriptor}"),
            later => format!("file descriptor {descriptor}~{later}"),
        };
        let array = symbols.variables.intern_array(name.as_bytes())?;
        symbols
            .program
            .memory
            .set(array, Memory { kind: MemoryKind::Descriptor, bytes: 0, thread, allocated_at });
        let var = symbols.variables.push_element(array, 0)?;
        self.open.insert(descriptor, var);
        Ok(var)
    }
}
