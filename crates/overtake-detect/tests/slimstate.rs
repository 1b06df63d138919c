//! Shared array state on generated array workloads: the racy elements are those of `hb`, and state and checks are saved as promised.

use std::fmt::Write;

use overtake_detect::{Driver, Job, Options, Outcome, Partitions, Strictness, find};
use overtake_gen::{Parameters, SHAPES, Shape, Workload};
use overtake_trace::{Trace, VarId};

fn parameters(shape: &Shape, seed: u64) -> Parameters {
    // An odd number of locks makes barriers of a lock.
    Parameters { events: 60_000, variables: 4_000, threads: 5, locks: seed % 2, seed, ..shape.defaults }
}

fn array_shapes() -> Vec<&'static Shape> {
    let shapes: Vec<_> = SHAPES.iter().filter(|shape| shape.name.starts_with("array-")).collect();
    assert!(shapes.len() >= 10, "only {} array shapes", shapes.len());
    shapes
}

fn examine<T>(
    shape: &'static Shape,
    parameters: Parameters,
    detector: &str,
    partitions: Partitions,
    look: impl FnOnce(&Job, &Workload) -> T,
) -> T {
    let mut options = Options::default();
    options.partitions = partitions;
    let entry = find(detector).expect("it is in the table");
    let mut driver = Driver::start(&[entry], &options, Strictness::Refuse).expect("options that fit");
    loop {
        let mut workload = Workload::new(shape, parameters).expect("parameters that fit");
        if driver.pass(&mut workload, &mut |_| ()).expect("a well-formed trace") == Outcome::Done {
            return look(&driver.jobs()[0], &workload);
        }
    }
}

#[test]
fn racy_elements_of_array_workloads_are_those_of_hb() {
    for shape in array_shapes() {
        for seed in 0..4 {
            let raciness = [0.0, 0.0005, 0.01, 0.2][seed as usize];
            let parameters = Parameters { raciness, ..parameters(shape, seed) };
            let racy = |detector, partitions| {
                examine(shape, parameters, detector, partitions, |job, _| job.findings().racy_variables())
            };
            let expected: Vec<VarId> = racy("hb", Partitions::Paper);
            let built = examine(shape, parameters, "hb", Partitions::Paper, |_, workload| {
                workload.expectation().map(|known| known.racy_variables.into_iter().collect::<Vec<_>>())
            });
            assert_eq!(built.as_ref(), Some(&expected), "{} with seed {seed}", shape.name);
            for partitions in Partitions::ALL {
                assert_eq!(
                    racy("slimstate", partitions),
                    expected,
                    "{} with seed {seed}, {partitions:?}",
                    shape.name
                );
            }
        }
    }
}

#[test]
fn regular_sweeps_take_a_hundredth_of_the_checks() {
    for name in ["array-whole", "array-halves", "array-blocks", "array-strided"] {
        let shape = array_shapes().into_iter().find(|shape| shape.name == name).expect("it is in the table");
        // Blocks and strides of the threads divide the array.
        let parameters = Parameters { events: 300_000, variables: 20_000, threads: 4, ..shape.defaults };
        for partitions in Partitions::ALL {
            examine(shape, parameters, "slimstate", partitions, |job, _| {
                let figures = job.figures();
                let figure = |name: &str| {
                    figures.iter().find(|(figure, _)| *figure == name).expect("a figure of the detector").1
                };
                assert_eq!(figure("array elements"), 20_000, "{name}");
                assert!(figure("array shadow cells") <= 64, "{name}: {figures:?}");
            });
        }
    }
}

#[test]
fn arbitrary_partitions_save_what_regular_ones_cannot() {
    let mut fractions = Vec::new();
    for shape in array_shapes() {
        let parameters = Parameters { events: 400_000, variables: 20_000, threads: 4, ..shape.defaults };
        let fraction = |partitions| {
            examine(shape, parameters, "slimstate", partitions, |job, _| {
                let figures = job.figures();
                let figure = |name: &str| {
                    figures.iter().find(|(figure, _)| *figure == name).map_or(0, |&(_, count)| count)
                };
                figure("array shadow cells") as f64 / figure("array elements") as f64
            })
        };
        let [paper, extended] = Partitions::ALL.map(fraction);
        assert!(paper <= 1.01 && extended <= paper.max(0.2), "{}: {paper}, {extended}", shape.name);
        fractions.push(extended);
    }
    let average = fractions.iter().sum::<f64>() / fractions.len() as f64;
    assert!(average <= 0.13, "average shadow fraction {average}: {fractions:?}");
}

const ARRAYS: usize = 8;
const LENGTH: usize = 4_096;

/// Arrays that `threads` threads write by blocks, then by strides, and then read as a whole.
fn changing_sweeps(threads: usize) -> Trace {
    let block = LENGTH.div_ceil(threads);
    let elements = |phase: usize, number: usize| match phase {
        0 => (number * block, (number * block + block).min(LENGTH), 1, 'w'),
        1 => (number, LENGTH, threads, 'w'),
        _ => (0, LENGTH, 1, 'r'),
    };
    let mut text = String::new();
    for phase in 0..3 {
        let name = |number: usize| format!("T{}", 1 + phase * threads + number);
        (0..threads).for_each(|number| writeln!(text, "T0|fork({})|1", name(number)).expect("room"));
        for number in 0..threads {
            let (first, end, step, op) = elements(phase, number);
            for array in 0..ARRAYS {
                for index in (first..end).step_by(step) {
                    writeln!(text, "{}|{op}(A{array}[{index}])|1", name(number)).expect("room");
                }
            }
        }
        (0..threads).for_each(|number| writeln!(text, "T0|join({})|1", name(number)).expect("room"));
    }
    Trace::parse_std(text.as_bytes()).expect("a trace")
}

fn on_trace<T>(trace: &Trace, detector: &str, look: impl FnOnce(&Job) -> T) -> T {
    let entry = find(detector).expect("it is in the table");
    let mut driver =
        Driver::start(&[entry], &Options::default(), Strictness::Refuse).expect("options that fit");
    while driver.pass(&mut trace.source(), &mut |_| ()).expect("a well-formed trace") != Outcome::Done {}
    look(&driver.jobs()[0])
}

#[test]
fn arrays_swept_in_one_way_and_then_in_another_keep_little_state() {
    for threads in [3, 4, 6, 16] {
        let trace = changing_sweeps(threads);
        let whole = on_trace(&trace, "fasttrack", |job| job.peak_state_bytes);
        let (state, figures) = on_trace(&trace, "slimstate", |job| (job.peak_state_bytes, job.figures()));
        let figure =
            |name: &str| figures.iter().find(|(figure, _)| *figure == name).map_or(0, |&(_, count)| count);
        let (cells, elements) = (figure("array shadow cells"), figure("array elements"));
        assert!(cells * 50 < elements, "{threads} threads: {figures:?}");
        assert!(state * 50 < whole, "{threads} threads: {state} of {whole} bytes, {figures:?}");
    }
}

/// Steps from element to element that a footprint's pieces can say, just can, and cannot.
#[test]
fn elements_far_apart_are_judged_each_by_itself() {
    for step in [8_u64, (1 << 31) - 1, 1 << 31, 1 << 33] {
        let mut text = String::from("T0|fork(T1)|1\nT0|fork(T2)|1\n");
        for (thread, op, indices) in [("T1", 'w', 0..40), ("T1", 'r', 0..40), ("T2", 'w', 30..50)] {
            for index in indices {
                writeln!(text, "{thread}|{op}(A[{}])|1", index * step).expect("room");
            }
        }
        for index in (30..50).rev() {
            writeln!(text, "T2|r(A[{}])|1", index * step).expect("room");
        }
        let trace = Trace::parse_std(text.as_bytes()).expect("a trace");
        let racy = |detector| on_trace(&trace, detector, |job| job.findings().racy_variables());
        assert_eq!(racy("hb").len(), 10, "a step of {step}");
        assert_eq!(racy("slimstate"), racy("hb"), "a step of {step}");
    }
}

/// Two threads update elements by turns, each in a critical section: elements have as many histories as there are elements, whatever they share.
#[test]
fn elements_that_are_never_accessed_together_stand_alone_after_a_while() {
    for (rounds, form) in [(1, "elements in classes"), (40, "elements in fine arrays")] {
        let mut text = String::from("T0|fork(T1)|1\nT0|fork(T2)|1\n");
        (0..128).for_each(|index| writeln!(text, "T1|w(A[{index}])|1").expect("room"));
        for turn in 0..rounds * 128 {
            let (thread, index) = (1 + turn % 2, 32 + turn * 37 % 7);
            writeln!(text, "T{thread}|acq(L)|1\nT{thread}|r(A[{index}])|1").expect("room");
            writeln!(text, "T{thread}|w(A[{index}])|1\nT{thread}|rel(L)|1").expect("room");
        }
        let trace = Trace::parse_std(text.as_bytes()).expect("a trace");
        let figures = on_trace(&trace, "slimstate", |job| job.figures());
        assert!(figures.iter().any(|&(name, _)| name == form), "{rounds} rounds: {figures:?}");
        let racy = |detector| on_trace(&trace, detector, |job| job.findings().racy_variables());
        assert_eq!(racy("slimstate"), racy("hb"), "{rounds} rounds");
    }
}

/// Arrays that begin and end anywhere among variables with consecutive numbers, of which others are scalars, or are far from their neighbours.
#[test]
fn short_arrays_between_other_variables_have_the_races_of_hb() {
    let mut text = String::from("T0|fork(T1)|1\nT0|fork(T2)|1\n");
    for array in 0..40 {
        let (length, step) = (40 + array % 9, 1 + array % 3);
        let mut update = |thread: u32, first: u32| {
            for index in (first..length).map(|at| at * step + 90 * (at / 25)) {
                writeln!(text, "T{thread}|r(A{array}[{index}])|1\nT{thread}|w(A{array}[{index}])|1")
                    .expect("room");
            }
        };
        update(1, 0);
        if array % 4 == 0 {
            update(2, length - array / 2);
        }
        writeln!(text, "T1|w(V{array})|1\nT1|acq(L)|1\nT1|rel(L)|1\nT2|acq(L)|1\nT2|rel(L)|1").expect("room");
        (0..length).for_each(|at| writeln!(text, "T2|w(A{array}[{}])|1", at * step).expect("room"));
    }
    let trace = Trace::parse_std(text.as_bytes()).expect("a trace");
    let racy = |detector| on_trace(&trace, detector, |job| job.findings().racy_variables());
    assert!(racy("hb").len() > 50);
    assert_eq!(racy("slimstate"), racy("hb"));
}
