//! Pages of variables: what consecutive variables are, where all of a page are alike.

use overtake_trace::{Id, VarId, Variables};

use super::cells::CellId;
use super::own::PAGE;

/// What the variables of a page are, in four bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct VarPage(u32);

/// What a [`VarPage`] says.
pub(super) enum PageContent {
    /// Nothing is known, or nothing that holds for all of them.
    Anything,
    /// They have their own cells, in order from this one on.
    Cells(CellId),
    /// They are elements of one array, in order.
    Elements(u32),
}

impl VarPage {
    pub(super) const UNKNOWN: VarPage = VarPage(0);
    pub(super) const MIXED: VarPage = VarPage(1);
    pub(super) const ELEMENTS: u32 = 1 << 31;

    /// A page of cells. Where there are more than fit, variables are looked up one by one.
    pub(super) fn cells(first: CellId) -> VarPage {
        if first.0 < Self::ELEMENTS - 2 { VarPage(first.0 + 2) } else { Self::MIXED }
    }

    pub(super) fn elements(shadow: u32) -> VarPage {
        VarPage(Self::ELEMENTS | shadow)
    }

    #[inline]
    pub(super) fn content(self) -> PageContent {
        match self.0 {
            0 | 1 => PageContent::Anything,
            elements if elements & Self::ELEMENTS != 0 => PageContent::Elements(elements & !Self::ELEMENTS),
            cells => PageContent::Cells(CellId(cells - 2)),
        }
    }
}

/// The variables of a page, if the trace has all of them yet.
pub(super) fn page_variables(
    page: usize,
    variables: &Variables,
) -> Option<impl Iterator<Item = VarId> + use<>> {
    let (first, end) = (page * PAGE, (page + 1) * PAGE);
    (end <= variables.len()).then(|| (first..end).map(VarId::from_index))
}
