//! The settings of detectors.

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use overtake::{Listener, Search};
use overtake_detect::{Entry, Field, Options, Registry, SETTINGS, Setting};

use super::values::detector_parser;
use crate::command_line::console::Console;

/// Where help lists the settings.
pub(super) const SETTINGS_HEADING: &str = "Settings of detectors";

/// The option that names detectors.
const DETECTOR: &str = "detector";

/// Fills in what the table of detectors says: their names, which of them run by default, and which of them use a setting.
pub(super) fn with_registry(command: Command, registry: Registry) -> Command {
    let command = command.mut_args(|argument| {
        let name = argument.get_id().as_str();
        let setting = SETTINGS.iter().find(|setting| setting.name == name);
        match setting.filter(|_| argument.get_help_heading() == Some(SETTINGS_HEADING)) {
            Some(setting) => argument.help(help(setting, registry)),
            None if name == DETECTOR => {
                argument.help(unasked(registry)).value_parser(detector_parser(registry))
            }
            None => argument,
        }
    });
    command.mut_subcommands(|command| with_registry(command, registry))
}

/// The help of the option that names detectors: which of them run by default.
fn unasked(registry: Registry) -> String {
    let names = |is_long| {
        let names: Vec<_> = registry.defaults(is_long).map(|entry| entry.name).collect();
        match names.split_last() {
            Some((last, [])) => (*last).to_owned(),
            Some((last, others)) => format!("{} and {last}", others.join(", ")),
            None => String::new(),
        }
    };
    format!(
        "Detectors to run, separated by commas; by default {}, on long traces {}",
        names(false),
        names(true)
    )
}

/// Which detectors run.
#[derive(Args, Clone)]
pub(crate) struct ChosenDetectors {
    /// Detectors to run, separated by commas
    #[arg(id = DETECTOR, short, long = DETECTOR, value_name = "NAME", value_delimiter = ',',
          value_parser = detector_parser(Registry::default()))]
    named: Vec<&'static Entry>,
}

impl ChosenDetectors {
    /// These detectors, or all of `known` if none was named.
    pub(crate) fn named_or(&self, known: &'static [Entry]) -> Vec<&'static Entry> {
        if self.named.is_empty() { known.iter().collect() } else { self.named.clone() }
    }

    /// A search with these detectors, or with those that suit the trace.
    pub(crate) fn search(&self, options: &DetectorArguments, registry: Registry) -> Search {
        Search { detectors: self.named.clone(), registry, options: options.options(), ..Search::default() }
    }
}

/// The settings of detectors that were given, as they were typed.
pub(crate) struct DetectorArguments {
    given: Vec<(&'static Setting, String)>,
    /// Reading stops once something is found.
    first: bool,
}

impl Args for DetectorArguments {
    fn augment_args(command: Command) -> Command {
        let first = Arg::new("first").long("first").action(ArgAction::SetTrue);
        command.args(SETTINGS.iter().map(argument)).arg(first.help("Stop reading once something is found"))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// What help says of a setting: what it is for, what is allowed, and which detectors use it.
fn help(setting: &Setting, registry: Registry) -> String {
    let users = registry.entries().iter().filter(|entry| entry.options.contains(&setting.name));
    let users: Vec<_> = users.map(|entry| entry.name).collect();
    let users = users.join(", ");
    let mut options = Options::default();
    let field = (setting.field)(&mut options);
    match (&field, field.range()) {
        // clap lists the words itself.
        (Field::Word { .. }, _) | (_, None) => format!("{} ({users})", setting.help),
        (_, Some(range)) => format!("{}, {range} ({users})", setting.help),
    }
}

/// A setting as an argument of the command line.
fn argument(setting: &'static Setting) -> Arg {
    let argument = Arg::new(setting.name).long(setting.name).short(setting.short);
    let argument = argument.help_heading(SETTINGS_HEADING).hide_short_help(true).help(setting.help);
    let mut options = Options::default();
    let field = (setting.field)(&mut options);
    match field {
        Field::Flag(_) => argument.action(ArgAction::SetTrue),
        Field::Count { unit, .. } | Field::Part { unit, .. } => {
            argument.value_name(unit).value_parser(move |text: &str| {
                setting.read(&mut Options::default(), text).map(|()| text.to_owned())
            })
        }
        Field::Word { unit, words, .. } => {
            argument.value_name(unit).value_parser(PossibleValuesParser::new(words))
        }
    }
}

fn is_flag(setting: &Setting) -> bool {
    matches!((setting.field)(&mut Options::default()), Field::Flag(_))
}

impl FromArgMatches for DetectorArguments {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = SETTINGS.iter().filter_map(|setting| match is_flag(setting) {
            true => matches.get_flag(setting.name).then(|| (setting, String::new())),
            false => matches.get_one::<String>(setting.name).map(|text| (setting, text.clone())),
        });
        Ok(DetectorArguments { given: given.collect(), first: matches.get_flag("first") })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl DetectorArguments {
    /// Says which settings none of the detectors uses.
    pub(crate) fn warn_of_unused(&self, detectors: &[&Entry], console: Console) {
        for (Setting { name, .. }, _) in &self.given {
            if !detectors.iter().any(|entry| entry.options.contains(name)) {
                let verb = if detectors.len() == 1 { "does" } else { "do" };
                let detectors: Vec<_> = detectors.iter().map(|entry| entry.name).collect();
                console.say(&format!("--{name} is ignored: {} {verb} not use it", detectors.join(", ")));
            }
        }
    }

    /// The settings as detectors take them.
    pub(crate) fn options(&self) -> Options {
        let mut options = Options::default();
        for (setting, text) in &self.given {
            // Values that cannot be set were refused when they were parsed.
            let _ = setting.read(&mut options, text);
        }
        options.first = self.first;
        options
    }

    /// The names of the settings that were given.
    pub(crate) fn given(&self) -> Vec<&'static str> {
        self.given.iter().map(|(setting, _)| setting.name).collect()
    }
}
