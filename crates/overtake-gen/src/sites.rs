//! Names: threads, locks, variables, and source locations that look like code.

use overtake_trace::{LocationId, Result, Symbols, VarId};

/// Numbers the places in the source of the imaginary program.
///
/// Every place gets its own location `file.c:line` as long as there are fewer than the limit; further places share the
/// existing locations. With a limit of 0, every location is unknown.
#[derive(Debug)]
pub(crate) struct Sites {
    limit: u64,
    shared: u64,
}

impl Sites {
    pub(crate) fn new(limit: u64) -> Sites {
        Sites { limit, shared: 0 }
    }

    /// How many more places can have a location of their own.
    pub(crate) fn left(&self, symbols: &Symbols) -> u64 {
        self.limit.saturating_sub(symbols.locations.len() as u64)
    }

    /// The location of a new place.
    pub(crate) fn place(&mut self, symbols: &mut Symbols, file: &str, line: u64) -> Result<LocationId> {
        if self.limit == 0 {
            return Ok(LocationId::UNKNOWN);
        }
        if self.left(symbols) > 0 {
            return symbols.locations.intern(format!("{file}:{line}").as_bytes());
        }
        let location = LocationId((self.shared % self.limit) as u32);
        self.shared += 1;
        Ok(location)
    }

    /// The locations of `count` consecutive lines.
    pub(crate) fn lines<const COUNT: usize>(
        &mut self,
        symbols: &mut Symbols,
        file: &str,
        first_line: u64,
    ) -> Result<[LocationId; COUNT]> {
        let mut locations = [LocationId::UNKNOWN; COUNT];
        for (line, location) in (first_line..).zip(&mut locations) {
            *location = self.place(symbols, file, line)?;
        }
        Ok(locations)
    }
}

/// Adds threads `T0`, `T1`, ...
pub(crate) fn add_threads(symbols: &mut Symbols, count: u32) -> Result<()> {
    (0..count).try_for_each(|thread| symbols.threads.intern(format!("T{thread}").as_bytes()).map(drop))
}

/// Adds locks `L0`, `L1`, ...
pub(crate) fn add_locks(symbols: &mut Symbols, count: u32) -> Result<()> {
    (0..count).try_for_each(|lock| symbols.locks.intern(format!("L{lock}").as_bytes()).map(drop))
}

/// Adds variables `V0`, `V1`, ... to empty tables, so that variable `Vi` has id `i`.
pub(crate) fn add_variables(symbols: &mut Symbols, count: u32) -> Result<()> {
    (0..count).try_for_each(|var| symbols.variables.intern(format!("V{var}").as_bytes()).map(drop))
}

/// Adds an array with `length` elements whose ids are consecutive, and returns the id of element 0.
pub(crate) fn add_array(symbols: &mut Symbols, name: &str, length: u32) -> Result<VarId> {
    let array = symbols.variables.intern_array(name.as_bytes())?;
    let first = VarId(symbols.variables.len() as u32);
    for index in 0..length {
        symbols.variables.intern_element(array, u64::from(index))?;
    }
    Ok(first)
}
