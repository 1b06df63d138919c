//! Several analyses over one reading of a trace.
//!
//! Blocks are read and checked once and handed to every analysis in turn, while they are still in the cache. Time is
//! taken around each analysis' own work, so that figures can be compared without reading the trace once per detector.

use std::time::{Duration, Instant};

use overtake_trace::{
    Block, Checker, EventIndex, EventSource, Landmarks, Misuses, Progress, Repairs, Result, Symbols,
};

use crate::findings::Findings;
use crate::passes::{Analysis, Outcome};
use crate::registry::Entry;
use crate::settings::{Allowance, OptionError, Options};

/// What happens to a trace that is not well formed.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum Strictness {
    /// It is mended, and each kind of repair counted.
    #[default]
    Repair,
    /// It is refused.
    Refuse,
}

impl Strictness {
    /// A checker that is as strict as this.
    pub fn checker(self) -> Checker {
        match self {
            Strictness::Repair => Checker::repairing(),
            Strictness::Refuse => Checker::strict(),
        }
    }
}

/// Analyses of one trace, started together.
pub struct Driver {
    strictness: Strictness,
    /// Nothing more is read once something was found.
    first: bool,
    /// How many events were read until then.
    first_after: Option<u64>,
    allowance: Allowance,
    jobs: Vec<Job>,
    events: u64,
    repairs: Repairs,
    misuses: Misuses,
    landmarks: Landmarks,
    reading: Duration,
}

/// One analysis of a [`Driver`], with what it cost.
pub struct Job {
    /// The detector.
    pub entry: &'static Entry,
    analysis: Analysis,
    outcome: Outcome,
    /// Time spent in the detector, without reading and checking.
    pub time: Duration,
    /// Events of the trace that the detector was given. One that a second pass reads again counts once.
    pub events_read: u64,
    /// How many events of its last pass the detector was given before it was stopped because it took more than it was
    /// allowed; `None` if it was not.
    pub stopped_at: Option<u64>,
    /// The most state it held at the end of a block.
    pub peak_state_bytes: usize,
    /// Which job does its work on the way. Their time and state until then count for both.
    included_in: Option<usize>,
}

impl Job {
    /// Starts the detector at a place among some that run together.
    fn start(
        at: usize,
        entries: &[&'static Entry],
        options: &Options,
    ) -> std::result::Result<Job, OptionError> {
        let entry = entries[at];
        let analysis = entry.analysis(options)?;
        let place_of = |is_it: &dyn Fn(&Entry) -> bool| entries.iter().position(|other| is_it(other));
        // A detector that may be stopped does its own work. Of several that are the same, the first is included.
        let is_first = place_of(&|other| other.name == entry.name) == Some(at);
        let may_share = options.allowance.is_unlimited() && is_first;
        let included_in = place_of(&|other| other.does_work_of(entry)).filter(|_| may_share);
        let includes =
            entry.includes.filter(|_| may_share && place_of(&|other| entry.does_work_of(other)).is_some());
        let analysis = match (included_in, includes) {
            (Some(_), _) => Analysis::included_elsewhere(),
            (None, Some(included)) => (included.start)(options)?,
            (None, None) => analysis,
        };
        Ok(Job {
            entry,
            analysis,
            outcome: Outcome::AnotherPass,
            time: Duration::ZERO,
            events_read: 0,
            stopped_at: None,
            peak_state_bytes: 0,
            included_in,
        })
    }

    /// The races found.
    pub fn findings(&self) -> &Findings {
        self.analysis.findings()
    }

    /// Figures of the detector's own.
    pub fn figures(&self) -> Vec<(&'static str, u64)> {
        self.analysis.figures()
    }

    /// What people must know to understand the result.
    pub fn remarks(&self) -> Vec<String> {
        self.analysis.remarks()
    }

    /// Whether it reads the trace: it is not done, and no other job does its work.
    fn is_at_work(&self) -> bool {
        self.outcome == Outcome::AnotherPass && self.included_in.is_none()
    }

    fn timed<T>(&mut self, work: impl FnOnce(&mut Analysis) -> T) -> T {
        let start = Instant::now();
        let result = work(&mut self.analysis);
        self.time += start.elapsed();
        self.peak_state_bytes = self.peak_state_bytes.max(self.analysis.state_bytes());
        result
    }
}

impl Driver {
    /// Starts the given detectors.
    pub fn start(
        entries: &[&'static Entry],
        options: &Options,
        strictness: Strictness,
    ) -> std::result::Result<Driver, OptionError> {
        let jobs = (0..entries.len()).map(|at| Job::start(at, entries, options));
        let jobs = jobs.collect::<std::result::Result<_, _>>()?;
        Ok(Driver {
            strictness,
            first: options.first,
            first_after: None,
            allowance: options.allowance,
            jobs,
            events: 0,
            repairs: Repairs::default(),
            misuses: Misuses::default(),
            landmarks: Landmarks::default(),
            reading: Duration::ZERO,
        })
    }

    /// Whether some analysis may ask for the trace again, so that an input that can be read once must be kept.
    pub fn may_need_another_pass(&self) -> bool {
        self.jobs.iter().any(|job| job.analysis.readings() > 1)
    }

    /// Takes over the landmarks of another reading of the trace.
    pub fn set_landmarks(&mut self, landmarks: Landmarks) {
        self.landmarks = landmarks;
    }

    /// Hands the whole trace to every analysis that is not done yet. `watch` is called after each block.
    ///
    /// Later passes must get the same events with the same ids: the same input, opened in the same way.
    pub fn pass(&mut self, source: &mut dyn EventSource, watch: &mut dyn FnMut(Progress)) -> Result<Outcome> {
        let mut checker = self.strictness.checker();
        let (mut block, mut ended) = (Block::default(), Vec::new());
        let had_enough = self.is_enough();
        self.events = 0;
        self.landmarks = Landmarks::default();
        loop {
            let start = Instant::now();
            if !source.next_block(&mut block)? {
                break;
            }
            let progress = source.progress();
            source.take_ended(&mut ended);
            let checked = match checker.check(&mut block, source.symbols_mut()) {
                Ok(checked) => checked,
                Err(error) => return Err(source.located(error)),
            };
            self.reading += start.elapsed();
            self.events += checked.len() as u64;
            let next = EventIndex(checked.first().0 + checked.len() as u64);
            for job in self.jobs.iter_mut().filter(|job| job.is_at_work()) {
                job.timed(|analysis| {
                    analysis.end_variables(&ended);
                    analysis.feed(&checked);
                });
                job.events_read = job.events_read.max(self.events);
                if self.allowance.is_exceeded(job.time, job.peak_state_bytes) {
                    job.stopped_at = Some(self.events);
                    job.outcome = Outcome::Done;
                }
            }
            ended.clear();
            self.landmarks.note(&checker, next);
            watch(progress);
            // Whether a prediction from a recording is sure, the whole trace says: what comes after that is read to the end.
            if !had_enough && self.is_enough() {
                self.first_after = Some(self.events);
                break;
            }
            if self.jobs.iter().all(|job| job.stopped_at.is_some()) && !self.jobs.is_empty() {
                break;
            }
        }
        self.repairs = checker.repairs().clone();
        self.misuses = checker.misuses().clone();
        self.landmarks.finish(checker);
        Ok(self.end_of_trace(source.symbols()))
    }

    fn end_of_trace(&mut self, symbols: &Symbols) -> Outcome {
        for job in self.jobs.iter_mut().filter(|job| job.stopped_at.is_some()) {
            job.analysis.abandon(symbols);
        }
        for job in self.jobs.iter_mut().filter(|job| job.is_at_work()) {
            job.outcome = job.timed(|analysis| analysis.end_of_trace(symbols));
        }
        for at in 0..self.jobs.len() {
            self.hand_over_to(at);
        }
        if self.is_enough() {
            let idle = self.jobs.iter_mut().filter(|job| job.findings().is_empty());
            idle.for_each(|job| job.outcome = Outcome::Done);
        }
        match self.jobs.iter().any(Job::is_at_work) {
            true => Outcome::AnotherPass,
            false => Outcome::Done,
        }
    }

    /// Gives a job what another one did for it, if that is done.
    fn hand_over_to(&mut self, at: usize) {
        let Some(by) = self.jobs[at].included_in else { return };
        let giver = &mut self.jobs[by];
        let Some((analysis, outcome)) = giver.analysis.take_included() else { return };
        let (time, events_read, peak_state_bytes) = (giver.time, giver.events_read, giver.peak_state_bytes);
        let job = &mut self.jobs[at];
        *job = Job { analysis, outcome, time, events_read, peak_state_bytes, included_in: None, ..*job };
    }

    /// Whether the first finding was asked for, and is there.
    fn is_enough(&self) -> bool {
        self.first && self.jobs.iter().any(|job| !job.findings().is_empty())
    }

    /// After how many events nothing more was looked for, because the first finding was asked for.
    pub fn first_after(&self) -> Option<u64> {
        self.first_after
    }

    /// The analyses, in the order in which they were given.
    pub fn jobs(&self) -> &[Job] {
        &self.jobs
    }

    /// Events of the trace.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// What was mended in the trace.
    pub fn repairs(&self) -> &Repairs {
        &self.repairs
    }

    /// The misuses that the trace records.
    pub fn misuses(&self) -> &Misuses {
        &self.misuses
    }

    /// Places at which the trace can be read again, unless it was mended.
    pub fn landmarks(&self) -> &Landmarks {
        &self.landmarks
    }

    /// Time spent reading and checking the trace, all passes together.
    pub fn reading(&self) -> Duration {
        self.reading
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meaning::{Notion, Promise};
    use crate::passes::{After, Pass};
    use crate::race::Verdict;
    use crate::registry::Included;
    use crate::run::LiveBlocks;
    use overtake_trace::{Checked, Position, Trace};

    /// Counts events, and asks for as many passes as it was made for.
    struct Counter {
        passes_left: u32,
        events: usize,
    }

    impl Pass for Counter {
        fn feed(&mut self, checked: &Checked<'_>, _: &mut LiveBlocks, _: &mut Findings) {
            self.events += checked.len();
        }

        fn end(mut self: Box<Self>, _: &Symbols, _: &mut Findings) -> After {
            self.passes_left -= 1;
            if self.passes_left == 0 { After::Done(self) } else { After::Pass(self) }
        }

        fn state_bytes(&self) -> usize {
            self.events
        }

        fn readings(&self) -> u32 {
            self.passes_left
        }
    }

    fn counter(passes_left: u32) -> Result<Analysis, OptionError> {
        Ok(Analysis::new(Counter { passes_left, events: 0 }))
    }

    type Result<T, E> = std::result::Result<T, E>;

    const ONE: Entry = Entry {
        name: "one",
        summary: "one pass",
        notion: Notion::HappensBefore,
        promise: Promise::Exact,
        verdict: Verdict::Observed,
        start: |_| counter(1),
        ..Entry::BASIC
    };
    const TWO: Entry = Entry { name: "two", start: |_| counter(2), ..ONE };

    const TRACE: &[u8] = b"T0|acq(m)|1\nT0|rel(m)|2\n# a comment\nT0|rel(m)|3\n";

    fn driver(entries: &[&'static Entry], strictness: Strictness) -> Driver {
        Driver::start(entries, &Options::default(), strictness).expect("counters take any options")
    }

    #[test]
    fn a_trace_in_which_nothing_can_race_is_read_once_by_a_predictor() {
        let syncp = crate::registry::find("syncp").expect("a row");
        let passes = |text: &str| {
            let trace = Trace::parse_std(text.as_bytes()).expect("a good trace");
            let mut driver = driver(&[syncp], Strictness::Repair);
            driver.pass(&mut trace.source(), &mut |_| ()).ok()
        };
        assert_eq!(passes("T0|w(x)|1\nT0|fork(T1)|2\nT1|w(x)|3\nT1|w(y)|4\n"), Some(Outcome::Done));
        assert_eq!(passes("T0|fork(T1)|1\nT0|w(x)|2\nT1|w(x)|3\n"), Some(Outcome::AnotherPass));
        let locked =
            "T0|fork(T1)|1\nT0|acq(m)|2\nT0|w(x)|3\nT0|rel(m)|4\nT1|acq(m)|5\nT1|w(x)|6\nT1|rel(m)|7\n";
        assert_eq!(passes(locked), Some(Outcome::Done));
    }

    #[test]
    fn only_who_asked_sees_the_trace_again() {
        let trace = Trace::parse_std(TRACE).expect("a good trace");
        let mut driver = driver(&[&ONE, &TWO], Strictness::Repair);
        assert!(driver.may_need_another_pass());
        let mut blocks = 0;
        let mut pass = || driver.pass(&mut trace.source().with_block_events(2), &mut |_| blocks += 1).ok();
        assert_eq!(pass(), Some(Outcome::AnotherPass));
        assert_eq!(pass(), Some(Outcome::Done));
        assert_eq!(driver.jobs().iter().map(|job| job.events_read).collect::<Vec<_>>(), [3, 3]);
        assert_eq!(driver.jobs().iter().map(|job| job.peak_state_bytes).collect::<Vec<_>>(), [3, 6]);
        assert_eq!((driver.events(), driver.repairs().total(), blocks), (3, 1, 4));
    }

    /// Does the work of `one` on the way, and then goes on.
    struct Outer;

    impl Pass for Outer {
        fn feed(&mut self, _: &Checked<'_>, _: &mut LiveBlocks, _: &mut Findings) {}

        fn end(self: Box<Self>, _: &Symbols, _: &mut Findings) -> After {
            let included = Box::new(After::Done(Box::new(Counter { passes_left: 0, events: 77 })));
            let own = Box::new(After::Pass(Box::new(Counter { passes_left: 1, events: 0 })));
            After::Split { own, included, found: Box::default() }
        }

        fn state_bytes(&self) -> usize {
            5
        }

        fn readings(&self) -> u32 {
            2
        }
    }

    fn outer(_: &Options) -> Result<Analysis, OptionError> {
        Ok(Analysis::new(Outer))
    }

    const OUTER: Entry =
        Entry { name: "outer", includes: Some(Included { name: "one", start: outer }), ..TWO };

    #[test]
    fn one_run_serves_a_detector_and_the_one_whose_work_it_does() {
        let trace = Trace::parse_std(TRACE).expect("a good trace");
        let states = |entries: &[&'static Entry], options: &Options| {
            let mut driver = Driver::start(entries, options, Strictness::Repair).expect("counters");
            while driver.pass(&mut trace.source(), &mut |_| ()).expect("a trace in memory")
                == Outcome::AnotherPass
            {}
            let states = driver.jobs().iter().map(|job| (job.analysis.state_bytes(), job.events_read));
            states.collect::<Vec<_>>()
        };
        let any = Options::default();
        assert_eq!(states(&[&ONE, &OUTER], &any), [(77, 3), (3, 3)]);
        assert_eq!(states(&[&OUTER, &ONE, &ONE], &any), [(3, 3), (77, 3), (3, 3)]);
        assert_eq!(states(&[&OUTER], &any), [(6, 3)], "alone it is what its row starts");
        let allowance = Allowance { state_bytes: Some(1 << 20), time: None };
        let limited = Options { allowance, ..Options::default() };
        assert_eq!(states(&[&ONE, &OUTER], &limited), [(3, 3), (6, 3)], "each may be stopped");
    }

    #[test]
    fn who_takes_more_than_is_allowed_is_stopped_and_the_others_go_on() {
        let trace = Trace::parse_std(b"T0|w(a)|1\nT0|w(a)|2\nT0|w(a)|3\nT0|w(a)|4\n").expect("a good trace");
        // Its state is the number of events it has seen.
        let allowance = Allowance { state_bytes: Some(1), time: None };
        let options = Options { allowance, ..Options::default() };
        let mut driver = Driver::start(&[&ONE, &TWO], &options, Strictness::Repair).expect("counters");
        let mut source = trace.source().with_block_events(2);
        assert_eq!(driver.pass(&mut source, &mut |_| ()).ok(), Some(Outcome::Done));
        assert_eq!(driver.jobs().iter().map(|job| job.stopped_at).collect::<Vec<_>>(), [Some(2), Some(2)]);

        let allowance = Allowance { state_bytes: Some(5), time: None };
        let options = Options { allowance, ..Options::default() };
        let mut driver = Driver::start(&[&ONE, &TWO], &options, Strictness::Repair).expect("counters");
        for outcome in [Outcome::AnotherPass, Outcome::Done] {
            let mut source = trace.source().with_block_events(2);
            assert_eq!(driver.pass(&mut source, &mut |_| ()).ok(), Some(outcome));
        }
        let stopped: Vec<_> = driver.jobs().iter().map(|job| job.stopped_at).collect();
        assert_eq!(stopped, [None, Some(2)], "in the second pass");
    }

    #[test]
    fn an_input_is_kept_for_every_detector_that_reads_it_again() {
        let trace = Trace::parse_std(b"T0|w(a[1])|1\nT1|w(a[1])|2\n").expect("a good trace");
        for entry in crate::DETECTORS {
            let mut driver = driver(&[entry], Strictness::Repair);
            let keeps = driver.may_need_another_pass();
            let outcome = driver.pass(&mut trace.source(), &mut |_| ()).expect("a trace in memory");
            assert!(keeps || outcome == Outcome::Done, "{}", entry.name);
        }
    }

    #[test]
    fn a_refusal_names_the_line() {
        let mut driver = driver(&[], Strictness::Refuse);
        let error =
            driver.pass(&mut overtake_trace::StdReader::new(TRACE), &mut |_| ()).expect_err("a violation");
        assert_eq!(error.position(), Position::Line { line: 4, column: 1 });
    }
}
