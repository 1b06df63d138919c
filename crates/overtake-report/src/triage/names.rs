//! The names of all findings, each once.
//!
//! The same few functions, files and modules occur in most findings: each pattern is matched once with each of them.

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
    /// What kind of suppression is about it: `race`, `deadlock`, ...
    pub(super) suppression: &'static str,
    /// The calls of each access, innermost first.
    pub(super) stacks: Vec<Vec<u32>>,
    /// Frames of the creations of the threads.
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
            .map(|finding| {
                let accesses = &finding.accesses;
                FindingNames {
                    suppression: finding.rule().suppression,
                    stacks: accesses.iter().map(|access| number_all(&mut access.stack.iter())).collect(),
                    created: number_all(&mut accesses.iter().flat_map(|access| &access.thread.created_at)),
                    memory: Vec::new(),
                    is_global: has_name(finding),
                }
            })
            .collect();
        for (finding, numbered) in findings.iter().zip(&mut numbered) {
            let of_memory = finding.memory.iter().flat_map(memory_names);
            let of_objects = finding.objects.iter().map(String::as_str);
            numbered.memory = of_memory.chain(of_objects).map(|name| names.number(name)).collect();
        }
        NameTable { names: names.items, frames: frames.items, findings: numbered }
    }
}

/// Variables of a trace have names of their own, as globals and locks do.
fn has_name(finding: &Finding) -> bool {
    let named = |memory: &Memory| matches!(memory.kind.as_str(), "global" | "variable");
    finding.memory.as_ref().map_or(!finding.objects.is_empty(), named)
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
