//! `analyze` by several workers, and `cluster`: whoever does the work, the results are the same.

mod support;

use std::net::TcpListener;
use std::process::{Command, Stdio};

use serde_json::Value;
use support::{Files, RACY, overtake, without};

/// Seals a trace with races of many variables. Returns its path.
fn sealed(files: &Files) -> String {
    let trace = files.path("many.otr");
    let shape = ["gen", "mixed", "--events", "150000", "--raciness", "0.01", "-o"];
    overtake(&[&shape[..], &[&trace]].concat()).expect_code(0);
    trace
}

/// The result of an analysis as it is stored, without what depends on time.
fn result(files: &Files, arguments: &[&str]) -> String {
    let file = files.path("result.json");
    let report = format!("result={file}");
    let mut all = arguments.to_vec();
    all.extend(["--report", &report]);
    overtake(&all).expect_code(66);
    let mut result: Value = serde_json::from_slice(&std::fs::read(&file).expect("a result")).expect("JSON");
    without(&mut result, &["seconds", "peak_state_bytes"]);
    format!("{result:#}")
}

#[test]
fn stored_results_are_the_same_for_any_number_of_workers() {
    let files = Files::new();
    let trace = sealed(&files);
    for detectors in ["hb", "fasttrack,lock-set", "syncp,shb", "hb,syncp,osr"] {
        let expected = result(&files, &["analyze", &trace, "-d", detectors]);
        for workers in ["1", "2", "3"] {
            let found = result(&files, &["analyze", &trace, "-d", detectors, "--workers", workers]);
            assert_eq!(found, expected, "{detectors} by {workers} workers");
        }
    }
}

#[test]
fn processes_have_the_result_of_one() {
    let files = Files::new();
    let trace = sealed(&files);
    let expected = result(&files, &["analyze", &trace, "-d", "hb"]);
    let found = result(&files, &["cluster", "--local", "3", &trace, "-d", "hb", "--workers", "2"]);
    assert_eq!(found, expected);
}

#[test]
fn what_cannot_be_shared_is_said() {
    let files = Files::new();
    let trace = sealed(&files);
    let run = overtake(&["analyze", &trace, "-d", "hb,wcp", "--workers", "2"]).expect_code(66);
    assert!(run.stderr.contains("workers cannot share wcp: one worker does it"), "{}", run.stderr);
    let run = overtake(&["analyze", &trace, "-d", "wcp", "--workers", "2"]).expect_code(66);
    assert!(run.stderr.contains("one worker does all the work: workers cannot share wcp"), "{}", run.stderr);
    let text = files.write("racy.std", RACY);
    let run = overtake(&["analyze", &text, "-d", "hb", "--workers", "2"]).expect_code(66);
    assert!(run.stderr.contains("expected a complete sealed trace"), "{}", run.stderr);
    let run = overtake(&["analyze", &trace, "-d", "hb", "--workers", "2", "--verbose"]).expect_code(66);
    assert!(
        run.stderr.contains("2 workers, a stretch of the trace each; seconds of processor time: "),
        "{}",
        run.stderr
    );
}

#[test]
fn a_trace_that_needs_repairs_is_reported_as_ever() {
    let files = Files::new();
    let text = files.write("late.std", "T0|w(x)|1\nT1|w(x)|2\nT0|fork(T1)|3\nT1|w(y)|4\nT0|w(y)|5\n");
    let trace = files.path("late.otr");
    overtake(&["convert", &text, &trace]).expect_code(0);
    let expected = overtake(&["analyze", &trace, "-d", "hb"]).expect_code(66);
    let found = overtake(&["analyze", &trace, "-d", "hb", "--workers", "2"]).expect_code(66);
    assert_eq!(found.text(), expected.text());
    assert!(
        found.stderr.contains("one worker does all the work: the trace needs repairs"),
        "{}",
        found.stderr
    );
}

#[test]
fn a_process_that_fails_ends_the_job_by_name() {
    let files = Files::new();
    let trace = sealed(&files);
    // Nobody else can listen where the second process should.
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let taken = taken.local_addr().map(|address| (taken, address)).expect("an address");
    let free = TcpListener::bind("127.0.0.1:0").expect("a free port").local_addr().expect("an address");
    let hosts = files.write("hosts", format!("{free}\n{}\n", taken.1));
    let run = overtake(&["cluster", "--hosts", &hosts, &trace, "-d", "hb"]).expect_code(1);
    let name = format!("process 1 ({})", taken.1);
    assert!(run.stderr.contains(&format!("{name} cannot listen")), "{}", run.stderr);
    assert!(
        run.stderr.contains(&format!("{name} ended with exit code 1: the job is over")),
        "{}",
        run.stderr
    );
}

/// The processes that a process has started, once there are so many.
fn children(parent: u32, count: usize) -> Vec<u32> {
    loop {
        let list = std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children"));
        let list = list.expect("the process runs");
        let children: Vec<u32> =
            list.split_whitespace().map(|word| word.parse().expect("a number")).collect();
        if children.len() == count {
            return children;
        }
        std::thread::yield_now();
    }
}

fn kill(process: u32) {
    let killed = Command::new("kill").args(["-9", &process.to_string()]).status().expect("kill");
    assert!(killed.success());
}

#[test]
fn a_process_that_is_killed_ends_the_job_by_name() {
    let files = Files::new();
    let trace = sealed(&files);
    // The third process is on a machine that never answers, so that the job cannot be over before the second one is killed.
    let ssh = files.write("ssh", "#!/bin/sh\nexec sleep 1000\n");
    let mode = Command::new("chmod").args(["+x", &ssh]).status().expect("chmod");
    assert!(mode.success());
    let free = || TcpListener::bind("127.0.0.1:0").expect("a free port").local_addr().expect("an address");
    let (first, second) = (free(), free());
    let hosts = files.write("hosts", format!("{first}\n{second}\nelsewhere:4100\n"));
    let job = Command::new(env!("CARGO_BIN_EXE_overtake"))
        .args(["cluster", "--hosts", &hosts, "--ssh", &ssh, &trace, "-d", "hb"])
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program");
    kill(children(job.id(), 3)[1]);
    let job = job.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&job.stderr);
    assert_eq!(job.status.code(), Some(1), "{said}");
    assert!(
        said.contains(&format!("process 1 ({second}) was killed by signal 9: the job is over")),
        "{said}"
    );
}

#[test]
fn a_job_over_traces_that_is_killed_goes_on_where_it_was() {
    let files = Files::new();
    let directory = night(&files);
    let (parts, report) = (files.path("parts"), format!("result={}", files.path("result.json")));
    let typed = ["analyze", &directory, "-d", "hb", "--resume", &parts, "--report", &report];
    let result = || {
        let bytes = std::fs::read(files.path("result.json")).expect("a result");
        let mut result: Value = serde_json::from_slice(&bytes).expect("JSON");
        without(&mut result, &["seconds", "peak_state_bytes"]);
        result
    };
    overtake(&typed).expect_code(66);
    let expected = result();
    std::fs::remove_dir_all(&parts).expect("parts");
    let mut job = Command::new(env!("CARGO_BIN_EXE_overtake"))
        .args(typed)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program");
    // Wherever it is when it is killed: something is finished.
    while std::fs::read_dir(&parts).map_or(0, |parts| parts.count()) == 0 {
        std::thread::yield_now();
    }
    job.kill().expect("it has not been waited for");
    job.wait().expect("it ends");
    overtake(&typed).expect_code(66);
    assert_eq!(result(), expected);
}

/// How many slices a directory has.
fn slices_in(directory: &str) -> usize {
    let is_slice = |name: &str| name.ends_with(".slice");
    std::fs::read_dir(directory).map_or(0, |entries| {
        entries
            .filter(|entry| entry.as_ref().is_ok_and(|entry| is_slice(&entry.file_name().to_string_lossy())))
            .count()
    })
}

#[test]
fn a_job_in_slices_that_is_killed_goes_on_with_those_that_are_missing() {
    let files = Files::new();
    let trace = sealed(&files);
    let kept = files.path("kept");
    let expected = result(&files, &["analyze", &trace, "-d", "hb,lock-set"]);
    let typed = ["analyze", &trace, "-d", "hb,lock-set", "--slices", "4", "--resume", &kept];
    let mut job = Command::new(env!("CARGO_BIN_EXE_overtake"))
        .args(typed)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program");
    // Wherever it is when it is killed: a slice is finished.
    while slices_in(&kept) == 0 {
        std::thread::yield_now();
    }
    job.kill().expect("it has not been waited for");
    job.wait().expect("it ends");
    let finished = slices_in(&kept);
    assert_eq!(
        result(&files, &[&typed[..], &["--workers", "2"]].concat()),
        expected,
        "{finished} were finished"
    );
    assert_eq!(slices_in(&kept), 3, "the last slice ends the job");

    let run = overtake(&typed).expect_code(66);
    assert!(run.stderr.contains("3 of 4 slices had been judged before"), "{}", run.stderr);
    for entry in std::fs::read_dir(&kept).expect("slices") {
        let path = entry.expect("a slice").path();
        let mut bytes = std::fs::read(&path).expect("bytes");
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(&path, bytes).expect("room");
    }
    assert_eq!(result(&files, &typed), expected, "damaged slices are judged again");
    // What is asked otherwise is another job.
    let run = overtake(&["analyze", &trace, "-d", "hb", "--slices", "4", "--resume", &kept]).expect_code(66);
    assert!(!run.stderr.contains("judged before"), "{}", run.stderr);
}

#[test]
fn processes_judge_slices_and_the_first_one_keeps_them() {
    let files = Files::new();
    let trace = sealed(&files);
    let kept = files.path("kept");
    let expected = result(&files, &["analyze", &trace, "-d", "fasttrack"]);
    let typed = ["cluster", "--local", "2", &trace, "-d", "fasttrack", "--slices", "3", "--resume", &kept];
    assert_eq!(result(&files, &typed), expected);
    assert_eq!(slices_in(&kept), 2);
    assert_eq!(result(&files, &typed), expected);
}

#[test]
fn slices_are_refused_where_they_mean_nothing() {
    let files = Files::new();
    let trace = sealed(&files);
    let run = overtake(&["analyze", &trace, "--resume", "kept"]).expect_code(2);
    assert!(run.stderr.contains("or for a trace with --slices"), "{}", run.stderr);
    let directory = night(&files);
    let run = overtake(&["analyze", &directory, "--slices", "2"]).expect_code(2);
    assert!(run.stderr.contains("--slices are for one trace"), "{}", run.stderr);
    let run = overtake(&["analyze", &trace, "-d", "hb,syncp", "--slices", "2"]).expect_code(66);
    let said = "syncp cannot judge variables in slices: one worker does it";
    assert!(run.stderr.contains(said), "{}", run.stderr);
    let file = files.write("file", "");
    let run = overtake(&["analyze", &trace, "-d", "hb", "--slices", "2", "--resume", &file]).expect_code(1);
    assert!(run.stderr.contains(&file), "{}", run.stderr);
}

#[test]
fn a_host_file_without_the_process_is_wrong_usage() {
    let files = Files::new();
    let hosts = files.write("hosts", "127.0.0.1:1\n");
    let run = overtake(&["analyze", "x.otr", "--hosts", &hosts, "--process", "1"]).expect_code(2);
    assert!(run.stderr.contains("expected a process below 1"), "{}", run.stderr);
    let empty = files.write("empty", "# nobody\n");
    let run = overtake(&["analyze", "x.otr", "--hosts", &empty, "--process", "0"]).expect_code(1);
    assert!(run.stderr.contains("expected a line host:port for each process"), "{}", run.stderr);
}

/// A directory with a night's traces: each has the race of `RACY`, the first one another one as well, and one has none.
fn night(files: &Files) -> String {
    let directory = files.path("night");
    std::fs::create_dir(&directory).expect("a directory");
    let other = "T0|fork(T1)|1\nT0|w(other)|alone.c:1\nT1|w(other)|alone.c:2\n";
    for (name, text) in
        [("1.std", other), ("2.std", RACY), ("3.std", "T0|w(x)|1\n"), ("4.std", RACY), ("notes.txt", "-")]
    {
        files.write(&format!("night/{name}"), text);
    }
    directory
}

#[test]
fn a_directory_of_traces_is_one_job() {
    let files = Files::new();
    let directory = night(&files);
    let single = files.write("single.std", RACY);
    let report = format!("result={}", files.path("result.json"));
    overtake(&["analyze", &single, "-d", "hb", "--report", &report]).expect_code(66);
    let read = || -> Value {
        serde_json::from_slice(&std::fs::read(files.path("result.json")).expect("a result")).expect("JSON")
    };
    let once = read();
    for workers in ["1", "3"] {
        overtake(&["analyze", &directory, "-d", "hb", "--workers", workers, "--report", &report])
            .expect_code(66);
        let result = read();
        assert_eq!(result["runs"].as_array().map(Vec::len), Some(4));
        let findings = result["findings"].as_array().expect("findings");
        let fingerprint = &once["findings"][0]["fingerprint"];
        let race = findings.iter().find(|finding| finding["fingerprint"] == *fingerprint).expect("the race");
        assert_eq!(race["runs"], serde_json::json!([1, 3]), "second and fourth trace");
        let count = once["findings"][0]["count"].as_u64().expect("a count");
        assert_eq!(race["count"].as_u64(), Some(2 * count));
        let alone =
            findings.iter().find(|finding| finding["fingerprint"] != *fingerprint).expect("the other");
        assert_eq!(alone["runs"], serde_json::json!([0]));
    }
}

#[test]
fn a_job_goes_on_from_finished_parts() {
    let files = Files::new();
    let (directory, parts) = (night(&files), files.path("parts"));
    let run = || overtake(&["analyze", &directory, "-d", "hb", "--resume", &parts]).expect_code(66);
    let first = run();
    assert!(!first.stderr.contains("analysed before"), "{}", first.stderr);
    // As if the job had ended after three of four traces, while the third was being stored.
    let mut stored: Vec<_> =
        std::fs::read_dir(&parts).expect("parts").map(|part| part.expect("a part").path()).collect();
    stored.sort();
    assert_eq!(stored.len(), 4);
    std::fs::remove_file(&stored[3]).expect("a part");
    std::fs::write(&stored[2], "{").expect("a part");
    let second = run();
    assert!(second.stderr.contains("2 of 4 traces had been analysed before"), "{}", second.stderr);
    assert_eq!(second.text(), first.text());
    let third = run();
    assert!(third.stderr.contains("4 of 4 traces had been analysed before"), "{}", third.stderr);
    assert_eq!(third.text(), first.text());
    // Another question has other parts.
    let other = overtake(&["analyze", &directory, "-d", "lock-set", "--resume", &parts]).expect_code(66);
    assert!(!other.stderr.contains("analysed before"), "{}", other.stderr);
}

#[test]
fn a_trace_that_cannot_be_read_is_named_and_the_others_are_reported() {
    let files = Files::new();
    let directory = night(&files);
    files.write("night/5.std", "T0|what(x)|1\n");
    let run = overtake(&["analyze", &directory, "-d", "hb"]).expect_code(1);
    assert!(run.stderr.contains("5.std:"), "{}", run.stderr);
    assert!(run.stderr.contains("1 traces could not be analysed"), "{}", run.stderr);
    assert!(run.text().contains("alone.c"), "{}", run.text());
    let usage = overtake(&["analyze", &files.path("night/1.std"), "--resume", "x"]).expect_code(2);
    assert!(usage.stderr.contains("--resume is for a directory of traces"), "{}", usage.stderr);
}
