//! Answers about two events.

use std::io;

use overtake_detect::At;
use overtake_detect::ask::{Answer, Link, Obstacle};
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
    sync_reversal_obstacle: Option<ObstacleForm>,
    saturation: Option<bool>,
    saturation_obstacle: Option<ObstacleForm>,
    weakly_ordered: Option<bool>,
    weak_chain: Option<Vec<LinkForm>>,
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

#[derive(Serialize)]
struct ObstacleForm {
    kind: &'static str,
    links: Vec<LinkForm>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lock: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sections: Vec<UnendedForm>,
}

#[derive(Serialize)]
struct UnendedForm {
    acquire: EventForm,
    end: Vec<LinkForm>,
}

impl AnswerForm {
    fn of(answer: &Answer, symbols: &Symbols) -> AnswerForm {
        let race = answer.race.as_ref();
        let chain = |links: &Vec<Link>| links_of(links, symbols);
        let obstacle = |obstacle: &Obstacle| ObstacleForm::of(obstacle, symbols);
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
            sync_reversal_obstacle: answer.reversal_obstacle.as_ref().map(obstacle),
            saturation: answer.saturation,
            saturation_obstacle: answer.saturation_obstacle.as_ref().map(obstacle),
            weakly_ordered: race.map(|_| answer.weakly_ordered),
            weak_chain: answer.weak_chain.as_ref().map(chain),
            hinges_on_reads: answer.hinges_on_reads,
        }
    }
}

fn links_of(links: &[Link], symbols: &Symbols) -> Vec<LinkForm> {
    links.iter().map(|link| LinkForm::of(link, symbols)).collect()
}

impl ObstacleForm {
    fn of(obstacle: &Obstacle, symbols: &Symbols) -> ObstacleForm {
        let of_kind = |kind, links| ObstacleForm { kind, links, lock: None, sections: Vec::new() };
        match obstacle {
            Obstacle::Needed(links) => of_kind("needed", links_of(links, symbols)),
            Obstacle::Circle(links) => of_kind("circle", links_of(links, symbols)),
            Obstacle::BothOpen { lock, sections } => ObstacleForm {
                kind: "both open",
                links: Vec::new(),
                lock: Some(symbols.locks.display(*lock)),
                sections: sections
                    .iter()
                    .map(|section| UnendedForm {
                        acquire: EventForm::of(section.acquire, symbols),
                        end: links_of(&section.end, symbols),
                    })
                    .collect(),
            },
            _ => of_kind("not found", Vec::new()),
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
