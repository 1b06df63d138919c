//! Detectors beside each other, on many traces.

mod support;

use support::{Files, RACY, overtake, overtake_with_input, race_free};

/// Three traces in a directory, and a file that is none.
fn three() -> Files {
    let files = Files::new();
    files.write("a.std", RACY);
    files.write("b.std", race_free());
    files.write("c.std", RACY);
    files.write("notes.txt", "no trace");
    files
}

#[test]
fn a_directory_stands_for_its_traces_and_detectors_can_be_chosen() {
    let files = three();
    let table = overtake(&["compare", &files.path(""), "-d", "hb,syncp", "--csv"]).expect_code(66).text();
    let rows: Vec<Vec<_>> = table.lines().map(|line| line.split(',').collect()).collect();
    let column = |name: &str| rows[0].iter().position(|heading| *heading == name).expect("a column");
    let found: Vec<_> = rows[1..]
        .iter()
        .map(|row| {
            (row[column("trace")].ends_with("b.std"), row[column("detector")], row[column("racy_variables")])
        })
        .collect();
    let racy = [(false, "hb", "1"), (false, "syncp", "1")];
    assert_eq!(found, [racy, [(true, "hb", "0"), (true, "syncp", "0")], racy].concat(), "{table}");
    overtake(&["compare", &files.path("b.std"), "-d", "hb"]).expect_code(0);
}

#[test]
fn every_row_names_the_notion_of_its_promise() {
    let table = overtake_with_input(&["compare", "-"], RACY.as_bytes()).expect_code(66).text();
    for entry in overtake_detect::DETECTORS {
        let row = table.lines().find(|line| line.starts_with(&format!("{} ", entry.name)));
        let promise = format!("{}: {}", entry.notion.describe(), entry.promise.describe());
        assert!(row.is_some_and(|row| row.contains(&promise)), "{table}");
    }
}

#[test]
fn traces_are_named_above_their_rows_and_one_that_cannot_be_read_hides_no_other() {
    let files = three();
    files.write("b.std", "T0|q(x)|1\n");
    let run =
        overtake(&["compare", &files.path("a.std"), &files.path("b.std"), &files.path("c.std"), "-d", "hb"]);
    let run = run.expect_code(1);
    let rows = run.text().lines().filter(|line| line.starts_with("hb ")).count();
    assert_eq!(rows, 2, "{}", run.text());
    assert!(run.text().contains(&files.path("c.std")), "{}", run.text());
    assert!(run.stderr.contains("b.std: line 1, column 4: expected "), "{}", run.stderr);
    assert!(run.stderr.contains("1 of 3 traces could not be compared"), "{}", run.stderr);
}

#[test]
fn a_detector_without_memory_says_how_far_it_came() {
    let files = Files::new();
    let trace = files.path("long.otr");
    overtake(&["gen", "lock-heavy", "--events", "200k", "-o", &trace]).expect_code(0);
    let table = overtake(&["compare", &trace, "-d", "hb,lock-set", "--memory", "1", "--repeat", "2"]).text();
    for name in ["hb ", "lock-set "] {
        let row = table.lines().find(|line| line.starts_with(name)).unwrap_or_default();
        assert!(row.contains("stopped after ") && row.contains(" % of the events; "), "{table}");
        assert!(!row.contains("stopped after 100 %"), "{table}");
    }
    assert!(table.contains("\n200,000 events, "), "{table}");
    let whole = overtake(&["compare", &trace, "-d", "hb", "--timeout", "1h", "--csv"]).text();
    assert!(whole.contains(",100.0,happens-before,"), "{whole}");
}

#[test]
fn latex_has_a_row_for_each_trace_and_detector() {
    let files = three();
    let run = overtake(&["compare", &files.path(""), "-d", "hb,shb,lock-set", "--latex"]).expect_code(66);
    assert!(run.text().starts_with("\\begin{table}"), "{}", run.text());
    assert_eq!(run.text().lines().filter(|line| line.ends_with("\\\\")).count(), 1 + 9, "{}", run.text());
}

#[test]
fn json_has_a_line_for_each_trace() {
    let files = three();
    let run = overtake(&["compare", &files.path(""), "-d", "hb", "--json"]).expect_code(66);
    let lines: Vec<serde_json::Value> =
        run.text().lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines.len(), 3);
    assert!(lines.iter().all(|line| line["detectors"].as_array().map(Vec::len) == Some(1)), "{}", run.text());
    overtake(&["compare", &files.path(""), "--json", "--csv"]).expect_code(2);
}

#[test]
fn the_public_tool_is_named_that_differs_on_a_broken_trace() {
    let broken = "T0|acq(m)|1\nT0|acq(m)|2\nT0|w(x)|3\nT0|rel(m)|4\nT0|rel(m)|5\nT1|w(x)|6\n";
    let run = overtake_with_input(&["compare", "-", "-d", "hb,syncp"], broken.as_bytes());
    let line =
        "RAPID differs: SyncPreserving stops with an exception at a lock that its holder acquires again";
    assert!(run.text().contains(line), "{}", run.text());
    let run = overtake_with_input(&["compare", "-", "-d", "hb"], broken.as_bytes());
    assert!(!run.text().contains("RAPID"), "{}", run.text());
}
