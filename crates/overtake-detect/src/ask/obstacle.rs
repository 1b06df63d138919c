//! What keeps two accesses apart where sections of a lock may change places.

use overtake_trace::{LockId, ThreadId};

use super::needs::{Needs, merged};
use super::{Link, LinkReason};
use crate::access::At;
use crate::summary::{Position, Section, Summary};

/// Why no reordering of a kind brings two accesses side by side.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Obstacle {
    /// What precedes the two contains one of them. The chain leads from that one to what needs it.
    Needed(Vec<Link>),
    /// Two sections of a lock that exclude each other would both be open.
    BothOpen {
        /// The lock.
        lock: LockId,
        /// The sections.
        sections: [Unended; 2],
    },
    /// What must come before what is a circle: the last event is the first one.
    Circle(Vec<Link>),
    /// Nothing of this kind, but no order was found either.
    NotFound,
}

/// A section that must have begun and cannot be ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unended {
    /// Where it begins.
    pub acquire: At,
    /// The chain from one of the two accesses to its end. There is none if the trace does not end it.
    pub end: Vec<Link>,
}

/// An obstacle, by positions in a summary.
pub(crate) enum Hindrance {
    Needed,
    BothOpen([(ThreadId, Section); 2]),
    Circle(Vec<(Position, Position, LinkReason)>),
    NotFound,
}

impl Hindrance {
    /// The obstacle between two accesses, spelled out.
    pub(super) fn spell_out(self, summary: &Summary, needs: &Needs, accesses: [At; 2]) -> Obstacle {
        let [first, second] = accesses.map(|at| at.index);
        let at = |position| {
            let event = summary.event(position);
            At { index: event.index, thread: event.thread, location: event.location }
        };
        match self {
            Hindrance::Needed => Obstacle::Needed(needs.chain(first, second, false).unwrap_or_default()),
            Hindrance::BothOpen(open) => {
                let sections = open.map(|(_, section)| {
                    let acquire = at(section.acquire);
                    Unended { acquire, end: needs.chain_to_end(first, second, section.lock, acquire) }
                });
                Obstacle::BothOpen { lock: open[0].1.lock, sections }
            }
            Hindrance::Circle(links) => {
                let link = |(from, to, reason)| Link { from: at(from), to: at(to), reason };
                Obstacle::Circle(merged(links.into_iter().map(link).collect()))
            }
            Hindrance::NotFound => Obstacle::NotFound,
        }
    }
}
