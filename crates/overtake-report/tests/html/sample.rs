//! Reports made by hand: one with everything in it, and ones of any size.

use std::collections::BTreeMap;

use overtake_detect::Verdict;
use overtake_report::result::{
    Access, Arrow, ArrowKind, DetectorRun, Excerpt, Finding, FixedRace, Frame, HeldLock, Memory,
    RESULT_SCHEMA, Report, Run, Schedule, Section, Status, Step, Thread, Triage,
};

/// A name that would take over a page that writes it as markup.
pub(crate) const HOSTILE: &str = "</script><img src=x onerror=\"hacked=1\"><script>hacked=2</script>\u{202e}";

/// Fingerprints of the findings of [`showcase`] that tests go to.
pub(crate) const PREDICTED: &str = "7c1f09d2a4be5581";
pub(crate) const OBSERVED: &str = "1d8e7a60f3b2c944";
pub(crate) const SUSPECTED: &str = "93aa20cf5d7710be";
pub(crate) const UNKNOWN_CODE: &str = "00000000000000aa";
pub(crate) const HOSTILE_RACE: &str = "00000000000000bb";
pub(crate) const LONG_NAMES: &str = "00000000000000cc";

/// All verdicts and statuses, with and without schedule, sources, stacks; hostile and long names.
pub(crate) fn showcase() -> Report {
    let mut findings =
        vec![observed(), hostile(), unknown_code(), predicted(), long_names(), suppressed(), suspected()];
    for (at, finding) in findings.iter_mut().enumerate() {
        finding.id = at as u32 + 1;
    }
    Report {
        schema: RESULT_SCHEMA,
        version: "0.1.0".into(),
        runs: vec![
            run("./server --port 0", 48_211_907),
            Run { command: vec![], process: 0, trace: "replica.std".into(), ..run("", 1_204) },
        ],
        findings,
        sources: sources(),
        triage: Triage {
            baseline: "races.baseline".into(),
            fixed: vec![FixedRace {
                fingerprint: "5f00c1d2e3a49687".into(),
                headline: "Cache::size: Cache::evict writes while Cache::report reads".into(),
            }],
            unused_suppressions: vec!["suppressions.txt:4: race:legacy::*".into()],
        },
    }
}

/// A report on a run without a race.
pub(crate) fn clean() -> Report {
    let (runs, triage) = (vec![run("./server", 1_000)], Triage::default());
    Report {
        schema: RESULT_SCHEMA,
        version: "0.1.0".into(),
        runs,
        findings: vec![],
        sources: BTreeMap::new(),
        triage,
    }
}

/// Many findings, each with its own stacks, words and schedule, as a large program would give.
pub(crate) fn many(count: u32) -> Report {
    let mut report = clean();
    report.findings = (0..count).map(one_of_many).collect();
    for finding in &report.findings {
        for frame in finding.accesses.iter().flat_map(|access| &access.stack).take(2) {
            add_excerpt(&mut report.sources, frame);
        }
    }
    report
}

fn run(command: &str, events: u64) -> Run {
    Run {
        modules: Vec::new(),
        trace: "server.otr".into(),
        format: "otr".into(),
        directory: String::new(),
        environment: Default::default(),
        command: command.split(' ').map(String::from).collect(),
        process: 4_711,
        events,
        threads: 9,
        locks: 14,
        variables: 80_312,
        detectors: vec![
            DetectorRun {
                name: "fasttrack".into(),
                promise: "first race of each variable exact; later ones real, some may be missing".into(),
                sampled: false,
                races: 12,
                remarks: vec![],
            },
            DetectorRun {
                name: "syncp".into(),
                promise: "every access that races with an earlier one, and no other".into(),
                sampled: false,
                races: 41,
                remarks: vec!["3 pairs were given up after 1,000,000 steps".into()],
            },
        ],
        notes: vec!["2 events of thread 7 were lost when the process was killed".into()],
        timeline: None,
    }
}

pub(crate) fn frame(function: &str, file: &str, line: u32, column: u32) -> Frame {
    Frame {
        function: function.into(),
        file: file.into(),
        line,
        column,
        module: "server".into(),
        offset: 0x4_1000 + u64::from(line) * 16,
    }
}

pub(crate) fn thread(name: &str, created_at: Vec<Frame>) -> Thread {
    Thread { name: name.into(), main: false, creator: "main".into(), created_at }
}

pub(crate) fn access(operation: &str, event: u64, thread: Thread, stack: Vec<Frame>) -> Access {
    let writes = operation.contains("write");
    Access { operation: operation.into(), writes, bytes: 8, event, thread, stack, ..Access::default() }
}

pub(crate) fn finding(
    fingerprint: &str,
    verdict: Verdict,
    headline: &str,
    first: Access,
    second: Access,
) -> Finding {
    Finding {
        id: 0,
        fingerprint: fingerprint.into(),
        verdict,
        headline: headline.into(),
        memory: Some(Memory {
            name: "stats.hits".into(),
            member: String::new(),
            kind: "global".into(),
            bytes: 64,
            offset: 8,
            owner: String::new(),
            allocated_at: vec![],
            ..Memory::default()
        }),
        accesses: vec![first, second],
        count: 1,
        observed: u64::from(verdict == Verdict::Observed),
        detectors: vec!["syncp".into()],
        runs: vec![0],
        ..Finding::default()
    }
}

fn poll_stack() -> Vec<Frame> {
    vec![
        frame("Server::poll", "src/server.cpp", 88, 16),
        frame("Server::run", "src/server.cpp", 40, 12),
        frame("worker_main(void*)", "src/main.cpp", 17, 3),
        Frame { module: "libc.so.6".into(), offset: 0x8_9134, ..Frame::default() },
    ]
}

fn reset_stack() -> Vec<Frame> {
    vec![
        frame("Stats::reset", "src/stats.cpp", 23, 19),
        frame("Stats::on_timer", "src/stats.cpp", 52, 9),
        frame(
            "std::__invoke_impl<void, void (Stats::*)(), Stats*>",
            "/usr/include/c++/12/bits/invoke.h",
            74,
            14,
        ),
        frame(
            "std::thread::_Invoker<std::tuple<void (Stats::*)(), Stats*> >::operator()",
            "/usr/include/c++/12/bits/std_thread.h",
            258,
            20,
        ),
        frame(
            "std::thread::_State_impl<std::thread::_Invoker<std::tuple<void (Stats::*)(), Stats*> > >::_M_run",
            "/usr/include/c++/12/bits/std_thread.h",
            210,
            13,
        ),
        Frame { module: "libstdc++.so.6".into(), offset: 0xd_44a3, ..Frame::default() },
        Frame { module: "libc.so.6".into(), offset: 0x8_9134, ..Frame::default() },
        Frame { module: "libc.so.6".into(), offset: 0x10_97dc, ..Frame::default() },
    ]
}

fn created() -> Vec<Frame> {
    vec![frame("Server::start", "src/server.cpp", 29, 5), frame("main", "src/main.cpp", 30, 3)]
}

fn predicted() -> Finding {
    let mut second = access("read", 48, thread("stats", created()), reset_stack());
    second.held = vec![HeldLock {
        name: "registry.mutex".into(),
        shared: true,
        event: 47,
        taken_at: vec![frame("Registry::each", "src/registry.cpp", 61, 3)],
    }];
    let first = access("write", 12, thread("worker-1", created()), poll_stack());
    let headline = "stats.hits: Server::poll writes while Stats::reset reads";
    Finding {
        count: 1_312,
        detectors: vec!["syncp".into(), "shb".into()],
        why: "Both threads take stats.mutex, and in this run worker-1 released it before stats took it. That alone orders the \
              accesses, and it need not: neither critical section reads what the other wrote, so stats can take the lock \
              first. The write itself is outside the critical section."
            .into(),
        remedy: "Move the write of stats.hits into the critical section that starts on line 90, or make it atomic.".into(),
        schedule: Some(schedule()),
        runs: vec![0, 1],
        ..finding(PREDICTED, Verdict::Predicted, headline, first, second)
    }
}

pub(crate) fn step(thread: u32, operation: &str, operand: &str, place: &str) -> Step {
    Step {
        event: 0,
        thread,
        operation: operation.into(),
        operand: operand.into(),
        place: place.into(),
        role: None,
        omitted: 0,
    }
}

/// `worker-1` writes and then has a critical section; `stats` has one and then reads. The witness leaves out the first section.
fn schedule() -> Schedule {
    let mut steps = vec![
        step(0, "write", "config", "main main.cpp:26"),
        step(0, "fork", "worker-1", "Server::start server.cpp:29"),
        step(0, "fork", "stats", "Server::start server.cpp:31"),
        step(1, "read", "config", "Server::run server.cpp:38"),
        step(1, "write", "stats.hits", "Server::poll server.cpp:88"),
        step(1, "acquire", "stats.mutex", "Server::poll server.cpp:90"),
        step(1, "write", "stats.last", "Server::poll server.cpp:91"),
        step(1, "release", "stats.mutex", "Server::poll server.cpp:92"),
        step(2, "acquire", "stats.mutex", "Stats::reset stats.cpp:19"),
        step(2, "write", "stats.epoch", "Stats::reset stats.cpp:20"),
        step(2, "release", "stats.mutex", "Stats::reset stats.cpp:21"),
        step(2, "acquire", "registry.mutex", "Registry::each registry.cpp:61"),
        step(2, "read", "stats.hits", "Stats::reset stats.cpp:23"),
    ];
    for (at, step) in steps.iter_mut().enumerate() {
        step.event = at as u64 * 4;
    }
    steps[3].omitted = 1_204;
    steps[9].omitted = 1;
    steps[4].role = Some(0);
    steps[12].role = Some(1);
    let section =
        |lock: &str, shared, thread, from, to| Section { lock: lock.into(), shared, thread, from, to };
    let arrow = |from, to, kind| Arrow { from, to, kind };
    Schedule {
        threads: vec!["main".into(), "worker-1".into(), "stats".into()],
        steps,
        witness: vec![0, 1, 2, 3, 8, 9, 10, 11, 4, 12],
        sections: vec![
            section("stats.mutex", false, 1, Some(5), Some(7)),
            section("stats.mutex", false, 2, Some(8), Some(10)),
            section("registry.mutex", true, 2, Some(11), None),
        ],
        arrows: vec![
            arrow(1, 3, ArrowKind::Fork),
            arrow(0, 3, ArrowKind::ReadsFrom),
            arrow(2, 8, ArrowKind::Fork),
            arrow(7, 8, ArrowKind::LockOrder),
        ],
        reversals: Vec::new(),
    }
}

fn observed() -> Finding {
    let mut first = access("write", 1_000_402, thread("worker-1", created()), poll_stack());
    first.held = vec![HeldLock {
        name: "queue.mutex".into(),
        shared: false,
        event: 1_000_398,
        taken_at: vec![
            frame("Queue::pop", "src/queue.cpp", 12, 3),
            frame("Server::poll", "src/server.cpp", 84, 9),
        ],
    }];
    let second = access(
        "atomic load",
        1_000_911,
        Thread { main: true, name: "main".into(), ..Thread::default() },
        reset_stack(),
    );
    let mut schedule = schedule();
    schedule.witness = vec![];
    schedule.arrows.pop();
    let headline =
        "session->last_seen (a heap block of 256 bytes): Server::poll writes while Stats::reset loads";
    Finding {
        memory: Some(Memory {
            name: "a heap block of 256 bytes".into(),
            member: String::new(),
            kind: "heap".into(),
            bytes: 256,
            offset: 40,
            owner: "worker-1".into(),
            allocated_at: vec![frame("operator new(unsigned long)", "", 0, 0), frame("Session::open", "src/session.cpp", 14, 10)],
            ..Memory::default()
        }),
        count: 3,
        observed: 3,
        why: "worker-1 holds queue.mutex and main holds no lock. The two threads share no lock, and main does not wait for worker-1.".into(),
        remedy: "Hold `queue.mutex` at both accesses.".into(),
        schedule: Some(schedule),
        ..finding(OBSERVED, Verdict::Observed, headline, first, second)
    }
}

fn suspected() -> Finding {
    let first = access(
        "write",
        7,
        thread("T1", vec![]),
        vec![Frame { file: "main.c:12".into(), ..Frame::default() }],
    );
    let second = access(
        "write",
        9,
        thread("T2", vec![]),
        vec![Frame { file: "worker.c:30".into(), ..Frame::default() }],
    );
    Finding {
        status: Status::Known {
            reason: "guarded by the start-up phase".into(),
            since: "2026-11-15".into(),
            verdict: String::new(),
        },
        memory: Some(Memory {
            name: "A3[0..4096 step 2]".into(),
            kind: "variable".into(),
            ..Memory::default()
        }),
        detectors: vec!["lock-set".into()],
        runs: vec![1],
        ..finding(
            SUSPECTED,
            Verdict::Suspected,
            "A3[0..4096 step 2]: main.c:12 writes while worker.c:30 writes",
            first,
            second,
        )
    }
}

fn suppressed() -> Finding {
    Finding {
        status: Status::Suppressed { by: "suppressions.txt:2: race:Logger::*".into() },
        memory: Some(Memory {
            name: "logger.level".into(),
            kind: "global".into(),
            bytes: 4,
            ..Memory::default()
        }),
        ..finding(
            "2b2b2b2b2b2b2b2b",
            Verdict::Predicted,
            "logger.level: Logger::level reads while Logger::set_level writes",
            access("read", 5, thread("worker-2", created()), poll_stack()),
            access("write", 6, thread("worker-3", created()), reset_stack()),
        )
    }
}

fn unknown_code() -> Finding {
    let stripped = vec![Frame { module: "libplugin.so".into(), offset: 0x1_234, ..Frame::default() }];
    let first = access("write", 5, Thread::default(), stripped);
    let second = access("free", 6, Thread::default(), vec![]);
    Finding {
        memory: Some(Memory { name: "unknown memory".into(), kind: "unknown".into(), ..Memory::default() }),
        ..finding(
            UNKNOWN_CODE,
            Verdict::Observed,
            "unknown memory: libplugin.so+0x1234 writes while unknown code frees",
            first,
            second,
        )
    }
}

fn hostile() -> Finding {
    let stack = vec![frame(HOSTILE, HOSTILE, 1, 1)];
    let mut first = access(HOSTILE, 5, thread(HOSTILE, stack.clone()), stack.clone());
    first.held = vec![HeldLock { name: HOSTILE.into(), shared: false, event: 4, taken_at: stack.clone() }];
    let mut schedule = schedule();
    for step in &mut schedule.steps {
        (step.operand, step.place) = (HOSTILE.into(), HOSTILE.into());
    }
    schedule.threads = vec![HOSTILE.into(); 3];
    schedule.witness = vec![];
    Finding {
        memory: Some(Memory {
            name: HOSTILE.into(),
            member: String::new(),
            kind: HOSTILE.into(),
            owner: HOSTILE.into(),
            allocated_at: stack.clone(),
            ..Memory::default()
        }),
        why: HOSTILE.into(),
        remedy: HOSTILE.into(),
        detectors: vec![HOSTILE.into()],
        status: Status::Known { reason: HOSTILE.into(), since: HOSTILE.into(), verdict: HOSTILE.into() },
        schedule: Some(schedule),
        ..finding(
            HOSTILE_RACE,
            Verdict::Observed,
            HOSTILE,
            first,
            access("read", 9, thread(HOSTILE, vec![]), stack),
        )
    }
}

fn long_names() -> Finding {
    let inner = "std::map<std::string, std::vector<int> >, ".repeat(60);
    let name = format!("Pipeline<{inner}void>::process");
    let mut stack = poll_stack();
    stack[0].function.clone_from(&name);
    Finding {
        why: format!("Nothing orders {name} with itself."),
        memory: Some(Memory { name: "queue".into(), kind: "global".into(), ..Memory::default() }),
        ..finding(
            LONG_NAMES,
            Verdict::Predicted,
            &format!("queue: {name} writes while {name} reads"),
            access("write", 5, thread("worker-2", created()), stack.clone()),
            access("read", 6, thread("worker-3", created()), stack),
        )
    }
}

fn sources() -> BTreeMap<String, Excerpt> {
    let server = "\
        // Waits for a request and answers it.\n\
        bool Server::poll() {\n    \
            Request request = queue.pop();\n    \
            if (!request.valid())\n        \
                return false;\n    \
            stats.hits += 1;\n    \
            answer(request);\n    \
            std::lock_guard guard(stats.mutex);\n    \
            stats.last = request.time;\n    \
            return true;\n\
        }";
    let stats = "\
        void Stats::reset() {\n    \
            {\n        \
                std::lock_guard guard(mutex);\n        \
                epoch += 1;\n    \
            }\n    \
            registry.each([this](Sink &sink) {\n        \
                sink.push(hits);\n    \
            });\n\
        }";
    let run = "void Server::run() {\n    while (poll())\n        ;\n}";
    let mut server_lines = excerpt(83, server);
    server_lines.lines.extend(excerpt(39, run).lines);
    BTreeMap::from([
        ("src/server.cpp".into(), server_lines),
        ("src/stats.cpp".into(), excerpt(17, stats)),
        (HOSTILE.into(), excerpt(1, HOSTILE)),
    ])
}

fn excerpt(first: u32, text: &str) -> Excerpt {
    Excerpt { lines: (first..).zip(text.lines().map(String::from)).collect(), ..Excerpt::default() }
}

/// Spreads `number` over all values.
fn spread(number: u32, salt: u32) -> u32 {
    (number.wrapping_mul(0x9e37_79b9) ^ salt.wrapping_mul(0x85eb_ca6b)).wrapping_mul(0xc2b2_ae35) >> 7
}

fn one_of_many(number: u32) -> Finding {
    let verdict = [Verdict::Observed, Verdict::Predicted, Verdict::Suspected][(number % 7 / 3) as usize];
    let side = |salt: u32, operation: &str| {
        let stack = (0..14).map(|depth| frame_of_many(spread(number, salt) / (1 << depth))).collect();
        let name = format!("worker-{}", spread(number, salt) % 16);
        access(operation, u64::from(spread(number, salt)), thread(&name, created()), stack)
    };
    let (first, second) = (side(1, "write"), side(2, "read"));
    let names = [&first.stack[0].function, &second.stack[0].function].map(String::clone);
    let memory = format!("table_{}.entry_{number}", number % 97);
    let headline = format!("{memory}: {} writes while {} reads", names[0], names[1]);
    let mut schedule = schedule();
    for (at, step) in schedule.steps.iter_mut().enumerate() {
        let place = frame_of_many(spread(number, at as u32));
        step.event += u64::from(number);
        step.place = format!("{} {}:{}", place.function, place.file, place.line);
    }
    Finding {
        id: number + 1,
        memory: Some(Memory { name: memory.clone(), kind: "global".into(), ..Memory::default() }),
        why: format!(
            "Both threads take lock {}, and in this run {} released it before {} took it. That alone orders the \
            accesses, and it need not: neither critical section reads what the other wrote, so the second thread can take \
            the lock first. The write itself is outside the critical section.",
            number % 311,
            names[0],
            names[1]
        ),
        remedy: format!("Hold lock {} at both accesses of {memory}.", number % 311),
        count: u64::from(spread(number, 3) % 50 + 1),
        schedule: (verdict != Verdict::Suspected).then_some(schedule),
        ..finding(
            &format!("{:016x}", u64::from(number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)),
            verdict,
            &headline,
            first,
            second,
        )
    }
}

fn frame_of_many(number: u32) -> Frame {
    let number = number % 4_001;
    let function = format!("module_{}::Component{}::handle_{}", number % 41, number % 397, number);
    frame(
        &function,
        &format!("src/module_{}/component_{}.cpp", number % 41, number % 397),
        number % 900 + 10,
        5,
    )
}

fn add_excerpt(sources: &mut BTreeMap<String, Excerpt>, frame: &Frame) {
    let lines = &mut sources.entry(frame.file.clone()).or_default().lines;
    for line in frame.line - 4..=frame.line + 4 {
        lines
            .entry(line)
            .or_insert_with(|| format!("    table_{}.entries[index].store(value_{line}, step);", line % 97));
    }
}
