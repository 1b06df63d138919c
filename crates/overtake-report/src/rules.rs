//! The table of rules: what a finding can be, and what other tools call it.
//!
//! To add one: a row here. Renderers, suppressions and the documentation walk over this table.

use overtake_detect::Verdict;

use crate::result::{Finding, Kind};

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
    Rule {
        id: "unlock-by-other",
        kind: Kind::Misuse,
        title: "release of a lock that another thread holds",
        help: "A thread releases a mutex that another thread took. Whoever took it loses its protection. Let the thread that took the mutex \
               release it, or use a semaphore.",
        tsan: "unlock of an unlocked mutex (or by a wrong thread)",
        suppression: "mutex",
        cwe: 832,
    },
    Rule {
        id: "read-lock-of-write-locked",
        kind: Kind::Misuse,
        title: "shared acquire of a lock that is held exclusively",
        help: "A thread takes a lock shared that is held exclusively. It waits for itself forever, or the lock is broken. Release the lock \
               first.",
        tsan: "read lock of a write locked mutex",
        suppression: "mutex",
        cwe: 764,
    },
    Rule {
        id: "read-unlock-of-write-locked",
        kind: Kind::Misuse,
        title: "shared release of a lock that is held exclusively",
        help: "A lock that was taken exclusively is released as if it were held shared. Release it as it was taken.",
        tsan: "read unlock of a write locked mutex",
        suppression: "mutex",
        cwe: 667,
    },
    Rule {
        id: "write-unlock-of-read-locked",
        kind: Kind::Misuse,
        title: "exclusive release of a lock that is held shared",
        help: "A lock that was taken shared is released as if it were held exclusively. Release it as it was taken.",
        tsan: "unlock of an unlocked mutex (or by a wrong thread)",
        suppression: "mutex",
        cwe: 667,
    },
    Rule {
        id: "use-of-destroyed",
        kind: Kind::Misuse,
        title: "use of a lock that was destroyed or never made",
        help: "A mutex is used after it was destroyed, or before it was initialised. Destroy it only after its last use.",
        tsan: "use of an invalid mutex (e.g. uninitialized or destroyed)",
        suppression: "mutex",
        cwe: 667,
    },
    Rule {
        id: "lock-held",
        kind: Kind::Misuse,
        title: "lock held where none may be held",
        help: "The program says that a thread must hold no lock at this place, and it holds one. Release the lock before.",
        tsan: "mutex held in the wrong context",
        suppression: "mutex",
        cwe: 667,
    },
    Rule {
        id: "ignored-at-end",
        kind: Kind::Misuse,
        title: "end of a thread whose accesses are ignored",
        help: "The program asked that what this thread does is not checked, and the thread or the program ended before it took that back. \
               What should have been checked was not. End what begins here on every path.",
        tsan: "thread finished with ignores enabled",
        suppression: "thread",
        cwe: 667,
    },
    Rule {
        id: "errno-in-signal",
        kind: Kind::Misuse,
        title: "signal handler that changes errno",
        help: "A signal handler leaves another value in errno. The code that it interrupts may have been about to read it. Save errno when \
               the handler starts and restore it when it ends.",
        tsan: "signal handler spoils errno",
        suppression: "signal",
        cwe: 479,
    },
    Rule {
        id: "double-free",
        kind: Kind::Misuse,
        title: "second free of a block",
        help: "A block of memory is freed twice by one thread. The allocator may have handed it out again in between. Free it once, and forget \
               the pointer.",
        tsan: "double-free",
        suppression: "race",
        cwe: 415,
    },
    Rule {
        id: "access-after-free",
        kind: Kind::Misuse,
        title: "access to memory after it was freed",
        help: "A thread uses a block of memory after it was freed. The free is ordered before the use: this is no race. Free the block only after its last use.",
        tsan: "heap-use-after-free",
        suppression: "race",
        cwe: 416,
    },
    Rule {
        id: "misuse",
        kind: Kind::Misuse,
        title: "misuse",
        help: "The program did something wrong with one operation. This version does not know more about it.",
        tsan: "misuse",
        suppression: "mutex",
        cwe: 664,
    },
];

/// The rule called `id`; if it is not known, the first rule of this kind.
pub fn find_rule(id: &str, kind: Kind) -> &'static Rule {
    let known = RULES.iter().find(|rule| rule.id == id);
    known.or_else(|| RULES.iter().find(|rule| rule.kind == kind)).unwrap_or(&RULES[0])
}

/// How loud a finding is in tools that know errors and warnings: only what is proved is an error.
pub(crate) fn level_of(finding: &Finding) -> &'static str {
    match finding.verdict {
        _ if finding.confirmed.is_some() => "error",
        Verdict::Observed | Verdict::Predicted => "error",
        Verdict::Possible | Verdict::Suspected => "warning",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_misuse_of_a_trace_has_a_rule() {
        for kind in overtake_trace::MisuseKind::ALL {
            let rule = find_rule(kind.name(), Kind::Misuse);
            assert_eq!((rule.id, rule.kind), (kind.name(), Kind::Misuse));
        }
    }

    #[test]
    fn every_rule_is_found_by_its_name() {
        for rule in RULES {
            assert_eq!(find_rule(rule.id, rule.kind), rule);
        }
        assert_eq!(find_rule("of-tomorrow", Kind::Misuse).kind, Kind::Misuse);
    }
}
