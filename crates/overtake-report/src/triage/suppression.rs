//! Which findings a rule is about.

use super::frames::{FindingFrames, FrameTable};
use super::parse::{self, SuppressionError};
use super::template::Template;
use crate::result::{Finding, Frame, Memory, Status};

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
    /// Accepted because files have it; we report nothing that it could be about.
    NotAboutRaces,
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
        let table = FrameTable::of(findings);
        let mut by = vec![None; findings.len()];
        let mut unused = Vec::new();
        for suppression in &self.rules {
            let question = Question::new(&suppression.rule, &table);
            let mut used = false;
            for ((finding, frames), by) in findings.iter().zip(&table.findings).zip(&mut by) {
                if question.concerns(finding, frames) {
                    used = true;
                    by.get_or_insert(&suppression.origin);
                }
            }
            if !used && !matches!(suppression.rule, Rule::NotAboutRaces) {
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

/// A rule with the answers of its patterns for every frame there is.
///
/// The same few frames occur in most findings: asking each pattern once for each makes rules cheap to check.
struct Question<'a> {
    rule: &'a Rule,
    /// Of each pattern in turn, by frame.
    answers: Vec<Vec<bool>>,
}

impl<'a> Question<'a> {
    fn new(rule: &'a Rule, table: &FrameTable) -> Question<'a> {
        let ask = |template: &Template, names: fn(&Frame) -> Vec<&str>| -> Vec<bool> {
            table.frames.iter().map(|frame| names(frame).iter().any(|name| template.matches(name))).collect()
        };
        let sequences: Vec<&Sequence> = match rule {
            Rule::Stack(sequence) => vec![sequence],
            Rule::Pair(pair) => pair.iter().collect(),
            _ => Vec::new(),
        };
        let answers = match rule {
            Rule::Race(template) | Rule::Top(template) => vec![ask(template, all_names)],
            Rule::Library(template) => vec![ask(template, |frame| vec![&frame.module])],
            _ => {
                let segments = sequences.iter().flat_map(|sequence| &sequence.segments);
                segments.flatten().map(|template| ask(template, all_names)).collect()
            }
        };
        Question { rule, answers }
    }

    fn concerns(&self, finding: &Finding, frames: &FindingFrames) -> bool {
        let accesses = [&frames.first[..], &frames.second[..]];
        let yes = |frame: &u32| self.answers[0][*frame as usize];
        match self.rule {
            Rule::Race(template) => {
                accesses.iter().any(|stack| stack.iter().any(yes))
                    || frames.created.iter().any(yes)
                    || is_global(&finding.memory) && template.matches(&finding.memory.name)
            }
            Rule::Top(_) | Rule::Library(_) => accesses.iter().any(|stack| stack.first().is_some_and(yes)),
            Rule::Variable(template) => template.matches(&finding.memory.name),
            Rule::Stack(sequence) => accesses.iter().any(|stack| self.occurs(sequence, 0, stack)),
            Rule::Pair([one, other]) => {
                let patterns_of_one: usize = one.segments.iter().map(Vec::len).sum();
                let both = |first: &[u32], second: &[u32]| {
                    self.occurs(one, 0, first) && self.occurs(other, patterns_of_one, second)
                };
                both(accesses[0], accesses[1]) || both(accesses[1], accesses[0])
            }
            Rule::NotAboutRaces => false,
        }
    }

    /// Whether a sequence, whose patterns have the answers from `pattern` on, occurs in a stack.
    fn occurs(&self, sequence: &Sequence, mut pattern: usize, mut stack: &[u32]) -> bool {
        for segment in &sequence.segments {
            let fits = |frames: &[u32]| {
                let mut answers = self.answers[pattern..].iter().zip(frames);
                answers.all(|(answers, frame)| answers[*frame as usize])
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

fn all_names(frame: &Frame) -> Vec<&str> {
    vec![&frame.function, &frame.file, &frame.module]
}

/// Variables of a trace have names of their own, as globals do.
fn is_global(memory: &Memory) -> bool {
    matches!(memory.kind.as_str(), "global" | "variable")
}
