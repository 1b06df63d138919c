//! The rules of SARIF: those of the table, with what their results look like.

use overtake_detect::Verdict;
use serde_json::{Value, json};

use crate::result::Finding;
use crate::rules::{RULES, Rule};

const HOME: &str = "https://github.com/overtake-race/overtake";

/// The name of a rule among those of all tools.
pub(super) fn id_of(rule: &Rule) -> String {
    format!("overtake/{}", rule.id)
}

/// Position among the rules.
pub(super) fn index_of(rule: &Rule) -> usize {
    RULES.iter().position(|known| known.id == rule.id).unwrap_or(0)
}

/// How much a finding matters.
pub(super) fn rank_of(finding: &Finding) -> f32 {
    match finding.verdict {
        _ if finding.confirmed.is_some() => 100.0,
        Verdict::Observed => 95.0,
        Verdict::Predicted => 90.0,
        Verdict::Possible => 60.0,
        Verdict::Suspected => 30.0,
    }
}

/// The tool with all its rules, whether or not they have results: a consumer closes an alert when a rule that is there no longer
/// reports it.
pub(super) fn tool(version: &str) -> Value {
    let rules = RULES.iter().map(|rule| {
        json!({
            "id": id_of(rule),
            "name": name_of(rule),
            "shortDescription": {"text": capitalised(rule.title)},
            "fullDescription": {"text": rule.help},
            "help": {"text": rule.help, "markdown": rule.help},
            "helpUri": HOME,
            "defaultConfiguration": {"level": "error"},
            "properties": {
                "precision": "very-high",
                "problem.severity": "error",
                "tags": ["concurrency", "correctness", rule.id, format!("external/cwe/cwe-{}", rule.cwe)],
            },
        })
    });
    json!({
        "driver": {
            "name": "Overtake",
            "version": version,
            "informationUri": HOME,
            "rules": rules.collect::<Vec<_>>(),
        }
    })
}

/// `DataRace`.
fn name_of(rule: &Rule) -> String {
    rule.id.split('-').map(capitalised).collect()
}

pub(super) fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
