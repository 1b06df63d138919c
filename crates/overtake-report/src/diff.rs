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
    /// Those of both that are more or less sure than before, with the word for how sure they were.
    pub changed: Vec<(&'static str, &'a Finding)>,
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
            Some(before) => {
                diff.kept.push(finding);
                let was = before.standing();
                diff.changed.extend((was != finding.standing()).then_some((was, finding)));
            }
            None => diff.new.push(finding),
        }
    }
    diff.gone = known.into_values().flatten().collect();
    diff.gone.sort_by_key(|finding| finding.id);
    diff
}

impl Diff<'_> {
    /// One line for each finding that is new or gone or as sure as it was not, and a line that sums them up.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for (sign, findings) in [("+", &self.new), ("-", &self.gone)] {
            for finding in findings {
                let sentence = crate::text::printable(&finding.sentence());
                text += &format!("{sign} {sentence} [{}]\n", finding.fingerprint);
            }
        }
        for (was, finding) in &self.changed {
            let sentence = crate::text::printable(&finding.sentence());
            text += &format!("~ {sentence}, {was} before [{}]\n", finding.fingerprint);
        }
        let count = |findings: &[&Finding]| counted(findings.len() as u64, "finding", "findings");
        text += &format!("{} new, {} gone, {} in both\n", count(&self.new), self.gone.len(), self.kept.len());
        text
    }

    /// The same for programs.
    pub fn to_json(&self) -> Value {
        let form = |finding: &&Finding| {
            json!({
                "fingerprint": finding.fingerprint,
                "rule": finding.rule,
                "verdict": finding.verdict.word(),
                "confirmed": finding.confirmed.is_some(),
                "headline": finding.headline,
            })
        };
        let list = |findings: &[&Finding]| -> Vec<Value> { findings.iter().map(form).collect() };
        let changed = self.changed.iter().map(|(was, finding)| {
            let mut changed = form(finding);
            changed["before"] = (*was).into();
            changed
        });
        let changed: Vec<Value> = changed.collect();
        json!({ "new": list(&self.new), "gone": list(&self.gone), "kept": list(&self.kept), "changed": changed })
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

    #[test]
    fn what_was_confirmed_since_is_told() {
        let (old, mut new) = (report(&["a", "b"]), report(&["a", "b"]));
        new.findings[1].confirmed = Some(Default::default());
        let diff = diff(&old, &new);
        assert!(
            diff.to_text().starts_with("~ confirmed, observed race on , observed before [b]\n"),
            "{}",
            diff.to_text()
        );
        assert_eq!(diff.to_json()["changed"][0]["before"], "observed");
        assert_eq!(diff.to_json()["changed"][0]["confirmed"], true);
    }
}
