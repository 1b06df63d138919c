//! Why a pair of accesses is no race by optimistic sync-reversal.
//!
//! If the chosen events have no order, the passes of `check.rs` end with events that all wait. Each of them waits for another one of them, so whoever goes from
//! an event to the one that it waits for comes round to an event again: that is the circle.

use super::check::{Checker, Reversed};
use crate::ask::{Hindrance, LinkReason};
use crate::summary::{Before, Chosen, Position, What, excluding};

impl Checker<'_> {
    /// What keeps two conflicting accesses of different threads apart; none if they are a race. The summary is of a whole trace.
    pub(crate) fn hindrance(&mut self, first: Position, second: Position) -> Option<Hindrance> {
        let Some(chosen) = Chosen::of(self.summary, first, second, Before::Everything, |_| true) else {
            return Some(Hindrance::Needed);
        };
        if let Some(open) = excluding(&chosen.open(self.summary)) {
            return Some(Hindrance::BothOpen(open));
        }
        let reversed = self.reversed(&chosen)?;
        let stuck = self.stuck(&chosen, &reversed, None);
        (!stuck.is_empty()).then(|| Hindrance::Circle(self.circle(&stuck, &reversed)))
    }

    fn circle(&self, stuck: &[Position], reversed: &[Reversed]) -> Vec<(Position, Position, LinkReason)> {
        let mut at = stuck[0];
        let mut links = Vec::new();
        let mut passed = vec![at];
        while let Some((before, reason)) = self.waits_for(at, stuck, reversed) {
            links.push((before, at, reason));
            if let Some(start) = passed.iter().position(|&one| one == before) {
                links.drain(..start);
                break;
            }
            passed.push(before);
            at = before;
        }
        links.reverse();
        links
    }

    /// One of the events that a stuck event waits for, and why.
    fn waits_for(
        &self,
        at: Position,
        stuck: &[Position],
        reversed: &[Reversed],
    ) -> Option<(Position, LinkReason)> {
        let is_reversed = reversed.iter().any(|one| one.acquire == at);
        let later = stuck.iter().filter(|&&other| is_reversed && other > at);
        let left_open = later.rev().find_map(|&other| Some((other, self.excludes_release(other, at)?)));
        if let Some((release, lock)) = left_open {
            return Some((release, LinkReason::LeftOpen(lock)));
        }
        let earlier = stuck.iter().rev().filter(|&&other| other < at);
        let mut reasons = earlier.filter_map(|&other| Some((other, self.precedes(other, at)?)));
        let nearest = reasons.next()?;
        let another = reasons.find(|(_, reason)| *reason != LinkReason::Thread);
        Some(if nearest.1 == LinkReason::Thread { another.unwrap_or(nearest) } else { nearest })
    }

    /// The lock that an event releases, if the section that another one begins excludes the one that it ends.
    fn excludes_release(&self, release: Position, acquire: Position) -> Option<overtake_trace::LockId> {
        let [ended, begun] = [release, acquire].map(|position| {
            let event = self.summary.event(position);
            match event.what {
                What::Acquire(place) | What::Release(place) => {
                    Some((event.thread, event.what, self.summary.section(event.thread, place)))
                }
                _ => None,
            }
        });
        let ((one, What::Release(_), ended), (other, What::Acquire(_), begun)) = ended.zip(begun)? else {
            return None;
        };
        (one != other && ended.excludes(begun)).then_some(ended.lock)
    }

    /// Why an event keeps its place before a later one, if it does.
    fn precedes(&self, from: Position, to: Position) -> Option<LinkReason> {
        let [one, other] = [from, to].map(|position| self.summary.event(position));
        if one.thread == other.thread {
            return Some(LinkReason::Thread);
        }
        match (one.what, other.what) {
            (What::Fork(child), _) if child == other.thread => Some(LinkReason::Fork),
            (_, What::Join(child)) if child == one.thread => Some(LinkReason::Join),
            (What::Fork(child), What::Join(joined)) if child == joined => Some(LinkReason::Join),
            (What::Post(posted), What::Wait(object)) if posted == object => Some(LinkReason::Object(object)),
            (What::Release(_), What::Acquire(_)) => self.excludes_release(from, to).map(LinkReason::Lock),
            _ => {
                let mut touches = self.summary.touches(from);
                let conflict = touches.find(|(var, kind)| {
                    let mut others = self.summary.touches(to);
                    others.any(|(touched, other)| touched == *var && (kind.writes() || other.writes()))
                });
                conflict.map(|(var, _)| LinkReason::Conflict(var))
            }
        }
    }
}
