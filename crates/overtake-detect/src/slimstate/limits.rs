//! What the representation of arrays may be, and where cells come from.

use super::cells::Cells;
use super::own::Own;
use super::pending::Most;

/// What the representation of arrays may be.
#[derive(Clone, Copy, Debug)]
pub(super) struct ArrayLimits {
    /// Arrays shorter than this are not compressed.
    pub(super) small: u64,
    /// Stretches from this length on may be labelled instead of fine, and there are all partitions; `None`: those of the paper only.
    pub(super) labels_from: Option<u64>,
    /// Whether parts are sets of any form that footprints split, and nothing else.
    pub(super) sets: bool,
    /// Whether footprints are sets of any form.
    pub(super) set_footprints: bool,
    /// How much a thread keeps unjudged.
    pub(super) most: Most,
    /// Variables of the trace so far.
    pub(super) variables: u64,
    /// Elements of the array that the trace has named so far.
    pub(super) elements: u64,
}

/// Where cells come from, and how many there may be.
pub(super) struct Room<'a> {
    pub(super) cells: &'a mut Cells,
    pub(super) own: &'a mut Own,
    pub(super) limits: ArrayLimits,
}
