//! The back end that does nothing: the program runs with all hooks, and there is no log. The difference in time between such a run and a
//! recorded one is the cost of recording.

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
