//! Reports for build servers.

mod support;

use overtake_detect::Verdict;
use overtake_report::find_renderer;
use overtake_report::result::{Report, Status};
use support::{finding, predicted, report};

fn rendered(name: &str, report: &Report) -> String {
    let mut out = Vec::new();
    let renderer = find_renderer(name).expect("a renderer");
    (renderer.write)(&mut out, report).expect("written into memory");
    String::from_utf8(out).expect("text")
}

/// Two places with one cause, another race, and one that is known.
fn judged() -> Report {
    let mut known = support::suspected();
    known.status = Status::Known {
        reason: "start-up <only>".into(),
        since: "2026-11-15".into(),
        verdict: String::new(),
    };
    let mut variant = finding(4, Verdict::Observed);
    variant.accesses[0].stack[0].line = 99;
    report(vec![finding(1, Verdict::Observed), predicted(), known, variant])
}

#[test]
fn junit_has_a_failed_test_for_each_new_cause() {
    let text = rendered("junit", &judged());
    assert!(text.contains("tests=\"3\" failures=\"2\" errors=\"0\" skipped=\"1\""), "{text}");
    assert_eq!(text.matches("<testcase ").count(), 3);
    assert_eq!(text.matches("<failure ").count(), 2);
    assert!(text.contains("<skipped message=\"known: start-up &lt;only&gt;\"/>"), "{text}");
    assert!(
        text.contains(
            "name=\"observed race on counters.hits: Server::poll reads while Stats::reset writes\""
        )
    );
    assert!(text.contains("1 more place with the same cause"), "{text}");
    let clean = rendered("junit", &report(vec![]));
    assert!(clean.contains("tests=\"1\" failures=\"0\"") && clean.contains("nothing found"), "{clean}");
}

#[test]
fn github_gets_an_annotation_for_each_new_cause() {
    let text = rendered("github", &judged());
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert!(
        lines[0].starts_with("::error title=observed race,file=src/stats.cc,line=30,col=9::counters.hits: "),
        "{text}"
    );
    assert!(lines[0].ends_with(" (and 1 more place with the same cause)"), "{text}");
}

#[test]
fn a_summary_has_a_row_for_each_cause_and_explains_the_first() {
    let text = rendered("markdown", &judged());
    assert!(text.starts_with("### Overtake: 2 causes\n\n1 finding is known or suppressed.\n"), "{text}");
    assert!(text.contains("| 1 | observed race | counters.hits: Server::poll reads"), "{text}");
    assert!(text.contains("`src/stats.cc:30`, `src/server.cc:52` | +1 |"), "{text}");
    assert!(text.contains("Take Stats::mutex around both."), "{text}");
    assert_eq!(rendered("markdown", &report(vec![])), "### Overtake: nothing new found\n\n");
}

#[test]
fn gitlab_gets_an_issue_with_a_place_for_each_new_cause() {
    let issues: serde_json::Value = serde_json::from_str(&rendered("gitlab", &judged())).expect("JSON");
    let issues = issues.as_array().expect("a list");
    assert_eq!(issues.len(), 2);
    assert_eq!(issues[0]["check_name"], "data-race");
    assert_eq!(issues[0]["severity"], "critical");
    assert_eq!(issues[0]["location"], serde_json::json!({"path": "src/stats.cc", "lines": {"begin": 30}}));
}
