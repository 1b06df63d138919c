//! Short sequences of instructions that a signal handler of the same thread sees either complete or not begun.
//!
//! Each sequence takes effect by one instruction, for example one that moves the cursor of the log over words that were filled before.
//! If a signal interrupts a thread before that instruction, the thread continues elsewhere after the handler: it starts the sequence
//! again, or does the same in another way. This costs nothing unless a signal arrives: no instruction needs to be atomic, and what such
//! a sequence looked up is never out of date. (The kernel's restartable sequences do the same for threads that move to another
//! processor.)
//!
//! This requires that our handler calls the program's handlers, which `libc_hooks::signals` ensures. A handler that a program installs
//! without libc, by a system call of its own, must not run instrumented code.

/// Where a thread continues that was interrupted at an instruction from `from` up to, but without, `to`.
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

/// Assembly: a symbol, private to the library, for the next instruction.
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

/// Where to continue instead of at an instruction that a signal interrupted; `None` if it is in none of the sequences.
fn instead_of(instruction: usize) -> Option<usize> {
    crate::abi::access_detours()
        .chain(crate::recorder::detours())
        .find(|detour| detour.holds(instruction))
        .map(|detour| detour.target as usize)
}

/// Sends the code that a signal interrupted on a detour, if it is in one of the sequences.
pub(crate) fn take(context: &mut libc::ucontext_t) {
    let instruction = &mut context.uc_mcontext.gregs[libc::REG_RIP as usize];
    if let Some(target) = instead_of(*instruction as usize) {
        *instruction = target as i64;
    }
}
