//! Command lines that a user can paste into a shell.

use std::ffi::OsStr;

/// A word for a shell: in quotation marks if it has characters that a shell would interpret.
pub(crate) fn word(text: impl AsRef<OsStr>) -> String {
    let text = text.as_ref().to_string_lossy();
    let is_plain = |letter: char| letter.is_alphanumeric() || "_-+=:,./@%".contains(letter);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.into_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// Words of a command line, each after a space.
pub(crate) fn words<T: AsRef<OsStr>>(texts: impl IntoIterator<Item = T>) -> String {
    texts.into_iter().map(|text| format!(" {}", word(text))).collect()
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn a_shell_gets_back_each_word() {
        assert_eq!(
            words(["./server", "--port=0", "a b", "", "it's", "$HOME"]),
            r" ./server --port=0 'a b' '' 'it'\''s' '$HOME'"
        );
    }
}
