//! Short sequences of instructions that are either complete or not begun when a signal handler of the same thread runs.
//!
//! Each has one instruction by which it takes effect: it moves the cursor of the log, say, over words that were filled before. A
//! thread that a signal interrupts before that goes on elsewhere when the handler is done, where it starts again, or does the same
//! in another way. This costs nothing unless a signal arrives: no instruction needs to be atomic, and nothing that such a sequence
//! looked up can be out of date. (The kernel does the same for threads that it moves to another processor: restartable sequences.)
//!
//! It counts on handlers being called by ours, which `libc_hooks::signals` sees to. A handler that a program sets up past libc, by a
//! system call of its own, must not run instrumented code.

/// Where a thread goes on that was interrupted at an instruction from `from` up to, but without, `to`.
pub(crate) struct Detour {
    from: Label,
    to: Label,
    target: Label,
}

/// The address of an instruction.
pub(crate) type Label = unsafe extern "C" fn();

impl Detour {
    pub(crate) const fn new(from: Label, to: Label, target: Label) -> Detour {
        Detour { from, to, target }
    }

    fn holds(&self, instruction: usize) -> bool {
        (self.from as usize..self.to as usize).contains(&instruction)
    }
}

/// Assembly: a symbol of the library's own for the next instruction.
macro_rules! here {
    ($what:literal $($of:tt)*) => {
        concat!(
            ".hidden ", $what, $(stringify!($of),)* "\n",
            ".globl ", $what, $(stringify!($of),)* "\n",
            $what, $(stringify!($of),)* ":"
        )
    };
}
pub(crate) use here;

/// Declares symbols of assembly code as labels.
macro_rules! labels {
    ($($label:ident = $name:expr),* $(,)?) => {
        #[allow(clashing_extern_declarations, reason = "some are functions, which are called elsewhere")]
        unsafe extern "C" {
            $(#[link_name = $name]
            fn $label();)*
        }
    };
}
pub(crate) use labels;

/// Where to go on instead of at an instruction that a signal interrupted; `None` if it is in none of the sequences.
fn instead_of(instruction: usize) -> Option<usize> {
    crate::abi::access_detours()
        .chain(crate::recorder::detours())
        .find(|detour| detour.holds(instruction))
        .map(|detour| detour.target as usize)
}

/// Sends the code that a signal interrupted on a detour if need be.
pub(crate) fn take(context: &mut libc::ucontext_t) {
    let instruction = &mut context.uc_mcontext.gregs[libc::REG_RIP as usize];
    if let Some(target) = instead_of(*instruction as usize) {
        *instruction = target as i64;
    }
}
