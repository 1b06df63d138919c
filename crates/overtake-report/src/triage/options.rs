//! `TSAN_OPTIONS`, as far as reports are concerned.

/// What `TSAN_OPTIONS` says about reports.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct SanitizerOptions {
    /// The suppression file, if one is named.
    pub suppressions: Option<String>,
    /// Whether to list the suppressions that matched.
    pub print_suppressions: bool,
    /// What the exit code of a run with races is.
    pub exit_code: Option<u8>,
    /// Where the report goes; a dot and the number of the process are put behind it.
    pub log_path: Option<String>,
    /// Nothing is to be reported at all.
    pub is_off: bool,
    /// Keys that no option has, each once.
    pub unknown: Vec<String>,
}

/// Options that steer the insides of ThreadSanitizer and of the other sanitizers, or say what happens here anyway.
const WITHOUT_EFFECT: [&str; 44] = [
    "abort_on_error",
    "atexit_sleep_ms",
    "color",
    "coverage",
    "detect_deadlocks",
    "die_after_fork",
    "disable_coredump",
    "enable_adaptive_delay",
    "external_symbolizer_path",
    "fast_unwind_on_fatal",
    "flush_memory_ms",
    "flush_symbolizer_ms",
    "force_background_thread",
    "force_seq_cst_atomics",
    "full_path",
    "halt_on_error",
    "handle_abort",
    "handle_segv",
    "handle_sigbus",
    "handle_sigfpe",
    "handle_sigill",
    "history_size",
    "ignore_interceptors_accesses",
    "ignore_noninstrumented_modules",
    "io_sync",
    "log_exe_name",
    "log_suffix",
    "memory_limit_mb",
    "print_benign",
    "print_full_thread_history",
    "report_atomic_races",
    "report_destroy_locked",
    "report_mutex_bugs",
    "report_signal_unsafe",
    "report_thread_leaks",
    "running_on_valgrind",
    "second_deadlock_stack",
    "shared_ptr_interceptor",
    "stack_trace_format",
    "stop_on_start",
    "strip_path_prefix",
    "suppress_equal_stacks",
    "symbolize",
    "verbosity",
];

/// Reads options as ThreadSanitizer does: `key=value` with blanks, commas or colons between them, values in quotes if they have
/// such characters themselves; the last one wins. What is not about reports is passed over.
pub fn sanitizer_options(text: &str) -> SanitizerOptions {
    let mut options = SanitizerOptions::default();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(is_separator);
        let Some((key, after)) = rest.split_once('=') else { return options };
        let (value, after) = match after.chars().next() {
            Some(quote @ ('"' | '\'')) => after[1..].split_once(quote).unwrap_or((&after[1..], "")),
            _ => after.split_at(after.find(is_separator).unwrap_or(after.len())),
        };
        rest = after;
        // A word without a value is no option.
        let key = key.rsplit(is_separator).next().unwrap_or(key);
        match key {
            "suppressions" => options.suppressions = (!value.is_empty()).then(|| value.to_owned()),
            "print_suppressions" => options.print_suppressions = is_yes(value),
            "exitcode" => options.exit_code = value.parse::<u64>().ok().map(|code| code as u8),
            "log_path" => options.log_path = (!value.is_empty()).then(|| value.to_owned()),
            "report_bugs" => options.is_off = !is_yes(value),
            key if key.is_empty() || WITHOUT_EFFECT.contains(&key) => {}
            key if options.unknown.iter().any(|known| known == key) => {}
            key => options.unknown.push(key.to_owned()),
        }
    }
}

fn is_yes(value: &str) -> bool {
    matches!(value, "1" | "yes" | "true")
}

fn is_separator(character: char) -> bool {
    matches!(character, ' ' | ',' | ':' | '\n' | '\t' | '\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(text: &str) -> Option<String> {
        sanitizer_options(text).suppressions
    }

    #[test]
    fn options_are_found_among_others() {
        assert_eq!(
            named("halt_on_error=1:suppressions=ci/tsan.supp:exitcode=3").as_deref(),
            Some("ci/tsan.supp")
        );
        assert_eq!(named("a=1 suppressions=x,suppressions=y").as_deref(), Some("y"));
        assert_eq!(named("verbose suppressions=x").as_deref(), Some("x"));
        assert_eq!(
            named("log_path=\"a b:suppressions=no\" suppressions='my file'").as_deref(),
            Some("my file")
        );
        assert!(sanitizer_options("print_suppressions=1").print_suppressions);
    }

    #[test]
    fn what_the_environment_says_of_the_end_is_heard() {
        let options = sanitizer_options(
            "exitcode=0:log_path=/tmp/race:history_size=7:report_bugs=0:histry_size=2 histry_size=3",
        );
        assert_eq!((options.exit_code, options.log_path.as_deref()), (Some(0), Some("/tmp/race")));
        assert!(options.is_off);
        assert_eq!(options.unknown, ["histry_size"]);
        assert!(!sanitizer_options("report_bugs=1").is_off);
    }

    #[test]
    fn nonsense_names_nothing() {
        for text in ["", "=", "suppressions", "suppressions=", "suppressions='", "==", "':'='"] {
            assert_eq!(named(text), None, "{text}");
        }
    }
}
