//! However many workers there are and however small the blocks, the answer is that of the sequential run.

use std::fmt::Debug;
use std::io::Write;
use std::net::TcpListener;
use std::sync::Arc;

use overtake_cluster::{Answer, Obstacle, Processes, Task};
use overtake_detect::{DETECTORS, Distribution, Driver, Entry, Findings, Options, Outcome, Strictness};
use overtake_oracle::random::{Shape, trace};
use overtake_trace::{OtrFile, OtrWriter, Trace};
use tempfile::NamedTempFile;

/// Every detector that says that workers can share its work.
fn shared() -> Vec<&'static Entry> {
    DETECTORS.iter().filter(|entry| entry.distribution == Distribution::ByVariable).collect()
}

fn sealed(trace: &Trace, block_events: usize) -> NamedTempFile {
    let mut file = NamedTempFile::new().expect("a temporary file");
    let mut bytes = OtrWriter::new(Vec::new()).expect("memory").with_block_events(block_events);
    trace.write(&mut bytes).expect("memory");
    file.write_all(&bytes.into_inner()).expect("room");
    file
}

fn task(file: &NamedTempFile, detectors: Vec<&'static Entry>) -> Task {
    let file = Arc::new(OtrFile::open(file.path()).expect("a sealed trace"));
    Task { file, detectors, options: Options::default(), strictness: Strictness::Repair }
}

fn sequential(trace: &Trace, detectors: &[&'static Entry]) -> Driver {
    let mut driver =
        Driver::start(detectors, &Options::default(), Strictness::Repair).expect("default settings");
    while driver.pass(&mut trace.source(), &mut |_| ()).expect("a trace in memory") == Outcome::AnotherPass {}
    driver
}

fn same<T: PartialEq + Debug>(found: &T, expected: &T, what: &str) {
    assert_eq!(found, expected, "{what}");
}

fn compare(found: &Findings, expected: &Findings, what: &str) {
    same(&found.groups(), &expected.groups(), what);
    same(&found.racy_events(), &expected.racy_events(), what);
    same(&found.racy_variables(), &expected.racy_variables(), what);
    same(&found.racy_locations(), &expected.racy_locations(), what);
    same(&(found.races(), found.max_distance()), &(expected.races(), expected.max_distance()), what);
}

/// Compares with the sequential run. Returns the answer.
fn compare_all(trace: &Trace, block_events: usize, workers: usize, what: &str) -> Result<Answer, Obstacle> {
    let detectors = shared();
    let file = sealed(trace, block_events);
    let expected = sequential(trace, &detectors);
    let answer = task(&file, detectors).with_threads(workers, &mut |_| ())?;
    same(&answer.workers.len(), &workers, what);
    same(&&answer.repairs, &expected.repairs(), what);
    same(&answer.misuses.found(), &expected.misuses().found(), what);
    for (findings, job) in answer.findings.iter().zip(expected.jobs()) {
        compare(findings, job.findings(), &format!("{} {what}", job.entry.name));
        // Nothing else is brought home.
        assert!(job.figures().is_empty() && job.remarks().is_empty(), "{}", job.entry.name);
    }
    Ok(answer)
}

fn shapes() -> Vec<Shape> {
    let mut shapes = Shape::all_well_formed(150);
    let many =
        |shape: Shape| Shape { variables: 8, arrays: shape.arrays * 2, blocks: shape.blocks * 2, ..shape };
    shapes.extend(Shape::all_well_formed(150).into_iter().map(many));
    shapes.push(Shape::sweeps(12));
    shapes
}

#[test]
fn workers_find_what_the_sequential_run_finds() {
    for (number, shape) in shapes().iter().enumerate() {
        for seed in 0..10 {
            let trace = trace(shape, seed);
            let workers = 1 + (seed as usize + number) % 5;
            let block_events = 16 + 7 * (seed as usize % 4);
            let what = format!("shape {number}, seed {seed}, {workers} workers, blocks of {block_events}");
            compare_all(&trace, block_events, workers, &what).expect("workers can share a well-formed trace");
        }
    }
}

#[test]
fn a_trace_that_needs_repairs_has_the_same_answer_or_none() {
    let (mut shared, mut refused) = (0, 0);
    for seed in 0..60 {
        let trace = trace(&Shape { variables: 6, ..Shape::ill_formed() }.with_events(60), seed);
        match compare_all(&trace, 16, 2 + seed as usize % 3, &format!("seed {seed}")) {
            Ok(_) => shared += 1,
            Err(Obstacle::Alone(_)) => refused += 1,
            Err(failed) => panic!("{failed}"),
        }
    }
    assert!(shared > 0 && refused > 0, "{shared} shared, {refused} refused");
}

#[test]
fn more_workers_than_blocks_or_variables_are_no_harm() {
    let trace = trace(&Shape::core().with_events(40), 3);
    compare_all(&trace, 1024, 5, "one block").expect("workers can share it");
    let empty = Trace::default();
    compare_all(&empty, 16, 3, "no events").expect("workers can share nothing");
}

#[test]
fn a_damaged_block_is_an_obstacle_for_all() {
    let trace = trace(&Shape::everything().with_events(120), 5);
    let file = sealed(&trace, 16);
    let good = task(&file, shared());
    let mut bytes = std::fs::read(file.path()).expect("a file");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    std::fs::write(file.path(), bytes).expect("a file");
    // The footer was read before: the damage shows when blocks are.
    let error = good.with_threads(3, &mut |_| ()).expect_err("a damaged block");
    assert!(matches!(error, Obstacle::Alone(_)), "{error}");
}

/// Addresses of this machine that nobody uses.
fn free_hosts(processes: usize) -> Vec<String> {
    let listeners: Vec<_> =
        (0..processes).map(|_| TcpListener::bind("127.0.0.1:0").expect("a free port")).collect();
    listeners.iter().map(|listener| listener.local_addr().expect("an address").to_string()).collect()
}

#[test]
fn processes_find_what_the_sequential_run_finds() {
    let trace = trace(&Shape { variables: 12, ..Shape::everything() }.with_events(400), 9);
    let file = sealed(&trace, 16);
    let expected = sequential(&trace, &shared());
    let hosts = free_hosts(3);
    let start = |own| {
        let (task, hosts) = (task(&file, shared()), hosts.clone());
        // Each in a thread here; the engine does not know the difference.
        std::thread::spawn(move || {
            task.with_processes(&Processes { hosts, own, threads: 2 }, &mut |_| ()).expect("all are there")
        })
    };
    let processes: Vec<_> = (0..3).map(start).collect();
    let mut answers: Vec<_> =
        processes.into_iter().map(|process| process.join().expect("no panic")).collect();
    let answer = answers.remove(0).expect("the first process has the answer");
    assert!(answers.iter().all(Option::is_none), "the others have none");
    assert_eq!(answer.workers.len(), 6);
    assert!(answer.workers.iter().all(|worker| worker.bytes_sent > 0 && worker.events_sent > 0));
    for (findings, job) in answer.findings.iter().zip(expected.jobs()) {
        compare(findings, job.findings(), job.entry.name);
    }
}

#[test]
fn processes_with_different_tasks_do_not_work_together() {
    let trace = trace(&Shape::core(), 1);
    let file = sealed(&trace, 16);
    let hosts = free_hosts(2);
    let start = |own: usize| {
        let (task, hosts) = (task(&file, shared()[..own + 1].to_vec()), hosts.clone());
        std::thread::spawn(move || {
            task.with_processes(&Processes { hosts, own, threads: 1 }, &mut |_| ()).expect_err("they differ")
        })
    };
    for process in [0, 1].map(start) {
        let error = process.join().expect("no panic").to_string();
        assert!(error.contains("differ in what they work on"), "{error}");
    }
}
