//! Pages of variables: what consecutive variables are, where all of a page are alike.

use std::ops::Range;

use overtake_trace::{ArrayId, Id, VarId, Variable, Variables};

use super::HUGE;
use super::cells::CellId;
use super::own::PAGE;

/// So many arrays that are filled at once may have their variables in turn.
const MOST_WOVEN: u32 = 4;

/// What the variables of a page are, in four bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct VarPage(u32);

/// What a [`VarPage`] says.
pub(super) enum PageContent {
    /// Nothing is known, or nothing that holds for all of them.
    Anything,
    /// They have their own cells, in order from this one on.
    Cells(CellId),
    /// They are elements of one array, in order: those of this row.
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

    pub(super) fn elements(row: u32) -> VarPage {
        VarPage(Self::ELEMENTS | row)
    }

    /// The row of a page of elements in order.
    pub(super) fn row(self) -> Option<u32> {
        match self.content() {
            PageContent::Elements(row) => Some(row),
            _ => None,
        }
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

/// Variables that are elements of an array in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Order {
    /// Up to this one, and without it, they are known to be.
    pub(super) end: u32,
    /// How far each element is from the one before.
    pub(super) distance: u64,
    /// How far each variable is from the one before. A program that fills two arrays at once has every second one in each.
    pub(super) stride: u32,
    /// The row that they are in, and all that are in it after them.
    pub(super) row: Option<u32>,
}

impl Order {
    pub(super) const UNKNOWN: Order = Order { end: 0, distance: 1, stride: 1, row: None };
}

/// Variables in a row: elements of one array at equal distances. An array whose elements were first accessed in order is one row; of a matrix that is accessed in part,
/// each row may be one.
#[derive(Clone, Debug)]
pub(super) struct Row {
    /// The array, by its number among the shadows.
    pub(super) shadow: u32,
    /// Neighbouring pages that are known to be in this row.
    pages: Range<u32>,
    /// A variable of the row, and the index of its element.
    some: (VarId, u64),
    /// How far elements of neighbouring variables are from each other. Elements of recorded memory are bytes, of which every fourth or eighth may be accessed.
    pub(super) distance: u64,
}

impl Row {
    /// The row that begins with a page, if the page may be one.
    pub(super) fn new(shadow: u32, array: ArrayId, page: usize, variables: &Variables) -> Option<Row> {
        let var = VarId::from_index(page * PAGE);
        let Variable::Element { array: its, index } = variables.get(var) else { return None };
        let distance = distance_after(array, var, index, variables).filter(|_| its == array)?;
        Some(Row { shadow, pages: page as u32..page as u32, some: (var, index), distance })
    }

    /// The index of the element of a variable in the row.
    #[inline]
    pub(super) fn index_of(&self, var: VarId) -> u64 {
        let (some, index) = self.some;
        let before = u64::from(var.0).wrapping_sub(u64::from(some.0));
        index.wrapping_add(before.wrapping_mul(self.distance))
    }

    /// Takes note of a page that is in the row.
    pub(super) fn add(&mut self, page: usize) {
        let page = page as u32;
        match &mut self.pages {
            Range { end, .. } if *end == page => *end += 1,
            Range { start, .. } if *start == page + 1 => *start = page,
            pages => *pages = page..page + 1,
        }
    }

    /// The order of the variables from a page on; `row` is the number of this row.
    pub(super) fn order(&self, row: u32, page: usize) -> Order {
        let end = self.end(page).saturating_mul(PAGE as u32);
        Order { end, distance: self.distance, stride: 1, row: Some(row) }
    }

    /// Up to which page, and without that one, variables are in the row if those of this page are.
    fn end(&self, page: usize) -> u32 {
        let page = page as u32;
        if self.pages.contains(&page) { self.pages.end } else { page + 1 }
    }
}

/// How far after an element of an array that of the next variable is, if it is.
pub(super) fn distance_after(array: ArrayId, var: VarId, index: u64, variables: &Variables) -> Option<u64> {
    distance_beyond(array, (index, var), 1, variables)
}

/// How far after an element of an array that of the variable so far on is, if it is.
fn distance_beyond(
    array: ArrayId,
    (index, var): (u64, VarId),
    stride: u32,
    variables: &Variables,
) -> Option<u64> {
    let next = VarId(var.0.checked_add(stride)?);
    match (next.index() < variables.len()).then(|| variables.get(next))? {
        Variable::Element { array: its, index: after } if its == array => {
            after.checked_sub(index).filter(|&distance| distance > 0)
        }
        _ => None,
    }
}

/// Whether the variable before an element of an array in such an order is the element before it.
pub(super) fn is_step(
    array: ArrayId,
    (index, var): (u64, VarId),
    order: Order,
    variables: &Variables,
) -> bool {
    let before = |var: u32| variables.get(VarId(var));
    index.checked_sub(order.distance).is_some_and(|index| {
        var.0.checked_sub(order.stride).map(before) == Some(Variable::Element { array, index })
    })
}

/// Which variables from an element of an array on are its elements at equal distances. So many after the first are looked at.
pub(super) fn in_order_after(
    array: ArrayId,
    (index, var): (u64, VarId),
    most: u32,
    variables: &Variables,
) -> Order {
    let found = (1..=MOST_WOVEN)
        .find_map(|stride| Some((stride, distance_beyond(array, (index, var), stride, variables)?)));
    let Some((stride, distance)) = found else { return Order::UNKNOWN };
    let is_next = |ahead: &u32| {
        let index = index.saturating_add(distance.saturating_mul(u64::from(*ahead)));
        let var = var.index() + *ahead as usize * stride as usize;
        index < HUGE
            && var < variables.len()
            && variables.get(VarId::from_index(var)) == Variable::Element { array, index }
    };
    let count = 1 + (1..=most).take_while(is_next).count() as u32;
    let end = var.0.saturating_add(count.saturating_mul(stride));
    Order { end, distance, stride, row: None }
}

/// The variables of a page, if the trace has all of them yet.
pub(super) fn page_variables(
    page: usize,
    variables: &Variables,
) -> Option<impl Iterator<Item = VarId> + use<>> {
    let (first, end) = (page * PAGE, (page + 1) * PAGE);
    (end <= variables.len()).then(|| (first..end).map(VarId::from_index))
}
