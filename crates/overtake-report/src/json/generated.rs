//! Facts about generated traces as JSON.

use std::collections::BTreeSet;
use std::io;

use overtake_trace::Symbols;
use serde::Serialize;

use super::{SCHEMA, WrittenForm, write_line};
use crate::model::{ExpectedFacts, GeneratedFacts};

/// Writes what was generated, as one line.
pub fn generated(out: &mut dyn io::Write, facts: &GeneratedFacts<'_>) -> io::Result<()> {
    let document = GeneratedForm {
        schema: SCHEMA,
        shape: facts.shape,
        seed: facts.seed,
        command: &facts.command,
        written: WrittenForm::of(&facts.written),
        expected: facts.expected.iter().map(|expected| ExpectedForm::of(expected, facts.symbols)).collect(),
    };
    write_line(out, &document)
}

#[derive(Serialize)]
struct GeneratedForm<'a> {
    schema: u32,
    shape: &'a str,
    seed: u64,
    command: &'a str,
    written: WrittenForm<'a>,
    expected: Vec<ExpectedForm>,
}

#[derive(Serialize)]
struct ExpectedForm {
    notion: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    on_variable: Option<String>,
    pairs: Option<Vec<[u64; 2]>>,
    racy_events: Option<BTreeSet<u64>>,
    racy_variables: Option<Vec<String>>,
}

impl ExpectedForm {
    fn of(expected: &ExpectedFacts, symbols: &Symbols) -> ExpectedForm {
        let ExpectedFacts { notion, pairs, on, variables } = expected;
        let pairs = pairs.as_ref();
        ExpectedForm {
            notion,
            on_variable: on.map(|var| symbols.variables.display(var)),
            pairs: pairs.map(|pairs| pairs.iter().map(|(first, second)| [first.0, second.0]).collect()),
            racy_events: pairs.map(|pairs| pairs.iter().map(|(_, second)| second.0).collect()),
            racy_variables: variables
                .as_ref()
                .map(|variables| variables.iter().map(|var| symbols.variables.display(*var)).collect()),
        }
    }
}
