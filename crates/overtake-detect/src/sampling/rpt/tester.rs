//! Windows read at random and judged in parallel.
//!
//! Each worker takes the next window that nobody has taken, so that long ones keep nobody waiting. What a window shows does
//! not depend on who judges it, and the logs are put together in the order of the windows: the result does not depend on
//! the number of workers. Where the checker had to invent names to mend a window, which changes what ids mean, the window is
//! judged once more at the end, by one worker, whose names are those of the result.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use overtake_trace::{Block, Checker, Result, Symbols};

use super::judge::{Judge, WindowJudge};
use super::plan::Plan;
use crate::race::RaceLog;

/// A trace of which any part can be read, by several threads at once.
pub trait RandomAccess: Sync {
    /// The names.
    fn symbols(&self) -> Result<&Symbols>;

    /// Replaces the contents of `block` by the events from `range.start` on: at least one, and none from `range.end` on.
    fn read(&self, range: Range<u64>, block: &mut Block) -> Result<()>;
}

/// What a test found.
#[derive(Debug)]
pub struct Tested {
    /// The races.
    pub races: RaceLog,
    /// The names that the races go by.
    pub symbols: Symbols,
    /// The most state that workers held, all together.
    pub peak_state_bytes: usize,
    /// How often something in the windows had to be mended.
    pub repairs: u64,
}

/// Judges the windows of a plan, by so many workers.
pub fn test(source: &dyn RandomAccess, plan: &Plan, judge: Judge, workers: usize) -> Result<Tested> {
    let symbols = source.symbols()?;
    let next = AtomicUsize::new(0);
    let work = || -> Result<(Vec<(usize, Option<RaceLog>)>, Worker<'_>)> {
        let mut worker = Worker::new(source, symbols.clone(), judge);
        let mut logs = Vec::new();
        while let Some(window) = plan.windows.get(next.fetch_add(1, Ordering::Relaxed)) {
            // Windows start at different places.
            let number = plan.windows.partition_point(|other| other.start < window.start);
            let names = worker.symbols.sizes();
            let log = worker.judge(window.clone())?;
            logs.push((number, (worker.symbols.sizes() == names).then_some(log)));
        }
        Ok((logs, worker))
    };
    let workers = workers.clamp(1, plan.windows.len().max(1));
    let finished: Vec<_> = thread::scope(|scope| {
        let spawned: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        let join = |worker: thread::ScopedJoinHandle<'_, _>| {
            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        spawned.into_iter().map(join).collect()
    });
    let (mut logs, mut peak_state_bytes, mut repairs) = (Vec::new(), 0, 0);
    for result in finished {
        let (some, worker) = result?;
        logs.extend(some);
        peak_state_bytes += worker.peak_state_bytes;
        repairs += worker.repairs();
    }
    logs.sort_unstable_by_key(|&(number, _)| number);
    let mut last = Worker::new(source, symbols.clone(), judge);
    let mut races = RaceLog::new();
    for (number, log) in logs {
        let log = match log {
            Some(log) => log,
            None => last.judge(plan.windows[number].clone())?,
        };
        races.absorb(&log, |var| var);
    }
    Ok(Tested { races, symbols: last.symbols, peak_state_bytes, repairs })
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
            judge: judge.new(),
            checkers: [Checker::repairing(), Checker::repairing_mid_trace()],
            block: Block::default(),
            peak_state_bytes: 0,
        }
    }

    fn judge(&mut self, window: Range<u64>) -> Result<RaceLog> {
        let mut races = RaceLog::new();
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
