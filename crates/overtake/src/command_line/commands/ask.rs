//! `overtake ask`: what each notion says of two accesses, and what forces their order.

use overtake::{Error, Input, Listener, reports};
use overtake_detect::ask::{Answer, ask, partners};
use overtake_detect::witness::Schedule;
use overtake_detect::{Race, RaceGroup, Strictness, Witness};
use overtake_report::{TraceFacts, WitnessFacts, json, text};
use overtake_trace::{Block, EventIndex, OperandKind};

use crate::command_line::args::AskArguments;
use crate::command_line::console::Console;
use crate::command_line::verdict::{Outcome, Verdict};

/// Answers for every pair that was asked about.
pub(crate) fn run(arguments: &AskArguments, console: Console) -> Outcome {
    let mut input = arguments.input.input();
    input.make_rereadable(Strictness::Repair, &console)?;
    let pairs = pairs(arguments, &mut input, console)?;
    let mut opened = input.open()?;
    let answers = ask(opened.source_mut(), &pairs).map_err(|error| opened.failure(error))?;
    let answers: Option<Vec<Answer>> = answers.into_iter().collect();
    let Some(mut answers) = answers else {
        let asked: Vec<EventIndex> = pairs.iter().flat_map(|&(first, second)| [first, second]).collect();
        return Err(missing(&asked, &mut input)?);
    };
    let symbols = opened.source().symbols();
    let is_recorded = symbols.program.is_recorded();
    let schedules = match arguments.event.is_none() || is_recorded {
        true => schedules(&mut answers, &mut input, is_recorded)?,
        false => Vec::new(),
    };
    if arguments.json {
        let file = arguments.input.trace.display().to_string();
        console.write(|out| json::answers(out, &file, symbols, &answers))?;
    } else {
        for answer in &answers {
            console.print(&text::answer(answer, symbols))?;
            let found = schedules.iter().find(|(race, _)| Some(*race) == answer.race);
            if let Some((race, schedule)) = found.filter(|_| arguments.event.is_none()) {
                let group = &group(*race);
                let facts = WitnessFacts { trace: &TraceFacts::default(), symbols, group, schedule };
                console.print(&text::witness(&facts, false, &console.layout(0)))?;
            }
        }
    }
    Ok(if answers.iter().any(Answer::is_race) { Verdict::Races } else { Verdict::Fine })
}

/// The pairs that are asked about, each with the earlier event first.
fn pairs(
    arguments: &AskArguments,
    input: &mut Input,
    console: Console,
) -> Result<Vec<(EventIndex, EventIndex)>, Error> {
    let Some(event) = arguments.event.map(EventIndex) else {
        return match arguments.pair[..] {
            [one, other] if one != other => {
                Ok(vec![(EventIndex(one.min(other)), EventIndex(one.max(other)))])
            }
            _ => Err(Error::usage("expected two different events after --pair, as in --pair 11,17")),
        };
    };
    let mut opened = input.open()?;
    let found = partners(opened.source_mut(), event).map_err(|error| opened.failure(error))?;
    if found.access.is_none() {
        return Err(missing(&[event], input)?);
    }
    let threads = &opened.source().symbols().threads;
    if let Some(wanted) = &arguments.thread
        && !threads.iter().any(|name| name == wanted.as_bytes())
    {
        return Err(Error::usage(format!("expected a thread of the trace after --thread, found {wanted}")));
    }
    let is_wanted = |name: &String| arguments.thread.as_ref().is_none_or(|wanted| wanted == name);
    let mut conflicting = found.conflicting;
    conflicting.retain(|at| is_wanted(&threads.display(at.thread)));
    conflicting.sort_by_key(|at| at.index.0.abs_diff(event.0));
    let all = conflicting.len();
    let shown = if arguments.limit == 0 { all } else { arguments.limit.min(all) };
    let conflict = if all == 1 { "access conflicts" } else { "accesses conflict" };
    let rest = match shown {
        shown if shown == all => String::new(),
        1 => format!("; the nearest is answered, --limit {all} answers all"),
        _ => format!("; the nearest {shown} are answered, --limit {all} answers all"),
    };
    let of_thread = arguments.thread.as_ref().map(|name| format!(" of {name}")).unwrap_or_default();
    let conflict = conflict.replacen(' ', &format!("{of_thread} "), 1);
    console.say(&format!("{all} {conflict} with event {event}{rest}"));
    let pair = |index: EventIndex| (index.min(event), index.max(event));
    Ok(conflicting[..shown].iter().map(|at| pair(at.index)).collect())
}

/// Why there is no answer: an event that was asked about is not in the trace, is no access, or was left out by a repair.
fn missing(asked: &[EventIndex], input: &mut Input) -> Result<Error, Error> {
    let mut opened = input.open()?;
    let (mut block, mut end, mut found) = (Block::default(), EventIndex(0), Vec::new());
    while opened.next_block(&mut block)? {
        for (index, event) in (block.first.0..).map(EventIndex).zip(&block.events) {
            end = EventIndex(index.0 + 1);
            found.extend(asked.contains(&index).then_some((index, event.op())));
        }
    }
    let beyond = asked.iter().find(|index| **index >= end);
    let other = found.iter().find(|(_, op)| op.operand_kind() != OperandKind::Variable);
    let why = match (beyond, other) {
        (Some(index), _) => format!("expected an event below {end}, where the trace ends, found {index}"),
        (None, Some((index, op))) if asked.len() == 1 => {
            format!("expected an access at event {index}, found {}", op.describe())
        }
        _ => {
            let events: Vec<_> = asked.iter().map(|index| format!("event {index}")).collect();
            format!(
                "{} is left out where the trace is repaired; overtake validate says why",
                events.join(" or ")
            )
        }
    };
    Ok(Error::usage(why))
}

/// The checked schedules that bring accesses side by side. In a recording, what has none is possible only.
fn schedules(
    answers: &mut [Answer],
    input: &mut Input,
    is_recorded: bool,
) -> Result<Vec<(Race, Schedule)>, Error> {
    let mut schedules = Vec::new();
    let ways: Vec<_> =
        answers.iter().filter(|answer| answer.is_predicted()).filter_map(|answer| answer.race).collect();
    let wanted: Vec<_> = ways.iter().map(|&race| (race, Witness::AnyLockOrder)).collect();
    if !is_recorded {
        return Ok(ways.into_iter().zip(reports::witnesses(input, &wanted, false)?).collect());
    }
    let found = reports::sought_witnesses(input, &wanted, true)?;
    let predicted = answers.iter_mut().filter(|answer| answer.is_predicted());
    for ((answer, race), schedule) in predicted.zip(ways).zip(found) {
        match schedule {
            Ok(schedule) => schedules.push((race, schedule)),
            Err(_) => answer.hinges_on_reads = true,
        }
    }
    Ok(schedules)
}

fn group(race: Race) -> RaceGroup {
    RaceGroup { id: 1, example: race, surest: race, extent: None, count: 1, observed: 0 }
}
