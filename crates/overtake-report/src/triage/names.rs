//! The names of all findings, each once.
//!
//! The same few functions, files and modules occur in most findings: a pattern is asked once for each of them.

use rustc_hash::FxHashMap;

use crate::result::{Finding, Frame, Memory};

/// Every name and every frame that the findings have, by number.
pub(super) struct NameTable<'a> {
    pub(super) names: Vec<&'a str>,
    /// Function, file and module.
    pub(super) frames: Vec<[u32; 3]>,
    pub(super) findings: Vec<FindingNames>,
}

/// The frames and names of one finding, as numbers.
pub(super) struct FindingNames {
    /// The calls of both accesses, innermost first.
    pub(super) stacks: [Vec<u32>; 2],
    /// Frames of the creations of both threads.
    pub(super) created: Vec<u32>,
    /// What the memory is called.
    pub(super) memory: Vec<u32>,
    /// Whether the memory has a name of its own.
    pub(super) is_global: bool,
}

impl<'a> NameTable<'a> {
    pub(super) fn of(findings: &'a [Finding]) -> NameTable<'a> {
        let mut names = Numbering::default();
        let mut frames = Numbering::default();
        let mut number_all = |frames_of: &mut dyn Iterator<Item = &'a Frame>| -> Vec<u32> {
            frames_of
                .map(|frame| {
                    let Frame { function, file, module, .. } = frame;
                    frames.number([function, file, module].map(|name| names.number(name.as_str())))
                })
                .collect()
        };
        let mut numbered: Vec<FindingNames> = findings
            .iter()
            .map(|Finding { first, second, memory, .. }| FindingNames {
                stacks: [first, second].map(|access| number_all(&mut access.stack.iter())),
                created: number_all(&mut first.thread.created_at.iter().chain(&second.thread.created_at)),
                memory: Vec::new(),
                // Variables of a trace have names of their own, as globals do.
                is_global: matches!(memory.kind.as_str(), "global" | "variable"),
            })
            .collect();
        for (finding, numbered) in findings.iter().zip(&mut numbered) {
            numbered.memory = memory_names(&finding.memory).map(|name| names.number(name)).collect();
        }
        NameTable { names: names.items, frames: frames.items, findings: numbered }
    }
}

/// The name as reports have it, and that of the whole global or array.
fn memory_names(memory: &Memory) -> impl Iterator<Item = &str> {
    let (name, whole) = (memory.name.as_str(), memory.whole());
    std::iter::once(name).chain((name != whole).then_some(whole))
}

struct Numbering<Item> {
    numbers: FxHashMap<Item, u32>,
    items: Vec<Item>,
}

impl<Item> Default for Numbering<Item> {
    fn default() -> Self {
        Numbering { numbers: FxHashMap::default(), items: Vec::new() }
    }
}

impl<Item: Copy + Eq + std::hash::Hash> Numbering<Item> {
    fn number(&mut self, item: Item) -> u32 {
        *self.numbers.entry(item).or_insert_with(|| {
            self.items.push(item);
            self.items.len() as u32 - 1
        })
    }
}
