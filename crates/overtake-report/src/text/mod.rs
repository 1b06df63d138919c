//! Text for people.
//!
//! Renderers return strings with ANSI styles. The caller removes the styles where they are not wanted. Colours say nothing that
//! words do not say.

mod ask;
mod bench;
mod compare;
mod findings;
mod notes;
mod statistics;
mod table;
mod witness;

use anstyle::{AnsiColor, Style};
use overtake_detect::Verdict;

pub use ask::answer;
pub(crate) use ask::reason as link_reason;
pub use bench::{bench, figures};
pub use compare::{Compared, compare_heading, compare_row, compare_trace};
pub use findings::{cause, findings, one, write};
pub use notes::{clean, expected, generated, notes, timing, validation, written};
pub use statistics::statistics;
pub use witness::{deadlock_witness, witness};

/// How much room there is.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Columns of the terminal; `None` where lines may be as long as they need, as in a file.
    pub width: Option<u16>,
    /// How many races to show; `None` is all.
    pub limit: Option<usize>,
    /// How much to print about each finding.
    pub detail: Detail,
}

/// How much to print about each finding.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum Detail {
    /// A line.
    Headlines,
    /// What is needed to understand and mend it.
    #[default]
    Explained,
    /// Everything that is known.
    Everything,
}

impl Default for Layout {
    fn default() -> Self {
        Layout { width: None, limit: Some(25), detail: Detail::Explained }
    }
}

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();

fn verdict_style(verdict: Verdict) -> Style {
    let colour = match verdict {
        Verdict::Observed => AnsiColor::Red,
        Verdict::Predicted => AnsiColor::Magenta,
        Verdict::Possible => AnsiColor::Cyan,
        Verdict::Suspected => AnsiColor::Yellow,
    };
    Style::new().bold().fg_color(Some(colour.into()))
}

/// A name with control characters made visible, so that a trace cannot steer the terminal.
pub(crate) fn printable(name: &str) -> String {
    if !name.contains(is_steering) {
        return name.to_owned();
    }
    name.chars().fold(String::with_capacity(name.len()), |mut text, letter| {
        match is_steering(letter) {
            true => text.extend(letter.escape_default()),
            false => text.push(letter),
        }
        text
    })
}

/// Control characters, and those that change the direction of what follows.
fn is_steering(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
