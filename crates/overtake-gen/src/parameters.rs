//! The parameters of workloads, and the errors of impossible ones.

use std::error::Error;
use std::fmt;

/// The size and character of a workload. Start from a shape's defaults and change what matters.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Parameters {
    /// Number of events; the trace has exactly this many.
    pub events: u64,
    /// Number of threads, the main thread included.
    pub threads: u64,
    /// Number of locks.
    pub locks: u64,
    /// Number of variables (array elements in the array shapes).
    pub variables: u64,
    /// Fraction of accesses that touch shared variables.
    pub sharing: f64,
    /// Fraction of shared accesses that forget their synchronisation.
    pub raciness: f64,
    /// Most locks a thread holds at once.
    pub nesting: u64,
    /// Events between the two accesses of a planted race.
    pub distance: u64,
    /// Most source locations; 0 leaves all locations unknown.
    pub locations: u64,
    /// Fraction of events that must change to make the trace race free.
    pub epsilon: f64,
    /// Seed of all random choices.
    pub seed: u64,
}

/// One of the [`Parameters`], for help texts and messages.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "each is documented at the field of the same name")]
pub enum Parameter {
    Events,
    Threads,
    Locks,
    Variables,
    Sharing,
    Raciness,
    Nesting,
    Distance,
    Locations,
    Epsilon,
    Seed,
}

impl Parameter {
    /// Every parameter, in the order of [`Parameters`].
    pub const ALL: [Parameter; 11] = [
        Parameter::Events,
        Parameter::Threads,
        Parameter::Locks,
        Parameter::Variables,
        Parameter::Sharing,
        Parameter::Raciness,
        Parameter::Nesting,
        Parameter::Distance,
        Parameter::Locations,
        Parameter::Epsilon,
        Parameter::Seed,
    ];

    /// The name of the field, as in command line options.
    pub fn name(self) -> &'static str {
        match self {
            Parameter::Events => "events",
            Parameter::Threads => "threads",
            Parameter::Locks => "locks",
            Parameter::Variables => "variables",
            Parameter::Sharing => "sharing",
            Parameter::Raciness => "raciness",
            Parameter::Nesting => "nesting",
            Parameter::Distance => "distance",
            Parameter::Locations => "locations",
            Parameter::Epsilon => "epsilon",
            Parameter::Seed => "seed",
        }
    }

    /// One line of help.
    pub fn describe(self) -> &'static str {
        match self {
            Parameter::Events => "number of events, exactly",
            Parameter::Threads => "number of threads, the main thread included",
            Parameter::Locks => "number of locks",
            Parameter::Variables => "number of variables, or of array elements",
            Parameter::Sharing => "fraction of accesses that touch shared variables, 0 to 1",
            Parameter::Raciness => "fraction of shared accesses that forget their synchronisation, 0 to 1",
            Parameter::Nesting => "most locks a thread holds at once, 1 to 8",
            Parameter::Distance => "events between the two accesses of a planted race",
            Parameter::Locations => "most source locations; 0 for none",
            Parameter::Epsilon => "fraction of events that must change to make the trace race free",
            Parameter::Seed => "seed of all random choices",
        }
    }
}

impl Parameters {
    /// The value of a parameter as text.
    pub fn value(&self, parameter: Parameter) -> String {
        match parameter {
            Parameter::Events => self.events.to_string(),
            Parameter::Threads => self.threads.to_string(),
            Parameter::Locks => self.locks.to_string(),
            Parameter::Variables => self.variables.to_string(),
            Parameter::Sharing => self.sharing.to_string(),
            Parameter::Raciness => self.raciness.to_string(),
            Parameter::Nesting => self.nesting.to_string(),
            Parameter::Distance => self.distance.to_string(),
            Parameter::Locations => self.locations.to_string(),
            Parameter::Epsilon => self.epsilon.to_string(),
            Parameter::Seed => self.seed.to_string(),
        }
    }

    /// Refuses values that no shape accepts. The limits keep the symbol tables within memory.
    pub(crate) fn check_limits(&self) -> Result<(), ParameterError> {
        within(Parameter::Threads, self.threads, 1, 1 << 24)?;
        within(Parameter::Locks, self.locks, 0, 1 << 24)?;
        within(Parameter::Variables, self.variables, 0, 1 << 28)?;
        within(Parameter::Locations, self.locations, 0, 1 << 24)?;
        fraction(Parameter::Sharing, self.sharing, 1.0)?;
        fraction(Parameter::Raciness, self.raciness, 1.0)
    }
}

/// A workload cannot be made with these parameters.
#[derive(Clone, PartialEq, Debug)]
pub struct ParameterError {
    parameter: &'static str,
    message: String,
}

impl ParameterError {
    pub(crate) fn new(parameter: &'static str, message: impl Into<String>) -> ParameterError {
        ParameterError { parameter, message: message.into() }
    }

    /// The name of the parameter at fault.
    pub fn parameter(&self) -> &'static str {
        self.parameter
    }
}

impl fmt::Display for ParameterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.parameter, self.message)
    }
}

impl Error for ParameterError {}

/// Refuses a value outside `least..=most`.
pub(crate) fn within(parameter: Parameter, value: u64, least: u64, most: u64) -> Result<(), ParameterError> {
    within_named(parameter.name(), value, least, most)
}

/// Refuses a value outside `least..=most` of a parameter that is not one of [`Parameter`].
pub(crate) fn within_named(
    parameter: &'static str,
    value: u64,
    least: u64,
    most: u64,
) -> Result<(), ParameterError> {
    if value < least {
        return Err(ParameterError::new(parameter, format!("expected at least {least}, found {value}")));
    }
    if value > most {
        return Err(ParameterError::new(parameter, format!("expected at most {most}, found {value}")));
    }
    Ok(())
}

/// Refuses what is not a fraction between 0 and `most`.
pub(crate) fn fraction(parameter: Parameter, value: f64, most: f64) -> Result<(), ParameterError> {
    if (0.0..=most).contains(&value) {
        return Ok(());
    }
    Err(ParameterError::new(parameter.name(), format!("expected a number from 0 to {most}, found {value}")))
}

/// More names than the tables can number. The limits on parameters make this impossible.
impl From<overtake_trace::Error> for ParameterError {
    fn from(error: overtake_trace::Error) -> ParameterError {
        ParameterError::new(Parameter::Variables.name(), error.message())
    }
}
