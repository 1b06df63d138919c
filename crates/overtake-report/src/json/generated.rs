//! The machine form of generated traces.

use std::io;

use serde::Serialize;

use super::{SCHEMA, WrittenForm, write_line};
use crate::model::GeneratedFacts;

/// Writes what was generated, as one line.
pub fn generated(out: &mut dyn io::Write, facts: &GeneratedFacts<'_>) -> io::Result<()> {
    let names = |var: &_| facts.symbols.variables.display(*var);
    let document = GeneratedForm {
        schema: SCHEMA,
        shape: facts.shape,
        seed: facts.seed,
        command: &facts.command,
        written: WrittenForm::of(&facts.written),
        expected: facts.expected.as_ref().map(|expected| ExpectedForm {
            racy_variables: expected.racy_variables.iter().map(names).collect(),
            distance_to_race_free: expected.distance_to_race_free,
        }),
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
    expected: Option<ExpectedForm>,
}

#[derive(Serialize)]
struct ExpectedForm {
    racy_variables: Vec<String>,
    distance_to_race_free: u64,
}
