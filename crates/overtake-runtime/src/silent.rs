//! The back end that does nothing: the program runs with all hooks, and no log is made. The difference between such a run and a
//! recorded one is what recording costs.

use crate::back_end::{Access, BackEnd, Operation};
use crate::thread::ThreadState;

pub(crate) struct Silent;

impl BackEnd for Silent {
    fn name(&self) -> &'static [u8] {
        b"silent"
    }

    fn access(&self, _thread: &ThreadState, _access: Access) {}

    fn operation(&self, _thread: &ThreadState, _operation: Operation) {}
}
