//! Tests with small limits.

use overtake_detect::Verdict;

use super::*;
use crate::result::{Access, Frame, Memory, Schedule, Step, Thread};

fn access(event: u64) -> Access {
    let frame = Frame { function: "f".into(), file: "a.c".into(), line: 1, ..Frame::default() };
    Access {
        operation: "write".into(),
        writes: true,
        bytes: 4,
        event,
        thread: Thread::default(),
        stack: vec![frame; 12],
        ..Access::default()
    }
}

fn finding(id: u32) -> Finding {
    let step = |event| Step {
        event,
        operation: "write".into(),
        role: match event {
            0 => Some(0),
            19 => Some(1),
            _ => None,
        },
        ..Step::default()
    };
    let steps = (0..20).map(step).collect();
    Finding {
        id,
        fingerprint: format!("{id:016x}"),
        verdict: Verdict::Observed,
        headline: "x: f writes while f writes".into(),
        memory: Some(Memory::default()),
        accesses: vec![access(0), access(19)],
        observed: 1,
        schedule: Some(Schedule { threads: vec!["T1".into()], steps, ..Schedule::default() }),
        status: if id == 1 {
            Status::Known { reason: String::new(), since: String::new(), verdict: String::new() }
        } else {
            Status::New
        },
        ..Finding::default()
    }
}

fn written(limits: Limits, findings: u32) -> Value {
    let report = Report {
        schema: 1,
        version: "0".into(),
        runs: vec![],
        findings: (1..=findings).map(finding).collect(),
        sources: Default::default(),
        triage: Default::default(),
    };
    let mut bytes = Vec::new();
    write_within(&limits, &mut bytes, &report).expect("a buffer takes everything");
    serde_json::from_slice::<Value>(&bytes).expect("it is JSON")["runs"][0].take()
}

fn notes(run: &Value) -> Vec<String> {
    let notes = run["invocations"][0]["toolExecutionNotifications"].as_array().expect("there are some");
    notes.iter().map(|note| note["message"]["text"].as_str().expect("it has a text").to_owned()).collect()
}

fn ids(run: &Value) -> Vec<u64> {
    let results = run["results"].as_array().expect("there are some");
    results.iter().map(|result| result["properties"]["id"].as_u64().expect("a number")).collect()
}

#[test]
fn results_past_the_limit_are_left_out_the_known_ones_first() {
    let run = written(Limits { results: 3, shown_results: 2, ..Limits::CODE_SCANNING }, 5);
    assert_eq!(ids(&run), [2, 3, 4]);
    assert_eq!(
        notes(&run),
        ["2 findings were left out: the file is full", "code scanning shows 2 of these 3 findings"]
    );
}

#[test]
fn a_file_that_fills_up_loses_details_first() {
    let whole = serde_json::to_string(&written(Limits::CODE_SCANNING, 1)["results"][0]).expect("it is JSON");
    let size = whole.len() as u64;
    let limits = Limits { detailed_bytes: 2 * size, bytes: 4 * size, ..Limits::CODE_SCANNING };
    let run = written(limits, 40);
    let results = run["results"].as_array().expect("there are some");
    assert!(results.len() > 3 && results.len() < 40, "{}", results.len());
    assert!(!results[0]["stacks"].is_null() && !results[0]["codeFlows"].is_null());
    let last = results.last().expect("there is one");
    assert!(last["stacks"].is_null() && last["codeFlows"].is_null());
    assert_eq!(notes(&run).len(), 2);
    assert!(results.iter().map(|result| result.to_string().len() as u64).sum::<u64>() < 4 * size);
}

#[test]
fn long_flows_keep_both_accesses_and_long_stacks_their_innermost_frames() {
    let run = written(Limits { flow: 5, frames: 3, ..Limits::CODE_SCANNING }, 1);
    let flow = &run["results"][0]["codeFlows"][0];
    let locations = flow["threadFlows"][0]["locations"].as_array().expect("there are some");
    let order: Vec<_> = locations.iter().map(|location| location["executionOrder"].as_u64()).collect();
    assert_eq!(order, [1, 16, 17, 18, 19, 20].map(Some), "the first access beside the last five steps");
    assert!(
        flow["message"]["text"].as_str().is_some_and(|text| text.ends_with("14 earlier steps are left out."))
    );
    let stack = &run["results"][0]["stacks"][0];
    assert_eq!(stack["frames"].as_array().map(Vec::len), Some(3));
    assert!(stack["message"]["text"].as_str().is_some_and(|text| text.ends_with("(3 of 12 frames)")));
}
