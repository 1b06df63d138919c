//! `TSAN_OPTIONS`, as far as reports are concerned.

/// What `TSAN_OPTIONS` says about reports.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct SanitizerOptions {
    /// The suppression file, if one is named.
    pub suppressions: Option<String>,
    /// Whether to list the suppressions that matched.
    pub print_suppressions: bool,
}

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
            "print_suppressions" => options.print_suppressions = matches!(value, "1" | "yes" | "true"),
            _ => {}
        }
    }
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
    fn nonsense_names_nothing() {
        for text in ["", "=", "suppressions", "suppressions=", "suppressions='", "==", "':'='"] {
            assert_eq!(named(text), None, "{text}");
        }
    }
}
