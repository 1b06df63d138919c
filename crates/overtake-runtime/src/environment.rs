//! The settings in the environment of the process. If the program has more rights than the user who started it, they are ignored.

use core::ffi::c_char;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use crate::abi;
use crate::process::bytes;

/// The environment that the loader passed, until libc knows it.
static GIVEN: AtomicPtr<*const c_char> = AtomicPtr::new(core::ptr::null_mut());
/// Whether the process has rights that the user who started it does not have.
static IS_PRIVILEGED: AtomicBool = AtomicBool::new(false);
/// An environment without variables.
static EMPTY: Empty = Empty([core::ptr::null()]);

struct Empty([*const c_char; 1]);
// SAFETY: never written.
unsafe impl Sync for Empty {}

unsafe extern "C" {
    static mut environ: *const *const c_char;
}

/// Stores the environment that the loader passed.
pub(crate) fn take_given(given: *const *const c_char) {
    GIVEN.store(given.cast_mut(), Ordering::Relaxed);
}

/// Finds out whether to trust the environment. A setuid program, or one with capabilities, does not trust it (the kernel marks such
/// processes): its caller must not choose what runs, or what is written, with the program's rights.
pub(crate) fn look_at_rights() {
    // SAFETY: reads what the kernel passed to the process.
    IS_PRIVILEGED.store(unsafe { libc::getauxval(libc::AT_SECURE) } != 0, Ordering::Relaxed);
}

/// Libc knows the environment now. The one that the loader passed may be overwritten: programs do so to change their line in `ps`.
pub(crate) fn forget_given() {
    GIVEN.store(core::ptr::null_mut(), Ordering::Relaxed);
}

/// The value of an environment variable.
pub(crate) fn setting(name: &[u8]) -> Option<&'static [u8]> {
    let mut entry = variables();
    // SAFETY: a list of zero-terminated texts that ends with a null pointer, or null.
    unsafe {
        while !entry.is_null() && !(*entry).is_null() {
            let text = bytes(*entry);
            if let Some(rest) = text.strip_prefix(name)
                && let Some(value) = rest.strip_prefix(b"=")
            {
                return Some(value);
            }
            entry = entry.add(1);
        }
    }
    None
}

/// The environment, which is empty if it must not be trusted.
pub(crate) fn variables() -> *const *const c_char {
    if IS_PRIVILEGED.load(Ordering::Relaxed) {
        return EMPTY.0.as_ptr();
    }
    let given = GIVEN.load(Ordering::Relaxed).cast_const();
    // SAFETY: reads a pointer that libc sets before any constructor that could call us otherwise.
    if given.is_null() { unsafe { environ } } else { given }
}

/// Takes a variable that is meant for us out of the environment. Returns its value.
pub(crate) fn take(name: &[u8]) -> Option<&'static [u8]> {
    let value = setting(name)?;
    let mut entry = variables().cast_mut();
    // SAFETY: as in `setting`, which found the variable; the list is that of the process, which nobody else uses yet.
    unsafe {
        while !(*entry).is_null() {
            if is_named(*entry, name) {
                let mut at = entry;
                while !(*at).is_null() {
                    *at = *at.add(1);
                    at = at.add(1);
                }
            } else {
                entry = entry.add(1);
            }
        }
    }
    Some(value)
}

/// Whether a zero-terminated text is a variable of this name.
///
/// # Safety
/// A zero-terminated text that stays.
pub(crate) unsafe fn is_named(text: *const c_char, name: &[u8]) -> bool {
    // SAFETY: the caller's promise.
    unsafe { bytes(text) }.strip_prefix(name).is_some_and(|rest| rest.first() == Some(&b'='))
}

/// The environment that the program passes on, unless it passes another.
pub(crate) fn own() -> usize {
    // SAFETY: reads a pointer.
    unsafe { environ as usize }
}

/// A decimal number; anything after the digits is ignored.
pub(crate) fn number(text: &[u8]) -> u64 {
    text.iter()
        .take_while(|byte| byte.is_ascii_digit())
        .fold(0, |number: u64, digit| number.saturating_mul(10).saturating_add(u64::from(digit - b'0')))
}

/// The exit code of a run with races according to the options. The environment has precedence over the program's own options.
pub(crate) fn race_exit_code() -> Option<i32> {
    let value = |options: &[u8]| {
        let mut found = None;
        for word in options.split(|byte| matches!(byte, b':' | b' ' | b',' | b'\n' | b'\t')) {
            if let Some(value) = word.strip_prefix(b"exitcode=") {
                found = Some(number(value) as i32 & 0xff);
            }
        }
        found
    };
    setting(b"TSAN_OPTIONS").and_then(value).or_else(|| abi::default_options().and_then(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_end_at_the_first_other_character() {
        assert_eq!(number(b"120k"), 120);
        assert_eq!(number(b""), 0);
        assert_eq!(number(b"99999999999999999999999"), u64::MAX);
    }
}
