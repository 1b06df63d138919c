//! Names of functions as people say them.

/// A demangled name without its parameters, return type and template arguments: `Server::poll` of
/// `bool Server<Config>::poll(int) const`. What does not look like such a name stays as it is, but for its length.
pub(crate) fn short(name: &str) -> String {
    let bare = without_arguments(name);
    let result = last_word(&bare);
    abridged(if result.is_empty() { name } else { result }, MOST_LETTERS)
}

/// Whether a function has no name of its own: a lambda of C++ or a closure of Rust.
pub(crate) fn is_lambda(name: &str) -> bool {
    let name = name.strip_suffix(" const").unwrap_or(name);
    // Debug information gives this name to functions of local classes, and most of these are lambdas. Others have their class before it.
    if name == "operator()" {
        return true;
    }
    let caller = name.find("::operator()(").map(|end| &name[..end]).or(name.strip_suffix("::operator()"));
    match caller {
        Some(caller) => caller.ends_with('}') && caller.contains("{lambda(") || is_numbered(caller),
        None => name.ends_with("{{closure}}") || name.ends_with("{closure#0}"),
    }
}

/// `main::$_0`, as Clang calls lambdas.
fn is_numbered(name: &str) -> bool {
    let last = name.rsplit("::").next().unwrap_or(name);
    last.strip_prefix("$_").is_some_and(|digits| digits.bytes().all(|digit| digit.is_ascii_digit()))
}

/// A name of at most `most` letters, its middle left out if it is longer.
pub(crate) fn abridged(name: &str, most: usize) -> String {
    // A name has no more letters than bytes, and those need not be counted.
    let letters = if name.len() <= most { 0 } else { name.chars().count() };
    if letters <= most {
        return name.to_owned();
    }
    let kept = most.saturating_sub(3);
    let (head, tail) = (kept.div_ceil(2), kept / 2);
    let start: String = name.chars().take(head).collect();
    let end: String = name.chars().skip(letters - tail).collect();
    format!("{start}...{end}")
}

/// Longer short names are cut in the middle.
const MOST_LETTERS: usize = 80;

/// The name up to its parameters, without what is in angle brackets. `operator()`, `operator<` and the like are kept, and so
/// is `(anonymous namespace)`.
fn without_arguments(name: &str) -> String {
    let mut bare = String::with_capacity(name.len());
    let mut depth = 0_u32;
    let mut rest = name;
    while let Some(letter) = rest.chars().next() {
        if depth == 0
            && let Some(kept) = kept_as_it_is(rest, &bare)
        {
            bare.push_str(kept);
            rest = &rest[kept.len()..];
            continue;
        }
        rest = &rest[letter.len_utf8()..];
        match letter {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            '(' if depth == 0 && !bare.is_empty() => break,
            _ if depth == 0 => bare.push(letter),
            _ => {}
        }
    }
    bare
}

/// What begins here and must not be read as a bracket.
fn kept_as_it_is<'a>(rest: &'a str, before: &str) -> Option<&'a str> {
    let operators = [
        "operator()",
        "operator<=>",
        "operator<<=",
        "operator>>=",
        "operator<<",
        "operator>>",
        "operator<=",
        "operator>=",
        "operator->*",
        "operator->",
        "operator<",
        "operator>",
    ];
    let whole_word = !before.ends_with(|letter: char| letter.is_alphanumeric() || letter == '_');
    let operator = operators.into_iter().find(|operator| whole_word && rest.starts_with(operator));
    let group = ["(anonymous namespace)", "{lambda("].into_iter().find(|group| rest.starts_with(group));
    match (operator, group) {
        (Some(operator), _) => Some(&rest[..operator.len()]),
        // A lambda's parameters are no part of its name, but its number is.
        (_, Some("{lambda(")) => rest.find('}').map(|end| &rest[..=end]),
        (_, Some(group)) => Some(&rest[..group.len()]),
        _ => None,
    }
}

/// What follows a return type: the last word that is not inside brackets.
fn last_word(bare: &str) -> &str {
    let bare = bare.trim();
    let mut depth = 0_i32;
    let mut start = 0;
    let operator = bare.find("operator ").unwrap_or(bare.len());
    for (at, letter) in bare.char_indices() {
        match letter {
            '(' | '{' | '[' => depth += 1,
            ')' | '}' | ']' => depth -= 1,
            ' ' if depth == 0 && at < operator => start = at + 1,
            _ => {}
        }
    }
    &bare[start..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_named_as_people_say_them() {
        for (name, expected) in [
            ("main", "main"),
            ("transfer(int, int, long)", "transfer"),
            ("bool Server<Config>::poll(int) const", "Server::poll"),
            (
                "void std::__invoke_impl<void, void (*)(Shared*, int*)>(std::__invoke_other)",
                "std::__invoke_impl",
            ),
            (
                "std::thread::_Invoker<std::tuple<void (*)(int)> >::operator()()",
                "std::thread::_Invoker::operator()",
            ),
            ("main::{lambda()#1}::operator()() const", "main::{lambda()#1}::operator()"),
            ("(anonymous namespace)::get()", "(anonymous namespace)::get"),
            ("bool operator< <int>(A<int> const&, A<int> const&)", "operator<"),
            ("Matrix::operator bool() const", "Matrix::operator bool"),
            ("operator new(unsigned long)", "operator new"),
            ("core::ops::function::FnOnce::call_once", "core::ops::function::FnOnce::call_once"),
            ("<alloc::vec::Vec<T> as core::ops::Drop>::drop", "::drop"),
            ("", ""),
            ("<<<", "<<<"),
            (")))", ")))"),
        ] {
            assert_eq!(short(name), expected, "{name}");
        }
    }

    #[test]
    fn lambdas_are_told_from_functions() {
        for name in [
            "main::{lambda()#1}::operator()() const",
            "Queue::push(int)::{lambda(int)#2}::operator()(int) const",
            "main::$_0::operator()() const",
            "app::run::{{closure}}",
            "operator()",
        ] {
            assert!(is_lambda(name), "{name}");
        }
        for name in
            ["main", "Compare::operator()(int, int) const", "std::function<void ()>::operator()() const", ""]
        {
            assert!(!is_lambda(name), "{name}");
        }
    }

    #[test]
    fn long_names_lose_their_middle() {
        let name = format!("begin_{}_end", "x".repeat(2_000));
        let short = short(&name);
        assert_eq!(short.chars().count(), MOST_LETTERS);
        assert!(short.starts_with("begin_xx") && short.contains("...") && short.ends_with("_end"), "{short}");
        assert_eq!(abridged("äöüäöü", 5), "ä...ü");
    }
}
