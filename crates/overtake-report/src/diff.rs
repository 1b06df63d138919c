//! What changed between two results: findings that are new, that are gone, and that are in both.
//!
//! Findings are compared by fingerprint, which edits elsewhere in a program do not change. If several findings share a fingerprint, as
//! many are in both as the smaller result has.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::number::counted;
use crate::result::{Finding, Report};

/// What changed.
#[derive(Clone, Default, Debug)]
pub struct Diff<'a> {
    /// Findings of the new result that the old one does not have.
    pub new: Vec<&'a Finding>,
    /// Findings of the old result that the new one does not have.
    pub gone: Vec<&'a Finding>,
    /// Findings of both, as the new result has them.
    pub kept: Vec<&'a Finding>,
}

/// Compares two results.
pub fn diff<'a>(old: &'a Report, new: &'a Report) -> Diff<'a> {
    let mut known: BTreeMap<&str, Vec<&Finding>> = BTreeMap::new();
    for finding in old.findings.iter().rev() {
        known.entry(&finding.fingerprint).or_default().push(finding);
    }
    let mut diff = Diff::default();
    for finding in &new.findings {
        match known.get_mut(finding.fingerprint.as_str()).and_then(Vec::pop) {
            Some(_) => diff.kept.push(finding),
            None => diff.new.push(finding),
        }
    }
    diff.gone = known.into_values().flatten().collect();
    diff.gone.sort_by_key(|finding| finding.id);
    diff
}

impl Diff<'_> {
    /// One line for each finding that is new or gone, and a line that sums them up.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for (sign, findings) in [("+", &self.new), ("-", &self.gone)] {
            for finding in findings {
                let sentence = crate::text::printable(&finding.sentence());
                text += &format!("{sign} {sentence} [{}]\n", finding.fingerprint);
            }
        }
        let count = |findings: &[&Finding]| counted(findings.len() as u64, "finding", "findings");
        text += &format!("{} new, {} gone, {} in both\n", count(&self.new), self.gone.len(), self.kept.len());
        text
    }

    /// The same for programs.
    pub fn to_json(&self) -> Value {
        let list = |findings: &[&Finding]| -> Vec<Value> {
            let form = |finding: &&Finding| {
                json!({
                    "fingerprint": finding.fingerprint,
                    "rule": finding.rule,
                    "verdict": finding.verdict.word(),
                    "headline": finding.headline,
                })
            };
            findings.iter().map(form).collect()
        };
        json!({ "new": list(&self.new), "gone": list(&self.gone), "kept": list(&self.kept) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(prints: &[&str]) -> Report {
        let mut report = crate::collect::merge(Vec::new());
        let finding = |print: &&str| Finding { fingerprint: (*print).into(), ..Finding::default() };
        report.findings = prints.iter().map(finding).collect();
        report
    }

    #[test]
    fn findings_are_compared_by_fingerprint_and_number() {
        let (old, new) = (report(&["a", "b", "b", "c"]), report(&["b", "c", "c", "d"]));
        let diff = diff(&old, &new);
        let prints = |findings: &[&Finding]| -> Vec<String> {
            findings.iter().map(|finding| finding.fingerprint.clone()).collect()
        };
        assert_eq!(prints(&diff.new), ["c", "d"]);
        assert_eq!(prints(&diff.gone), ["a", "b"]);
        assert_eq!(prints(&diff.kept), ["b", "c"]);
        assert!(diff.to_text().ends_with("2 findings new, 2 gone, 2 in both\n"), "{}", diff.to_text());
    }
}
