//! libc functions that synchronise, allocate or touch memory for the program: recorded, then passed on.

mod pthread;
mod real;
