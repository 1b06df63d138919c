//! How each variable is used: guarded by a lock, constant, or private to a thread.

use crate::parameters::{Parameter, ParameterError, Parameters, within};
use crate::rng::Rng;

/// Most fields of an object. Sections access a few fields of one object, as methods do.
const FIELDS: u32 = 8;
/// Elements of a heap block.
pub(crate) const BLOCK_ELEMENTS: u32 = 4;

/// A run of consecutive variable ids.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Region {
    pub(crate) first: u32,
    pub(crate) count: u32,
}

/// The ids of each kind of variable. All of them count towards the requested number of variables.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    /// Objects of `fields` variables each; object `o` is guarded by lock `o % locks`.
    pub(crate) guarded: Region,
    pub(crate) fields: u32,
    locks: u32,
    /// Every lock guards this many objects, and the first `locks_with_one_more` locks one more.
    objects_per_lock: u32,
    locks_with_one_more: u32,
    /// Read by everybody, written by nobody.
    pub(crate) constants: Region,
    /// `private_each` variables per thread.
    private_first: u32,
    pub(crate) private_each: u32,
    /// Objects of each thread, and of constants.
    pub(crate) private_objects: u32,
    constant_objects: u32,
    /// Accessed by the main thread alone.
    pub(crate) main_only: u32,
    /// One flag per lock, where locks are built from atomics.
    pub(crate) flags: Region,
    pub(crate) atomics: Region,
    /// Variables that a surrounding generator uses for itself.
    pub(crate) reserved: Region,
    /// Elements of heap blocks, [`BLOCK_ELEMENTS`] per block, then one variable per block.
    pub(crate) blocks: Region,
}

/// What the layout has besides guarded and private variables.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Extras {
    pub(crate) constants: bool,
    pub(crate) atomics: bool,
    pub(crate) reserved: u32,
}

impl Layout {
    pub(crate) fn new(parameters: &Parameters, extras: Extras) -> Result<Layout, ParameterError> {
        let (threads, locks) = (parameters.threads as u32, parameters.locks as u32);
        let special = if extras.atomics { u64::from(locks) + 16 } else { 0 };
        let least = 2 + u64::from(extras.reserved) + 2 * special;
        within(Parameter::Variables, parameters.variables, least, u64::MAX)?;
        let mut layout = Layout {
            guarded: Region::default(),
            fields: 1,
            locks,
            objects_per_lock: 0,
            locks_with_one_more: 0,
            constants: Region::default(),
            private_first: 0,
            private_each: 0,
            private_objects: 0,
            constant_objects: 0,
            main_only: 0,
            flags: Region::default(),
            atomics: Region::default(),
            reserved: Region::default(),
            blocks: Region::default(),
        };
        // Scalars first, then the blocks, whose tables are filled afterwards.
        let blocks = if extras.atomics { parameters.variables as u32 / 16 } else { 0 };
        let mut left = parameters.variables as u32 - 1 - extras.reserved - blocks * (BLOCK_ELEMENTS + 1);
        if extras.atomics {
            left -= locks + 16;
        }
        let private = (f64::from(left) * (1.0 - parameters.sharing)) as u32;
        layout.private_each = private / threads;
        let mut shared = left - layout.private_each * threads;
        if extras.constants {
            layout.constants.count = shared / 2;
            shared -= layout.constants.count;
        }
        layout.fields = (shared / locks.max(1)).clamp(1, FIELDS);
        layout.guarded.count = shared;
        layout.objects_per_lock = shared / layout.fields / locks.max(1);
        layout.locks_with_one_more = shared / layout.fields % locks.max(1);
        layout.private_objects = layout.private_each / layout.private_fields().max(1);
        layout.constant_objects = layout.constants.count / layout.constant_fields().max(1);
        layout.constants.first = shared;
        layout.private_first = shared + layout.constants.count;
        layout.main_only = layout.private_first + layout.private_each * threads;
        layout.reserved = Region { first: layout.main_only + 1, count: extras.reserved };
        let atomics = layout.reserved.first + extras.reserved;
        if extras.atomics {
            layout.flags = Region { first: atomics, count: locks };
            layout.atomics = Region { first: atomics + locks, count: 16 };
        }
        layout.blocks = Region { first: atomics + layout.flags.count + layout.atomics.count, count: blocks };
        Ok(layout)
    }

    /// Number of variables that are not part of heap blocks.
    pub(crate) fn scalars(&self) -> u32 {
        self.blocks.first
    }

    /// The first variable of a random object that `lock` guards, if it guards any.
    #[inline]
    pub(crate) fn object(&self, lock: u32, rng: &mut Rng) -> Option<u32> {
        let guarded_by_lock = self.objects_per_lock + u32::from(lock < self.locks_with_one_more);
        if guarded_by_lock == 0 {
            return None;
        }
        Some((lock + self.locks * rng.below(guarded_by_lock)) * self.fields)
    }

    /// The lock that guards a variable of the guarded region.
    pub(crate) fn lock_of(&self, var: u32) -> u32 {
        (var / self.fields) % self.locks
    }

    /// How many fields a private object has.
    pub(crate) fn private_fields(&self) -> u32 {
        self.private_each.min(FIELDS)
    }

    /// The first variable of a private object.
    #[inline]
    pub(crate) fn private(&self, thread: u32, object: u32) -> u32 {
        self.private_first + thread * self.private_each + object * self.private_fields()
    }

    /// The first variable of a random constant object.
    #[inline]
    pub(crate) fn constant(&self, rng: &mut Rng) -> u32 {
        self.constants.first + rng.below(self.constant_objects) * self.constant_fields()
    }

    /// How many fields a constant object has.
    pub(crate) fn constant_fields(&self) -> u32 {
        self.constants.count.min(FIELDS)
    }
}
