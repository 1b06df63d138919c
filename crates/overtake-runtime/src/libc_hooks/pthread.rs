//! Threads and mutexes.

use core::ffi::c_void;

use overtake_rawlog::RecordKind;

use super::real::real;
use crate::abi::forward;
use crate::thread;

extern "C" fn mutex_lock(mutex: *mut c_void, pc: usize) -> i32 {
    let result = real!(fn pthread_mutex_lock(mutex: *mut c_void) -> i32);
    if result == 0
        && let Some(thread) = thread::current()
    {
        thread.sync(RecordKind::Acquire, 0, mutex as u64, pc as u64);
    }
    result
}
forward!(pthread_mutex_lock => mutex_lock, "rsi");

extern "C" fn mutex_unlock(mutex: *mut c_void, pc: usize) -> i32 {
    if let Some(thread) = thread::current() {
        thread.sync(RecordKind::Release, 0, mutex as u64, pc as u64);
    }
    real!(fn pthread_mutex_unlock(mutex: *mut c_void) -> i32)
}
forward!(pthread_mutex_unlock => mutex_unlock, "rsi");
