//! Known races, one by one.
//!
//! The file is TOML with one table for each race, ordered by fingerprint: a race more or less is a few lines more or less, and
//! two branches that add different races merge.
//!
//! **Duplicates.** A fingerprint has no line numbers, so that edits elsewhere do not change it; therefore two races between the
//! same functions may share one. The file then has two tables with it, and a third such race is new. Among findings that share
//! a fingerprint those with the headline that the baseline knows are taken first.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::result::{Finding, FixedRace, Report, Status};

/// The version of the file's form.
const FORM: u32 = 2;
/// The oldest version that is read: it does not say how sure races were.
const OLDEST_FORM: u32 = 1;

const PREAMBLE: &str = "\
# Races that are known: they are reported, but do not fail a run. `overtake baseline` writes this file and keeps reasons and
# dates; reasons are yours to edit, comments are not kept.
";

/// The races a team knows about.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Baseline {
    /// By fingerprint; those that share one in the order in which they were found.
    races: Vec<KnownRace>,
}

/// A race of a baseline.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub struct KnownRace {
    /// Its fingerprint.
    pub fingerprint: String,
    /// Its headline when it was added.
    #[serde(default)]
    pub headline: String,
    /// How sure it was, as [`Finding::standing`] says: `confirmed` as soon as a merge saw it confirmed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub verdict: String,
    /// The day on which it was added.
    #[serde(default)]
    pub since: String,
    /// Why it is accepted.
    #[serde(default)]
    pub reason: String,
}

/// What a merge changed.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Merged {
    /// Races that were added.
    pub added: usize,
    /// Races that were there and were found again.
    pub kept: usize,
    /// Races that were there and were not found.
    pub not_found: usize,
}

/// Why a baseline cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BaselineError {
    /// Line and column, where there is one to blame.
    position: Option<(usize, usize)>,
    message: String,
}

impl fmt::Display for BaselineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((line, column)) = self.position {
            write!(f, "line {line}, column {column}: ")?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for BaselineError {}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileForm {
    version: u32,
    #[serde(default)]
    race: Vec<KnownRace>,
}

impl Baseline {
    /// Reads a baseline.
    pub fn parse(text: &str) -> Result<Baseline, BaselineError> {
        let form: FileForm = toml::from_str(text).map_err(|error| BaselineError {
            position: error.span().map(|span| position(text, span.start)),
            message: error.message().to_owned(),
        })?;
        if !(OLDEST_FORM..=FORM).contains(&form.version) {
            let message =
                format!("expected version {OLDEST_FORM} or {FORM} of the baseline, found {}", form.version);
            return Err(BaselineError { position: None, message });
        }
        let mut baseline = Baseline { races: form.race };
        baseline.sort();
        Ok(baseline)
    }

    /// The file's text.
    pub fn to_text(&self) -> String {
        let form = FileForm { version: FORM, race: self.races.clone() };
        // Strings and numbers only: there is nothing in it that TOML cannot hold.
        let tables = toml::to_string(&form).expect("a baseline is TOML");
        format!("{PREAMBLE}{tables}")
    }

    /// Its races.
    pub fn races(&self) -> &[KnownRace] {
        &self.races
    }

    /// Adds the findings of a report that are not in it and not suppressed, and notes which of the others are confirmed. With `prune`, races
    /// that were not found are dropped.
    pub fn merge(&mut self, report: &Report, reason: &str, today: &str, prune: bool) -> Merged {
        let matching = Matching::new(self, &report.findings);
        let known = matching.found.iter().filter(|found| found.is_some()).count();
        let merged = Merged { added: 0, kept: known, not_found: matching.unmatched.len() };
        let new = report.findings.iter().zip(&matching.found).filter(|(finding, known)| {
            known.is_none() && !matches!(finding.status, Status::Suppressed { .. })
        });
        let added: Vec<_> = new
            .map(|(finding, _)| KnownRace {
                fingerprint: finding.fingerprint.clone(),
                headline: finding.headline.clone(),
                verdict: finding.standing().to_owned(),
                since: today.to_owned(),
                reason: reason.to_owned(),
            })
            .collect();
        let merged = Merged { added: added.len(), ..merged };
        for (finding, known) in report.findings.iter().zip(&matching.found) {
            if let Some(known) = *known
                && (finding.confirmed.is_some() || self.races[known].verdict.is_empty())
            {
                self.races[known].verdict = finding.standing().to_owned();
            }
        }
        if prune {
            let mut position = 0..;
            let gone = matching.unmatched;
            self.races
                .retain(|_| position.next().is_none_or(|position| gone.binary_search(&position).is_err()));
        }
        self.races.extend(added);
        self.sort();
        merged
    }

    /// Marks the findings that it knows. Returns its races that were not found.
    pub(super) fn apply(&self, findings: &mut [Finding]) -> Vec<FixedRace> {
        let Matching { found, unmatched } = Matching::new(self, findings);
        for (finding, known) in findings.iter_mut().zip(found) {
            if let (Some(known), false) = (known, matches!(finding.status, Status::Suppressed { .. })) {
                let KnownRace { reason, since, verdict, .. } = self.races[known].clone();
                finding.status = Status::Known { reason, since, verdict };
            }
        }
        let fixed = unmatched.into_iter().map(|position| &self.races[position]);
        fixed
            .map(|race| FixedRace { fingerprint: race.fingerprint.clone(), headline: race.headline.clone() })
            .collect()
    }

    fn sort(&mut self) {
        self.races.sort_by(|a, b| a.fingerprint.cmp(&b.fingerprint));
    }
}

/// Which finding is which race of a baseline. No race is two findings.
struct Matching {
    /// By finding: the position of its race.
    found: Vec<Option<usize>>,
    /// Positions of the races that no finding is, ascending.
    unmatched: Vec<usize>,
}

impl Matching {
    fn new(baseline: &Baseline, findings: &[Finding]) -> Matching {
        let mut left: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (position, race) in baseline.races.iter().enumerate() {
            left.entry(&race.fingerprint).or_default().push(position);
        }
        let mut found = vec![None; findings.len()];
        // What is suppressed comes last: it must not use up the race of a finding that somebody will see.
        for (suppressed, same_headline) in [(false, true), (false, false), (true, true), (true, false)] {
            for (finding, found) in findings.iter().zip(&mut found) {
                if found.is_some() || suppressed != matches!(finding.status, Status::Suppressed { .. }) {
                    continue;
                }
                let Some(races) = left.get_mut(finding.fingerprint.as_str()) else { continue };
                let fits =
                    |race: &usize| !same_headline || baseline.races[*race].headline == finding.headline;
                if let Some(index) = races.iter().position(fits) {
                    *found = Some(races.remove(index));
                }
            }
        }
        let mut unmatched: Vec<_> = left.into_values().flatten().collect();
        unmatched.sort_unstable();
        Matching { found, unmatched }
    }
}

/// Line and column of a byte.
fn position(text: &str, byte: usize) -> (usize, usize) {
    let before = &text[..text.floor_char_boundary(byte.min(text.len()))];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}
