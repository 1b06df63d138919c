//! Reports of traces: their text, their stored form, and how they are asked for.

mod support;

use std::path::Path;

use serde_json::{Value, json};
use support::schema::check_result;
use support::{Files, RACY, expect_golden, overtake, overtake_with_input, race_free};

/// Traces, and the detectors that each is analysed with.
const STORIES: [(&str, &str, &str); 9] = [
    (
        "overtaken",
        "hb,syncp",
        "T0|fork(T1)|main.c:1\nT0|w(x)|main.c:2\nT0|acq(m)|main.c:3\nT0|w(y)|main.c:4\nT0|rel(m)|main.c:5\n\
         T1|acq(m)|worker.c:2\nT1|w(z)|worker.c:3\nT1|rel(m)|worker.c:4\nT1|r(x)|worker.c:5\n",
    ),
    (
        // The section of T3 is left out as well, but it did not keep the accesses apart.
        "overtaken_beside_a_stranger",
        "hb,syncp",
        "T0|fork(T1)|1\nT0|fork(T2)|2\nT0|fork(T3)|3\nT3|acq(k)|31\nT3|w(a)|32\nT3|rel(k)|33\nT1|w(x)|11\nT1|acq(m)|12\n\
         T1|w(b)|13\nT1|rel(m)|14\nT2|acq(k)|21\nT2|w(c)|22\nT2|rel(k)|23\nT2|acq(m)|24\nT2|w(d)|25\nT2|rel(m)|26\nT2|w(x)|27\n",
    ),
    (
        "one_side_locked",
        "hb",
        "T0|fork(T1)|main.c:1\nT1|acq(m)|worker.c:2\nT1|w(x)|worker.c:3\nT1|rel(m)|worker.c:4\nT0|w(x)|main.c:2\n\
         T0|join(T1)|main.c:3\n",
    ),
    (
        "different_locks",
        "hb",
        "T0|fork(T1)|1\nT0|fork(T2)|2\nT1|acq(a)|11\nT1|w(x)|12\nT1|rel(a)|13\nT2|acq(b)|21\nT2|w(x)|22\nT2|rel(b)|23\n",
    ),
    (
        "shared_lock",
        "hb",
        "T0|fork(T1)|1\nT0|fork(T2)|2\nT1|racq(rw)|11\nT2|racq(rw)|21\nT1|w(x)|12\nT2|r(x)|22\nT1|rrel(rw)|13\nT2|rrel(rw)|23\n",
    ),
    (
        "one_side_atomic",
        "hb",
        "T0|fork(T1)|1\nT0|store.release(flag)|2\nT1|load.acquire(flag)|11\nT0|w(flag)|3\n",
    ),
    (
        "freed_while_used",
        "hb,syncp",
        "T0|alloc(B[4])|1\nT0|fork(T1)|2\nT1|r(B[2])|11\nT1|rmw.relaxed(count)|12\nT0|rmw.relaxed(count)|3\nT0|free(B)|4\n",
    ),
    (
        "suspected",
        "hb,syncp,lock-cover",
        "T0|w(x)|1\nT0|fork(T1)|2\nT1|acq(m)|11\nT1|w(x)|12\nT1|rel(m)|13\nT0|join(T1)|3\nT0|r(x)|4\n",
    ),
    ("no_locations", "hb", "T0|fork(T1)\nT0|w(x)\nT1|r(x)\nT0|w(y)\nT1|w(y)\nT1|r(x)\n"),
];

#[test]
fn each_story_is_told() {
    let mut files = Vec::new();
    for (name, detectors, trace) in STORIES {
        let run = overtake_with_input(&["analyze", "-", "-d", detectors], trace.as_bytes()).expect_code(66);
        expect_golden(&format!("findings/{name}.txt"), &run.text());
        files.push(format!("{name}.txt"));
    }
    files.sort();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/findings");
    let mut known: Vec<_> = std::fs::read_dir(golden)
        .expect("readable")
        .map(|entry| entry.expect("readable").file_name().to_string_lossy().into_owned())
        .collect();
    known.sort();
    assert_eq!(known, files, "every golden file has its story");
}

#[test]
fn results_fit_their_schema_and_render_again_as_they_did() {
    let files = Files::new();
    for (name, detectors, trace) in STORIES {
        let trace = files.write(&format!("{name}.std"), trace);
        let stored = files.path("result.json");
        let target = format!("result={stored}");
        let run = overtake(&["analyze", &trace, "-d", detectors, "--report", &target]).expect_code(66);
        check_result(&read_json(&stored));
        let again = overtake(&["report", &stored]).expect_code(66);
        assert_eq!(again.text(), run.text());
        let json = overtake(&["report", &stored, "--report", "json=-"]).expect_code(66).json();
        assert_eq!(json, read_json(&stored));
    }
}

#[test]
fn results_of_golden_traces_fit_the_schema() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/golden");
    let mut count = 0;
    for entry in std::fs::read_dir(directory).expect("readable") {
        let path = entry.expect("readable").path();
        if path.extension().is_some_and(|extension| extension == "std") {
            let path = path.to_str().expect("UTF-8");
            let detectors = "hb,syncp,shb,slimstate,lock-set,lock-cover";
            let run = overtake(&["analyze", path, "-d", detectors, "--report", "result=-"]);
            check_result(&run.json());
            count += 1;
        }
    }
    assert!(count > 20, "{count}");
}

fn read_json(path: &str) -> Value {
    serde_json::from_slice(&std::fs::read(path).expect("a file")).expect("JSON")
}

#[test]
fn a_predicted_race_has_a_checked_schedule() {
    let (_, detectors, trace) = STORIES[0];
    let run = overtake_with_input(&["analyze", "-", "-d", detectors, "--report", "json=-"], trace.as_bytes());
    let finding = &run.json()["findings"][0];
    assert_eq!(finding["verdict"], "predicted");
    let schedule = &finding["schedule"];
    let events = |positions: &Value| -> Vec<u64> {
        let positions = positions.as_array().expect("positions").iter();
        let event =
            |at: &Value| schedule["steps"][at.as_u64().expect("a position") as usize]["event"].as_u64();
        positions.map(|at| event(at).expect("an event")).collect()
    };
    assert_eq!(events(&schedule["witness"]), [0, 5, 7, 1, 8]);
    let steps = schedule["steps"].as_array().expect("steps").iter();
    assert_eq!(
        steps.map(|step| step["event"].as_u64().expect("an event")).collect::<Vec<_>>(),
        [0, 1, 2, 4, 5, 7, 8]
    );
    let arrows = schedule["arrows"].as_array().expect("arrows").iter();
    let arrows: Vec<_> = arrows
        .map(|arrow| {
            (
                arrow["kind"].as_str().expect("a kind"),
                events(&serde_json::json!([arrow["from"], arrow["to"]])),
            )
        })
        .collect();
    assert_eq!(arrows, [("fork", vec![0, 5]), ("lock-order", vec![4, 5])]);
    let none = overtake_with_input(
        &["analyze", "-", "-d", detectors, "--witnesses", "0", "--report", "json=-"],
        trace.as_bytes(),
    );
    assert_eq!(none.json()["findings"][0]["schedule"]["witness"], serde_json::json!([]));
    let note = none.json()["runs"][0]["notes"][0].as_str().expect("a note").to_owned();
    assert_eq!(note, "schedules were built for 0 of 1 predicted race; --witnesses N builds more");
}

#[test]
fn reports_go_where_they_are_asked_to() {
    let files = Files::new();
    let (text, json) = (files.path("races.txt"), files.path("races.json"));
    let arguments =
        ["analyze", "-", "--report", &format!("text={text}"), "--report", &format!("json={json}")];
    let run = overtake_with_input(&arguments, RACY.as_bytes()).expect_code(66);
    assert_eq!(run.text(), std::fs::read_to_string(&text).expect("a file"), "and on standard output");
    check_result(&read_json(&json));
    let run = overtake_with_input(&["analyze", "-", "--report", "json=-"], RACY.as_bytes()).expect_code(66);
    check_result(&run.json());
    let run =
        overtake_with_input(&["analyze", "-", "--report", "json=-"], race_free().as_bytes()).expect_code(0);
    check_result(&run.json());
    let run = overtake_with_input(
        &["analyze", "-", "--json", "--report", &format!("result={json}")],
        RACY.as_bytes(),
    );
    assert_eq!(run.expect_code(66).json()["detectors"][0]["name"], "hb");
    check_result(&read_json(&json));
}

#[test]
fn wrong_formats_are_wrong_usage() {
    for wrong in ["nonsense=x", "json", "json=", "=x"] {
        let run = overtake(&["analyze", "x.std", "--report", wrong]).expect_code(2);
        assert!(run.stderr.contains("expected FORMAT=FILE, where FORMAT is one of text, "), "{}", run.stderr);
    }
    let files = Files::new();
    for (contents, expected) in [
        ("{", "EOF while parsing"),
        ("{\"schema\": 1}", "missing field"),
        ("[]", "expected a stored result, found something else"),
    ] {
        let run = overtake(&["report", &files.write("broken.json", contents)]).expect_code(1);
        assert!(run.stderr.contains("broken.json: ") && run.stderr.contains(expected), "{}", run.stderr);
    }
}

#[test]
fn a_result_of_another_version_is_refused() {
    let files = Files::new();
    let run = overtake_with_input(&["analyze", "-", "--report", "result=-"], RACY.as_bytes());
    let other = run.text().replacen("\"schema\":2", "\"schema\":3", 1);
    let run = overtake(&["report", &files.write("other.json", other)]).expect_code(1);
    assert!(run.stderr.contains("expected a result of version 2 or 1, found 3"), "{}", run.stderr);
}

#[test]
fn one_race_is_explained_by_number_or_fingerprint() {
    let files = Files::new();
    let (_, detectors, trace) = STORIES[0];
    let trace = files.write("trace.std", trace);
    let stored = files.path("result.json");
    overtake(&["analyze", &trace, "-d", detectors, "--report", &format!("result={stored}")]).expect_code(66);
    let fingerprint = read_json(&stored)["findings"][0]["fingerprint"].as_str().expect("text").to_owned();
    let told = overtake(&["explain", &stored, "1"]).expect_code(66).text();
    for part in
        ["predicted race on x", "why ", "fix ", "as it happened:", "another order", &fingerprint, "by syncp"]
    {
        assert!(told.contains(part), "no {part} in\n{told}");
    }
    for race in ["1.", &fingerprint, &fingerprint[..6]] {
        assert_eq!(overtake(&["explain", &stored, race]).expect_code(66).text(), told);
        assert_eq!(overtake(&["explain", &trace, race, "-d", detectors]).expect_code(66).text(), told);
    }
    let run = overtake(&["explain", &stored, "2"]).expect_code(2);
    assert!(run.stderr.contains("expected a number from 1 to 1 or the beginning"), "{}", run.stderr);
}

#[test]
fn quiet_is_a_line_each_and_verbose_is_everything() {
    let quiet = overtake_with_input(&["analyze", "-", "-q"], RACY.as_bytes()).expect_code(66).text();
    assert_eq!(
        quiet,
        "1. observed race on counter: main.c:8 writes while worker.c:9 reads\n1 observed race in 11 events\n"
    );
    let verbose = overtake_with_input(&["analyze", "-", "-v"], RACY.as_bytes()).expect_code(66).text();
    assert!(verbose.contains("as it happened:") && verbose.contains("found   by hb, syncp"), "{verbose}");
}

#[test]
fn every_format_is_written() {
    let files = Files::new();
    for renderer in overtake_report::RENDERERS {
        let path = files.path(renderer.name);
        let target = format!("{}={path}", renderer.name);
        overtake_with_input(&["analyze", "-", "--report", &target], RACY.as_bytes()).expect_code(66);
        let bytes = std::fs::read(&path).expect("a file");
        assert!(!bytes.is_empty(), "{}", renderer.name);
        let stored = files.path("result");
        overtake_with_input(&["analyze", "-", "--report", &format!("result={stored}")], RACY.as_bytes());
        let again = overtake(&["report", &stored, "--format", renderer.name]).expect_code(66);
        assert!(!again.stdout.is_empty(), "{}", renderer.name);
    }
}

/// Stores the result of a trace and returns the file.
fn store(files: &Files, name: &str, trace: &str) -> String {
    let stored = files.path(name);
    let report = format!("result={stored}");
    let run = overtake_with_input(&["analyze", "-", "-d", "hb", "--report", &report], trace.as_bytes());
    assert!([0, 66].contains(&run.code), "{}", run.stderr);
    stored
}

const ON_X: &str = "T0|fork(T1)|main.c:1\nT0|w(x)|main.c:2\nT1|r(x)|worker.c:3\n";
const ON_Y: &str = "T0|fork(T1)|main.c:1\nT0|w(y)|main.c:5\nT1|w(y)|worker.c:6\n";

#[test]
fn results_of_shards_are_one_report() {
    let files = Files::new();
    let shards = [("1.json", ON_X), ("2.json", ON_Y), ("3.json", ON_X)];
    let stored = shards.map(|(name, trace)| store(&files, name, trace));
    let merged = files.path("all.json");
    let report = format!("json={merged}");
    let [one, two, three] = &stored;
    let run = overtake(&["report", one, two, three, "--report", &report]).expect_code(66);
    assert!(run.text().contains("2 observed races in 9 events of 3 traces"), "{}", run.text());
    let merged = read_json(&merged);
    check_result(&merged);
    let findings = merged["findings"].as_array().expect("a list");
    let seen: Vec<_> =
        findings.iter().map(|finding| (&finding["memory"]["name"], &finding["runs"])).collect();
    // Two writes are worse than a write and a read.
    assert_eq!(seen, [(&json!("y"), &json!([1])), (&json!("x"), &json!([0, 2]))]);
}

#[test]
fn diff_says_what_is_new_and_what_is_gone() {
    let files = Files::new();
    let (old, new) = (store(&files, "old.json", ON_X), store(&files, "new.json", ON_Y));
    let text = overtake(&["diff", &old, &new]).expect_code(66).text();
    assert!(text.starts_with("+ observed race on y: main.c:5 writes while worker.c:6 writes ["), "{text}");
    assert!(text.contains("\n- observed race on x: main.c:2 writes while worker.c:3 reads ["), "{text}");
    assert!(text.ends_with("\n1 finding new, 1 gone, 0 in both\n"), "{text}");
    let changes = overtake(&["diff", &old, &new, "--json"]).expect_code(66).json();
    assert_eq!(changes["new"][0]["headline"], "y: main.c:5 writes while worker.c:6 writes");
    let same = overtake(&["diff", &old, &old]).expect_code(0).text();
    assert_eq!(same, "0 findings new, 0 gone, 1 in both\n");
}

#[test]
fn sources_of_a_trace_are_found_below_the_root() {
    let files = Files::new();
    std::fs::create_dir(files.path("project")).expect("a directory");
    files.write("project/main.c", "int x;\nvoid f(void) { x = 1; }\n");
    let root = files.path("project");
    let arguments = ["analyze", "-", "-d", "hb", "--source-root", &root];
    let text = overtake_with_input(&arguments, ON_X.as_bytes()).expect_code(66).text();
    assert!(text.contains("> 2 | void f(void) { x = 1; }"), "{text}");
}

#[test]
fn results_are_small() {
    let files = Files::new();
    let trace: String = (0..100).map(|at| format!("T0|w(x{at})|a.c:{at}\nT1|w(x{at})|b.c:{at}\n")).collect();
    let stored = store(&files, "result.json", &format!("T0|fork(T1)|a.c:0\n{trace}"));
    let bytes = std::fs::metadata(stored).expect("it was written").len();
    assert!(bytes < 100 * 2_500, "{bytes} bytes for 100 races");
}
