//! Response files: arguments that a command line names as `@file`.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Files may name files; a file that names itself must come to an end.
const DEEPEST: u32 = 16;

/// The arguments with those from files in their places, and whether there were files.
pub(super) fn expand(arguments: &[OsString]) -> (Vec<OsString>, bool) {
    let mut expanded = Vec::new();
    let mut had_files = false;
    for argument in arguments {
        expand_one(argument, 0, &mut expanded, &mut had_files);
    }
    (expanded, had_files)
}

fn expand_one(argument: &OsStr, depth: u32, into: &mut Vec<OsString>, had_files: &mut bool) {
    let text = argument.as_bytes().strip_prefix(b"@").filter(|_| depth < DEEPEST).and_then(|path| {
        // As for compilers, a file that cannot be read is an argument like any other.
        std::fs::read(OsStr::from_bytes(path)).ok()
    });
    let Some(text) = text else { return into.push(argument.to_owned()) };
    *had_files = true;
    for argument in split(&text) {
        expand_one(&argument, depth + 1, into, had_files);
    }
}

/// Splits at white space; quotes group, backslashes escape.
fn split(text: &[u8]) -> Vec<OsString> {
    let mut arguments = Vec::new();
    let mut current: Option<Vec<u8>> = None;
    let mut quote = None;
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        match (byte, quote) {
            (b'\\', _) => current.get_or_insert_default().extend(bytes.next()),
            (_, Some(open)) if byte == open => quote = None,
            (_, Some(_)) => current.get_or_insert_default().push(byte),
            (b'"' | b'\'', None) => {
                quote = Some(byte);
                current.get_or_insert_default();
            }
            (_, None) if byte.is_ascii_whitespace() => {
                arguments.extend(current.take().map(OsString::from_vec));
            }
            (_, None) => current.get_or_insert_default().push(byte),
        }
    }
    arguments.extend(current.map(OsString::from_vec));
    arguments
}

/// Arguments as the text of a response file.
pub(super) fn quoted(arguments: &[OsString]) -> Vec<u8> {
    let mut text = Vec::new();
    for argument in arguments {
        text.push(b'"');
        for &byte in argument.as_bytes() {
            if matches!(byte, b'"' | b'\\') {
                text.push(b'\\');
            }
            text.push(byte);
        }
        text.extend_from_slice(b"\"\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoting_comes_back() {
        let arguments =
            ["plain", "", "two words", "a\"quote", "back\\slash", "new\nline", "'"].map(OsString::from);
        assert_eq!(split(&quoted(&arguments)), arguments);
    }

    #[test]
    fn files_within_files_end() {
        let directory = tempfile::tempdir().expect("writable");
        let path = directory.path().join("loop");
        let myself = format!("@{}", path.display());
        std::fs::write(&path, format!("-c 'a b.c'\n{myself}")).expect("writable");
        let (expanded, had_files) = expand(&[OsString::from(&myself), "@missing".into()]);
        assert!(had_files);
        assert_eq!(expanded[..2], ["-c", "a b.c"].map(OsString::from));
        assert_eq!(expanded[expanded.len() - 2..], [myself, "@missing".into()].map(OsString::from));
    }
}
