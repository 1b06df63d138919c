//! The frames of all findings, each once.

use rustc_hash::FxHashMap;

use crate::result::{Finding, Frame};

/// Every frame that a finding has, by a number.
pub(super) struct FrameTable {
    pub(super) frames: Vec<Frame>,
    pub(super) findings: Vec<FindingFrames>,
}

/// The frames of one finding, as numbers.
pub(super) struct FindingFrames {
    /// The calls of the first access, innermost first.
    pub(super) first: Vec<u32>,
    /// The calls of the second access, innermost first.
    pub(super) second: Vec<u32>,
    /// Those of the creations of both threads.
    pub(super) created: Vec<u32>,
}

impl FrameTable {
    pub(super) fn of(findings: &[Finding]) -> FrameTable {
        let mut numbering = Numbering::default();
        let findings = findings
            .iter()
            .map(|Finding { first, second, .. }| FindingFrames {
                first: numbering.numbers(first.stack.iter()),
                second: numbering.numbers(second.stack.iter()),
                created: numbering.numbers(first.thread.created_at.iter().chain(&second.thread.created_at)),
            })
            .collect();
        FrameTable { frames: numbering.frames.into_iter().cloned().collect(), findings }
    }
}

#[derive(Default)]
struct Numbering<'a> {
    numbers: FxHashMap<&'a Frame, u32>,
    frames: Vec<&'a Frame>,
}

impl<'a> Numbering<'a> {
    fn numbers(&mut self, frames: impl Iterator<Item = &'a Frame>) -> Vec<u32> {
        let number = |frame| {
            *self.numbers.entry(frame).or_insert_with(|| {
                self.frames.push(frame);
                self.frames.len() as u32 - 1
            })
        };
        frames.map(number).collect()
    }
}
