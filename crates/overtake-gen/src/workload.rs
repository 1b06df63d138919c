//! A generated trace as a source of events.

use overtake_trace::{BLOCK_EVENTS, Block, EventIndex, EventSource, Result, Symbols};

use crate::parameters::{ParameterError, Parameters};
use crate::shapes::Shape;
use crate::tape::{Expectation, Generator, Tape};

/// A trace that is generated while it is read.
///
/// It is well formed, has exactly the requested number of events, and is the same for the same shape and parameters. All names
/// exist from the start; memory does not depend on the number of events.
#[derive(Debug)]
pub struct Workload {
    shape: &'static Shape,
    parameters: Parameters,
    symbols: Symbols,
    generator: Box<dyn Generator>,
    tape: Tape,
}

impl Workload {
    /// A workload of the given shape, or what is wrong with the parameters.
    pub fn new(
        shape: &'static Shape,
        parameters: Parameters,
    ) -> std::result::Result<Workload, ParameterError> {
        parameters.check_limits()?;
        let mut symbols = Symbols::default();
        let generator = (shape.build)(&parameters, &mut symbols)?;
        Ok(Workload { shape, parameters, symbols, generator, tape: Tape::new(parameters.events) })
    }

    /// The shape of the trace.
    pub fn shape(&self) -> &'static Shape {
        self.shape
    }

    /// The parameters of the trace.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// What the trace is known to contain by construction, once all of it has been read. `None` for shapes that do not
    /// know it: where an access forgets its lock, something else may still order it.
    pub fn expectation(&self) -> Option<Expectation> {
        self.generator.expectation()
    }

    /// Bytes of the generator's tables without the names. They do not grow with the number of events.
    pub fn state_bytes(&self) -> usize {
        self.generator.state_bytes()
    }
}

impl EventSource for Workload {
    fn next_block(&mut self, block: &mut Block) -> Result<bool> {
        let count = self.tape.unread().min(BLOCK_EVENTS as u64) as usize;
        block.first = EventIndex(self.parameters.events - self.tape.unread());
        if self.tape.events.len() < count {
            self.generator.fill(&mut self.tape, count);
        }
        self.tape.hand_out(&mut block.events, count);
        Ok(count > 0)
    }

    fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    fn symbols_mut(&mut self) -> &mut Symbols {
        &mut self.symbols
    }
}
