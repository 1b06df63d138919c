//! Functions that close many descriptors at once. They must not close that of the log file (`recorder::store`).

use super::real::hook;
use crate::recorder::store;
use crate::sys::Fd;

/// The descriptors stay open and are closed by `exec`.
const CLOSED_BY_EXEC: i32 = 4;

hook! {
    fn close_range(first: u32, last: u32, flags: i32; pc) -> i32 {
        match store::descriptor_in(first, last) {
            Some(ours) if flags & CLOSED_BY_EXEC == 0 => {
                let below = if first < ours { real(first, ours - 1, flags) } else { 0 };
                if below == 0 && ours < last { real(ours + 1, last, flags) } else { below }
            }
            _ => real(first, last, flags),
        }
    }
    fn closefrom(first: i32; pc) {
        let ours = store::descriptor_in(first.max(0) as u32, u32::MAX);
        match ours.and_then(|ours| i32::try_from(ours).ok()) {
            Some(ours) => {
                for file in first.max(0)..ours {
                    Fd(file).close();
                }
                real(ours + 1);
            }
            None => real(first),
        }
    }
}
