//! Synchronisation objects and descriptors as variables, and freed blocks: how an operation accesses the object itself, besides what it
//! orders.

use overtake_rawlog::{Record, RecordKind};
use overtake_trace::{Action, Event, LocationId, MemoryOrder, MisuseKind, ThreadId};

use super::Merger;
use crate::error::Result;
use crate::memory::Naming;
use crate::scan::{makes_or_ends_object, uses_object};

impl Merger {
    /// Writes the access of an operation to its object or descriptor: creating or destroying an object writes it, using it reads it.
    /// Reads of locks that are not in a heap block, and neither created nor destroyed while there are other threads, are left out.
    pub(super) fn touch_object(
        &mut self,
        record: &Record,
        thread: ThreadId,
        location: LocationId,
    ) -> Result<()> {
        use RecordKind as K;
        let address = record.value;
        let action: fn(_) -> Action = match record.kind {
            K::FdPost | K::FdWait | K::FdMerge | K::FdUse | K::FdClose | K::FdForget | K::FdAlias => {
                return self.touch_descriptor(record, thread, location);
            }
            kind if self.objects.is_static(address, kind, record.extra) => return Ok(()),
            kind if makes_or_ends_object(kind) => Action::Write,
            // An atomic access, as for locks that programs build themselves.
            kind if uses_object(kind) && self.is_mortal(address) => {
                |var| Action::Load(var, MemoryOrder::Relaxed)
            }
            _ => return Ok(()),
        };
        let Merger { symbols, code, memory, events, .. } = self;
        let mut naming = Naming { symbols, code, thread, location, can_wait: false, events };
        memory.variables(address, 1, &mut naming, |var, events| {
            events.push(Event::new(thread, action(var), location));
        })?;
        Ok(())
    }

    /// Whether the object at an address is created, destroyed or freed when other threads may use it. What was found out last is kept until areas change.
    fn is_mortal(&mut self, address: u64) -> bool {
        let slot = (address / 8) as usize % self.mortality.len();
        let changes = self.memory.changes();
        if (self.mortality[slot].0, self.mortality[slot].1) != (address, changes) {
            let is_mortal = self.mortal.contains(&address) || self.memory.is_heap(address);
            self.mortality[slot] = (address, changes, is_mortal);
        }
        self.mortality[slot].2
    }

    /// Opening and closing a descriptor write it, using it reads it.
    fn touch_descriptor(&mut self, record: &Record, thread: ThreadId, location: LocationId) -> Result<()> {
        use RecordKind as K;
        let descriptor = record.value;
        let Merger { symbols, events, descriptors, .. } = self;
        let action = match record.kind {
            K::FdClose => {
                let var = descriptors.variable(descriptor, symbols)?;
                descriptors.closed(descriptor);
                Action::Write(var)
            }
            // An open descriptor is replaced in one step: other threads use either the old or the new one. So this only reads both, and
            // conflicts with who closes one of them.
            K::FdAlias if record.extra == 1 => {
                let old = descriptors.variable(descriptor, symbols)?;
                events.push(Event::new(thread, Action::Read(old), location));
                descriptors.closed(descriptor);
                Action::Read(descriptors.opened(descriptor, (thread, location), symbols)?)
            }
            K::FdForget | K::FdAlias => {
                Action::Write(descriptors.opened(descriptor, (thread, location), symbols)?)
            }
            _ => Action::Read(descriptors.variable(descriptor, symbols)?),
        };
        events.push(Event::new(thread, action, location));
        Ok(())
    }

    /// A block is freed.
    pub(super) fn free(
        &mut self,
        address: u64,
        is_access: bool,
        thread: ThreadId,
        location: LocationId,
    ) -> Result<()> {
        if !is_access {
            self.memory.free_unseen(address);
            return Ok(());
        }
        let Some((block, before)) = self.memory.free(address, thread, location, &mut self.symbols) else {
            return Ok(());
        };
        if before.is_some() && !self.is_complete {
            return Ok(()); // the allocation in between may be lost
        }
        if before == Some(thread) {
            let name = self.symbols.variables.display(block);
            return self.misuse(MisuseKind::DoubleFree, &name, thread, location);
        }
        self.events.push(Event::new(thread, Action::Free(block), location));
        Ok(())
    }

    /// Descriptors of files, pipes and sockets.
    pub(super) fn use_descriptor(&mut self, record: &Record) -> Result<Option<Action>> {
        let (descriptor, other) = (record.value, record.words[2]);
        let Merger { symbols, objects, .. } = self;
        Ok(match record.kind {
            RecordKind::FdPost => Some(Action::Post(objects.descriptor(descriptor, symbols)?)),
            RecordKind::FdWait => Some(Action::Wait(objects.descriptor(descriptor, symbols)?)),
            RecordKind::FdMerge => objects.merge_descriptors(descriptor, other, symbols)?.map(Action::Wait),
            RecordKind::FdAlias => {
                objects.alias_descriptor(descriptor, other);
                None
            }
            RecordKind::FdClose => {
                let object = objects.descriptor(descriptor, symbols)?;
                objects.forget_descriptor(descriptor);
                Some(Action::Post(object))
            }
            RecordKind::FdForget => {
                objects.forget_descriptor(descriptor);
                None
            }
            _ => None,
        })
    }
}
