//! The table of rules: what a finding can be, and what other tools call it.
//!
//! To add one: a row here. Renderers, suppressions and the documentation walk over this table.

use overtake_detect::Verdict;

use crate::result::Kind;

/// What a finding is a violation of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rule {
    /// The name in results, in SARIF and in GitLab.
    pub id: &'static str,
    /// What kind of finding it is.
    pub kind: Kind,
    /// A few words for people.
    pub title: &'static str,
    /// What is wrong and what to do about it, for people who meet it for the first time.
    pub help: &'static str,
    /// What ThreadSanitizer calls it.
    pub tsan: &'static str,
    /// The type of suppressions that are about it.
    pub suppression: &'static str,
    /// Its number in the Common Weakness Enumeration.
    pub cwe: u32,
}

/// Every rule. The first one of a kind stands for rules of that kind that this version does not know.
pub const RULES: &[Rule] = &[
    Rule {
        id: "data-race",
        kind: Kind::Race,
        title: "data race",
        help: "Two threads access the same memory, at least one of them writes, and nothing orders the two accesses. The \
               behaviour of a C or C++ program with a data race is undefined: compilers assume that there is none. Hold the same \
               lock at both accesses, make them atomic, or let a thread creation, a join or a wait come between them.",
        tsan: "data race",
        suppression: "race",
        cwe: 362,
    },
    Rule {
        id: "use-after-free",
        kind: Kind::Race,
        title: "access to memory that another thread frees",
        help: "One thread frees a block of memory while another one still uses it, and nothing orders the two. Free the block only \
               after its last use: join the other thread, or hand the block over under a lock.",
        tsan: "heap-use-after-free",
        suppression: "race",
        cwe: 416,
    },
    Rule {
        id: "deadlock",
        kind: Kind::Deadlock,
        title: "deadlock",
        help: "Each of several threads holds a lock that the next one waits for, so that none of them can go on. Take the locks in \
               the same order everywhere, or take all of them at once (std::scoped_lock does).",
        tsan: "lock-order-inversion (potential deadlock)",
        suppression: "deadlock",
        cwe: 833,
    },
    Rule {
        id: "unlock-of-unlocked",
        kind: Kind::Misuse,
        title: "release of a lock that the thread does not hold",
        help: "A thread releases a mutex that it does not hold. Whoever holds it loses its protection. Let the thread that took \
               the mutex release it, once.",
        tsan: "unlock of an unlocked mutex (or by a wrong thread)",
        suppression: "mutex",
        cwe: 832,
    },
    Rule {
        id: "double-lock",
        kind: Kind::Misuse,
        title: "second acquire of a lock that the thread holds",
        help: "A thread takes a mutex that it holds already and waits for itself forever. Release it first, pass the knowledge \
               that it is held, or use a recursive mutex.",
        tsan: "double lock of a mutex",
        suppression: "mutex",
        cwe: 764,
    },
    Rule {
        id: "destroy-of-locked",
        kind: Kind::Misuse,
        title: "destruction of a lock that is held",
        help: "A mutex is destroyed while a thread holds it or waits for it. Destroy it only after its last user is done.",
        tsan: "destroy of a locked mutex",
        suppression: "mutex",
        cwe: 667,
    },
    Rule {
        id: "thread-leak",
        kind: Kind::Misuse,
        title: "thread that nobody waits for",
        help: "A thread ends, or the program does, and nobody joined or detached the thread: its stack is never given back. Join \
               it, or detach it.",
        tsan: "thread leak",
        suppression: "thread",
        cwe: 772,
    },
    Rule {
        id: "signal-unsafe-call",
        kind: Kind::Misuse,
        title: "call in a signal handler that is not safe there",
        help: "A signal handler calls a function that may hold a lock where the signal interrupts it. Only set a flag in the \
               handler, or write to a pipe.",
        tsan: "signal-unsafe call inside of a signal",
        suppression: "signal",
        cwe: 479,
    },
];

/// The rule called `id`; of one that is not known, the first of its kind.
pub fn find_rule(id: &str, kind: Kind) -> &'static Rule {
    let known = RULES.iter().find(|rule| rule.id == id);
    known.or_else(|| RULES.iter().find(|rule| rule.kind == kind)).unwrap_or(&RULES[0])
}

/// How loud a finding is in tools that know errors and warnings: only what is proved is an error.
pub(crate) fn level_of(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Observed | Verdict::Predicted => "error",
        Verdict::Possible | Verdict::Suspected => "warning",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_is_found_by_its_name() {
        for rule in RULES {
            assert_eq!(find_rule(rule.id, rule.kind), rule);
        }
        assert_eq!(find_rule("of-tomorrow", Kind::Misuse).kind, Kind::Misuse);
    }
}
