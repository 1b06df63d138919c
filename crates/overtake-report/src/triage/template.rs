//! Patterns of suppressions.
//!
//! A pattern occurs somewhere in a name. `*` stands for anything, `^` at the beginning and `$` at the end tie it to that end of
//! the name. Anywhere else those two are themselves, so that the compiler's own names for lambdas (`$_0`) can be written.

use memchr::memmem;

/// A pattern.
#[derive(Clone, Debug)]
pub(super) struct Template {
    at_start: bool,
    at_end: bool,
    /// What must occur, in this order and without overlap. None is empty.
    pieces: Vec<memmem::Finder<'static>>,
}

impl Template {
    pub(super) fn new(pattern: &str) -> Template {
        let (pattern, at_start) = match pattern.strip_prefix('^') {
            Some(rest) => (rest, !rest.starts_with('*')),
            None => (pattern, false),
        };
        let (pattern, at_end) = match pattern.strip_suffix('$') {
            Some(rest) => (rest, !rest.ends_with('*')),
            None => (pattern, false),
        };
        let pieces = pattern.split('*').filter(|piece| !piece.is_empty());
        let pieces = pieces.map(|piece| memmem::Finder::new(piece.as_bytes()).into_owned()).collect();
        Template { at_start, at_end, pieces }
    }

    /// Whether it matches a name. What has no name matches nothing.
    pub(super) fn matches(&self, name: &str) -> bool {
        let mut rest = name.as_bytes();
        let mut pieces = &self.pieces[..];
        if rest.is_empty() {
            return false;
        }
        // Patterns `^` and `$` alone ask for nothing, `^$` for no name at all.
        if pieces.is_empty() {
            return !(self.at_start && self.at_end);
        }
        if let (true, [first, others @ ..]) = (self.at_start, pieces) {
            let Some(after) = rest.strip_prefix(first.needle()) else { return false };
            (rest, pieces) = (after, others);
            if pieces.is_empty() {
                return !self.at_end || rest.is_empty();
            }
        }
        if let (true, [others @ .., last]) = (self.at_end, pieces) {
            let Some(before) = rest.strip_suffix(last.needle()) else { return false };
            (rest, pieces) = (before, others);
        }
        pieces.iter().all(|piece| match piece.find(rest) {
            Some(position) => {
                rest = &rest[position + piece.needle().len()..];
                true
            }
            None => false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition: whether the pattern's symbols can be laid over the name.
    fn by_definition(pattern: &[u8], name: &[u8]) -> bool {
        match pattern {
            [] => name.is_empty(),
            [b'*', rest @ ..] => (0..=name.len()).any(|skipped| by_definition(rest, &name[skipped..])),
            [byte, rest @ ..] => name.first() == Some(byte) && by_definition(rest, &name[1..]),
        }
    }

    fn expected(pattern: &str, name: &str) -> bool {
        let mut whole = String::new();
        let inner = pattern.strip_prefix('^').unwrap_or_else(|| {
            whole.push('*');
            pattern
        });
        let (inner, end) = inner.strip_suffix('$').map_or((inner, "*"), |inner| (inner, ""));
        whole += inner;
        whole += end;
        !name.is_empty() && by_definition(whole.as_bytes(), name.as_bytes())
    }

    #[test]
    fn every_short_pattern_agrees_with_the_definition() {
        let mut patterns = vec![String::new()];
        let mut all = Vec::new();
        for _ in 0..5 {
            patterns = patterns.iter().flat_map(|p| ["a", "b", "*"].map(|c| format!("{p}{c}"))).collect();
            all.extend(patterns.iter().cloned());
        }
        let names = ["a", "b", "ab", "ba", "aab", "aba", "abab", "bbab", "aabb", "abba"];
        for pattern in all {
            for tied in
                [pattern.clone(), format!("^{pattern}"), format!("{pattern}$"), format!("^{pattern}$")]
            {
                let template = Template::new(&tied);
                for name in names {
                    assert_eq!(template.matches(name), expected(&tied, name), "{tied} on {name}");
                }
            }
        }
    }

    #[test]
    fn the_last_occurrence_counts_at_the_end() {
        assert!(Template::new("foo$").matches("foofoo"));
        assert!(!Template::new("^foo$").matches("foofoo"));
    }

    #[test]
    fn anchors_in_the_middle_are_letters() {
        assert!(Template::new("run()::$_0").matches("run()::$_0::operator()() const"));
        assert!(Template::new("operator^").matches("operator^(A, B)"));
    }

    #[test]
    fn nothing_matches_what_has_no_name() {
        for pattern in ["*", "^$", "^", "a"] {
            assert!(!Template::new(pattern).matches(""));
        }
    }
}
