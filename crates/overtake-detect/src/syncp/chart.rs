//! Predictions from recordings: what reads may have seen, and the closure over all of it.
//!
//! In a recording a read needs every write that it may have seen (`sources.rs`), earlier or later in the trace. So whether a
//! pair is a race can depend on events far behind it, and a closed set may contain either access of the pair: then it is none.
//!
//! The detector finds races with one source for each read, the write that stands before it in the trace. A race that it
//! does not observe is *predicted* if the closure over all sources supports it, else it is *possible*. The support is
//! asked of a chart: all critical sections of the trace, and all reads of racy variables with their sources. It takes a reading
//! of the trace of its own to draw the chart, because sources may come later than the race.
//!
//! **Times.** Reads of racy variables that may have sources of their own end their thread's time, while the chart is drawn and
//! when it is used, so that a read is inside a closed set if its time is. They are entered like sections.
//! **Closure.** A closed set of the narrow closure is part of that of the wide one. So narrow clocks, which are at hand, say what
//! precedes an access; the chart adds the rest.
//! **Cost.** Nothing for text traces, and for recordings without a race that only a prediction finds. Else readings
//! of the trace and memory for all critical sections and racy reads.

use overtake_clock::{Epoch, Time};
use overtake_trace::{Id, IdVec, ThreadId, VarId};
use rustc_hash::FxHashSet;

use super::clocks::Clocks;
use super::closure::{Buffers, Changes, Ideal, LockTable, NO_GOAL};
use super::sections::Sections;
use crate::access::{AccessKind, At};
use crate::hb::SyncClocks;
use crate::sources::{Reads, Seen, Sources};

/// The variables with a happens-before race, of a recording.
#[derive(Clone, Default, Debug)]
pub(super) struct RacyVariables {
    pub(super) variables: FxHashSet<VarId>,
}

/// What a detector knows of the racy reads of a recording.
#[derive(Debug)]
pub(super) struct RacyReads {
    racy: RacyVariables,
    reads: Reads,
    /// Accesses to racy variables of the event that is going on.
    current: Vec<(VarId, AccessKind, Seen<Place>)>,
    ends_time: bool,
    use_: Use,
}

/// What the reads are wanted for.
#[derive(Debug)]
enum Use {
    Drawing(Sources<Place>),
    Asking(Box<Chart>),
}

/// Where an access is: the time that a write ended, the number of a read.
#[derive(Clone, Copy, Debug)]
struct Place {
    write: Epoch,
    read: u32,
    at: At,
    var: VarId,
}

impl RacyReads {
    /// For a reading of the trace that draws the chart.
    pub(super) fn drawing(racy: RacyVariables) -> RacyReads {
        RacyReads::new(racy, Use::Drawing(Sources::default()))
    }

    /// For a reading of the trace that uses it.
    fn asking(racy: RacyVariables, chart: Chart) -> RacyReads {
        RacyReads::new(racy, Use::Asking(Box::new(chart)))
    }

    fn new(racy: RacyVariables, use_: Use) -> RacyReads {
        RacyReads { racy, reads: Reads::default(), current: Vec::new(), ends_time: false, use_ }
    }

    /// Whether the chart is being drawn, so that nothing is to be reported.
    pub(super) fn is_drawing(&self) -> bool {
        matches!(self.use_, Use::Drawing(_))
    }

    /// An access of the event that is going on, when its thread knows what it acquires.
    pub(super) fn access(&mut self, at: At, var: VarId, kind: AccessKind, order: &SyncClocks) {
        if !self.racy.variables.contains(&var) {
            return;
        }
        let clock = order.thread(at.thread);
        let epoch = clock.epoch();
        let is_new = self.reads.is_new(var, kind, epoch, clock);
        self.ends_time |= is_new;
        if self.is_drawing() && (is_new || kind.writes()) {
            let place = Place { write: Epoch::NONE, read: 0, at, var };
            self.current.push((var, kind, Seen::new(at.index, kind, epoch, clock, place)));
        }
    }

    /// The event is about to be over and saw what it saw. Returns whether it ends its thread's time.
    pub(super) fn end_reading(&mut self, thread: ThreadId, clocks: &mut Clocks) -> bool {
        let ends_time = std::mem::take(&mut self.ends_time);
        if ends_time && self.is_drawing() {
            let read = clocks.record_read(thread);
            self.current.iter_mut().for_each(|(.., seen)| seen.place_mut().read = read);
        }
        ends_time
    }

    /// The event is over, and with it its thread's time if it wrote.
    pub(super) fn end(&mut self, time: Option<Epoch>) {
        let Use::Drawing(sources) = &mut self.use_ else { return };
        for (var, kind, mut seen) in self.current.drain(..) {
            if let Some(epoch) = time.filter(|_| kind.writes()) {
                seen.place_mut().write = epoch;
            }
            sources.note(var, kind, seen);
        }
    }

    /// The chart is drawn: what the next reading needs.
    pub(super) fn finish(self, clocks: Clocks) -> RacyReads {
        let Use::Drawing(sources) = self.use_ else { return self };
        let mut sections = clocks.sections;
        let mut reads: Vec<Option<(At, VarId)>> = vec![None; sections.seen.len()];
        for (read, seen) in sources.of_reads() {
            sections.seen[read.read as usize].extend(seen.iter().map(|write| write.write));
            reads[read.read as usize] = Some((read.at, read.var));
        }
        let chart = Chart { sections, reads, ..Chart::default() };
        RacyReads::asking(self.racy, chart)
    }

    pub(super) fn state_bytes(&self) -> usize {
        match &self.use_ {
            Use::Drawing(_) => 0,
            Use::Asking(chart) => chart.state_bytes(),
        }
    }

    /// The chart, if it is drawn.
    pub(super) fn chart(&mut self) -> Option<&mut Chart> {
        match &mut self.use_ {
            Use::Drawing(_) => None,
            Use::Asking(chart) => Some(chart),
        }
    }
}

/// All sections and racy reads of a trace, and closed sets over them.
#[derive(Default, Debug)]
pub(super) struct Chart {
    sections: Sections,
    /// Where the reads are, by number, and what they read.
    reads: Vec<Option<(At, VarId)>>,
    /// The closed past of each thread, as far as anyone asked.
    pasts: IdVec<ThreadId, Option<Ideal<LockTable>>>,
    pending: Vec<Epoch>,
    buffers: Buffers,
    changes: Changes,
}

/// The number of the thread that owns closed sets which belong to no thread.
const NOBODY: ThreadId = ThreadId(u32::MAX);

/// What precedes an access.
#[derive(Clone, Copy, Debug)]
pub(super) struct Past<'a> {
    /// The access.
    pub(super) access: Epoch,
    /// What its thread did and had learned, as far as it is not known otherwise.
    pub(super) learned: &'a [Epoch],
}

impl Chart {
    /// Whether the closure of what precedes the two accesses contains neither of them. What the second one's thread knows of others are `times`.
    pub(super) fn supports(&mut self, first: Past<'_>, second: Past<'_>, times: &[Time]) -> bool {
        let Chart { sections, pasts, pending, buffers, changes, .. } = self;
        let past = pasts.entry(ThreadId(second.access.thread));
        let past = past.get_or_insert_with(|| Ideal::new(NOBODY, LockTable::default()));
        past.extend_by_all(second.learned, times, sections, pending, NO_GOAL);
        if past.covers(first.access) || past.covers(second.access) {
            return false;
        }
        let mut both = past.overlaid(changes, std::mem::take(buffers));
        let reached = both.extend_by_all(first.learned, &[], sections, pending, first.access)
            || both.covers(second.access);
        *buffers = both.into_buffers();
        !reached
    }

    /// Reads inside a set with times `inside` that may have seen a write outside.
    pub(super) fn open_reads(&self, inside: &[Time], most: usize) -> Vec<(At, VarId)> {
        let covers = |epoch: Epoch| inside.get(epoch.thread as usize).is_some_and(|&time| time >= epoch.time);
        let mut open = Vec::new();
        for (thread, &time) in inside.iter().enumerate() {
            for read in self.sections.reads_until(ThreadId::from_index(thread), time) {
                let seen = &self.sections.seen[read as usize];
                if open.len() < most && !seen.iter().all(|&write| covers(write)) {
                    open.extend(self.reads[read as usize]);
                }
            }
        }
        open.sort_unstable_by_key(|(at, _)| at.index);
        open
    }

    pub(super) fn state_bytes(&self) -> usize {
        let pasts: usize = self.pasts.iter().flatten().map(Ideal::state_bytes).sum();
        let seen: usize = self.sections.seen.iter().map(|seen| seen.capacity() * size_of::<Epoch>()).sum();
        self.sections.state_bytes() + pasts + seen + self.reads.capacity() * size_of::<Option<(At, VarId)>>()
    }
}
