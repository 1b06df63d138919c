//! `convert` and `gen`: files that are written.

mod support;

use support::{Files, RACY, overtake, overtake_with_input};

/// `RACY` without its comment: what comes back from any format.
fn plain() -> String {
    RACY.lines().filter(|line| !line.starts_with('#')).map(|line| format!("{line}\n")).collect()
}

#[test]
fn a_trace_survives_conversion() {
    let files = Files::new();
    let (text, sealed, again) = (files.write("a.std", RACY), files.path("a.otr"), files.path("b.std"));
    overtake(&["convert", &text, &sealed]).expect_code(0);
    overtake(&["convert", &sealed, &again]).expect_code(0);
    assert_eq!(std::fs::read_to_string(&again).expect("a file"), plain());
    let run = overtake(&["convert", &sealed, "-", "--to", "std"]).expect_code(0);
    assert_eq!(run.text(), plain());
    assert_eq!(files.names(), ["a.otr", "a.std", "b.std"], "nothing is left behind");
}

#[test]
fn conversion_does_not_repair() {
    let broken = "T0|rel(m)|1\nT0|w(x)|2\n";
    let run = overtake_with_input(&["convert", "-", "-", "--to", "std"], broken.as_bytes()).expect_code(0);
    assert_eq!(run.text(), broken);
}

#[test]
fn conversion_reports_itself() {
    let files = Files::new();
    let run =
        overtake(&["convert", &files.write("a.std", RACY), &files.path("a.csv"), "--json"]).expect_code(0);
    let document = run.json();
    assert_eq!(document["trace"]["events"], 11);
    assert_eq!(document["written"]["format"], "csv");
    assert_eq!(document["written"]["events"], 11);
    assert_eq!(document["written"]["lost_locations"], 11);
    let size = std::fs::metadata(files.path("a.csv")).expect("a file").len();
    assert_eq!(document["written"]["bytes"], size);
    assert!(run.stderr.contains("lost: 11 source locations, which csv cannot hold"), "{}", run.stderr);
}

#[test]
fn a_failed_conversion_leaves_the_old_file() {
    let files = Files::new();
    let out = files.write("out.std", "T0|w(old)|1\n");
    let bad = files.write("bad.std", "T0|w(x)|1\nnonsense\n");
    overtake(&["convert", &bad, &out]).expect_code(1);
    assert_eq!(std::fs::read_to_string(&out).expect("a file"), "T0|w(old)|1\n");
    assert_eq!(files.names(), ["bad.std", "out.std"]);
}

#[test]
fn an_output_without_format_is_wrong_usage() {
    let files = Files::new();
    let trace = files.write("a.std", RACY);
    let run = overtake(&["convert", &trace, &files.path("b.trace")]).expect_code(2);
    assert!(run.stderr.contains("expected a name that ends in .std, .csv or .otr"), "{}", run.stderr);
    overtake(&["convert", &trace, "-"]).expect_code(2);
    overtake(&["convert", &trace, "-", "--to", "roadrunner"]).expect_code(2);
    overtake(&["convert", &trace, "-", "--to", "std", "--json"]).expect_code(2);
}

#[cfg(unix)]
#[test]
fn devices_and_links_are_not_replaced() {
    let files = Files::new();
    let trace = files.write("a.std", RACY);
    overtake(&["convert", &trace, "/dev/null", "--to", "otr"]).expect_code(0);
    let target = files.write("target.std", "");
    std::os::unix::fs::symlink(&target, files.path("link.std")).expect("a link");
    overtake(&["convert", &trace, &files.path("link.std")]).expect_code(0);
    assert_eq!(std::fs::read_to_string(&target).expect("a file"), plain());
    assert!(files.directory().join("link.std").is_symlink());
}

#[test]
fn a_cut_file_is_refused_and_salvaged() {
    let files = Files::new();
    let (whole, cut) = (files.path("whole.otr"), files.path("cut.otr"));
    overtake(&["gen", "lock-heavy", "--events", "100000", "-o", &whole]).expect_code(0);
    let bytes = std::fs::read(&whole).expect("a file");
    std::fs::write(&cut, &bytes[..bytes.len() / 2]).expect("a file");
    let run = overtake(&["stat", &cut]).expect_code(1);
    assert!(run.stderr.contains("cut.otr: "), "{}", run.stderr);
    let run = overtake(&["stat", &cut, "--salvage", "--json"]).expect_code(0);
    let events = run.json()["trace"]["events"].as_u64().expect("a number");
    assert!((1..100_000).contains(&events), "{events}");
    assert_eq!(run.json()["trace"]["missing"].as_array().map(Vec::len), Some(1), "{}", run.text());
    let run = overtake(&["convert", &cut, &files.path("saved.std"), "--salvage"]).expect_code(0);
    assert!(run.stderr.contains("missing: "), "{}", run.stderr);
    let saved = std::fs::read_to_string(files.path("saved.std")).expect("a file");
    assert_eq!(saved.lines().count() as u64, events);
    let run = overtake(&["analyze", &whole, "--salvage", "--json"]);
    assert_eq!(run.json()["trace"]["missing"], serde_json::json!([]), "a whole file misses nothing");
}

#[test]
fn damaged_copies_of_a_trace_without_races_have_none() {
    let files = Files::new();
    let (whole, damaged) = (files.path("whole.otr"), files.path("damaged.otr"));
    overtake(&["gen", "lock-heavy", "--events", "300k", "--raciness", "0", "-o", &whole]).expect_code(0);
    overtake(&["analyze", "-q", &whole]).expect_code(0);
    let bytes = std::fs::read(&whole).expect("a file");
    let mut salvaged = 0;
    for part in 1..40 {
        let mut copy = bytes.clone();
        let at = bytes.len() * part / 40;
        let end = (at + 64 * part).min(bytes.len());
        copy[at..end].iter_mut().for_each(|byte| *byte = !*byte);
        std::fs::write(&damaged, &copy).expect("a file");
        let detectors = "hb,fasttrack,slimstate,syncp,osr";
        let run = overtake(&["analyze", "-q", "--salvage", "-d", detectors, &damaged]).expect_code(0);
        salvaged += u32::from((run.text() + &run.stderr).contains("missing"));
    }
    assert!(salvaged > 20, "{salvaged}");
}

#[test]
fn the_same_seed_makes_the_same_trace() {
    let files = Files::new();
    let make = |name: &str, seed: &str| {
        overtake(&["gen", "lock-heavy", "--events", "5k", "--seed", seed, "-o", &files.path(name)])
            .expect_code(0)
    };
    let run = make("a.std", "7");
    assert!(run.stderr.contains("seed 7; again: overtake gen lock-heavy --events 5000 "), "{}", run.stderr);
    make("b.std", "7");
    make("c.std", "8");
    let read = |name: &str| std::fs::read(files.path(name)).expect("a file");
    assert_eq!(read("a.std"), read("b.std"));
    assert_ne!(read("a.std"), read("c.std"));
}

#[test]
fn the_repeating_command_repeats() {
    let files = Files::new();
    let out = files.path("a.std");
    let arguments = ["gen", "lock-dominated", "--events", "3000", "--raciness", "0.01", "--json", "-o", &out];
    let command =
        overtake(&arguments).expect_code(0).json()["command"].as_str().expect("a command").to_owned();
    let first = std::fs::read(&out).expect("a file");
    let words: Vec<_> = command.split(' ').skip(1).collect();
    overtake(&words).expect_code(0);
    assert_eq!(std::fs::read(&out).expect("a file"), first);
}

#[test]
fn every_shape_is_listed_and_made() {
    let list = overtake(&["gen", "--list"]).expect_code(0).text();
    for shape in overtake_gen::SHAPES {
        assert!(list.contains(shape.name) && list.contains(shape.description), "{list}");
        let run = overtake(&["gen", shape.name, "--events", "1000", "-o", "-", "--to", "std"]).expect_code(0);
        assert_eq!(run.text().lines().count(), 1000, "{}", shape.name);
        overtake_with_input(&["validate", "-", "--strict"], &run.stdout).expect_code(0);
    }
}

#[test]
fn gadgets_come_with_the_races_that_detectors_find() {
    let files = Files::new();
    for kind in overtake_gen::gadgets::GADGETS {
        let (trace, answer) = (files.path("gadget.std"), files.path("answer.json"));
        overtake(&["gen", kind.name, "--expected", &answer, "-o", &trace]).expect_code(0);
        let answer = std::fs::read(&answer).expect("an answer");
        let answer: serde_json::Value = serde_json::from_slice(&answer).expect("JSON");
        for expected in answer["expected"].as_array().expect("notions") {
            let notion = expected["notion"].as_str().expect("a name");
            if overtake_detect::find(notion).is_none() {
                continue;
            }
            if let Some(variable) = expected["on_variable"].as_str() {
                let run = overtake(&["analyze", &trace, "--json", "-d", notion]).json();
                let racy = run["detectors"][0]["racy_variables"].as_array().expect("a list").clone();
                let is_expected = !expected["racy_events"].as_array().expect("a list").is_empty();
                assert_eq!(racy.contains(&variable.into()), is_expected, "{} by {notion}", kind.name);
                continue;
            }
            let found = overtake(&["analyze", &trace, "--json", "-d", notion]).json()["detectors"][0].clone();
            for field in ["racy_events", "racy_variables"] {
                if !expected[field].is_null() {
                    let what = format!("{field} of {} by {notion}", kind.name);
                    assert_eq!(sorted(&found[field]), sorted(&expected[field]), "{what}");
                }
            }
        }
    }
}

/// The entries of a list in a definite order: text numbers variables as they come.
fn sorted(list: &serde_json::Value) -> Vec<String> {
    let mut entries: Vec<_> = list.as_array().expect("a list").iter().map(ToString::to_string).collect();
    entries.sort();
    entries
}

#[test]
fn gadgets_print_their_races() {
    let files = Files::new();
    let run = overtake(&["gen", "gadget-g1", "--seed", "3", "-o", &files.path("g.std")]).expect_code(0);
    assert!(run.text().starts_with("hb: "), "{}", run.text());
    assert!(run.text().contains("  events "), "{}", run.text());
}

#[test]
fn impossible_workloads_are_wrong_usage() {
    let run = overtake(&["gen", "lock-heavy", "--threads", "0", "-o", "-", "--to", "std"]).expect_code(2);
    assert!(run.stderr.contains("threads: expected at least 1, found 0"), "{}", run.stderr);
    overtake(&["gen", "no-such-shape", "-o", "-"]).expect_code(2);
    overtake(&["gen", "lock-heavy"]).expect_code(2);
}
