//! Writes small traces by names.

use overtake_trace::{Action, Event, EventIndex, LocationId, LockId, ThreadId, Trace, VarId};

/// A trace under construction. Names are added when they are first used.
#[derive(Default, Debug)]
pub(super) struct Writer {
    trace: Trace,
}

impl Writer {
    pub(super) fn acquire(&mut self, thread: &str, lock: &str) -> EventIndex {
        let lock = self.lock(lock);
        self.push(thread, Action::Acquire(lock))
    }

    pub(super) fn release(&mut self, thread: &str, lock: &str) -> EventIndex {
        let lock = self.lock(lock);
        self.push(thread, Action::Release(lock))
    }

    pub(super) fn read(&mut self, thread: &str, var: &str) -> EventIndex {
        let var = self.var(var);
        self.push(thread, Action::Read(var))
    }

    pub(super) fn write(&mut self, thread: &str, var: &str) -> EventIndex {
        let var = self.var(var);
        self.push(thread, Action::Write(var))
    }

    /// An empty section.
    pub(super) fn cs(&mut self, thread: &str, lock: &str) {
        self.acquire(thread, lock);
        self.release(thread, lock);
    }

    /// A section that depends on all earlier ones of its kind.
    pub(super) fn sync(&mut self, thread: &str, lock: &str) {
        let var = format!("v_{lock}");
        self.acquire(thread, lock);
        self.read(thread, &var);
        self.write(thread, &var);
        self.release(thread, lock);
    }

    /// A section of several locks around one access.
    pub(super) fn guarded(
        &mut self,
        thread: &str,
        locks: &[String],
        access: impl FnOnce(&mut Writer) -> EventIndex,
    ) -> EventIndex {
        for lock in locks {
            self.acquire(thread, lock);
        }
        let at = access(self);
        for lock in locks.iter().rev() {
            self.release(thread, lock);
        }
        at
    }

    pub(super) fn var(&mut self, name: &str) -> VarId {
        self.trace.symbols.variables.intern(name.as_bytes()).expect("gadgets are small")
    }

    pub(super) fn finish(self) -> Trace {
        self.trace
    }

    fn lock(&mut self, name: &str) -> LockId {
        self.trace.symbols.locks.intern(name.as_bytes()).expect("gadgets are small")
    }

    fn push(&mut self, thread: &str, action: Action) -> EventIndex {
        let symbols = &mut self.trace.symbols;
        let thread: ThreadId = symbols.threads.intern(thread.as_bytes()).expect("gadgets are small");
        let event = Event::new(thread, action, LocationId::UNKNOWN);
        let line = format!("gadget.c:{}", 10 + event.op() as u32);
        let location = symbols.locations.intern(line.as_bytes()).expect("gadgets are small");
        self.trace.events.push(Event::new(thread, action, location));
        EventIndex(self.trace.events.len() as u64 - 1)
    }
}
