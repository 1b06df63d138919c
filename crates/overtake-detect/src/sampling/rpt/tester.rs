//! Windows read at random and judged in parallel.
//!
//! Each worker takes the next window that is not taken, so that no worker waits for a long window. What a window shows does
//! not depend on the worker, and the logs are put together in the order of the windows: the result does not depend on
//! the number of workers. Where the checker had to invent names to mend a window, which changes what ids mean, the window is
//! judged once more at the end, by one worker, whose names are those of the result.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use overtake_trace::{Block, Checker, Result, Symbols};

use super::judge::{Judge, WindowJudge};
use super::plan::Plan;
use crate::findings::Findings;

/// A trace of which any part can be read, by several threads at once.
pub trait RandomAccess: Sync {
    /// The names.
    fn symbols(&self) -> Result<&Symbols>;

    /// Replaces the contents of `block` by the events from `range.start` on: at least one, and none from `range.end` on.
    fn read(&self, range: Range<u64>, block: &mut Block) -> Result<()>;
}

/// When to stop before all windows are judged.
#[derive(Clone, Copy, Default, Debug)]
pub struct Stop {
    /// At the first window with a race.
    pub at_first_race: bool,
    /// When no time is left.
    pub at: Option<Instant>,
}

/// What a test found.
#[derive(Debug)]
pub struct Tested {
    /// The races.
    pub races: Findings,
    /// The names that the races go by.
    pub symbols: Symbols,
    /// Whether all windows were judged, or as many as it took to find a race.
    pub is_complete: bool,
    /// Events of the windows that were judged.
    pub events: u64,
    /// The most state that workers held, all together.
    pub peak_state_bytes: usize,
    /// How often something in the windows had to be mended.
    pub repairs: u64,
}

/// Judges the windows of a plan with this many workers.
pub fn test(
    source: &dyn RandomAccess,
    plan: &Plan,
    judge: Judge,
    workers: usize,
    stop: Stop,
) -> Result<Tested> {
    let symbols = source.symbols()?;
    let new_worker = || Worker::new(source, symbols.clone(), judge);
    let finished = Queue::new(&plan.windows, stop).work_in_parallel(workers, new_worker);
    let mut judged = Vec::new();
    let mut last = new_worker();
    let (mut peak_state_bytes, mut repairs) = (0, 0);
    for result in finished {
        let (some, worker) = result?;
        judged.extend(some);
        peak_state_bytes += worker.peak_state_bytes;
        repairs += worker.repairs();
    }
    judged.sort_unstable_by_key(|judged| judged.window);
    let mut tested = Tested {
        races: Findings::new(),
        symbols: Symbols::default(),
        is_complete: judged.len() == plan.windows.len(),
        events: 0,
        peak_state_bytes,
        repairs,
    };
    for JudgedWindow { window, races } in judged {
        let range = plan.windows[window].clone();
        tested.events += range.end - range.start;
        let races = match races {
            Some(races) => races,
            None => last.judge(range)?,
        };
        tested.races.absorb(&races, |var| var);
        if stop.at_first_race && !races.is_empty() {
            // Windows are handed out in order, so all before this one were judged, whatever became of later ones.
            tested.is_complete = true;
            break;
        }
    }
    tested.symbols = last.symbols;
    if tested.symbols.program.is_recorded() {
        // What racy reads saw depends on the whole recording, of which only windows were read.
        tested.races.call_predictions_possible();
    }
    Ok(tested)
}

/// A window that was judged.
struct JudgedWindow {
    window: usize,
    /// None if the ids of the races may be other ones than the trace's.
    races: Option<Findings>,
}

/// Windows to be judged.
struct Queue<'a> {
    windows: &'a [Range<u64>],
    next: AtomicUsize,
    is_over: AtomicBool,
    stop: Stop,
}

/// The windows that a worker judged, and the worker, when it has nothing left to do.
type Finished<'a> = Result<(Vec<JudgedWindow>, Worker<'a>)>;

impl<'w> Queue<'w> {
    fn new(windows: &'w [Range<u64>], stop: Stop) -> Queue<'w> {
        Queue { windows, next: AtomicUsize::new(0), is_over: AtomicBool::new(false), stop }
    }

    /// Judges all windows with this many workers.
    fn work_in_parallel<'a>(
        &self,
        workers: usize,
        new_worker: impl Fn() -> Worker<'a> + Sync,
    ) -> Vec<Finished<'a>> {
        let work = || self.work(new_worker());
        let workers = workers.clamp(1, self.windows.len().max(1));
        thread::scope(|scope| {
            // Where no thread can be started, this one does the work of all.
            let spawned = (1..workers).map_while(|_| thread::Builder::new().spawn_scoped(scope, work).ok());
            let spawned: Vec<_> = spawned.collect();
            let own = work();
            let join = |worker: thread::ScopedJoinHandle<'_, _>| {
                worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            std::iter::once(own).chain(spawned.into_iter().map(join)).collect()
        })
    }

    /// Judges windows as long as there are any.
    fn work<'a>(&self, mut worker: Worker<'a>) -> Finished<'a> {
        let mut judged = Vec::new();
        while !self.is_over.load(Ordering::Relaxed) && self.stop.at.is_none_or(|end| Instant::now() < end) {
            let window = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(range) = self.windows.get(window) else { break };
            let names = worker.symbols.sizes();
            let races = worker.judge(range.clone())?;
            if self.stop.at_first_race && !races.is_empty() {
                self.is_over.store(true, Ordering::Relaxed);
            }
            judged.push(JudgedWindow { window, races: (worker.symbols.sizes() == names).then_some(races) });
        }
        Ok((judged, worker))
    }
}

/// Judges windows, one after the other.
struct Worker<'a> {
    source: &'a dyn RandomAccess,
    symbols: Symbols,
    judge: Box<dyn WindowJudge>,
    /// For the window that begins with the trace, if it comes here, and for all others.
    checkers: [Checker; 2],
    block: Block,
    peak_state_bytes: usize,
}

impl<'a> Worker<'a> {
    fn new(source: &'a dyn RandomAccess, symbols: Symbols, judge: Judge) -> Worker<'a> {
        Worker {
            source,
            symbols,
            judge: judge.start(),
            checkers: [Checker::repairing(), Checker::repairing_mid_trace()],
            block: Block::default(),
            peak_state_bytes: 0,
        }
    }

    fn judge(&mut self, window: Range<u64>) -> Result<Findings> {
        let mut races = Findings::new();
        let checker = &mut self.checkers[usize::from(window.start > 0)];
        checker.begin_window();
        self.judge.begin(window.start);
        let mut next = window.start;
        while next < window.end {
            self.source.read(next..window.end, &mut self.block)?;
            next += self.block.events.len() as u64;
            let checked = checker.check(&mut self.block, &mut self.symbols)?;
            self.judge.feed(&checked, window.clone(), &mut races);
        }
        self.judge.end(&self.symbols, &mut races);
        self.peak_state_bytes = self.peak_state_bytes.max(self.judge.state_bytes());
        Ok(races)
    }

    fn repairs(&self) -> u64 {
        self.checkers.iter().map(|checker| checker.repairs().total()).sum()
    }
}
