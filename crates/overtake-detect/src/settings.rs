//! The settings of detectors, as a table: name, help and range of each. The command line is made from the table, and the table checks what
//! is typed and what a program sets. Rows of detectors name the settings they use.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::sampling::Judge;

/// Settings of detectors. Each detector uses some of them.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Options {
    /// Largest span `j - i + 1` of a reported pair.
    pub window: u64,
    /// Eraser's state machine instead of the definition.
    pub eraser: bool,
    /// Pairs that fork and join order are no suspicion.
    pub unforked: bool,
    /// No first pass that drops variables and locks which cannot matter. Verdicts are the same.
    pub no_filter: bool,
    /// Pairs of accesses between the same two locations that are judged beyond `syncp`; 0 is all.
    pub instances: u64,
    /// A pair whose schedule takes more events than this is not judged.
    pub schedule_limit: u64,
    /// The trace is read no further once something was found.
    pub first: bool,
    /// What an analysis may take before it is stopped.
    pub allowance: Allowance,
    /// The part of the accesses that is sampled, above 0 and at most 1.
    pub rate: f64,
    /// Events of a sampling period.
    pub period: u64,
    /// A race is probably found if at least this part of all events must change to make the trace race free.
    pub epsilon: f64,
    /// The probability of missing all races in such a trace.
    pub delta: f64,
    /// What is asked of each window.
    pub judge: Judge,
    /// Seed of all random choices.
    pub seed: u64,
    /// How arrays are divided into parts that share their state. Verdicts are the same.
    pub partitions: Partitions,
    /// Whether accesses are collected in sets of any form and not in ranges.
    pub set_footprints: bool,
    /// Arrays with fewer elements than this share no state.
    pub small_array: u64,
    /// How many arrays a thread may have accesses to that are not judged yet.
    pub commit_buffer: u64,
}

/// What an analysis may take before it is stopped. What it found until then counts. It is looked at after each block of events.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Allowance {
    /// Time in the detector.
    pub time: Option<Duration>,
    /// Bytes of its state.
    pub state_bytes: Option<usize>,
}

impl Allowance {
    /// Whether a detector may take whatever it needs.
    pub fn is_unlimited(self) -> bool {
        self == Allowance::default()
    }

    /// Whether this much is more than is allowed.
    pub fn is_exceeded(self, time: Duration, state_bytes: usize) -> bool {
        self.time.is_some_and(|most| time > most) || self.state_bytes.is_some_and(|most| state_bytes > most)
    }
}

/// How arrays are divided into parts that share their state.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum Partitions {
    /// As in the paper: whole, blocks, strides, two pieces, a prefix of single elements, or single elements.
    Paper,
    /// As in the paper, but before elements stand alone there are strides within blocks and parts of any form, and parts that have become alike
    /// are one again.
    #[default]
    Extended,
    /// Sets of any form, which every footprint splits and which never become one again: what the paper compares with.
    Sets,
}

impl Partitions {
    /// Those that are made to be fast.
    pub const ALL: [Partitions; 2] = [Partitions::Paper, Partitions::Extended];

    /// All of them, with their names on the command line.
    pub const NAMES: [(&'static str, Partitions); 3] =
        [("paper", Partitions::Paper), ("extended", Partitions::Extended), ("sets", Partitions::Sets)];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        Partitions::NAMES[self as usize].0
    }
}

impl Default for Options {
    fn default() -> Self {
        Options {
            window: 30_000,
            eraser: false,
            unforked: false,
            no_filter: false,
            instances: 4,
            schedule_limit: 300,
            first: false,
            allowance: Allowance::default(),
            rate: 0.03,
            period: 1000,
            epsilon: 0.01,
            delta: 0.1,
            judge: Judge::HappensBefore,
            seed: 1,
            partitions: Partitions::default(),
            set_footprints: false,
            small_array: 16,
            commit_buffer: 2048,
        }
    }
}

impl Options {
    /// Refuses a value of these settings that is out of range.
    pub fn check(&self, settings: &[&str]) -> Result<(), OptionError> {
        let mut used = SETTINGS.iter().filter(|setting| settings.contains(&setting.name));
        used.try_for_each(|setting| setting.check(self))
    }

    /// How many pairs of accesses between the same two locations are judged.
    pub(crate) fn instances(&self) -> u64 {
        if self.instances == 0 { u64::MAX } else { self.instances }
    }
}

/// The options do not fit the detector.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OptionError(pub String);

impl fmt::Display for OptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for OptionError {}

/// The place of a setting in the options, with what may stand there.
pub enum Field<'a> {
    /// Given or not.
    Flag(&'a mut bool),
    /// A whole number.
    Count {
        /// What is counted.
        unit: &'static str,
        /// The smallest number that is allowed.
        least: u64,
        /// The number.
        value: &'a mut u64,
    },
    /// A part of a whole: above 0 and at most 1.
    Part {
        /// What the part is.
        unit: &'static str,
        /// Whether 1, the whole, is not allowed.
        below_one: bool,
        /// The part.
        value: &'a mut f64,
    },
    /// One of some words.
    Word {
        /// What the words name.
        unit: &'static str,
        /// The words.
        words: Vec<&'static str>,
        /// The word that is chosen.
        value: &'static str,
        /// Chooses one of the words.
        choose: Box<dyn FnMut(&str) + 'a>,
    },
}

impl<'a> Field<'a> {
    fn word<T: Copy + PartialEq>(
        unit: &'static str,
        names: &'static [(&'static str, T)],
        value: &'a mut T,
    ) -> Field<'a> {
        let chosen = names.iter().find(|(_, meaning)| meaning == value).map_or("", |(name, _)| name);
        let choose = move |word: &str| {
            if let Some((_, meaning)) = names.iter().find(|(name, _)| *name == word) {
                *value = *meaning;
            }
        };
        let words = names.iter().map(|(name, _)| *name).collect();
        Field::Word { unit, words, value: chosen, choose: Box::new(choose) }
    }

    /// What is allowed, in words.
    pub fn range(&self) -> Option<String> {
        match self {
            Field::Flag(_) | Field::Count { least: 0, .. } => None,
            Field::Count { least, .. } => Some(format!("at least {least}")),
            Field::Part { below_one: true, .. } => Some("above 0 and below 1".into()),
            Field::Part { below_one: false, .. } => Some("above 0 and at most 1".into()),
            Field::Word { words, .. } => Some(format!("one of {}", words.join(", "))),
        }
    }

    fn is_in_range(&self) -> bool {
        match self {
            Field::Count { least, value, .. } => **value >= *least,
            Field::Part { below_one, value, .. } => {
                **value > 0.0 && (**value < 1.0 || **value == 1.0 && !below_one)
            }
            Field::Flag(_) | Field::Word { .. } => true,
        }
    }

    /// Takes over what was typed.
    fn read(&mut self, text: &str) -> Result<(), String> {
        match self {
            Field::Flag(value) => **value = true,
            Field::Count { value, .. } => **value = parse_count(text)?,
            Field::Part { value, .. } => **value = parse(text)?,
            Field::Word { words, choose, .. } if words.contains(&text) => choose(text),
            Field::Word { .. } => return Err(self.out_of_range(text)),
        }
        if self.is_in_range() { Ok(()) } else { Err(self.out_of_range(text)) }
    }

    fn out_of_range(&self, found: &str) -> String {
        format!("expected {}, found {found}", self.range().unwrap_or_default())
    }
}

/// The value.
impl fmt::Display for Field<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Field::Flag(value) => write!(f, "{value}"),
            Field::Count { value, .. } => write!(f, "{value}"),
            Field::Part { value, .. } => write!(f, "{value}"),
            Field::Word { value, .. } => f.write_str(value),
        }
    }
}

/// One setting of detectors.
pub struct Setting {
    /// The name on the command line.
    pub name: &'static str,
    /// One letter for it.
    pub short: Option<char>,
    /// One line for help. The range is added to it, and which detectors use it, known from their rows.
    pub help: &'static str,
    /// Where its value is and what is allowed.
    pub field: fn(&mut Options) -> Field<'_>,
}

impl Setting {
    /// Takes over what was typed; what is out of range is refused with what was expected.
    pub fn read(&self, options: &mut Options, text: &str) -> Result<(), String> {
        (self.field)(options).read(text)
    }

    /// Its value, as it is typed.
    pub fn written(&self, options: &Options) -> String {
        (self.field)(&mut options.clone()).to_string()
    }

    fn check(&self, options: &Options) -> Result<(), OptionError> {
        let mut options = options.clone();
        let field = (self.field)(&mut options);
        let Some(range) = field.range().filter(|_| !field.is_in_range()) else { return Ok(()) };
        Err(OptionError(format!("expected a value {range} for {}, found {field}", self.name)))
    }
}

/// Every setting.
pub const SETTINGS: &[Setting] = &[
    Setting {
        name: "window",
        short: Some('w'),
        help: "Largest number of events from the first access of a race to the second, both counted",
        field: |options| Field::Count { unit: "EVENTS", least: 1, value: &mut options.window },
    },
    Setting {
        name: "eraser",
        short: None,
        help: "Use Eraser's state machine; it reports fewer variables",
        field: |options| Field::Flag(&mut options.eraser),
    },
    Setting {
        name: "unforked",
        short: None,
        help: "Leave out pairs that fork and join order",
        field: |options| Field::Flag(&mut options.unforked),
    },
    Setting {
        name: "no-filter",
        short: None,
        help: "Look at every event, even where it can take part in no race; slower, same races",
        field: |options| Field::Flag(&mut options.no_filter),
    },
    Setting {
        name: "instances",
        short: None,
        help: "Pairs of accesses between the same two locations that are judged beyond syncp; 0 is all of them",
        field: |options| Field::Count { unit: "PAIRS", least: 0, value: &mut options.instances },
    },
    Setting {
        name: "schedule-limit",
        short: None,
        help: "Give up on a pair whose schedule takes more events than this",
        field: |options| Field::Count { unit: "EVENTS", least: 1, value: &mut options.schedule_limit },
    },
    Setting {
        name: "rate",
        short: None,
        help: "Part of the accesses that is sampled",
        field: |options| Field::Part { unit: "PART", below_one: false, value: &mut options.rate },
    },
    Setting {
        name: "period",
        short: None,
        help: "Events of a sampling period",
        field: |options| Field::Count { unit: "EVENTS", least: 1, value: &mut options.period },
    },
    Setting {
        name: "epsilon",
        short: None,
        help: "Part of the events that must change to make the trace race free",
        field: |options| Field::Part { unit: "PART", below_one: true, value: &mut options.epsilon },
    },
    Setting {
        name: "delta",
        short: None,
        help: "Probability of missing all races in such a trace",
        field: |options| Field::Part { unit: "PROBABILITY", below_one: true, value: &mut options.delta },
    },
    Setting {
        name: "judge",
        short: None,
        help: "Which races each window is searched for",
        field: |options| Field::word("NAME", &Judge::NAMES, &mut options.judge),
    },
    Setting {
        name: "seed",
        short: None,
        help: "Seed of all random choices",
        field: |options| Field::Count { unit: "N", least: 0, value: &mut options.seed },
    },
    Setting {
        name: "partitions",
        short: None,
        help: "How arrays are divided into parts that share their state; same races",
        field: |options| Field::word("HOW", &Partitions::NAMES, &mut options.partitions),
    },
    Setting {
        name: "set-footprints",
        short: None,
        help: "Collect accesses to an array in sets of any form, not in ranges: slow, for comparison; same races",
        field: |options| Field::Flag(&mut options.set_footprints),
    },
    Setting {
        name: "small-array",
        short: None,
        help: "Elements of arrays that have fewer of them share no state; same races",
        field: |options| Field::Count { unit: "ELEMENTS", least: 1, value: &mut options.small_array },
    },
    Setting {
        name: "commit-buffer",
        short: None,
        help: "Arrays that a thread may have accesses to that are not judged yet; same races",
        field: |options| Field::Count { unit: "ARRAYS", least: 1, value: &mut options.commit_buffer },
    },
];

fn parse<T: FromStr<Err: fmt::Display>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: T::Err| error.to_string())
}

/// A number that may end in k, M or G, for thousands, millions and thousands of millions.
pub fn parse_count(text: &str) -> Result<u64, String> {
    let (digits, factor) = match text.strip_suffix(['k', 'K', 'm', 'M', 'g', 'G']) {
        Some(digits) if text.ends_with(['k', 'K']) => (digits, 1_000),
        Some(digits) if text.ends_with(['m', 'M']) => (digits, 1_000_000),
        Some(digits) => (digits, 1_000_000_000),
        None => (text, 1),
    };
    parse::<u64>(digits)?.checked_mul(factor).ok_or_else(|| "number too large".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(name: &str) -> &'static Setting {
        SETTINGS.iter().find(|setting| setting.name == name).expect("in the table")
    }

    #[test]
    fn rates_and_limits_are_those_of_the_papers_by_default() {
        let options = Options::default();
        assert_eq!((options.rate, options.small_array, options.commit_buffer), (0.03, 16, 2048));
    }

    #[test]
    fn defaults_are_in_range() {
        let names: Vec<_> = SETTINGS.iter().map(|setting| setting.name).collect();
        assert_eq!(Options::default().check(&names), Ok(()));
    }

    #[test]
    fn what_is_written_is_read_again() {
        for setting in SETTINGS {
            let mut options = Options::default();
            let written = setting.written(&options);
            assert_eq!(setting.read(&mut options, &written), Ok(()), "{}", setting.name);
            assert_eq!(setting.written(&options) == written, written != "false", "{}", setting.name);
        }
    }

    #[test]
    fn the_ends_of_a_range_are_exact() {
        let cases = [
            ("window", "0", false),
            ("window", "1", true),
            ("period", "0", false),
            ("schedule-limit", "0", false),
            ("instances", "0", true),
            ("rate", "0", false),
            ("rate", "1", true),
            ("rate", "1.5", false),
            ("rate", "NaN", false),
            ("epsilon", "1", false),
            ("epsilon", "0.5", true),
            ("delta", "0", false),
            ("judge", "short-syncp", true),
            ("judge", "nobody", false),
            ("partitions", "extended", true),
            ("small-array", "0", false),
            ("commit-buffer", "1", true),
        ];
        for (name, text, is_allowed) in cases {
            let read = setting(name).read(&mut Options::default(), text);
            assert_eq!(read.is_ok(), is_allowed, "{name} {text}");
        }
    }

    #[test]
    fn a_program_is_refused_what_the_command_line_is() {
        let options = Options { rate: 1.5, ..Options::default() };
        let error = options.check(&["rate"]).expect_err("out of range");
        assert_eq!(error.to_string(), "expected a value above 0 and at most 1 for rate, found 1.5");
        assert_eq!(options.check(&["seed"]), Ok(()));
    }
}
