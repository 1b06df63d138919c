//! Mangled symbols as names that people can read.
//!
//! A short mangled name can stand for a text that is exponentially longer, and templates nest deeper than demanglers allow by
//! default. Length and depth have limits here; a symbol beyond them stays as it is. If the demangler does not understand the result or
//! the parameters of a function, only the function's name is given.

use std::fmt;

use addr2line::gimli;
use cpp_demangle::{BorrowedSymbol, DemangleOptions, DemangleWrite, ParseOptions};

/// Longest name, in bytes. Names of a few thousand letters are common in C++.
const LONGEST: usize = 64 << 10;
/// The longest symbol whose beginnings are tried as names, and how many beginnings are tried.
const LONGEST_SHORTENED: usize = 4 << 10;
const MOST_TRIES: usize = 64;
/// How deep the grammar of a name may nest; a level takes a few hundred bytes of stack.
const DEEPEST: u32 = 600;

/// The name of a symbol. Names of C stay as they are: `x` must not become a C++ type.
pub(crate) fn readable(symbol: &str) -> String {
    let demangled = match symbol.get(..2) {
        Some("_R") => addr2line::demangle(symbol, gimli::DW_LANG_Rust),
        Some("_Z") => addr2line::demangle(symbol, gimli::DW_LANG_Rust)
            .or_else(|| cpp(symbol))
            .or_else(|| name_alone(symbol)),
        _ => None,
    };
    demangled.unwrap_or_else(|| symbol.to_owned())
}

fn cpp(symbol: &str) -> Option<String> {
    let parsing = ParseOptions::default().recursion_limit(DEEPEST);
    let parsed = BorrowedSymbol::new_with_options(symbol.as_bytes(), &parsing).ok()?;
    let mut text = Bounded(String::new());
    parsed.structured_demangle(&mut text, &DemangleOptions::new().recursion_limit(DEEPEST)).ok()?;
    Some(without_tags(&text.0))
}

/// A name without the tags by which compilers distinguish versions of a library: `ages` for `ages[abi:cxx11]`.
fn without_tags(name: &str) -> String {
    let mut pieces = name.split("[abi:");
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        plain.push_str(piece.split_once(']').map_or(piece, |(_, rest)| rest));
    }
    plain
}

/// A function's name with its template arguments, without result and parameters. In a mangled name, result and parameters come last,
/// behind an `E`. So a beginning is tried as the name, with `v` (no parameters) appended.
fn name_alone(symbol: &str) -> Option<String> {
    if symbol.len() > LONGEST_SHORTENED {
        return None;
    }
    let ends = symbol.match_indices('E').map(|(at, letter)| at + letter.len()).take(MOST_TRIES);
    let name = ends.map(|end| format!("{}v", &symbol[..end])).find_map(|shortened| cpp(&shortened))?;
    let name = name.strip_prefix("void ").unwrap_or(&name);
    Some(name.strip_suffix("()").unwrap_or(name).to_owned())
}

struct Bounded(String);

impl DemangleWrite for Bounded {
    fn write_string(&mut self, part: &str) -> fmt::Result {
        if self.0.len() + part.len() > LONGEST {
            return Err(fmt::Error);
        }
        self.0.push_str(part);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_three_languages_are_told_apart() {
        assert_eq!(readable("x"), "x");
        assert_eq!(readable("_start"), "_start");
        assert_eq!(readable("_ZN6Server4pollEv"), "Server::poll()");
        assert_eq!(readable("_Z4agesB5cxx11"), "ages", "tags are for linkers");
        assert_eq!(readable("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE"), "core::fmt::Formatter::pad");
        assert_eq!(readable("_RNvC7mycrate3foo"), "mycrate::foo");
        assert_eq!(readable("_Zébra"), "_Zébra");
    }

    #[test]
    fn of_what_the_demangler_does_not_understand_the_name_is_read() {
        for (symbol, expected) in [
            (
                "_ZSt11make_sharedIiJRKiEESt10shared_ptrINSt9enable_ifIXntsrSt8is_arrayIT_E5valueES5_E4typeEEDpOT0_",
                "std::make_shared<int, int const&>",
            ),
            (
                "_ZSt14__relocate_a_1IiiENSt9enable_ifIXsrSt24__is_bitwise_relocatableIT_vE5valueEPS2_E4typeES4_S4_S4_RSaIT0_E",
                "std::__relocate_a_1<int, int>",
            ),
            ("_ZN3foo3barE??", "foo::bar"),
            ("_ZEEEE", "_ZEEEE"),
        ] {
            assert_eq!(readable(symbol), expected);
        }
    }

    #[test]
    fn deep_names_are_read_and_endless_ones_left() {
        let nested = |depth| format!("_Z5touchI{}i{}Ev", "4WrapI".repeat(depth), "E".repeat(depth));
        assert!(readable(&nested(100)).contains(&"Wrap<".repeat(100)), "{}", readable(&nested(100)));
        assert_eq!(readable(&nested(100_000)), nested(100_000));
        // Each type is a pair of the one before: 2^40 letters.
        let pair = |number: usize| match number {
            0 => "1PIiiE".to_owned(),
            1 => "S_IS0_S0_E".to_owned(),
            number => {
                let digit = char::from_digit(number as u32 - 1, 36).expect("a digit").to_ascii_uppercase();
                format!("S_IS{digit}_S{digit}_E")
            }
        };
        let endless = format!("_Z1fv{}", (0..34).map(pair).collect::<String>());
        assert!(readable(&endless).len() <= LONGEST);
    }
}
