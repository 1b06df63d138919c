//! The settings of detectors.

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use overtake::{Listener, Search};
use overtake_detect::{DETECTORS, Entry, Field, Options, SETTINGS, Setting};

use super::values::detector_parser;
use crate::console::Console;

/// Which detectors run.
#[derive(Args, Clone)]
pub(crate) struct ChosenDetectors {
    /// Detectors to run, separated by commas; if none is named, hb and syncp, or short-syncp where a trace is long
    #[arg(id = "detector", short, long = "detector", value_name = "NAME", value_delimiter = ',',
          value_parser = detector_parser())]
    named: Vec<&'static Entry>,
}

impl ChosenDetectors {
    /// A search with these detectors, or with those that suit the trace.
    pub(crate) fn search(&self, options: &DetectorArguments) -> Search {
        Search { detectors: self.named.clone(), options: options.options(), ..Search::default() }
    }
}

/// Settings of detectors: those of the table that were given, as they were typed.
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

/// A setting as the command line shows it, with the detectors that use it.
fn argument(setting: &'static Setting) -> Arg {
    let users = DETECTORS.iter().filter(|entry| entry.options.contains(&setting.name));
    let users: Vec<_> = users.map(|entry| entry.name).collect();
    let argument = Arg::new(setting.name).long(setting.name).short(setting.short);
    let argument = argument.help_heading("Settings of detectors").hide_short_help(true);
    let users = users.join(", ");
    let mut options = Options::default();
    let field = (setting.field)(&mut options);
    let help = match (&field, field.range()) {
        // The command line lists the words itself.
        (Field::Word { .. }, _) | (_, None) => format!("{} ({users})", setting.help),
        (_, Some(range)) => format!("{}, {range} ({users})", setting.help),
    };
    let argument = argument.help(help);
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
                let detectors: Vec<_> = detectors.iter().map(|entry| entry.name).collect();
                console.say(&format!("--{name} changes nothing for {}", detectors.join(", ")));
            }
        }
    }

    /// The settings as detectors take them.
    pub(crate) fn options(&self) -> Options {
        let mut options = Options::default();
        for (setting, text) in &self.given {
            // The command line has refused what cannot be set.
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
