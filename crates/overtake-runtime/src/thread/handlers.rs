//! Signal handlers on a thread. They do not inherit what the interrupted code ignores.

use super::ThreadState;

impl ThreadState {
    /// A signal handler starts. It does not inherit what the interrupted code ignores. Returns what to restore at its end.
    pub(crate) fn enter_handler(&self) -> [u32; 3] {
        self.handlers.set(self.handlers.get().saturating_add(1));
        let ignored = self.ignored();
        self.set_ignored([0; 3]);
        ignored
    }

    /// A signal handler returns.
    pub(crate) fn leave_handler(&self, ignored: [u32; 3]) {
        self.handlers.set(self.handlers.get().saturating_sub(1));
        self.set_ignored(ignored);
    }

    /// The thread jumps (`longjmp`): it leaves the signal handlers that run on it.
    pub(crate) fn jumps(&self) {
        self.handlers.set(0);
    }

    /// Whether a signal handler runs on this thread.
    #[inline]
    pub(crate) fn is_in_handler(&self) -> bool {
        self.handlers.get() != 0
    }

    fn ignored(&self) -> [u32; 3] {
        [self.ignore_reads.get(), self.ignore_writes.get(), self.ignore_sync.get()]
    }

    fn set_ignored(&self, [reads, writes, sync]: [u32; 3]) {
        self.ignore_reads.set(reads);
        self.ignore_writes.set(writes);
        self.ignore_sync.set(sync);
        self.tell_recorder();
    }
}
