//! Which findings a rule is about.

use super::names::{FindingNames, NameTable};
use super::parse::{self, SuppressionError};
use super::template::Template;
use crate::result::{Finding, Status};

/// The rules of one or more suppression files, in order.
#[derive(Clone, Default, Debug)]
pub struct Suppressions {
    rules: Vec<Suppression>,
}

/// A rule as written.
#[derive(Clone, Debug)]
pub(super) struct Suppression {
    pub(super) rule: Rule,
    /// The text of the rule, with file and line.
    pub(super) origin: String,
}

/// What a rule asks for.
#[derive(Clone, Debug)]
pub(super) enum Rule {
    /// Some frame of an access or of the creation of its thread, or the name of the global.
    Race(Template),
    /// The innermost frame of an access.
    Top(Template),
    /// The module in which an access takes place.
    Library(Template),
    /// The memory.
    Variable(Template),
    /// The calls of one access.
    Stack(Sequence),
    /// The calls of both accesses, in whichever order.
    Pair([Sequence; 2]),
    /// A finding that is not a race, of this type: some frame of it, or the name of a lock.
    Other(&'static str, Template),
}

/// Frames from the innermost outwards. Those of a segment follow each other; between segments there may be others.
///
/// The leftmost place for each segment in turn is the best one: it leaves the most frames for the segments that follow.
#[derive(Clone, Debug)]
pub(super) struct Sequence {
    pub(super) segments: Vec<Vec<Template>>,
}

impl Suppressions {
    /// Reads a file's rules. `name` is what its rules are cited by.
    pub fn parse(name: &str, text: &[u8]) -> Result<Suppressions, SuppressionError> {
        let text = String::from_utf8_lossy(text);
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        Ok(Suppressions { rules: parse::rules(name, text)? })
    }

    /// Adds the rules of another file after these.
    pub fn append(&mut self, mut other: Suppressions) {
        self.rules.append(&mut other.rules);
    }

    /// Whether there are no rules.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Marks what is suppressed, by the first rule that matches. Returns the rules that match nothing.
    pub(super) fn apply(&self, findings: &mut [Finding]) -> Vec<String> {
        let table = NameTable::of(findings);
        let mut by = vec![None; findings.len()];
        let mut unused = Vec::new();
        for suppression in &self.rules {
            let question = Question::new(&suppression.rule, &table);
            let mut used = false;
            if question.may_concern_any() {
                for (finding, by) in table.findings.iter().zip(&mut by) {
                    if question.concerns(finding) {
                        used = true;
                        by.get_or_insert(&suppression.origin);
                    }
                }
            }
            // Files for other tools have rules about what this run did not look for.
            if !used && !matches!(suppression.rule, Rule::Other(..)) {
                unused.push(suppression.origin.clone());
            }
        }
        for (finding, by) in findings.iter_mut().zip(by) {
            if let Some(by) = by {
                finding.status = Status::Suppressed { by: by.clone() };
            }
        }
        unused
    }
}

impl Sequence {
    fn patterns(&self) -> impl Iterator<Item = &Template> {
        self.segments.iter().flatten()
    }
}

impl Rule {
    /// Its patterns, in the order in which they are written.
    fn patterns(&self) -> Vec<&Template> {
        match self {
            Rule::Race(pattern) | Rule::Top(pattern) | Rule::Library(pattern) | Rule::Variable(pattern) => {
                vec![pattern]
            }
            Rule::Stack(sequence) => sequence.patterns().collect(),
            Rule::Pair(pair) => pair.iter().flat_map(Sequence::patterns).collect(),
            Rule::Other(_, pattern) => vec![pattern],
        }
    }
}

/// A rule with the answers of its patterns.
struct Question<'a> {
    rule: &'a Rule,
    answers: Vec<Answers>,
}

/// What a pattern says.
struct Answers {
    names: Vec<bool>,
    frames: Vec<bool>,
}

impl<'a> Question<'a> {
    fn new(rule: &'a Rule, table: &NameTable<'_>) -> Question<'a> {
        let answers = rule.patterns().into_iter().map(|pattern| {
            let names: Vec<bool> = table.names.iter().map(|name| pattern.matches(name)).collect();
            let yes = |name: &u32| names[*name as usize];
            let frames = table.frames.iter().map(|[function, file, module]| match rule {
                Rule::Library(_) => yes(module),
                _ => [function, file, module].into_iter().any(yes),
            });
            Answers { frames: frames.collect(), names }
        });
        Question { rule, answers: answers.collect() }
    }

    /// False if some pattern matches no name at all, as those of old rules do.
    fn may_concern_any(&self) -> bool {
        self.answers.iter().all(|answers| answers.names.contains(&true))
    }

    fn concerns(&self, finding: &FindingNames) -> bool {
        let kind = if let Rule::Other(kind, _) = self.rule { *kind } else { "race" };
        if finding.suppression != kind {
            return false;
        }
        let stacks = || finding.stacks.iter();
        let frame = |frame: &u32| self.answers[0].frames[*frame as usize];
        let memory = || finding.memory.iter().any(|name| self.answers[0].names[*name as usize]);
        match self.rule {
            Rule::Race(_) | Rule::Other(..) => {
                stacks().chain([&finding.created]).any(|stack| stack.iter().any(frame))
                    || finding.is_global && memory()
            }
            Rule::Top(_) | Rule::Library(_) => stacks().any(|stack| stack.first().is_some_and(frame)),
            Rule::Variable(_) => memory(),
            Rule::Stack(sequence) => stacks().any(|stack| self.occurs(sequence, 0, stack)),
            Rule::Pair([one, other]) => {
                let patterns_of_one = one.patterns().count();
                let both = |first: &[u32], second: &[u32]| {
                    self.occurs(one, 0, first) && self.occurs(other, patterns_of_one, second)
                };
                let [first, second] = &finding.stacks[..] else { return false };
                both(first, second) || both(second, first)
            }
        }
    }

    /// Whether a sequence, whose patterns have the answers from `pattern` on, occurs in a stack.
    fn occurs(&self, sequence: &Sequence, mut pattern: usize, mut stack: &[u32]) -> bool {
        for segment in &sequence.segments {
            let fits = |frames: &[u32]| {
                let mut answers = self.answers[pattern..].iter().zip(frames);
                answers.all(|(answers, frame)| answers.frames[*frame as usize])
            };
            match stack.windows(segment.len()).position(fits) {
                Some(position) => stack = &stack[position + segment.len()..],
                None => return false,
            }
            pattern += segment.len();
        }
        true
    }
}
