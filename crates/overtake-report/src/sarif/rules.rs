//! The three rules: how sure a race is.

use overtake_detect::Verdict;
use serde_json::{Value, json};

/// What a rule says.
pub(super) struct Rule {
    pub(super) id: &'static str,
    name: &'static str,
    pub(super) level: &'static str,
    precision: &'static str,
    short: &'static str,
    full: &'static str,
    help: &'static str,
}

const HOME: &str = "https://github.com/overtake-race/overtake";

/// In the order of `Verdict`.
const RULES: [Rule; 3] = [
    Rule {
        id: "overtake/observed-race",
        name: "ObservedRace",
        level: "error",
        precision: "very-high",
        short: "Data race that happened",
        full: "Two threads access the same memory, at least one of them writes, and nothing orders the accesses in the run \
               that was examined.",
        help: "The behaviour of a C or C++ program with a data race is undefined: compilers assume there is none. Order the two \
               accesses, by holding the same lock at both, by making them atomic, or by a thread creation, a join or a wait \
               between them. The message names what is missing between these two accesses.",
    },
    Rule {
        id: "overtake/predicted-race",
        name: "PredictedRace",
        level: "error",
        precision: "very-high",
        short: "Data race that another schedule of the same run exhibits",
        full: "The run that was examined happened to order the accesses. Another schedule of the same run, which has been \
               checked step by step, executes them side by side.",
        help: "The code flow shows the schedule: each thread does what it did in the run, only later or earlier, and then the two \
               accesses take place with nothing between them. It is a bug like a race that happened, and harder to find by \
               running again. Order the accesses by the same lock, by atomics, or by a wait that cannot be overtaken.",
    },
    Rule {
        id: "overtake/suspected-race",
        name: "SuspectedRace",
        level: "warning",
        precision: "medium",
        short: "Locking discipline violated",
        full: "No lock is held at every access of this memory. That is a suspicion, not a proof: something else may order the \
               accesses.",
        help: "If something other than a lock orders the accesses (a join, a flag, a queue), there is no race here: suppress it, or \
               ask a detector with proof, such as hb or syncp. Otherwise choose one lock for this memory and hold it at every \
               access.",
    },
];

/// Position among the rules.
pub(super) fn index_of(verdict: Verdict) -> usize {
    match verdict {
        Verdict::Observed => 0,
        Verdict::Predicted | Verdict::Possible => 1,
        Verdict::Suspected => 2,
    }
}

/// The rule for findings of this verdict.
pub(super) fn rule_of(verdict: Verdict) -> &'static Rule {
    &RULES[index_of(verdict)]
}

/// The tool with all its rules, whether or not they have results: a consumer closes an alert when a rule that is there no longer
/// reports it.
pub(super) fn tool(version: &str) -> Value {
    let rules = RULES.iter().map(|rule| {
        json!({
            "id": rule.id,
            "name": rule.name,
            "shortDescription": {"text": rule.short},
            "fullDescription": {"text": rule.full},
            "help": {"text": rule.help, "markdown": rule.help},
            "helpUri": HOME,
            "defaultConfiguration": {"level": rule.level},
            "properties": {
                "precision": rule.precision,
                "problem.severity": rule.level,
                "tags": ["concurrency", "correctness", "data-race", "external/cwe/cwe-362"],
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
