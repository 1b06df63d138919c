//! The settings of detectors, as a table: the command line reads it, and rows of detectors name what they use.

use std::fmt;
use std::str::FromStr;

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
    /// Events that a schedule may take for its pair to be judged.
    pub schedule_limit: u64,
    /// The trace is read no further once something was found.
    pub first: bool,
    /// The part of the accesses that is sampled, above 0 and at most 1.
    pub rate: f64,
    /// Events of a sampling period.
    pub period: u64,
    /// The part of all events that must change to make the trace race free, for a race to be found probably.
    pub epsilon: f64,
    /// The probability that none is found nevertheless.
    pub delta: f64,
    /// What is asked of each window.
    pub judge: Judge,
    /// Seed of all random choices.
    pub seed: u64,
    /// How arrays are divided into parts that share their state. Verdicts are the same.
    pub partitions: Partitions,
}

/// How arrays are divided into parts that share their state.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum Partitions {
    /// As in the paper: whole, blocks, strides, two pieces, a prefix of single elements, or single elements.
    #[default]
    Paper,
    /// Where that would end in single elements, any elements that share their state.
    Extended,
}

impl Partitions {
    /// All of them.
    pub const ALL: [Partitions; 2] = [Partitions::Paper, Partitions::Extended];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Partitions::Paper => "paper",
            Partitions::Extended => "extended",
        }
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
            rate: 0.03,
            period: 1000,
            epsilon: 0.01,
            delta: 0.1,
            judge: Judge::HappensBefore,
            seed: 1,
            partitions: Partitions::default(),
        }
    }
}

impl Options {
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

/// What a setting takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SettingValue {
    /// Nothing: it is given or not.
    Flag,
    /// A value, which people know by this name.
    Value(&'static str),
    /// One of some words; the name, then the words.
    Word(&'static str, &'static [&'static str]),
}

/// One setting of detectors.
pub struct Setting {
    /// The name on the command line.
    pub name: &'static str,
    /// One letter for it.
    pub short: Option<char>,
    /// One line for help. Which detectors use it is known from their rows.
    pub help: &'static str,
    /// What it takes.
    pub value: SettingValue,
    /// Takes over a value; what is out of range is refused with what was expected.
    pub set: fn(&mut Options, &str) -> Result<(), String>,
}

/// Every setting.
pub const SETTINGS: &[Setting] = &[
    Setting {
        name: "window",
        short: Some('w'),
        help: "Largest number of events from the first access of a race to the second, both counted",
        value: SettingValue::Value("EVENTS"),
        set: |options, text| match parse(text)? {
            0 => Err("a window holds at least one event".into()),
            window => put(&mut options.window, Ok(window)),
        },
    },
    Setting {
        name: "eraser",
        short: None,
        help: "Eraser's state machine instead of the definition",
        value: SettingValue::Flag,
        set: |options, _| put(&mut options.eraser, Ok(true)),
    },
    Setting {
        name: "unforked",
        short: None,
        help: "Leave out pairs that fork and join order",
        value: SettingValue::Flag,
        set: |options, _| put(&mut options.unforked, Ok(true)),
    },
    Setting {
        name: "no-filter",
        short: None,
        help: "Look at every event, even where it can take part in no race; slower, same races",
        value: SettingValue::Flag,
        set: |options, _| put(&mut options.no_filter, Ok(true)),
    },
    Setting {
        name: "instances",
        short: None,
        help: "Pairs of accesses between the same two locations that are judged beyond syncp; 0 is all of them",
        value: SettingValue::Value("PAIRS"),
        set: |options, text| put(&mut options.instances, parse(text)),
    },
    Setting {
        name: "schedule-limit",
        short: None,
        help: "Events that a schedule may take for its pair to be judged",
        value: SettingValue::Value("EVENTS"),
        set: |options, text| put(&mut options.schedule_limit, parse_count(text)),
    },
    Setting {
        name: "rate",
        short: None,
        help: "Part of the accesses that is sampled, above 0 and at most 1",
        value: SettingValue::Value("PART"),
        set: |options, text| put(&mut options.rate, parse(text)),
    },
    Setting {
        name: "period",
        short: None,
        help: "Events of a sampling period",
        value: SettingValue::Value("EVENTS"),
        set: |options, text| put(&mut options.period, parse_count(text)),
    },
    Setting {
        name: "epsilon",
        short: None,
        help: "Part of all events that must change to make the trace race free, for a race to be found probably",
        value: SettingValue::Value("PART"),
        set: |options, text| put(&mut options.epsilon, parse(text)),
    },
    Setting {
        name: "delta",
        short: None,
        help: "Probability that none is found nevertheless",
        value: SettingValue::Value("PROBABILITY"),
        set: |options, text| put(&mut options.delta, parse(text)),
    },
    Setting {
        name: "judge",
        short: None,
        help: "Which races each window is searched for",
        value: SettingValue::Word("NAME", &["hb", "short-syncp"]),
        set: |options, text| put(&mut options.judge, Judge::from_name(text).ok_or("no such judge".into())),
    },
    Setting {
        name: "seed",
        short: None,
        help: "Seed of all random choices",
        value: SettingValue::Value("N"),
        set: |options, text| put(&mut options.seed, parse(text)),
    },
    Setting {
        name: "partitions",
        short: None,
        help: "How arrays are divided into parts that share their state; same races",
        value: SettingValue::Word("HOW", &["paper", "extended"]),
        set: |options, text| {
            let found = Partitions::ALL.into_iter().find(|partitions| partitions.name() == text);
            put(&mut options.partitions, found.ok_or("no such partitions".into()))
        },
    },
];

fn put<T>(place: &mut T, value: Result<T, String>) -> Result<(), String> {
    *place = value?;
    Ok(())
}

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
