//! One cause, one entry: findings that have the same reason stand together, the most severe first.
//!
//! Races on one variable are one cause, however many pairs of lines touch it. Memory without a name is known by where it was
//! allocated. Memory of which not even that is known, and memory all of whose races meet in one line (a `memcpy` that races with
//! everything), goes by that line. Deadlocks and misuses are a cause each.
//!
//! This is the only place that puts findings in order: [`arrange`] sorts and numbers them, [`causes`] gives them back in
//! groups, and [`Share`] says which groups a limit lets through.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use overtake_detect::Verdict;

use crate::result::{Access, Finding, Frame, Kind, innermost_own};

/// Findings with one cause, in the order of the report.
#[derive(Clone, Debug)]
pub struct Cause<'a> {
    /// The one that stands for all: the first.
    pub head: &'a Finding,
    /// The others: other pairs of lines with the same cause.
    pub variants: Vec<&'a Finding>,
}

impl<'a> Cause<'a> {
    /// How many findings it has.
    pub fn size(&self) -> usize {
        1 + self.variants.len()
    }

    /// All of them.
    pub fn findings(&self) -> impl Iterator<Item = &'a Finding> {
        std::iter::once(self.head).chain(self.variants.iter().copied())
    }
}

/// What findings of one cause have in common.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Subject {
    /// A variable, by its name.
    Named(String),
    /// Blocks that one place allocates.
    Allocated(String),
    /// A line of code.
    Line(String),
    /// Nothing else has this cause.
    Alone(String),
}

/// Puts findings in order, causes together, and numbers them from 1.
pub(crate) fn arrange(findings: &mut Vec<Finding>) {
    let order = order(findings);
    let mut places: Vec<Option<Finding>> = findings.drain(..).map(Some).collect();
    findings.extend(order.into_iter().filter_map(|at| places[at].take()));
    for (finding, id) in findings.iter_mut().zip(1..) {
        finding.id = id;
    }
}

/// The positions of findings in the order of a report.
pub(crate) fn order(findings: &[Finding]) -> Vec<usize> {
    let subjects = subjects(findings);
    let mut groups: BTreeMap<Subject, Vec<usize>> = BTreeMap::new();
    for (at, subject) in subjects.into_iter().enumerate() {
        groups.entry(subject).or_default().push(at);
    }
    let mut groups: Vec<Vec<usize>> = groups.into_values().collect();
    for group in &mut groups {
        group.sort_by_key(|&at| (severity(&findings[at], 1), at));
    }
    // The order in which they came decides between equals: it depends on the code only.
    groups.sort_by_key(|group| (severity(&findings[group[0]], group.len()), group[0]));
    groups.into_iter().flatten().collect()
}

/// The findings, those with one cause together; causes in the order of their first finding.
pub fn causes<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> Vec<Cause<'a>> {
    let findings: Vec<&Finding> = findings.into_iter().collect();
    let mut causes: Vec<Cause<'a>> = Vec::new();
    for (finding, number) in findings.iter().zip(numbers(findings.iter().copied())) {
        match causes.get_mut(number) {
            Some(cause) => cause.variants.push(finding),
            None => causes.push(Cause { head: finding, variants: Vec::new() }),
        }
    }
    causes
}

/// The number of the cause of each finding, from 0, in the order of first findings.
pub(crate) fn numbers<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> Vec<usize> {
    let mut known: BTreeMap<Subject, usize> = BTreeMap::new();
    let number = |subject| {
        let next = known.len();
        *known.entry(subject).or_insert(next)
    };
    subjects(findings).into_iter().map(number).collect()
}

/// Small is severe: confirmed, the surest verdict, frees, two writes, many variants.
fn severity(finding: &Finding, variants: usize) -> impl Ord + use<> {
    let writes = finding.accesses.iter().filter(|access| access.writes).count();
    let frees = finding.accesses.iter().any(|access| access.operation == "free");
    (finding.confirmed.is_none(), finding.verdict, Reverse(frees), Reverse(writes), Reverse(variants))
}

fn subjects<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> Vec<Subject> {
    let findings: Vec<&Finding> = findings.into_iter().collect();
    let mut subjects: Vec<Subject> = findings.iter().map(|finding| subject(finding)).collect();
    // Blocks all of whose races meet in one line go by that line.
    let mut lines: BTreeMap<Subject, Vec<String>> = BTreeMap::new();
    for (finding, subject) in findings.iter().zip(&subjects) {
        if !matches!(subject, Subject::Allocated(_)) {
            continue;
        }
        let own = lines_of(finding);
        let common = lines.entry(subject.clone()).or_insert_with(|| own.clone());
        common.retain(|line| own.contains(line));
    }
    let mut users: BTreeMap<&String, usize> = BTreeMap::new();
    for line in lines.values().flatten() {
        *users.entry(line).or_default() += 1;
    }
    for subject in &mut subjects {
        let Some(common) = lines.get(&*subject) else { continue };
        let most =
            common.iter().filter(|line| users[line] > 1).max_by_key(|line| (users[line], Reverse(*line)));
        if let Some(line) = most {
            *subject = Subject::Line(line.clone());
        }
    }
    subjects
}

fn subject(finding: &Finding) -> Subject {
    let Some(memory) = finding.memory.as_ref().filter(|_| finding.kind == Kind::Race) else {
        return Subject::Alone(finding.fingerprint.clone());
    };
    match (memory.kind.as_str(), innermost_own(&memory.allocated_at)) {
        ("variable", _) => Subject::Named(memory.whole().to_owned()),
        ("global", _) if !memory.member.is_empty() => Subject::Named(without_indexes(&memory.name)),
        ("global", _) => Subject::Named(memory.whole().to_owned()),
        ("heap", Some(frame)) => Subject::Allocated(frame_line(frame)),
        _ => match finding.accesses.iter().max_by_key(|access| access.writes).and_then(line_of) {
            Some(line) => Subject::Line(line),
            None => Subject::Alone(finding.fingerprint.clone()),
        },
    }
}

/// `table[].name` of `table[3].name`.
fn without_indexes(name: &str) -> String {
    let mut depth = 0_u32;
    name.chars().fold(String::new(), |mut text, letter| {
        depth -= u32::from(letter == ']' && depth > 0);
        if depth == 0 {
            text.push(letter);
        }
        depth += u32::from(letter == '[');
        text
    })
}

fn lines_of(finding: &Finding) -> Vec<String> {
    finding.accesses.iter().filter_map(line_of).collect()
}

fn line_of(access: &Access) -> Option<String> {
    access.site().map(frame_line)
}

fn frame_line(frame: &Frame) -> String {
    format!("{} {}", frame.place(), if frame.line == 0 { frame.function.as_str() } else { "" })
}

/// How many causes of each verdict a limit lets through.
///
/// Each verdict gets an equal share. What one does not need goes to the others, the surest first.
#[derive(Clone, Debug)]
pub struct Share {
    left: BTreeMap<Verdict, usize>,
}

impl Share {
    /// The shares of `limit` among causes; none is no limit.
    pub fn new(causes: &[Cause<'_>], limit: Option<usize>) -> Share {
        let mut wanted: BTreeMap<Verdict, usize> = BTreeMap::new();
        for cause in causes {
            *wanted.entry(cause.head.verdict).or_default() += 1;
        }
        let mut left: BTreeMap<Verdict, usize> = wanted.keys().map(|&verdict| (verdict, 0)).collect();
        let mut rest = limit.unwrap_or(usize::MAX);
        while rest > 0 && left != wanted {
            for (verdict, share) in &mut left {
                if rest > 0 && *share < wanted[verdict] {
                    *share += 1;
                    rest -= 1;
                }
            }
        }
        Share { left }
    }

    /// Whether the next cause of a verdict is let through.
    pub fn take(&mut self, verdict: Verdict) -> bool {
        match self.left.get_mut(&verdict) {
            Some(share) if *share > 0 => {
                *share -= 1;
                true
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::Memory;

    fn race(fingerprint: &str, verdict: Verdict, memory: Memory, lines: [u32; 2]) -> Finding {
        let access = |line| Access {
            operation: "write".into(),
            writes: true,
            stack: vec![Frame { file: "a.c".into(), line, ..Frame::default() }],
            ..Access::default()
        };
        Finding {
            fingerprint: fingerprint.into(),
            verdict,
            memory: Some(memory),
            accesses: lines.map(access).to_vec(),
            ..Finding::default()
        }
    }

    fn global(name: &str) -> Memory {
        Memory { name: name.into(), kind: "global".into(), ..Memory::default() }
    }

    fn block(line: u32) -> Memory {
        let allocated_at = vec![Frame { file: "alloc.c".into(), line, ..Frame::default() }];
        Memory { kind: "heap".into(), allocated_at, ..Memory::default() }
    }

    fn prints(findings: &[Finding]) -> Vec<&str> {
        findings.iter().map(|finding| finding.fingerprint.as_str()).collect()
    }

    #[test]
    fn races_on_one_variable_are_one_cause() {
        let mut findings = vec![
            race("1", Verdict::Observed, global("clock+8"), [1, 2]),
            race("2", Verdict::Observed, global("hits"), [3, 4]),
            race("3", Verdict::Predicted, global("clock"), [5, 6]),
        ];
        arrange(&mut findings);
        assert_eq!(prints(&findings), ["1", "3", "2"]);
        let causes = causes(&findings);
        assert_eq!(causes.iter().map(Cause::size).collect::<Vec<_>>(), [2, 1]);
        assert_eq!(findings.iter().map(|finding| finding.id).collect::<Vec<_>>(), [1, 2, 3]);
    }

    #[test]
    fn blocks_that_all_race_in_one_line_are_one_cause() {
        let findings: Vec<_> =
            (0..5).map(|at| race(&at.to_string(), Verdict::Observed, block(at), [100, at])).collect();
        assert_eq!(causes(&findings).len(), 1);
        let apart: Vec<_> =
            (0..5).map(|at| race(&at.to_string(), Verdict::Observed, block(at), [100 + at, at])).collect();
        assert_eq!(causes(&apart).len(), 5);
    }

    #[test]
    fn confirmed_and_frees_come_first() {
        let mut confirmed = race("confirmed", Verdict::Predicted, global("a"), [1, 2]);
        confirmed.confirmed = Some(Default::default());
        let mut free = race("free", Verdict::Observed, global("b"), [3, 4]);
        free.accesses[0].operation = "free".into();
        let plain = race("plain", Verdict::Observed, global("c"), [5, 6]);
        let mut findings = vec![plain, free, confirmed];
        arrange(&mut findings);
        assert_eq!(prints(&findings), ["confirmed", "free", "plain"]);
    }

    #[test]
    fn each_verdict_has_its_share_of_the_limit() {
        let findings: Vec<_> = (0..30)
            .map(|at| (at, if at < 25 { Verdict::Observed } else { Verdict::Predicted }))
            .map(|(at, verdict)| race(&at.to_string(), verdict, global(&format!("v{at}")), [at, at]))
            .collect();
        let causes = causes(&findings);
        let let_through = |limit| {
            let mut share = Share::new(&causes, limit);
            let shown = causes.iter().map(|cause| cause.head.verdict).filter(|&verdict| share.take(verdict));
            let shown: Vec<Verdict> = shown.collect();
            [Verdict::Observed, Verdict::Predicted].map(|of| shown.iter().filter(|&&one| one == of).count())
        };
        assert_eq!(let_through(Some(10)), [5, 5]);
        assert_eq!(let_through(Some(20)), [15, 5]);
        assert_eq!(let_through(Some(1)), [1, 0]);
        assert_eq!(let_through(None), [25, 5]);
    }

    #[test]
    fn indexes_have_no_part_in_a_name() {
        assert_eq!(without_indexes("table[3].name[a[1]].x"), "table[].name[].x");
        assert_eq!(without_indexes("]x["), "]x[");
    }
}
