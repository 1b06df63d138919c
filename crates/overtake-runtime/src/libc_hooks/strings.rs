//! Functions that read and write memory for the program. The ranges are recorded before the function runs, or after it if
//! only its result shows how much it accessed. When two texts are compared, both are read up to the first difference.

use super::real::hook;
use super::touch;
use crate::{process, thread};

/// Length of a text, at most `most`.
pub(super) fn length(text: usize, most: usize) -> usize {
    let mut length = 0;
    // SAFETY: our caller passes a text that ends with a zero or has `most` bytes. Volatile, so that compilers do not call `strlen`.
    while length < most && unsafe { (text as *const u8).add(length).read_volatile() } != 0 {
        length += 1;
    }
    length
}

/// Records reading a text with the zero at its end.
pub(super) fn read_text(text: usize, pc: usize) -> usize {
    if !process::is_recording() || thread::current().is_none() {
        return 0;
    }
    let length = length(text, usize::MAX);
    touch::<false>(text, length + 1, pc);
    length
}

/// As [`read_text`], for a text that may end after `most` bytes without a zero.
fn read_text_within(text: usize, most: usize, pc: usize) -> usize {
    let length = length(text, most);
    touch::<false>(text, (length + 1).min(most), pc);
    length
}

/// Records reading two texts up to where they differ. Letters are compared after `fold`.
fn read_both(first: usize, second: usize, most: usize, pc: usize, fold: impl Fn(u8) -> u8) {
    if thread::current().is_none() {
        return;
    }
    // SAFETY: as in `length`.
    let byte = |text: usize, at: usize| unsafe { (text as *const u8).add(at).read_volatile() };
    let mut at = 0;
    while at < most {
        let (one, other) = (byte(first, at), byte(second, at));
        at += 1;
        if one == 0 || fold(one) != fold(other) {
            break;
        }
    }
    touch::<false>(first, at, pc);
    touch::<false>(second, at, pc);
}

fn copied(to: usize, from: usize, bytes: usize, pc: usize) {
    touch::<false>(from, bytes, pc);
    touch::<true>(to, bytes, pc);
}

const ALL: usize = usize::MAX;

hook! {
    fn memcpy(to: usize, from: usize, bytes: usize; pc) -> usize {
        copied(to, from, bytes, pc);
        real(to, from, bytes)
    }
    fn mempcpy(to: usize, from: usize, bytes: usize; pc) -> usize {
        copied(to, from, bytes, pc);
        real(to, from, bytes)
    }
    fn memmove(to: usize, from: usize, bytes: usize; pc) -> usize {
        copied(to, from, bytes, pc);
        real(to, from, bytes)
    }
    fn memset(to: usize, value: i32, bytes: usize; pc) -> usize {
        touch::<true>(to, bytes, pc);
        real(to, value, bytes)
    }
    fn bzero(to: usize, bytes: usize; pc) {
        touch::<true>(to, bytes, pc);
        real(to, bytes)
    }
    fn __memcpy_chk(to: usize, from: usize, bytes: usize, room: usize; pc) -> usize {
        copied(to, from, bytes, pc);
        real(to, from, bytes, room)
    }
    fn __mempcpy_chk(to: usize, from: usize, bytes: usize, room: usize; pc) -> usize {
        copied(to, from, bytes, pc);
        real(to, from, bytes, room)
    }
    fn __memmove_chk(to: usize, from: usize, bytes: usize, room: usize; pc) -> usize {
        copied(to, from, bytes, pc);
        real(to, from, bytes, room)
    }
    fn __memset_chk(to: usize, value: i32, bytes: usize, room: usize; pc) -> usize {
        touch::<true>(to, bytes, pc);
        real(to, value, bytes, room)
    }
    fn memcmp(first: usize, second: usize, bytes: usize; pc) -> i32 {
        touch::<false>(first, bytes, pc);
        touch::<false>(second, bytes, pc);
        real(first, second, bytes)
    }
    fn bcmp(first: usize, second: usize, bytes: usize; pc) -> i32 {
        touch::<false>(first, bytes, pc);
        touch::<false>(second, bytes, pc);
        real(first, second, bytes)
    }
    fn memchr(memory: usize, value: i32, bytes: usize; pc) -> usize {
        let found = real(memory, value, bytes);
        touch::<false>(memory, if found == 0 { bytes } else { found - memory + 1 }, pc);
        found
    }

    fn strlen(text: usize; pc) -> usize {
        let length = real(text);
        touch::<false>(text, length + 1, pc);
        length
    }
    fn strnlen(text: usize, most: usize; pc) -> usize {
        let length = real(text, most);
        touch::<false>(text, (length + 1).min(most), pc);
        length
    }
    fn strcpy(to: usize, from: usize; pc) -> usize {
        let length = read_text(from, pc);
        touch::<true>(to, length + 1, pc);
        real(to, from)
    }
    fn __strcpy_chk(to: usize, from: usize, room: usize; pc) -> usize {
        let length = read_text(from, pc);
        touch::<true>(to, (length + 1).min(room), pc);
        real(to, from, room)
    }
    fn stpcpy(to: usize, from: usize; pc) -> usize {
        let length = read_text(from, pc);
        touch::<true>(to, length + 1, pc);
        real(to, from)
    }
    fn strncpy(to: usize, from: usize, bytes: usize; pc) -> usize {
        read_text_within(from, bytes, pc);
        touch::<true>(to, bytes, pc);
        real(to, from, bytes)
    }
    fn __strncpy_chk(to: usize, from: usize, bytes: usize, room: usize; pc) -> usize {
        read_text_within(from, bytes, pc);
        touch::<true>(to, bytes.min(room), pc);
        real(to, from, bytes, room)
    }
    fn strcat(to: usize, from: usize; pc) -> usize {
        appended(to, read_text(from, pc), pc);
        real(to, from)
    }
    fn __strcat_chk(to: usize, from: usize, room: usize; pc) -> usize {
        appended(to, read_text(from, pc), pc);
        real(to, from, room)
    }
    fn strncat(to: usize, from: usize, bytes: usize; pc) -> usize {
        appended(to, read_text_within(from, bytes, pc), pc);
        real(to, from, bytes)
    }
    fn __strncat_chk(to: usize, from: usize, bytes: usize, room: usize; pc) -> usize {
        appended(to, read_text_within(from, bytes, pc), pc);
        real(to, from, bytes, room)
    }
    fn strcmp(first: usize, second: usize; pc) -> i32 {
        read_both(first, second, ALL, pc, |letter| letter);
        real(first, second)
    }
    fn strncmp(first: usize, second: usize, most: usize; pc) -> i32 {
        read_both(first, second, most, pc, |letter| letter);
        real(first, second, most)
    }
    fn strcasecmp(first: usize, second: usize; pc) -> i32 {
        read_both(first, second, ALL, pc, |letter| letter.to_ascii_lowercase());
        real(first, second)
    }
    fn strncasecmp(first: usize, second: usize, most: usize; pc) -> i32 {
        read_both(first, second, most, pc, |letter| letter.to_ascii_lowercase());
        real(first, second, most)
    }
    fn strchr(text: usize, letter: i32; pc) -> usize {
        let found = real(text, letter);
        let read = if found == 0 { length(text, ALL) } else { found - text };
        touch::<false>(text, read + 1, pc);
        found
    }
    fn strrchr(text: usize, letter: i32; pc) -> usize {
        read_text(text, pc);
        real(text, letter)
    }
    fn strstr(text: usize, part: usize; pc) -> usize {
        let found = real(text, part);
        let part = read_text(part, pc);
        touch::<false>(text, if found == 0 { length(text, ALL) + 1 } else { found - text + part }, pc);
        found
    }
    fn strcasestr(text: usize, part: usize; pc) -> usize {
        let found = real(text, part);
        let part = read_text(part, pc);
        touch::<false>(text, if found == 0 { length(text, ALL) + 1 } else { found - text + part }, pc);
        found
    }
    fn strchrnul(text: usize, letter: i32; pc) -> usize {
        let found = real(text, letter);
        touch::<false>(text, found - text + 1, pc);
        found
    }
    fn strspn(text: usize, accepted: usize; pc) -> usize {
        read_text(accepted, pc);
        let length = real(text, accepted);
        touch::<false>(text, length + 1, pc);
        length
    }
    fn strcspn(text: usize, rejected: usize; pc) -> usize {
        read_text(rejected, pc);
        let length = real(text, rejected);
        touch::<false>(text, length + 1, pc);
        length
    }
    fn strpbrk(text: usize, accepted: usize; pc) -> usize {
        read_text(accepted, pc);
        let found = real(text, accepted);
        touch::<false>(text, if found == 0 { length(text, ALL) } else { found - text } + 1, pc);
        found
    }
    fn stpncpy(to: usize, from: usize, bytes: usize; pc) -> usize {
        read_text_within(from, bytes, pc);
        touch::<true>(to, bytes, pc);
        real(to, from, bytes)
    }
    fn memrchr(memory: usize, value: i32, bytes: usize; pc) -> usize {
        let found = real(memory, value, bytes);
        let from = if found == 0 { memory } else { found };
        touch::<false>(from, memory + bytes - from, pc);
        found
    }
    fn memmem(memory: usize, bytes: usize, part: usize, length: usize; pc) -> usize {
        let found = real(memory, bytes, part, length);
        touch::<false>(part, length, pc);
        touch::<false>(memory, if found == 0 { bytes } else { found - memory + length }, pc);
        found
    }
    fn strdup(text: usize; pc) -> usize {
        let length = read_text(text, pc);
        duplicated(real(text), length, pc)
    }
    fn strndup(text: usize, most: usize; pc) -> usize {
        let length = read_text_within(text, most, pc);
        duplicated(real(text, most), length, pc)
    }
}

/// Records that `added` letters and a zero are appended to the text at `to`.
fn appended(to: usize, added: usize, pc: usize) {
    let length = read_text(to, pc);
    touch::<true>(to + length, added + 1, pc);
}

/// The copy is allocated through `malloc`, which records it.
fn duplicated(copy: usize, length: usize, pc: usize) -> usize {
    if copy != 0 {
        touch::<true>(copy, length + 1, pc);
    }
    copy
}
