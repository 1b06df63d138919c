//! Results made by hand, and golden files.
#![allow(dead_code, reason = "each test file uses some of this")]

use std::collections::BTreeMap;
use std::path::PathBuf;

use overtake_detect::Verdict;
use overtake_report::result::{
    Access, Arrow, ArrowKind, DetectorRun, Excerpt, Finding, Frame, HeldLock, Memory, RESULT_SCHEMA, Report,
    Run, Schedule, Section, Step, Thread, Triage,
};

pub(crate) fn frame(function: &str, file: &str, line: u32, column: u32) -> Frame {
    let known = !function.is_empty();
    Frame {
        function: function.into(),
        file: file.into(),
        line,
        column,
        module: if known { "server".into() } else { String::new() },
        offset: if known { 0x1000 + u64::from(line) } else { 0 },
    }
}

pub(crate) fn thread(name: &str) -> Thread {
    let main = name == "main";
    Thread {
        name: name.into(),
        main,
        creator: if main { String::new() } else { "main".into() },
        created_at: if main {
            vec![]
        } else {
            vec![frame("Server::start()", "src/server.cc", 20, 3), frame("main", "src/main.cc", 9, 5)]
        },
    }
}

pub(crate) fn access(operation: &str, event: u64, thread_name: &str, stack: Vec<Frame>) -> Access {
    Access {
        operation: operation.into(),
        writes: operation != "read",
        bytes: 8,
        event,
        thread: thread(thread_name),
        stack,
        held: vec![],
        ..Access::default()
    }
}

/// A finding between a write of `main` and a read of `poller`, without a schedule.
pub(crate) fn finding(id: u32, verdict: Verdict) -> Finding {
    Finding {
        id,
        fingerprint: format!("{:016x}", 0xabc0_0000_u64 + u64::from(id)),
        verdict,
        headline: "counters.hits: Server::poll reads while Stats::reset writes".into(),
        memory: Some(Memory {
            name: "counters.hits".into(),
            kind: "global".into(),
            bytes: 32,
            offset: 8,
            ..Memory::default()
        }),
        accesses: vec![
            access(
                "write",
                11,
                "main",
                vec![frame("Stats::reset()", "src/stats.cc", 30, 9), frame("main", "src/main.cc", 14, 3)],
            ),
            access(
                "read",
                17,
                "poller",
                vec![frame("Server::poll()", "src/server.cc", 52, 17), frame("run", "src/server.cc", 70, 5)],
            ),
        ],
        count: 3,
        observed: if verdict == Verdict::Observed { 2 } else { 0 },
        detectors: vec!["hb".into()],
        runs: vec![0],
        why: "Nothing orders the two accesses: main never waits for poller.".into(),
        remedy: "Take Stats::mutex around both.".into(),
        ..Finding::default()
    }
}

/// A race, hidden by the order of two critical sections, with the schedule that shows it.
pub(crate) fn predicted() -> Finding {
    let mut finding = finding(2, Verdict::Predicted);
    finding.headline = "a heap block of 64 bytes: Cache::get reads while Cache::drop writes".into();
    finding.memory = Some(Memory {
        name: "a heap block of 64 bytes".into(),
        kind: "heap".into(),
        member: String::new(),
        bytes: 64,
        offset: 16,
        owner: "main".into(),
        allocated_at: vec![frame("Cache::Cache()", "src/cache.cc", 7, 12)],
        ..Memory::default()
    });
    finding.accesses[0] = access("write", 3, "main", vec![frame("Cache::drop()", "src/cache.cc", 41, 5)]);
    finding.accesses[1] = access("read", 8, "poller", vec![frame("Cache::get()", "src/cache.cc", 55, 10)]);
    finding.accesses[1].held = vec![HeldLock {
        name: "Cache::mutex".into(),
        shared: false,
        event: 7,
        taken_at: vec![frame("Cache::get()", "src/cache.cc", 54, 3)],
    }];
    finding.detectors = vec!["syncp".into()];
    finding.schedule = Some(schedule());
    finding
}

fn schedule() -> Schedule {
    let step = |event, thread, operation: &str, operand: &str, place: &str, role| Step {
        event,
        thread,
        operation: operation.into(),
        operand: operand.into(),
        place: place.into(),
        role,
        omitted: u64::from(event == 7),
    };
    Schedule {
        threads: vec!["main".into(), "poller".into()],
        steps: vec![
            step(2, 0, "fork", "poller", "Server::start() src/server.cc:20", None),
            step(3, 0, "write", "a heap block", "Cache::drop() src/cache.cc:41", Some(0)),
            step(4, 0, "acquire", "Cache::mutex", "Cache::drop() src/cache.cc:42", None),
            step(5, 0, "release", "Cache::mutex", "Cache::drop() src/cache.cc:43", None),
            step(7, 1, "acquire", "Cache::mutex", "Cache::get() src/cache.cc:54", None),
            step(8, 1, "read", "a heap block", "Cache::get() src/cache.cc:55", Some(1)),
        ],
        witness: vec![0, 4, 1, 5],
        sections: vec![
            Section { lock: "Cache::mutex".into(), shared: false, thread: 0, from: Some(2), to: Some(3) },
            Section { lock: "Cache::mutex".into(), shared: false, thread: 1, from: Some(4), to: None },
        ],
        arrows: vec![
            Arrow { from: 0, to: 4, kind: ArrowKind::Fork },
            Arrow { from: 3, to: 4, kind: ArrowKind::LockOrder },
        ],
        reversals: Vec::new(),
    }
}

/// What a text trace gives: locations only.
pub(crate) fn suspected() -> Finding {
    let mut finding = finding(3, Verdict::Suspected);
    finding.headline = "V7: 345 writes while 346 writes".into();
    finding.memory = Some(Memory { name: "V7".into(), kind: "variable".into(), ..Memory::default() });
    finding.accesses[0] = access("write", 1, "T1", vec![frame("", "345", 0, 0)]);
    finding.accesses[1] = access("write", 2, "T2", vec![frame("", "Main.java:346", 0, 0)]);
    for access in &mut finding.accesses {
        access.bytes = 0;
        access.thread = Thread { name: access.thread.name.clone(), ..Thread::default() };
    }
    finding.detectors = vec!["lock-set".into()];
    finding
}

/// One finding of each verdict.
pub(crate) fn sample() -> Report {
    report(vec![finding(1, Verdict::Observed), predicted(), suspected()])
}

pub(crate) fn report(findings: Vec<Finding>) -> Report {
    let lines = BTreeMap::from([
        (29, "void Stats::reset() {".to_owned()),
        (30, "        hits = 0;".to_owned()),
        (31, "}".to_owned()),
    ]);
    Report {
        schema: RESULT_SCHEMA,
        version: "0.1.0".into(),
        runs: vec![Run {
            trace: "traces/server.77.otr".into(),
            format: "otr".into(),
            command: vec!["./server".into(), "--port".into(), "80".into()],
            process: 77,
            events: 19,
            threads: 2,
            locks: 1,
            variables: 2,
            detectors: vec![DetectorRun {
                name: "hb".into(),
                promise: "every access that races with an earlier one, and no other".into(),
                races: 3,
                ..DetectorRun::default()
            }],
            notes: vec!["2 events were lost at the end".into()],
            ..Run::default()
        }],
        findings,
        sources: BTreeMap::from([("src/stats.cc".to_owned(), Excerpt { lines, ..Excerpt::default() })]),
        triage: Triage::default(),
    }
}

/// Everything that a stripped binary, a strange build or a damaged trace can leave behind.
pub(crate) fn awkward() -> Report {
    let mut bare = finding(1, Verdict::Observed);
    bare.headline = String::new();
    bare.memory = Some(Memory::default());
    bare.accesses[0] = access("write", 0, "", vec![]);
    bare.accesses[1] =
        access("read", 0, "", vec![Frame { module: "libz.so.1".into(), offset: 0x42, ..Frame::default() }]);
    bare.runs = vec![];
    let mut long = predicted();
    let name = format!("std::map<{}>::operator[](int)", "std::pair<int, long>, ".repeat(90));
    long.accesses[0].stack[0].function = name.clone();
    long.headline = format!("{name} [x](y)\nsecond line");
    let mut strange = finding(3, Verdict::Suspected);
    strange.accesses[0].stack[0].file = "/opt/other/vector name \u{fffd}#1?%.h".into();
    strange.accesses[0].stack[0].line = 0;
    strange.accesses[1].stack[0].file = "../other/\"quoted\"\\back\tslash.cc".into();
    strange.accesses[1].stack[0].column = 0;
    strange.accesses[1].thread.name = "\u{fffd}worker\u{1b}[31m".into();
    strange.runs = vec![7];
    let mut broken = predicted();
    broken.id = 4;
    let schedule = broken.schedule.as_mut().expect("it has one");
    schedule.witness = vec![0, 99, 4, 4];
    schedule.steps[1].thread = 12;
    schedule.sections[0].to = Some(77);
    schedule.arrows.push(Arrow { from: 88, to: 0, kind: ArrowKind::Wait });
    let mut report = report(vec![bare, long, strange, broken]);
    report.runs.clear();
    report
}

/// As many races as asked for, each between other lines, every other one with a schedule.
pub(crate) fn many(count: u32) -> Report {
    let findings = (1..=count).map(|id| {
        let mut finding = if id % 2 == 0 { predicted() } else { finding(id, Verdict::Observed) };
        finding.id = id;
        finding.fingerprint = format!("{:016x}", u64::from(id).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        for access in &mut finding.accesses {
            access.stack[0].line = id;
            let outer =
                (0..6).map(|depth| frame("Engine::dispatch(Request const&)", "src/engine.cc", 10 + depth, 7));
            access.stack.extend(outer);
        }
        finding
    });
    report(findings.collect())
}

/// Compares with a golden file; `BLESS=1` rewrites it.
#[track_caller]
pub(crate) fn assert_golden(name: &str, actual: &[u8]) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::create_dir_all(path.parent().expect("it has one")).expect("a directory is made");
        std::fs::write(&path, actual).expect("the golden file is written");
    }
    let golden = std::fs::read(&path).unwrap_or_default();
    let (golden, actual) = (String::from_utf8_lossy(&golden), String::from_utf8_lossy(actual));
    for (number, (golden, actual)) in golden.lines().zip(actual.lines()).enumerate() {
        assert_eq!(actual, golden, "{name}, line {}; BLESS=1 rewrites it", number + 1);
    }
    assert_eq!(actual.len(), golden.len(), "{name} is longer or shorter; BLESS=1 rewrites it");
}

/// What a renderer writes.
pub(crate) fn rendered(
    write: fn(&mut dyn std::io::Write, &Report) -> std::io::Result<()>,
    report: &Report,
) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(&mut bytes, report).expect("a buffer takes everything");
    bytes
}
