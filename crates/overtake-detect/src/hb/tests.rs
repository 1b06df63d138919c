//! What the tests over the table of detectors do not reach: windows, upkeep, checkpoints, gadgets.

use std::collections::BTreeSet;

use overtake_oracle::random::{self, Shape};
use overtake_oracle::{
    Pair, for_each_random_trace, happens_before_races, same, second_events, trace, variables, within,
};
use overtake_trace::{Action, Event, LocationId, Op, OperandKind, ThreadId, Trace, VarId, Variable};

use super::short::{Live, ShortHb, Upkeep};
use crate::passes::Analysis;
use crate::settings::Options;
use crate::testing::{run, run_analysis, run_analysis_with, run_detector};

/// Random traces.
const TRACES: u64 = 100_000;

/// Every operation, and traces that need repairs.
fn shapes(events: u32) -> Vec<Shape> {
    let mut shapes = Shape::all_well_formed(events);
    shapes.push(Shape::ill_formed().with_events(events));
    shapes.push(Shape { threads: 5, locks: 3, ..Shape::everything() }.with_events(2 * events));
    shapes
}

fn same_races(analysis: &Analysis, expected: &BTreeSet<Pair>) -> Result<(), String> {
    same("second events", second_events(expected), analysis.findings().racy_events())?;
    same("variables", variables(expected), analysis.findings().racy_variables())?;
    for group in analysis.findings().groups() {
        let (first, second) = (group.example.first.at.index, group.example.second.at.index);
        if !expected.contains(&Pair { first, second, var: group.example.var }) {
            return Err(format!("{first} and {second} do not race"));
        }
    }
    Ok(())
}

#[test]
fn short_hb_finds_exactly_the_second_events_in_the_window() {
    for_each_random_trace(&shapes(24), TRACES, |trace| {
        let all = happens_before_races(trace);
        let length = trace.events.len() as u64;
        for (window, cleaning) in [(2, 1), (3, 2), (5, 1), (9, 3), (17, 1), (length, 5)] {
            // Times are moved back every few events, so that all of that happens within a short trace.
            let upkeep = Upkeep { cleaning, least_period: 6 };
            let mut analysis = Analysis::one_pass(ShortHb::<u16>::new(window, upkeep));
            run_analysis(&mut analysis, trace);
            same_races(&analysis, &within(&all, window))
                .map_err(|complaint| format!("window {window}: {complaint}"))?;
        }
        let options = Options { window: length / 2 + 1, ..Options::default() };
        same_races(&run("short-hb", &options, trace), &within(&all, options.window))
    });
}

/// A long trace of every operation: random traces of other locks and variables, one after the other, and also of other
/// threads where the shape has them forked and joined.
fn long_trace(shape: &Shape, parts: u64) -> Trace {
    let mut long = Trace::default();
    for part in 0..parts {
        let threads = if shape.fork_join { part } else { 0 };
        append(&mut long, &random::trace(shape, part), part, threads);
    }
    long
}

/// Appends events, every name under a prefix of its own.
fn append(long: &mut Trace, part: &Trace, number: u64, threads: u64) {
    let few = "few names";
    let symbols = &mut long.symbols;
    let name = |kind: char, id: u32| format!("{kind}{number}.{id}").into_bytes();
    let thread_name = |id: u32| format!("T{threads}.{id}").into_bytes();
    for event in &part.events {
        let operand = event.operand();
        let operand = match event.op().operand_kind() {
            OperandKind::Thread => symbols.threads.intern(&thread_name(operand)).expect(few).0,
            OperandKind::Lock => symbols.locks.intern(&name('L', operand)).expect(few).0,
            OperandKind::Sync => symbols.objects.intern(&name('S', operand)).expect(few).0,
            OperandKind::Variable => match part.symbols.variables.get(VarId(operand)) {
                Variable::Named(_) => symbols.variables.intern(&name('V', operand)).expect(few).0,
                Variable::Element { array, index } => {
                    let array = symbols.variables.intern_array(&name('A', array.0)).expect(few);
                    symbols.variables.intern_element(array, index).expect(few).0
                }
                Variable::Block(array) => {
                    let array = symbols.variables.intern_array(&name('A', array.0)).expect(few);
                    symbols.variables.intern_block(array).expect(few).0
                }
            },
            OperandKind::Marker => symbols.markers.intern(b"m").expect(few).0,
            OperandKind::None => 0,
        };
        let thread = symbols.threads.intern(&thread_name(event.thread().0)).expect(few);
        let event = Event::from_parts(thread, event.op(), event.order(), operand, LocationId::UNKNOWN);
        long.events.push(event);
    }
}

fn nothing_happens(long: &mut Trace, events: u64) {
    let marker = Action::Begin(long.symbols.markers.intern(b"m").expect("one name"));
    long.events.extend((0..events).map(|_| Event::new(ThreadId(0), marker, LocationId::UNKNOWN)));
}

#[test]
fn nothing_is_left_when_the_window_has_passed() {
    for window in [1, 2, 50, 1000, 30_000] {
        let mut trace = long_trace(&Shape::everything().with_events(60), 200);
        let upkeep = Upkeep::USUAL;
        let short = |trace: &Trace| {
            let mut detector = ShortHb::<u16>::new(window, upkeep);
            run_detector(&mut detector, trace);
            detector.live()
        };
        let before = short(&trace);
        assert!(before.records > 0 && before.carriers > 0 && before.threads_that_know > 0, "{before:?}");
        nothing_happens(&mut trace, 2 * window.max(upkeep.least_period) + upkeep.cleaning);
        assert_eq!(short(&trace), Live::default(), "window {window}");
    }
}

#[test]
fn state_follows_the_window_and_not_the_trace() {
    let bytes = |parts| {
        let mut analysis = Analysis::one_pass(ShortHb::<u16>::new(4000, Upkeep::USUAL));
        let shape = Shape { fork_join: false, ..Shape::everything() };
        let mut peak = 0;
        run_analysis_with(&mut analysis, &long_trace(&shape, parts), |analysis| {
            peak = peak.max(analysis.state_bytes());
        });
        peak
    };
    let (short, long) = (bytes(1000), bytes(10_000));
    assert!(long <= short + short / 20, "{short} bytes became {long}");
}

#[test]
fn any_window_works_with_its_time() {
    let trace = trace("T0 w x; T0 acq l; T0 rel l; T1 w y; T1 acq l; T1 rel l; T1 w x; T0 w y; T2 r x");
    for window in [1, 2, 3, 5, 7, 9, 30_000, 32_767, 32_768, 1 << 31, 1 << 40, u64::MAX] {
        let options = Options { window, ..Options::default() };
        let expected = within(&happens_before_races(&trace), window);
        same_races(&run("short-hb", &options, &trace), &expected).unwrap();
    }
}

#[test]
fn a_window_of_nothing_is_refused() {
    let options = Options { window: 0, ..Options::default() };
    let error = crate::find("short-hb").unwrap().analysis(&options).err().unwrap();
    assert_eq!(error.to_string(), "expected a value at least 1 for window, found 0");
}

fn lockstamp(trace: &Trace, least_chunk: usize) -> Analysis {
    let mut analysis = super::lockstamp::analysis(least_chunk);
    run_analysis(&mut analysis, trace);
    analysis
}

#[test]
fn lockstamps_do_not_depend_on_checkpoints() {
    for_each_random_trace(&shapes(40), TRACES / 4, |trace| {
        // Chunks shorter than the number of nodes are made longer; these traces have several all the same.
        same_races(&lockstamp(trace, 1), &happens_before_races(trace))
    });
}

/// Happens-before races decide orthogonality: `r_y` races with some `w_x` iff a vector x is orthogonal to y.
fn orthogonal_vectors(a: &[Vec<bool>], b: &[Vec<bool>]) -> String {
    let dimension = a[0].len();
    let section = |thread: &str, lock: String| format!("{thread} acq {lock}; {thread} rel {lock};");
    let mut text = String::new();
    for (x, vector) in a.iter().enumerate() {
        text += &format!("X{x} w z;{}", section(&format!("X{x}"), format!("x{x}")));
        for i in (0..dimension).filter(|&i| vector[i]) {
            let thread = format!("X{x}.{i}");
            text += &(section(&thread, format!("x{x}")) + &section(&thread, format!("d{i}")));
            if a[x + 1..].iter().all(|later| !later[i]) {
                text.extend((0..b.len()).map(|y| section(&thread, format!("y{y}.{i}"))));
            }
        }
    }
    for (y, vector) in b.iter().enumerate() {
        text.extend(
            (0..dimension).filter(|&i| vector[i]).map(|i| section(&format!("Y{y}"), format!("y{y}.{i}"))),
        );
        text += &format!("Y{y} r z;");
    }
    text
}

#[test]
fn orthogonal_vectors_are_happens_before_races() {
    let bits =
        |seed: u64| (0..5).map(|at| (0..4).map(|bit| seed >> (4 * at + bit) & 1 == 1).collect()).collect();
    for seed in 0..200_u64 {
        let mixed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let (a, b): (Vec<Vec<bool>>, Vec<Vec<bool>>) = (bits(mixed >> 8), bits(mixed >> 30));
        let trace = trace(&orthogonal_vectors(&a, &b));
        let reads = trace.events.iter().enumerate().filter(|(_, event)| event.op() == Op::Read);
        let orthogonal = |x: &Vec<bool>, y: &Vec<bool>| x.iter().zip(y).all(|(x, y)| !(x & y));
        let expected: Vec<u64> = reads
            .zip(&b)
            .filter(|(_, y)| a.iter().any(|x| orthogonal(x, y)))
            .map(|((index, _), _)| index as u64)
            .collect();
        let first_read = trace.events.iter().position(|event| event.op() == Op::Read).unwrap() as u64;
        for name in ["short-hb", "lockstamp"] {
            let analysis = run(name, &Options::default(), &trace);
            let racy = analysis.findings().racy_events().into_iter().map(|index| index.0);
            assert_eq!(
                racy.filter(|&index| index >= first_read).collect::<Vec<_>>(),
                expected,
                "{name} {seed}"
            );
        }
    }
}
