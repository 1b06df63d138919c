//! The accesses that an access conflicts with.

use overtake_trace::{EventIndex, EventSource, Result, VarId};
use rustc_hash::FxHashMap;

use crate::access::{Access, AccessKind, At};
use crate::run::{LiveBlocks, read_checked, visit};
use crate::visitor::{Touch, Visitor};

/// What an access conflicts with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Partners {
    /// The access, if the event is one.
    pub access: Option<At>,
    /// The conflicting accesses of other threads, in the order of the trace.
    pub conflicting: Vec<At>,
}

/// Finds the accesses that the access at an event conflicts with, in one reading of the trace.
pub fn partners(source: &mut dyn EventSource, event: EventIndex) -> Result<Partners> {
    let mut accesses = Accesses { event: Some(event), ..Accesses::default() };
    let mut blocks = LiveBlocks::new();
    read_checked(source, None, |checked| visit(&mut accesses, &mut blocks, checked))?;
    Ok(accesses.partners())
}

#[derive(Default, Debug)]
struct Accesses {
    event: Option<EventIndex>,
    asked: Option<At>,
    /// What the event touches.
    touched: Vec<(VarId, AccessKind)>,
    by_variable: FxHashMap<VarId, Vec<Access>>,
}

impl Accesses {
    fn partners(&self) -> Partners {
        let mut conflicting: Vec<At> = Vec::new();
        for (var, kind) in &self.touched {
            let others = self.by_variable.get(var).into_iter().flatten();
            let others = others.filter(|other| other.kind.conflicts(*kind)).map(|other| other.at);
            conflicting.extend(others.filter(|at| self.asked.is_some_and(|asked| asked.thread != at.thread)));
        }
        conflicting.sort_unstable_by_key(|at| at.index);
        conflicting.dedup();
        Partners { access: self.asked, conflicting }
    }
}

impl Visitor for Accesses {
    fn access(&mut self, at: At, touch: Touch<'_>) {
        if Some(at.index) == self.event {
            self.asked = Some(at);
            self.touched = touch.each().collect();
        }
        for (var, kind) in touch.each() {
            self.by_variable.entry(var).or_default().push(Access { at, kind });
        }
    }
}
