//! Memory orders of atomic operations and fences.
//!
//! An order says two things: whether a read with it acquires, and whether a write with it releases. What this orders is in
//! [`flow::atomic`](crate::flow::atomic) and [`flow::fence`](crate::flow::fence).

/// Memory order of an atomic operation or fence.
///
/// The numbers are the codes of the sealed file format.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum MemoryOrder {
    /// No order; also stored for operations that have no memory order.
    Relaxed = 0,
    /// C++ consume, treated as acquire as compilers do.
    Consume = 1,
    /// Acquire.
    Acquire = 2,
    /// Release.
    Release = 3,
    /// Acquire and release.
    AcqRel = 4,
    /// Sequentially consistent.
    SeqCst = 5,
    /// A Java volatile: a read is ordered after *every* earlier write, not only after the one it sees.
    Volatile = 6,
}

impl MemoryOrder {
    /// Every memory order, in the order of its code.
    pub const ALL: [MemoryOrder; 7] = [
        MemoryOrder::Relaxed,
        MemoryOrder::Consume,
        MemoryOrder::Acquire,
        MemoryOrder::Release,
        MemoryOrder::AcqRel,
        MemoryOrder::SeqCst,
        MemoryOrder::Volatile,
    ];

    /// The memory order with this code.
    #[inline]
    pub fn from_code(code: u8) -> Option<MemoryOrder> {
        MemoryOrder::ALL.get(code as usize).copied()
    }

    /// The name used in text traces: `relaxed`, `acq_rel`, ...
    pub fn name(self) -> &'static str {
        match self {
            MemoryOrder::Relaxed => "relaxed",
            MemoryOrder::Consume => "consume",
            MemoryOrder::Acquire => "acquire",
            MemoryOrder::Release => "release",
            MemoryOrder::AcqRel => "acq_rel",
            MemoryOrder::SeqCst => "seq_cst",
            MemoryOrder::Volatile => "volatile",
        }
    }

    /// Whether a read with this order acquires.
    #[inline]
    pub fn acquires(self) -> bool {
        !matches!(self, MemoryOrder::Relaxed | MemoryOrder::Release)
    }

    /// Whether a write with this order releases.
    #[inline]
    pub fn releases(self) -> bool {
        matches!(
            self,
            MemoryOrder::Release | MemoryOrder::AcqRel | MemoryOrder::SeqCst | MemoryOrder::Volatile
        )
    }
}
