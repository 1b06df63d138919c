//! Condition variables, barriers, semaphores.

use core::ffi::c_void;

use overtake_rawlog::RecordKind;

use super::locks::{announce, lifetimes, mutex_taken};
use super::real::{Real, hook};
use super::{caller_or, note, note_with, touch};
use crate::thread;

lifetimes! {
    Forget: pthread_cond_init(attributes);
    Destroy: pthread_cond_destroy();
    Destroy: pthread_barrier_destroy();
    Destroy: sem_destroy();
    Forget: cnd_init();
}

/// What libc runs when the thread is cancelled while it waits, in libc's layout.
#[repr(C)]
struct Cleanup {
    routine: usize,
    argument: usize,
    kind: i32,
    previous: usize,
}

unsafe extern "C" {
    fn _pthread_cleanup_push(
        cleanup: *mut Cleanup,
        routine: extern "C" fn(*mut c_void),
        argument: *mut c_void,
    );
    fn _pthread_cleanup_pop(cleanup: *mut Cleanup, execute: i32);
}

/// A wait for a condition variable; `wait` calls the real function.
#[inline]
fn wait(condition: usize, mutex: usize, pc: usize, wait: impl FnOnce() -> i32) -> i32 {
    let pc = caller_or(pc);
    note(RecordKind::CondWait, 0, condition, pc);
    note(RecordKind::Release, 0, mutex, pc);
    let cancelled = [mutex, pc];
    let mut cleanup = Cleanup { routine: 0, argument: 0, kind: 0, previous: 0 };
    // SAFETY: popped below, and nothing returns in between. If the thread is cancelled, this frame still exists.
    unsafe { _pthread_cleanup_push(&raw mut cleanup, on_cancel, cancelled.as_ptr().cast_mut().cast()) };
    let result = wait();
    // SAFETY: the innermost one pushed.
    unsafe { _pthread_cleanup_pop(&raw mut cleanup, 0) };
    // A wait that returns holds the mutex, whatever the result, unless libc refused it at once.
    if result != libc::EPERM {
        mutex_taken(if result == libc::EOWNERDEAD { result } else { 0 }, false, mutex, pc);
        note(RecordKind::CondWake, u8::from(result != 0), condition, pc);
    } else {
        mutex_taken(0, false, mutex, pc);
    }
    result
}

/// A cancelled wait acquires the mutex again before the thread's clean-up runs.
extern "C" fn on_cancel(argument: *mut c_void) {
    let at: *const [usize; 2] = argument.cast_const().cast();
    // SAFETY: points into the frame of `wait`.
    let [mutex, pc] = unsafe { *at };
    mutex_taken(0, false, mutex, pc);
}

hook! {
    fn pthread_cond_wait(condition: usize, mutex: usize; pc) -> i32 {
        wait(condition, mutex, pc, || real(condition, mutex))
    }
    fn pthread_cond_timedwait(condition: usize, mutex: usize, time: usize; pc) -> i32 {
        wait(condition, mutex, pc, || real(condition, mutex, time))
    }
    fn pthread_cond_clockwait(condition: usize, mutex: usize, clock: i32, time: usize; pc) -> i32 {
        wait(condition, mutex, pc, || real(condition, mutex, clock, time))
    }
    fn pthread_cond_signal(condition: usize; pc) -> i32 {
        note(RecordKind::CondSignal, 0, condition, caller_or(pc));
        real(condition)
    }
    fn pthread_cond_broadcast(condition: usize; pc) -> i32 {
        note(RecordKind::CondSignal, 1, condition, caller_or(pc));
        real(condition)
    }

    fn cnd_wait(condition: usize, mutex: usize; pc) -> i32 {
        wait(condition, mutex, pc, || real(condition, mutex))
    }
    fn cnd_timedwait(condition: usize, mutex: usize, time: usize; pc) -> i32 {
        wait(condition, mutex, pc, || real(condition, mutex, time))
    }
    fn cnd_signal(condition: usize; pc) -> i32 {
        note(RecordKind::CondSignal, 0, condition, pc);
        real(condition)
    }
    fn cnd_broadcast(condition: usize; pc) -> i32 {
        note(RecordKind::CondSignal, 1, condition, pc);
        real(condition)
    }
    fn cnd_destroy(condition: usize; pc) {
        note(RecordKind::Destroy, 0, condition, pc);
        real(condition)
    }

    fn pthread_barrier_init(barrier: usize, attributes: usize, count: u32; pc) -> i32 {
        note_with(RecordKind::BarrierInit, barrier, pc, u64::from(count));
        real(barrier, attributes, count)
    }
    fn pthread_barrier_wait(barrier: usize; pc) -> i32 {
        note(RecordKind::BarrierArrive, 0, barrier, pc);
        let result = real(barrier);
        note(RecordKind::BarrierLeave, 0, barrier, pc);
        result
    }

    fn sem_init(semaphore: usize, shared: i32, value: u32; pc) -> i32 {
        note_with(RecordKind::SemaphoreInit, semaphore, pc, u64::from(value));
        real(semaphore, shared, value)
    }
    fn sem_post(semaphore: usize; pc) -> i32 {
        note(RecordKind::SemaphorePost, 0, semaphore, pc);
        real(semaphore)
    }
    fn sem_wait(semaphore: usize; pc) -> i32 {
        announce(RecordKind::SemaphoreWait, semaphore, pc);
        token(real(semaphore), semaphore, pc)
    }
    fn sem_trywait(semaphore: usize; pc) -> i32 { token(real(semaphore), semaphore, pc) }
    fn sem_timedwait(semaphore: usize, time: usize; pc) -> i32 { token(real(semaphore, time), semaphore, pc) }
    fn sem_clockwait(semaphore: usize, clock: i32, time: usize; pc) -> i32 {
        token(real(semaphore, clock, time), semaphore, pc)
    }
    /// Opening a named semaphore twice gives the same address, and other processes may have posted to it. So the number of
    /// tokens that it has now is recorded.
    fn sem_open(name: usize, flags: i32, mode: u32, value: u32; pc) -> usize {
        let semaphore = real(name, flags, mode, value);
        if semaphore != 0
            && let Some(tokens) = tokens_of(semaphore)
            && let Some(thread) = thread::current()
        {
            thread.sync_with(RecordKind::SemaphoreOpen, semaphore as u64, pc as u64, tokens);
        }
        semaphore
    }
    /// It orders nothing: POSIX promises nothing of the kind, and libc reads the number without order.
    fn sem_getvalue(semaphore: usize, out: usize; pc) -> i32 {
        let result = real(semaphore, out);
        if result == 0 {
            touch::<true>(out, size_of::<i32>(), pc);
        }
        result
    }
}

/// How many tokens an open semaphore has. Not by our own hook.
fn tokens_of(semaphore: usize) -> Option<u64> {
    #[used]
    #[unsafe(link_section = "overtake_real")]
    static REAL: Real = Real::new("sem_getvalue\0");
    let mut tokens = 0;
    // SAFETY: the type is that of libc's function, and our caller passes an open semaphore.
    let result = unsafe {
        core::mem::transmute::<*mut core::ffi::c_void, unsafe extern "C" fn(usize, *mut i32) -> i32>(
            REAL.address(),
        )(semaphore, &raw mut tokens)
    };
    (result == 0).then_some(tokens.max(0) as u64)
}

#[inline]
fn token(result: i32, semaphore: usize, pc: usize) -> i32 {
    if result == 0 {
        note(RecordKind::SemaphoreWait, 0, semaphore, pc);
    }
    result
}
