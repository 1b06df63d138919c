//! Answers about two events.

use std::io;

use overtake_detect::At;
use overtake_detect::ask::{Answer, Link};
use overtake_trace::Symbols;
use serde::Serialize;

use super::{AccessForm, SCHEMA, write_line};
use crate::text::link_reason;

/// Writes what each notion says of pairs of events, as one line.
pub fn answers(out: &mut dyn io::Write, file: &str, symbols: &Symbols, answers: &[Answer]) -> io::Result<()> {
    let answers = answers.iter().map(|answer| AnswerForm::of(answer, symbols)).collect();
    write_line(out, &AnswersForm { schema: SCHEMA, file, answers })
}

#[derive(Serialize)]
struct AnswersForm<'a> {
    schema: u32,
    file: &'a str,
    answers: Vec<AnswerForm>,
}

#[derive(Serialize)]
struct AnswerForm {
    race: bool,
    variable: Option<String>,
    accesses: Vec<AccessForm>,
    events: [EventForm; 2],
    happens_before: Option<Vec<LinkForm>>,
    sync_preserving: bool,
    kept_apart: Option<Vec<LinkForm>>,
    sync_reversal: bool,
    saturation: Option<bool>,
    weakly_ordered: Option<bool>,
    hinges_on_reads: bool,
}

#[derive(Serialize)]
struct EventForm {
    index: u64,
    thread: String,
    location: Option<String>,
}

#[derive(Serialize)]
struct LinkForm {
    from: EventForm,
    to: EventForm,
    reason: String,
}

impl AnswerForm {
    fn of(answer: &Answer, symbols: &Symbols) -> AnswerForm {
        let race = answer.race.as_ref();
        let chain = |links: &Vec<Link>| links.iter().map(|link| LinkForm::of(link, symbols)).collect();
        AnswerForm {
            race: answer.is_race(),
            variable: race.map(|race| symbols.variables.display(race.var)),
            accesses: race.map_or_else(Vec::new, |race| {
                [race.first, race.second].map(|access| AccessForm::of(&access, symbols)).into()
            }),
            events: [answer.first, answer.second].map(|at| EventForm::of(at, symbols)),
            happens_before: answer.happens_before.as_ref().map(chain),
            sync_preserving: race.is_some() && answer.kept_apart.is_none(),
            kept_apart: answer.kept_apart.as_ref().map(chain),
            sync_reversal: answer.sync_reversal,
            saturation: answer.saturation,
            weakly_ordered: race.map(|_| answer.weakly_ordered),
            hinges_on_reads: answer.hinges_on_reads,
        }
    }
}

impl EventForm {
    fn of(at: At, symbols: &Symbols) -> EventForm {
        EventForm {
            index: at.index.0,
            thread: symbols.threads.display(at.thread),
            location: at.location.is_known().then(|| symbols.location_name(at.location)),
        }
    }
}

impl LinkForm {
    fn of(link: &Link, symbols: &Symbols) -> LinkForm {
        LinkForm {
            from: EventForm::of(link.from, symbols),
            to: EventForm::of(link.to, symbols),
            reason: link_reason(link.reason, symbols),
        }
    }
}
