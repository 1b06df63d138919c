//! Suppressions and baselines, from files and from the environment.

use std::fs;
use std::path::{Path, PathBuf};

use overtake_report::result::Report;
use overtake_report::triage::{self, Baseline, SanitizerOptions, Suppressions, sanitizer_options};

use crate::{Error, Listener};

/// What people already know about races.
#[derive(Clone, Default)]
pub struct Triage {
    /// Files that name races to leave out, in ThreadSanitizer's grammar or ours.
    pub suppressions: Vec<PathBuf>,
    /// A file of known races.
    pub baseline: Option<PathBuf>,
    /// What the program itself says about reports.
    pub own: OwnWords,
}

/// What a recorded program says about its reports, by functions that it defines.
#[derive(Clone, Default)]
pub struct OwnWords {
    /// What `__tsan_default_options` returns.
    options: String,
    /// What `__tsan_default_suppressions` returns.
    suppressions: Vec<u8>,
    /// Where the program lies: suppression files are looked for there, too.
    directory: Option<PathBuf>,
}

impl OwnWords {
    /// For a program that has not run yet: only its directory is known.
    pub fn before(program: &Path) -> OwnWords {
        OwnWords { directory: program.parent().map(Path::to_owned), ..OwnWords::default() }
    }

    /// Reads what the first process that has a log said.
    pub fn of(program: &Path, logs: &[PathBuf]) -> OwnWords {
        // Most programs say nothing.
        let read = |name| logs.first().and_then(|log| fs::read(log.join(name)).ok()).unwrap_or_default();
        let options = String::from_utf8_lossy(&read("options")).into_owned();
        OwnWords {
            options,
            suppressions: read("suppressions"),
            directory: program.parent().map(Path::to_owned),
        }
    }
}

impl Triage {
    /// What `TSAN_OPTIONS` and the program itself say.
    pub fn options(&self) -> SanitizerOptions {
        let environment = std::env::var("TSAN_OPTIONS").unwrap_or_default();
        // The last option of a name counts, so that the environment overrides the program.
        sanitizer_options(&format!("{} {environment}", self.own.options))
    }

    /// Gives every finding its status, and says what came of it.
    pub fn judge(&self, report: &mut Report, listener: &dyn Listener) -> Result<(), Error> {
        let options = self.options();
        report.findings.retain(|finding| !options.turn_off(finding));
        let suppressions = self.rules(options.suppressions.as_deref())?;
        let suppressions = (!suppressions.is_empty()).then_some(&suppressions);
        let baseline = self.baseline.as_deref().map(read_baseline).transpose()?;
        if suppressions.is_none() && baseline.is_none() {
            return Ok(());
        }
        let named = self.baseline.as_ref().map(|path| path.display().to_string());
        triage::apply(report, suppressions, named.as_deref().zip(baseline.as_ref()));
        listener.say(&triage::summary(report, options.print_suppressions));
        Ok(())
    }

    /// Fails now if a file could not be read later.
    pub fn check(&self) -> Result<(), Error> {
        self.rules(self.options().suppressions.as_deref())?;
        self.baseline.as_deref().map(read_baseline).transpose().map(drop)
    }

    fn rules(&self, of_options: Option<&str>) -> Result<Suppressions, Error> {
        let mut rules = Suppressions::default();
        let mut add = |name: &str, text: &[u8]| -> Result<(), Error> {
            let more = Suppressions::parse(name, text).map_err(|error| Error::failed(error.to_string()))?;
            rules.append(more);
            Ok(())
        };
        for path in self.suppressions.iter().cloned().chain(of_options.map(|path| self.found(path))) {
            let text = fs::read(&path).map_err(|error| Error::in_file(&path, error))?;
            add(&path.display().to_string(), &text)?;
        }
        add("__tsan_default_suppressions", &self.own.suppressions)?;
        Ok(rules)
    }

    /// A file here or beside the program.
    fn found(&self, path: &str) -> PathBuf {
        let beside = self.own.directory.as_ref().map(|directory| directory.join(path));
        match beside {
            Some(beside) if !Path::new(path).exists() && beside.exists() => beside,
            _ => path.into(),
        }
    }
}

/// Reads a baseline.
pub fn read_baseline(path: &Path) -> Result<Baseline, Error> {
    let text = fs::read_to_string(path).map_err(|error| Error::in_file(path, error))?;
    Baseline::parse(&text).map_err(|error| Error::in_file(path, error))
}
