//! Symbols as their programmers wrote them.
//!
//! A mangled name can be short and mean a text that is exponentially longer, and templates nest deeper than demanglers go by
//! themselves. Both have limits here; a symbol beyond them stays as it is.

use std::fmt;

use addr2line::gimli;
use cpp_demangle::{BorrowedSymbol, DemangleOptions, DemangleWrite, ParseOptions};

/// Bytes of a name. Names of a few thousand letters are common in C++.
const LONGEST: usize = 64 << 10;
/// How deep the grammar of a name may nest; a level takes a few hundred bytes of stack.
const DEEPEST: u32 = 600;

/// The name of a symbol. C's are as they are: `x` must not become a C++ type.
pub(crate) fn readable(symbol: &str) -> String {
    let demangled = match symbol.get(..2) {
        Some("_R") => addr2line::demangle(symbol, gimli::DW_LANG_Rust),
        Some("_Z") => addr2line::demangle(symbol, gimli::DW_LANG_Rust).or_else(|| cpp(symbol)),
        _ => None,
    };
    demangled.unwrap_or_else(|| symbol.to_owned())
}

fn cpp(symbol: &str) -> Option<String> {
    let parsing = ParseOptions::default().recursion_limit(DEEPEST);
    let parsed = BorrowedSymbol::new_with_options(symbol.as_bytes(), &parsing).ok()?;
    let mut text = Bounded(String::new());
    parsed.structured_demangle(&mut text, &DemangleOptions::new().recursion_limit(DEEPEST)).ok()?;
    Some(text.0)
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
        assert_eq!(readable("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE"), "core::fmt::Formatter::pad");
        assert_eq!(readable("_RNvC7mycrate3foo"), "mycrate::foo");
        assert_eq!(readable("_Zébra"), "_Zébra");
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
