//! What is taken of the records of code, by the module that the code lies in.
//!
//! The functions of libc that are interposed record what they do, whoever calls them. A library that is not instrumented calls them as well:
//! it copies its own memory with `memcpy` and frees its own blocks, ordered by means of its own that nobody sees. Its policy says
//! what counts: all of it, only what it orders, or nothing. Threads are always created and joined, and blocks and mappings always come
//! and go: otherwise addresses would be taken for others.

use overtake_rawlog::{Record, RecordKind, block_size, split_block_size};

/// What is taken of the records of a module.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Policy {
    /// Everything.
    Record,
    /// What it orders, and no access.
    Synchronisation,
    /// Nothing.
    Ignore,
}

impl Policy {
    /// The policy that a word names.
    fn named(word: &str) -> Option<Policy> {
        Some(match word {
            "record" => Policy::Record,
            "sync" => Policy::Synchronisation,
            "ignore" => Policy::Ignore,
            _ => return None,
        })
    }

    /// Whether a record is taken, as [`applied`](Self::applied) makes it.
    pub(crate) fn takes(self, kind: RecordKind) -> bool {
        use RecordKind as K;
        match self {
            Policy::Record => true,
            Policy::Synchronisation => !matches!(
                kind,
                K::Read
                    | K::Write
                    | K::ReadRange
                    | K::WriteRange
                    | K::ReadRun
                    | K::WriteRun
                    | K::WriteAgain
                    | K::WriteAgainRange
                    | K::FdUse
            ),
            Policy::Ignore => {
                matches!(kind, K::Fork | K::Join | K::Detach | K::Alloc | K::Free | K::Map | K::Unmap)
                    || matches!(kind, K::ThreadStart | K::ThreadEnd | K::Push | K::Cut | K::Chunk)
            }
        }
    }

    /// The record without what is no access any more: blocks come and go unseen.
    pub(crate) fn applied(self, mut record: Record) -> Record {
        if self != Policy::Record {
            match record.kind {
                RecordKind::Alloc => record.words[2] = block_size(split_block_size(record.words[2]).0, false),
                RecordKind::Free | RecordKind::Map => record.extra = 1,
                _ => {}
            }
        }
        record
    }
}

/// Run-time systems of OpenMP: they order what threads do by means that are not seen, and their memory is nobody's business.
const OWN_MEANS: &[&str] = &["libgomp.so", "libomp.so", "libiomp5.so"];

/// The policies of all modules.
#[derive(Clone, Debug)]
pub struct Modules {
    /// How names of modules begin, and their policies; the first that fits counts.
    rules: Vec<(String, Policy)>,
    not_instrumented: Policy,
}

impl Default for Modules {
    fn default() -> Self {
        Modules { rules: Vec::new(), not_instrumented: Policy::Record }
    }
}

impl Modules {
    /// Reads `name=policy` with colons or blanks between: policies are `record`, `sync` and `ignore`, a name is how the file names of
    /// modules begin, and `*` stands for all that are not instrumented.
    pub fn parse(text: &str) -> Result<Modules, String> {
        let mut modules = Modules::default();
        for rule in text.split([':', ' ', ',']).filter(|rule| !rule.is_empty()) {
            let (name, policy) = rule.split_once('=').unwrap_or((rule, ""));
            let Some(policy) = Policy::named(policy) else {
                return Err(format!("expected NAME=record, NAME=sync or NAME=ignore, found `{rule}`"));
            };
            match name {
                "*" => modules.not_instrumented = policy,
                name => modules.rules.push((name.to_owned(), policy)),
            }
        }
        Ok(modules)
    }

    /// Takes synchronisation only of modules that are not instrumented, unless they have a policy.
    pub fn ignore_not_instrumented(&mut self) {
        if self.not_instrumented == Policy::Record {
            self.not_instrumented = Policy::Synchronisation;
        }
    }

    /// Whether there are policies for modules by name, which may be instrumented.
    pub(crate) fn name_some(&self) -> bool {
        !self.rules.is_empty()
    }

    /// Whether all accesses of compiled code and all locks are taken.
    pub(crate) fn take_compiled_code(&self) -> bool {
        !self.name_some() && self.not_instrumented != Policy::Ignore
    }

    /// The policy of a module.
    pub(crate) fn policy(&self, name: &str, is_instrumented: bool) -> Policy {
        let rule = self.rules.iter().find(|(start, _)| name.starts_with(start.as_str()));
        match rule {
            Some((_, policy)) => *policy,
            None if is_instrumented => Policy::Record,
            None if OWN_MEANS.iter().any(|start| name.starts_with(start)) => match self.not_instrumented {
                Policy::Record => Policy::Synchronisation,
                policy => policy,
            },
            None => self.not_instrumented,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_are_those_of_names_then_of_what_is_not_instrumented() {
        let modules = Modules::parse("libqueue.so=ignore:*=sync libown=record").expect("policies");
        assert_eq!(modules.policy("libqueue.so.2", true), Policy::Ignore);
        assert_eq!(modules.policy("libother.so", false), Policy::Synchronisation);
        assert_eq!(modules.policy("libother.so", true), Policy::Record);
        assert_eq!(modules.policy("libown.so", false), Policy::Record);
        assert_eq!(Modules::default().policy("libother.so", false), Policy::Record);
        assert_eq!(Modules::default().policy("libgomp.so.1", false), Policy::Synchronisation);
        assert!(Modules::parse("libqueue.so").is_err() && Modules::parse("a=b").is_err());
    }
}
