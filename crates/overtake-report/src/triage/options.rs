//! `TSAN_OPTIONS`, as far as reports are concerned.

use crate::result::{Finding, Kind};

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
    /// Of modules that are not instrumented only what they order counts.
    pub ignores_not_instrumented: bool,
    /// Rules whose findings are not to be reported.
    pub rules_off: Vec<&'static str>,
    /// Races of atomic operations with other accesses are not to be reported.
    pub is_off_for_atomics: bool,
    /// Unknown keys, each once.
    pub unknown: Vec<String>,
}

impl SanitizerOptions {
    /// Whether findings like this one are not to be reported.
    pub fn turn_off(&self, finding: &Finding) -> bool {
        let is_atomic = || finding.accesses.iter().any(|access| access.operation.contains("atomic"));
        self.rules_off.contains(&finding.rule.as_str())
            || self.is_off_for_atomics && finding.kind == Kind::Race && is_atomic()
    }
}

/// Options that steer the insides of ThreadSanitizer and of the other sanitizers, or say what happens here anyway.
const WITHOUT_EFFECT: &[&str] = &[
    "abort_on_error",
    "allocator_may_return_null",
    "allocator_release_to_os_interval_ms",
    "allow_addr2line",
    "allow_user_segv_handler",
    "atexit_sleep_ms",
    "can_use_proc_maps_statm",
    "check_printf",
    "clear_shadow_mmap_threshold",
    "color",
    "coverage",
    "coverage_dir",
    "cf_dbg",
    "decorate_proc_maps",
    "dedup_token_length",
    "demangle",
    "detect_leaks",
    "detect_stack_use_after_return",
    "detect_write_exec",
    "die_after_fork",
    "disable_coredump",
    "dump_instruction_bytes",
    "dump_registers",
    "enable_adaptive_delay",
    "enable_symbolizer_markup",
    "exitcode_on_leak",
    "external_symbolizer_path",
    "fast_unwind_on_check",
    "fast_unwind_on_fatal",
    "fast_unwind_on_malloc",
    "flush_memory_ms",
    "flush_symbolizer_ms",
    "force_background_thread",
    "force_seq_cst_atomics",
    "full_path",
    "halt_on_error",
    "hard_rss_limit_mb",
    "heap_profile",
    "help",
    "html_cov_report",
    "include",
    "include_if_exists",
    "intercept_intrin",
    "intercept_memcmp",
    "intercept_memmem",
    "intercept_send",
    "intercept_stat",
    "intercept_strchr",
    "intercept_strcmp",
    "intercept_strlen",
    "intercept_strndup",
    "intercept_strpbrk",
    "intercept_strspn",
    "intercept_strstr",
    "intercept_strtok",
    "intercept_tls_get_addr",
    "leak_check_at_exit",
    "legacy_pthread_cond",
    "log_to_syslog",
    "malloc_context_size",
    "max_allocation_size_mb",
    "mmap_limit_mb",
    "no_huge_pages_for_shadow",
    "handle_abort",
    "handle_ioctl",
    "handle_segv",
    "handle_sigbus",
    "handle_sigfpe",
    "handle_sigill",
    "handle_sigtrap",
    "history_size",
    "ignore_interceptors_accesses",
    "io_sync",
    "log_exe_name",
    "log_suffix",
    "memory_limit_mb",
    "print_benign",
    "print_cmdline",
    "print_full_thread_history",
    "print_module_map",
    "print_summary",
    "quiet",
    "soft_rss_limit_mb",
    "stack_trace_format_no_color",
    "strict_memcmp",
    "strict_string_checks",
    "symbolize_inline_frames",
    "symbolize_vs_style",
    "test_only_emulate_no_memorymap",
    "test_only_replace_dlopen_main_program",
    "use_madv_dontdump",
    "use_sigaltstack",
    "verify_sanitizer_options",
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
            "ignore_noninstrumented_modules" => options.ignores_not_instrumented = is_yes(value),
            "report_bugs" => options.is_off = !is_yes(value),
            "report_atomic_races" => options.is_off_for_atomics = !is_yes(value),
            key if rules_of(key).is_some() => {
                let rules = rules_of(key).unwrap_or_default();
                options.rules_off.retain(|rule| !rules.contains(rule));
                if !is_yes(value) {
                    options.rules_off.extend(rules);
                }
            }
            key if key.is_empty() || WITHOUT_EFFECT.contains(&key) => {}
            key if options.unknown.iter().any(|known| known == key) => {}
            key => options.unknown.push(key.to_owned()),
        }
    }
}

/// The rules that an option turns on and off; all are on unless it says so.
fn rules_of(option: &str) -> Option<&'static [&'static str]> {
    Some(match option {
        "detect_deadlocks" => &["deadlock"],
        "report_destroy_locked" => &["destroy-of-locked"],
        "report_mutex_bugs" => &[
            "unlock-of-unlocked",
            "unlock-by-other",
            "double-lock",
            "read-lock-of-write-locked",
            "read-unlock-of-write-locked",
            "write-unlock-of-read-locked",
            "use-of-destroyed",
        ],
        "report_signal_unsafe" => &["signal-unsafe-call", "errno-in-signal"],
        "report_thread_leaks" => &["thread-leak"],
        _ => return None,
    })
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
    use crate::rules::find_rule;

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
    fn misuses_can_be_turned_off_by_rule() {
        let off = |text: &str| sanitizer_options(text).rules_off;
        assert_eq!(
            off("report_thread_leaks=0 report_destroy_locked=false"),
            ["thread-leak", "destroy-of-locked"]
        );
        assert_eq!(off("detect_deadlocks=0"), ["deadlock"]);
        assert!(off("report_signal_unsafe=0:report_signal_unsafe=1").is_empty());
        for rule in off("report_mutex_bugs=0 report_signal_unsafe=0") {
            assert_eq!(find_rule(rule, Kind::Misuse).id, rule);
        }
        assert!(sanitizer_options("report_mutex_bugs=0:check_printf=1").unknown.is_empty());
    }

    #[test]
    fn nonsense_names_nothing() {
        for text in ["", "=", "suppressions", "suppressions=", "suppressions='", "==", "':'='"] {
            assert_eq!(named(text), None, "{text}");
        }
    }
}
