//! However many workers there are and however small the blocks, the answer is that of the sequential run.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use overtake_cluster::{Answer, Obstacle, Processes, Shelf, Task};
use overtake_detect::{DETECTORS, Driver, Entry, Findings, Options, Outcome, Strictness};
use overtake_oracle::random::{Shape, trace};
use overtake_oracle::random_traces;
use overtake_trace::{EventIndex, Landmarks, OtrFile, OtrWriter, Trace};
use tempfile::NamedTempFile;

/// Every detector that says that workers can share its work.
fn shared() -> Vec<&'static Entry> {
    DETECTORS.iter().filter(|entry| entry.can_be_shared()).collect()
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
    Task {
        file,
        detectors,
        options: Options::default(),
        strictness: Strictness::Repair,
        slices: 1,
        shelf: None,
    }
}

fn sequential(trace: &Trace, detectors: &[&'static Entry], block_events: usize) -> Driver {
    let mut driver =
        Driver::start(detectors, &Options::default(), Strictness::Repair).expect("default settings");
    let mut pass = || driver.pass(&mut trace.source().with_block_events(block_events), &mut |_| ());
    while pass().expect("a trace in memory") == Outcome::AnotherPass {}
    driver
}

/// Landmarks in a form that can be compared.
fn spelled(landmarks: &Landmarks) -> String {
    let places: Vec<_> =
        (0..landmarks.events()).map(|event| format!("{:?}", landmarks.before(EventIndex(event)))).collect();
    let forks: BTreeSet<_> = landmarks.forks().map(|fork| format!("{fork:?}")).collect();
    let joins: BTreeSet<_> = landmarks.joins().map(|join| format!("{join:?}")).collect();
    format!("{places:?} {forks:?} {joins:?}")
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
    let file = sealed(trace, block_events);
    compare_task(task(&file, shared()), trace, block_events, workers, what)
}

/// Compares what workers make of a task with the sequential run.
fn compare_task(
    task: Task,
    trace: &Trace,
    block_events: usize,
    workers: usize,
    what: &str,
) -> Result<Answer, Obstacle> {
    let expected = sequential(trace, &task.detectors, block_events);
    let answer = task.with_threads(workers, &mut |_| ())?;
    same(&answer.workers.len(), &workers, what);
    same(&&answer.repairs, &expected.repairs(), what);
    same(&answer.misuses.found(), &expected.misuses().found(), what);
    same(&spelled(&answer.landmarks), &spelled(expected.landmarks()), what);
    for (findings, job) in answer.findings.iter().zip(expected.jobs()) {
        compare(findings, job.findings(), &format!("{} {what}", job.entry.name));
        // Remarks are not brought home, and figures are not printed.
        assert!(job.remarks().is_empty(), "{}", job.entry.name);
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
        for seed in 0..random_traces(10) {
            let trace = trace(shape, seed);
            let workers = 1 + (seed as usize + number) % 5;
            let block_events = 16 + 7 * (seed as usize % 4);
            let what = format!("shape {number}, seed {seed}, {workers} workers, blocks of {block_events}");
            compare_all(&trace, block_events, workers, &what).expect("workers can share a well-formed trace");
        }
    }
}

/// Every detector that can judge a stretch of a trace.
fn stretched() -> Vec<&'static Entry> {
    DETECTORS.iter().filter(|entry| entry.stretched.is_some()).collect()
}

#[test]
fn stretches_find_together_what_the_sequential_run_finds() {
    assert!(stretched().len() > 1);
    let mut in_stretches = 0;
    let few = |shape: Shape| Shape { variables: 3, ..shape };
    let many = |shape: Shape| Shape { variables: 60, ..shape };
    for (number, shape) in
        shapes().into_iter().flat_map(|shape| [few(shape.clone()), many(shape)]).enumerate()
    {
        for seed in 0..random_traces(20) {
            let trace = trace(&shape.clone().with_events(100 + 30 * seed as u32 % 600), seed);
            let workers = 2 + (seed as usize + number) % 4;
            let what = format!("shape {number}, seed {seed}, {workers} workers");
            let file = sealed(&trace, 16);
            let answer = compare_task(task(&file, stretched()), &trace, 16, workers, &what);
            in_stretches += u64::from(answer.expect("workers can share a well-formed trace").in_stretches);
        }
    }
    assert!(in_stretches > random_traces(100), "{in_stretches} traces");
}

/// The main thread does not synchronise after its fork, so that `fasttrack` does not judge its last write, which repeats one before the border: the read
/// in between had a race with that one already.
#[test]
fn a_repetition_of_an_access_before_the_border_is_judged_by_nobody() {
    let fill = |from: u32, to: u32| (from..to).map(|at| format!("T0 w y{at};")).collect::<String>();
    let text = format!(
        "T0 fork T1; {} T0 w x; {} T1 r x; {} T0 w x; {}",
        fill(1, 31),
        fill(32, 40),
        fill(41, 50),
        fill(51, 64)
    );
    let trace = overtake_oracle::trace(&text);
    let file = sealed(&trace, 16);
    let answer = compare_task(task(&file, stretched()), &trace, 16, 2, "a repetition");
    assert!(answer.expect("workers can share it").in_stretches);
}

#[test]
fn stretches_of_a_trace_that_needs_repairs_have_the_same_answer_or_none() {
    let mut in_stretches = 0;
    for seed in 0..random_traces(200) {
        let shape = Shape { variables: 6, ..Shape::ill_formed() };
        let trace = trace(&shape.with_events(40 + seed as u32 % 60), seed);
        let file = sealed(&trace, 16);
        let workers = 2 + seed as usize % 3;
        match compare_task(task(&file, stretched()), &trace, 16, workers, &format!("seed {seed}")) {
            Ok(answer) => in_stretches += u64::from(answer.in_stretches),
            Err(Obstacle::Alone(_)) => {}
            Err(failed) => panic!("{failed}"),
        }
    }
    assert!(in_stretches > 0);
}

/// A shelf in memory: what was put, and in which order.
#[derive(Default)]
struct Kept {
    slices: Mutex<Vec<(u16, Vec<u64>)>>,
}

impl Kept {
    fn of(slices: impl IntoIterator<Item = (u16, Vec<u64>)>) -> Arc<Kept> {
        Arc::new(Kept { slices: Mutex::new(slices.into_iter().collect()) })
    }

    fn all(&self) -> Vec<(u16, Vec<u64>)> {
        self.slices.lock().expect("nobody panicked").clone()
    }
}

impl Shelf for Kept {
    fn take(&self, slice: u16) -> Option<Vec<u64>> {
        self.all().into_iter().find(|(number, _)| *number == slice).map(|(_, words)| words)
    }

    fn put(&self, slice: u16, words: &[u64]) {
        self.slices.lock().expect("nobody panicked").push((slice, words.to_vec()));
    }
}

/// Every detector that judges variables one by one.
fn sliceable() -> Vec<&'static Entry> {
    DETECTORS.iter().filter(|entry| entry.can_be_sliced()).collect()
}

#[test]
fn slices_find_together_what_the_sequential_run_finds() {
    assert!(sliceable().len() > 1);
    for (number, shape) in shapes().iter().enumerate() {
        for seed in 0..random_traces(4) {
            let trace = trace(shape, seed);
            let (workers, slices) = (1 + (seed as usize + number) % 5, 2 + (seed as u16) % 4);
            let file = sealed(&trace, 32);
            let task = Task { slices, ..task(&file, sliceable()) };
            let what = format!("shape {number}, seed {seed}, {workers} workers, {slices} slices");
            compare_task(task, &trace, 32, workers, &what).expect("workers can share a well-formed trace");
        }
    }
}

#[test]
fn a_trace_that_needs_repairs_has_the_same_answer_in_slices_or_none() {
    let (mut shared, mut refused) = (0, 0);
    for seed in 0..60 {
        let trace = trace(&Shape { variables: 6, ..Shape::ill_formed() }.with_events(60), seed);
        let file = sealed(&trace, 16);
        let task = Task { slices: 3, ..task(&file, sliceable()) };
        match compare_task(task, &trace, 16, 1 + seed as usize % 3, &format!("seed {seed}")) {
            Ok(_) => shared += 1,
            Err(Obstacle::Alone(_)) => refused += 1,
            Err(failed) => panic!("{failed}"),
        }
    }
    assert!(shared > 0 && refused > 0, "{shared} shared, {refused} refused");
}

#[test]
fn a_job_goes_on_with_the_slices_that_are_missing() {
    let shapes = shapes();
    for seed in 0..random_traces(20) {
        let trace = trace(&shapes[seed as usize % shapes.len()], seed);
        let file = sealed(&trace, 32);
        let job = |shelf: &Arc<Kept>, workers| {
            let shelf: Arc<dyn Shelf> = Arc::clone(shelf) as _;
            let task = Task { slices: 4, shelf: Some(shelf), ..task(&file, sliceable()) };
            compare_task(task, &trace, 32, workers, &format!("seed {seed}")).expect("a well-formed trace");
        };
        let first = Arc::default();
        job(&first, 2);
        let numbers: Vec<_> = first.all().iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers, [0, 1, 2], "the last slice ends the job");

        // One slice is missing, one is damaged; other workers go on.
        let cut = |(number, words): (u16, Vec<u64>)| (number, words[..words.len() - 1].to_vec());
        let mut kept = first.all();
        let damaged = cut(kept.remove(1));
        let second = Kept::of([kept.remove(0), damaged]);
        job(&second, 3);
        let numbers: Vec<_> = second.all()[2..].iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers, [1, 2]);
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
fn a_recording_has_the_same_answer_or_none() {
    let (mut shared, mut refused) = (0, 0);
    for seed in 0..random_traces(60) {
        let events = if seed % 2 == 0 { 12 } else { 100 };
        let mut trace = trace(&Shape { variables: 4, ..Shape::core() }.with_events(events), seed);
        trace.symbols.program.pid = 1;
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
    let expected = sequential(&trace, &shared(), 16);
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

/// An address that leads to another one until so many bytes went there. Then the connection is gone, as if the caller had died.
fn cut_after(bytes: u64, target: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address").to_string();
    std::thread::spawn(move || {
        let (caller, _) = listener.accept().expect("a caller");
        let called = loop {
            match TcpStream::connect(&target) {
                Ok(called) => break called,
                Err(_) => std::thread::yield_now(), // it does not listen yet
            }
        };
        let (mut back_from, mut back_to) =
            (called.try_clone().expect("a socket"), caller.try_clone().expect("a socket"));
        std::thread::spawn(move || std::io::copy(&mut back_from, &mut back_to));
        std::io::copy(&mut (&caller).take(bytes), &mut &called).expect("both are there");
        for end in [caller, called] {
            end.shutdown(Shutdown::Both).expect("a socket");
        }
    });
    address
}

#[test]
fn a_process_that_dies_in_the_middle_is_named_and_the_job_can_be_done_again() {
    let trace = trace(&Shape { variables: 12, ..Shape::everything() }.with_events(20_000), 4);
    let file = sealed(&trace, 64);
    let expected = sequential(&trace, &shared(), 64);
    let job = |hosts: [Vec<String>; 3]| {
        let start = |(own, hosts)| {
            let task = task(&file, shared());
            std::thread::spawn(move || {
                task.with_processes(&Processes { hosts, own, threads: 1 }, &mut |_| ())
            })
        };
        let processes: Vec<_> = hosts.into_iter().enumerate().map(start).collect();
        processes.into_iter().map(|process| process.join().expect("no panic")).collect::<Vec<_>>()
    };
    let hosts = free_hosts(3);
    // The third process has sent some blocks to the others, and would send many more.
    let cut = |process: usize| cut_after(10_000, hosts[process].clone());
    let ends = job([hosts.clone(), hosts.clone(), vec![cut(0), cut(1), hosts[2].clone()]]);
    let name = format!("process 2 ({}) ended before the job was done", hosts[2]);
    // Of two processes that lose the third, the one that notices it first ends, and the other one may then name it.
    let errors: Vec<_> = ends.into_iter().map(|end| end.expect_err("a process is gone")).collect();
    assert!(errors[..2].contains(&Obstacle::Failed(name)), "{errors:?}");
    let hosts = free_hosts(3);
    let again =
        job([hosts.clone(), hosts.clone(), hosts]).remove(0).expect("all are there").expect("an answer");
    for (findings, job) in again.findings.iter().zip(expected.jobs()) {
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
