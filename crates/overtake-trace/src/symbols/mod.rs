//! Symbol tables: the names behind the dense ids.
//!
//! Names enter here in the reader and leave here in the report; between the two there are only ids.

mod common;
mod names;
pub(crate) mod numbers;
mod program;
mod variables;

use rustc_hash::FxHashMap;

pub use common::Common;
pub use names::Names;
pub use program::{Frame, Freed, Memory, MemoryKind, Module, Program, Site, ThreadFacts};
pub use variables::{ArrayFacts, Variable, Variables};
pub(crate) use variables::{canonical_number, split_element};

use crate::error::{Error, ErrorKind, Position, Result};
use crate::id::{Id, IdVec, LocationId, LockId, MarkerId, SyncId, ThreadId};

/// All names of a trace.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Symbols {
    /// Threads.
    pub threads: Names<ThreadId>,
    /// Locks.
    pub locks: Names<LockId>,
    /// Variables, array elements and heap blocks.
    pub variables: Variables,
    /// Objects of `post` and `wait`.
    pub objects: SyncObjects,
    /// Texts of `begin`, `end`, `branch` and `misuse`.
    pub markers: Names<MarkerId>,
    /// Source locations.
    pub locations: Names<LocationId>,
    /// Call stacks, creators and memory of a recorded program.
    pub program: Program,
}

/// How many ids of each kind exist; the tables of detectors have these sizes.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Sizes {
    /// Number of threads.
    pub threads: usize,
    /// Number of locks.
    pub locks: usize,
    /// Number of variables, block variables included.
    pub variables: usize,
    /// Number of synchronisation objects.
    pub objects: usize,
    /// Number of markers.
    pub markers: usize,
    /// Number of source locations.
    pub locations: usize,
}

impl Symbols {
    /// How many ids of each kind exist so far.
    pub fn sizes(&self) -> Sizes {
        Sizes {
            threads: self.threads.len(),
            locks: self.locks.len(),
            variables: self.variables.len(),
            objects: self.objects.len(),
            markers: self.markers.len(),
            locations: self.locations.len(),
        }
    }

    /// The text of a location; `?` where the input gave none.
    pub fn location_name(&self, location: LocationId) -> String {
        if location.is_known() { self.locations.display(location) } else { "?".into() }
    }
}

/// The table of synchronisation objects.
///
/// The one rule for `post` and `wait` is that a wait comes after *every* earlier post of its object. Primitives with
/// other rules are expressed by generations of an object: the k-th token of a semaphore `S` is `S#k`, the k-th round
/// of a barrier `B` is `B#k`, so that a wait pairs with just the posts that let it through.
#[derive(Clone, Default, Debug)]
pub struct SyncObjects {
    bases: Names<SyncBase>,
    objects: IdVec<SyncId, (SyncBase, u64)>,
    /// The first `indexed` objects by base and generation. The others are added before the next look-up.
    index: FxHashMap<(u32, u64), SyncId>,
    indexed: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct SyncBase(u32);

impl Id for SyncBase {
    fn from_index(index: usize) -> Self {
        SyncBase(index as u32)
    }
    fn index(self) -> usize {
        self.0 as usize
    }
}

impl PartialEq for SyncObjects {
    fn eq(&self, other: &Self) -> bool {
        self.bases == other.bases && self.objects == other.objects
    }
}

impl Eq for SyncObjects {}

impl SyncObjects {
    /// The object written `name` in a text trace; `S#3` is generation 3 of `S`.
    pub fn intern(&mut self, name: &[u8]) -> Result<SyncId> {
        let (base, generation) = split_generation(name);
        self.intern_generation(base, generation)
    }

    /// Generation `generation` of the object called `base`; generation 0 is the object itself.
    pub fn intern_generation(&mut self, base: &[u8], generation: u64) -> Result<SyncId> {
        self.build_index();
        let base = self.bases.intern(base)?;
        if let Some(&object) = self.index.get(&(base.0, generation)) {
            return Ok(object);
        }
        if self.objects.len() >= u32::MAX as usize {
            return Err(Error::new(ErrorKind::TooLarge, Position::Nowhere, "more than 4294967295 objects"));
        }
        let object = self.objects.push((base, generation));
        self.index.insert((base.0, generation), object);
        self.indexed = self.objects.len();
        Ok(object)
    }

    /// The base name and generation of an object.
    pub fn get(&self, object: SyncId) -> (&[u8], u64) {
        let (base, generation) = self.objects[object];
        (self.bases.name(base), generation)
    }

    /// The object as text traces write it: `S`, `S#3`.
    pub fn write_name(&self, object: SyncId, out: &mut Vec<u8>) {
        let (base, generation) = self.get(object);
        out.extend_from_slice(base);
        if generation > 0 {
            out.extend_from_slice(format!("#{generation}").as_bytes());
        }
    }

    /// The number of objects.
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Whether there are no objects.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// Appends an object from a file, without a check that it is new.
    pub(crate) fn push_unindexed(&mut self, base: &[u8], generation: u64) -> Result<()> {
        let base = self.bases.intern(base)?;
        self.objects.push((base, generation));
        Ok(())
    }

    fn build_index(&mut self) {
        for at in self.indexed..self.objects.len() {
            let object = SyncId::from_index(at);
            let (base, generation) = self.objects[object];
            self.index.entry((base.0, generation)).or_insert(object);
        }
        self.indexed = self.objects.len();
    }
}

/// Splits `S#3` into `S` and 3; a name without a generation is generation 0.
pub(crate) fn split_generation(name: &[u8]) -> (&[u8], u64) {
    memchr::memrchr(b'#', name)
        .and_then(|hash| {
            let generation = canonical_number(&name[hash + 1..]).filter(|&generation| generation > 0)?;
            (hash > 0).then_some((&name[..hash], generation))
        })
        .unwrap_or((name, 0))
}
