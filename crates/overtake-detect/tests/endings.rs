//! Variables that no further event names: what is kept of them is forgotten, and nothing else changes.

mod common;

use std::ops::Range;

use overtake_detect::{DETECTORS, Driver, Entry, Job, Options, Outcome, Strictness, find};
use overtake_oracle::random::Shape;
use overtake_oracle::{for_each_random_trace, random_traces, same};
use overtake_trace::{Block, EventSource, Id, MemorySource, OperandKind, Symbols, Trace, VarId, Variable};

use common::run;

/// Says of each variable when it has ended, as sealing does: a heap block with all its elements.
struct Ending<'a> {
    source: MemorySource<'a>,
    /// The last event that names each variable, or another one of its array.
    last: Vec<u64>,
    next: u64,
    ended: Vec<bool>,
}

impl<'a> Ending<'a> {
    fn new(trace: &'a Trace, block_events: usize) -> Ending<'a> {
        let variables = &trace.symbols.variables;
        let all = || (0..variables.len()).map(VarId::from_index);
        let mut last = vec![0; variables.len()];
        for (at, event) in trace.events.iter().enumerate() {
            if event.op().operand_kind() == OperandKind::Variable {
                last[event.operand() as usize] = at as u64;
            }
        }
        let array = |var| match variables.get(var) {
            Variable::Element { array, .. } | Variable::Block(array) => Some(array),
            Variable::Named(_) => None,
        };
        let of_array = |var: VarId| {
            let alike =
                all().filter(|&other| other == var || (array(var).is_some() && array(var) == array(other)));
            alike.map(|other| last[other.index()]).max()
        };
        let last = match variables.array_count() {
            0 => last,
            _ => all().map(|var| of_array(var).unwrap_or_default()).collect(),
        };
        let ended = vec![false; last.len()];
        Ending { source: trace.source().with_block_events(block_events), last, next: 0, ended }
    }
}

impl EventSource for Ending<'_> {
    fn next_block(&mut self, block: &mut Block) -> overtake_trace::Result<bool> {
        let found = self.source.next_block(block)?;
        self.next = block.first.0;
        Ok(found)
    }

    fn take_ended(&mut self, ended: &mut Vec<Range<VarId>>) {
        for (at, last) in self.last.iter().enumerate() {
            if *last < self.next && !std::mem::replace(&mut self.ended[at], true) {
                ended.push(VarId::from_index(at)..VarId::from_index(at + 1));
            }
        }
    }

    fn symbols(&self) -> &Symbols {
        self.source.symbols()
    }

    fn symbols_mut(&mut self) -> &mut Symbols {
        self.source.symbols_mut()
    }
}

fn run_with_endings<T>(
    entry: &'static Entry,
    trace: &Trace,
    block_events: usize,
    look: impl FnOnce(&Job) -> T,
) -> T {
    let mut driver =
        Driver::start(&[entry], &Options::default(), Strictness::Repair).expect("options that fit");
    loop {
        let mut source = Ending::new(trace, block_events);
        if driver.pass(&mut source, &mut |_| ()).expect("ids in range") == Outcome::Done {
            return look(&driver.jobs()[0]);
        }
    }
}

/// What a detector found, in words.
fn found(job: &Job) -> String {
    format!(
        "{:?} {:?} {:?}",
        job.findings().groups(),
        job.findings().deadlocks(),
        job.findings().racy_events()
    )
}

#[test]
fn every_detector_finds_the_same_if_it_is_told_which_variables_have_ended() {
    let mut shapes = Shape::all_well_formed(26);
    shapes.push(Shape { threads: 3, variables: 8, locks: 2, ..Shape::everything() }.with_events(60));
    for entry in DETECTORS {
        for_each_random_trace(&shapes, random_traces(300), |trace| {
            let expected = run(entry, &Options::default(), trace, found);
            same(entry.name, [expected], [run_with_endings(entry, trace, 3, found)])
        });
    }
}

/// Two threads use one variable after the other, of which some race.
fn many_short_lives(variables: u32) -> Trace {
    let mut text = String::from("T0|fork(T1)|1\n");
    for var in 0..variables {
        let lock = |line: &str| if var % 100 == 0 { String::new() } else { format!("{line}\n") };
        text += &lock("T0|acq(m)|2");
        text += &format!("T0|w(x{var})|3\n");
        text += &lock("T0|rel(m)|4");
        text += &lock("T1|acq(m)|5");
        text += &format!("T1|w(x{var})|6\n");
        text += &lock("T1|rel(m)|7");
    }
    Trace::parse_std(text.as_bytes()).expect("a good trace")
}

#[test]
fn state_follows_the_variables_that_are_alive() {
    let trace = many_short_lives(20_000);
    for name in ["hb", "fasttrack"] {
        let entry = find(name).expect("in the table");
        let state = |job: &Job| (found(job), job.peak_state_bytes);
        let (expected, all) = run(entry, &Options::default(), &trace, state);
        let (found, alive) = run_with_endings(entry, &trace, 1_000, state);
        assert_eq!(found, expected, "{name}");
        assert!(10 * alive < all, "{name}: {alive} of {all} bytes");
    }
}
