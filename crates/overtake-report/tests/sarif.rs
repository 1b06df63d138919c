//! SARIF, against its schema and a golden file.

mod support;

use std::sync::LazyLock;

use jsonschema::Validator;
use overtake_detect::Verdict;
use overtake_report::result::Report;
use overtake_report::sarif;
use overtake_report::triage::{self, Baseline, Suppressions};
use serde_json::Value;
use support::{awkward, finding, predicted, rendered, report, sample};

static SCHEMA: LazyLock<Validator> = LazyLock::new(|| {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/schemas/sarif-2.1.0.json");
    let schema = std::fs::read_to_string(path).expect("the schema is there");
    // The standard's errata remove this superfluous bracket.
    let schema = schema.replace("^[a-zA-Z]{2}|^[a-zA-Z]{2}-[a-zA-Z]{2}]?$", "^[a-zA-Z]{2}(-[a-zA-Z]{2})?$");
    let schema: Value = serde_json::from_str(&schema).expect("the schema is JSON");
    jsonschema::options().should_validate_formats(true).build(&schema).expect("the schema makes sense")
});

#[track_caller]
fn valid(report: &Report) -> Value {
    let document = serde_json::from_slice(&rendered(sarif::write, report)).expect("it is JSON");
    let errors: Vec<_> =
        SCHEMA.iter_errors(&document).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert_eq!(errors, [""; 0]);
    document
}

fn results(document: &Value) -> &Vec<Value> {
    document["runs"][0]["results"].as_array().expect("there are results")
}

/// Findings of every status.
fn triaged() -> Report {
    let mut baseline = Baseline::default();
    let mut gone = finding(9, Verdict::Observed);
    gone.headline = "old: f writes while g writes".into();
    baseline.merge(&report(vec![predicted(), gone]), "being rewritten", "2026-11-15", false);
    let rules = Suppressions::parse("ci/known.supp", b"race_var:^V7$\nrace:nobody\n")
        .expect("it is a suppression file");
    let mut report = sample();
    triage::apply(&mut report, Some(&rules), Some(("ci/races.toml", &baseline)));
    report
}

#[test]
fn the_sample_is_valid_and_as_it_was() {
    let report = triaged();
    valid(&report);
    support::assert_golden("sample.sarif", &rendered(sarif::write, &report));
}

#[test]
fn what_is_missing_or_strange_is_valid_too() {
    let document = valid(&awkward());
    let results = results(&document);
    assert_eq!(results.len(), 4);
    for result in results {
        let place = &result["locations"][0]["physicalLocation"];
        assert!(place["artifactLocation"]["uri"].is_string() && place["region"]["startLine"].is_u64());
    }
    let outside = &results[2]["locations"][0]["physicalLocation"]["artifactLocation"];
    assert_eq!(outside["uri"], "file:///opt/other/vector%20name%20%EF%BF%BD%231%3F%25.h");
    assert_eq!(outside["uriBaseId"], Value::Null);
    valid(&report(vec![]));
}

#[test]
fn the_schema_can_say_no() {
    let mut document = valid(&sample());
    document["runs"][0]["results"][0]["level"] = "serious".into();
    assert!(!SCHEMA.is_valid(&document));
}

#[test]
fn states_are_those_of_triage() {
    let document = valid(&triaged());
    let states: Vec<_> = results(&document).iter().map(|result| result["baselineState"].as_str()).collect();
    assert_eq!(states, [Some("new"), Some("unchanged"), None]);
    let suppressed: Vec<_> =
        results(&document).iter().map(|result| result["suppressions"].as_array().map(Vec::len)).collect();
    assert_eq!(suppressed, [Some(0), Some(0), Some(1)]);
    let notes = document["runs"][0]["invocations"][0]["toolExecutionNotifications"].to_string();
    for note in [
        "not found again: old: f writes",
        "unused suppression: race:nobody (ci/known.supp:2)",
        "2 events were lost",
    ] {
        assert!(notes.contains(note), "{notes}");
    }
    let untouched = valid(&sample());
    assert!(results(&untouched).iter().all(|result| result["baselineState"].is_null()));
}

#[test]
fn the_witness_is_one_flow_for_each_thread() {
    let document = valid(&sample());
    let flows = results(&document)[1]["codeFlows"][0]["threadFlows"].as_array().expect("there are flows");
    let mut steps: Vec<(u64, &str, &str)> = Vec::new();
    for flow in flows {
        for location in flow["locations"].as_array().expect("a flow has steps") {
            let text = location["location"]["message"]["text"].as_str().expect("a step says what it is");
            steps.push((location["executionOrder"].as_u64().unwrap(), flow["id"].as_str().unwrap(), text));
        }
    }
    steps.sort();
    let expected = [
        (1, "main", "fork poller"),
        (2, "poller", "acquire Cache::mutex"),
        (3, "main", "write a heap block (first access)"),
        (4, "poller", "read a heap block (second access)"),
    ];
    assert_eq!(steps, expected);
}

#[test]
fn swapped_accesses_are_shown_at_the_same_place_with_the_same_fingerprint() {
    let one = finding(1, Verdict::Observed);
    let mut other = one.clone();
    other.accesses.reverse();
    let (one, other) = (valid(&report(vec![one])), valid(&report(vec![other])));
    let key = |document: &Value| {
        let result = &results(document)[0];
        (result["locations"].clone(), result["partialFingerprints"].clone(), result["message"].clone())
    };
    assert_eq!(key(&one), key(&other));
}

#[test]
fn findings_that_share_a_fingerprint_stay_apart() {
    let document = valid(&report(vec![finding(1, Verdict::Observed), finding(1, Verdict::Observed)]));
    let hashes: Vec<_> = results(&document)
        .iter()
        .map(|result| result["partialFingerprints"]["primaryLocationLineHash"].as_str())
        .collect();
    assert_eq!(hashes, [Some("00000000abc00001:1"), Some("00000000abc00001:2")]);
}
