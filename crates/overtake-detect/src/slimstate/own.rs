//! Cells that are not shared: those of variables that are not elements, elements of small arrays, and elements that
//! stand alone. They are found by variable, so what a trace does not name has no cell, however long its arrays are.
//!
//! **State.** Per page of variables two sets of them, and, once some of them are needed, a cell for each. A page of which few are
//! needed has cells for these, in runs that double: recorded arrays have a variable for the whole block among their elements.
//! **Invariants.**
//!   I1  The history of a variable that is settled is that of its own cell, to the end.

use overtake_trace::{Id, VarId};

use super::cells::{CellId, Cells};

/// Variables of a page. So few in tests that small traces fill pages.
pub(super) const PAGE: usize = if cfg!(test) { 4 } else { 64 };

/// All variables of a page.
const ALL: u64 = u64::MAX >> (64 - PAGE);

/// So few cells of a page are listed.
const FEW: usize = if PAGE < 8 { 1 } else { 4 };

/// The cells of a page.
#[derive(Debug)]
enum PageCells {
    /// Of these variables, by their places in the page.
    Few(Box<[(u8, CellId)]>),
    /// Of more of them: in a run of cells, by the places in the page, each with its number in the run.
    Many { first: CellId, used: u8, room: u8, numbers: Box<[u8; PAGE]> },
    /// Of all, from this one on.
    All(CellId),
}

#[derive(Debug)]
struct OwnPage {
    cells: PageCells,
    settled: u64,
    /// Those that are elements with a shadow: what is kept for them may stand for footprints.
    elements: u64,
}

/// The cell of a place, if it is listed.
#[inline]
fn listed(few: &[(u8, CellId)], offset: u64) -> Option<CellId> {
    few.iter().find(|(place, _)| u64::from(*place) == offset).map(|&(_, cell)| cell)
}

/// No cell.
const NO_NUMBER: u8 = u8::MAX;

impl PageCells {
    /// The cell of a place that has one.
    #[inline]
    fn get(&self, offset: u64) -> Option<CellId> {
        match self {
            PageCells::All(first) => Some(first.plus(offset)),
            PageCells::Few(few) => listed(few, offset),
            PageCells::Many { first, numbers, .. } => {
                let number = numbers[offset as usize];
                (number != NO_NUMBER).then(|| first.plus(u64::from(number)))
            }
        }
    }

    /// The cells that places have.
    fn each(&self) -> impl Iterator<Item = (u64, CellId)> {
        (0..PAGE as u64).filter_map(|offset| Some((offset, self.get(offset)?)))
    }

    /// Gives all cells back whose histories are elsewhere now.
    fn give_back(&self, cells: &mut Cells) {
        match self {
            PageCells::Few(few) => few.iter().for_each(|&(_, cell)| cells.give_back(cell, 1)),
            PageCells::Many { first, room, .. } => cells.give_back(*first, u64::from(*room)),
            PageCells::All(first) => cells.give_back(*first, PAGE as u64),
        }
    }

    fn heap_bytes(&self) -> usize {
        match self {
            PageCells::Few(few) => size_of_val(&few[..]),
            PageCells::Many { .. } => PAGE,
            PageCells::All(_) => 0,
        }
    }
}

impl OwnPage {
    /// The cell of a place, made if need be.
    fn cell(&mut self, offset: u64, cells: &mut Cells) -> CellId {
        if let Some(cell) = self.cells.get(offset) {
            return cell;
        }
        match &mut self.cells {
            PageCells::All(first) => first.plus(offset),
            PageCells::Few(few) if few.len() < FEW => {
                let cell = cells.allocate(1);
                *few = few.iter().copied().chain([(offset as u8, cell)]).collect();
                cell
            }
            PageCells::Many { first, used, room, numbers } if *used < *room => {
                numbers[offset as usize] = *used;
                *used += 1;
                first.plus(u64::from(*used - 1))
            }
            PageCells::Many { room, .. } if usize::from(*room) > PAGE / 4 => {
                self.cells_of_all(cells).plus(offset)
            }
            PageCells::Few(_) | PageCells::Many { .. } => {
                self.make_room(cells);
                self.cell(offset, cells)
            }
        }
    }

    /// Makes room for twice as many cells.
    fn make_room(&mut self, cells: &mut Cells) {
        let used = self.cells.each().count() as u8;
        let room = 2 * used;
        let (first, mut numbers) = (cells.allocate(u64::from(room)), Box::new([NO_NUMBER; PAGE]));
        for ((offset, cell), number) in self.cells.each().zip(0..) {
            cells.fill(cell, first.plus(u64::from(number)));
            numbers[offset as usize] = number;
        }
        self.cells.give_back(cells);
        self.cells = PageCells::Many { first, used, room, numbers };
    }

    /// The first cell of the page, which has a cell for each variable from now on.
    fn cells_of_all(&mut self, cells: &mut Cells) -> CellId {
        if let PageCells::All(first) = self.cells {
            return first;
        }
        let first = cells.allocate(PAGE as u64);
        for (offset, cell) in self.cells.each() {
            cells.fill(cell, first.plus(offset));
        }
        self.cells.give_back(cells);
        self.cells = PageCells::All(first);
        first
    }
}

/// The cells, by variable.
#[derive(Default, Debug)]
pub(super) struct Own {
    /// By number of the page, one more than its position in `pages`; 0 for none.
    positions: Vec<u32>,
    pages: Vec<OwnPage>,
}

fn place(var: VarId) -> (usize, u64) {
    (var.index() / PAGE, (var.index() % PAGE) as u64)
}

impl Own {
    /// Makes room for this many pages.
    pub(super) fn grow_to(&mut self, pages: usize) {
        if pages > self.positions.len() {
            self.positions.resize(pages, 0);
        }
    }

    #[inline]
    fn page(&self, number: usize) -> Option<&OwnPage> {
        self.pages.get((self.positions[number] as usize).wrapping_sub(1))
    }

    /// The cell of a variable that is settled.
    #[inline]
    pub(super) fn cell(&self, var: VarId) -> Option<CellId> {
        let (number, offset) = place(var);
        let page = self.page(number)?;
        if page.settled >> offset & 1 == 0 {
            return None;
        }
        page.cells.get(offset)
    }

    /// The cells of a variable and of those after it, up to the end of its page, as long as they are settled.
    pub(super) fn settled_from(&self, var: VarId) -> impl Iterator<Item = CellId> {
        let (number, first) = place(var);
        let page = self.page(number);
        (first..PAGE as u64).map_while(move |offset| {
            let page = page.filter(|page| page.settled >> offset & 1 == 1)?;
            page.cells.get(offset)
        })
    }

    /// Whether a variable that is settled is an element with a shadow.
    pub(super) fn is_element(&self, var: VarId) -> bool {
        let (number, offset) = place(var);
        self.page(number).is_some_and(|page| page.elements >> offset & 1 == 1)
    }

    /// Whether some variable of the page has been settled.
    pub(super) fn has_page(&self, number: usize) -> bool {
        self.page(number).is_some()
    }

    /// The first cell of a page whose variables all are settled.
    pub(super) fn first_of_settled(&self, number: usize) -> Option<CellId> {
        match self.page(number)? {
            OwnPage { cells: PageCells::All(first), settled: ALL, .. } => Some(*first),
            _ => None,
        }
    }

    /// Settles a variable that is not an element with a shadow.
    pub(super) fn settle_variable(&mut self, var: VarId, cells: &mut Cells) -> CellId {
        let (page, offset) = self.page_of(var);
        page.settled |= 1 << offset;
        page.cell(offset, cells)
    }

    /// Settles an element, which was not, with the history that it has so far.
    pub(super) fn settle_element(
        &mut self,
        var: VarId,
        history: Option<CellId>,
        cells: &mut Cells,
    ) -> CellId {
        let (page, offset) = self.page_of(var);
        page.settled |= 1 << offset;
        page.elements |= 1 << offset;
        let cell = page.cell(offset, cells);
        if let Some(history) = history {
            cells.fill(history, cell);
        }
        cell
    }

    /// Settles all variables of a page that are not, each an element with the history that it has so far. Returns how many.
    pub(super) fn settle_page(
        &mut self,
        number: usize,
        history: impl Fn(u64) -> Option<CellId>,
        cells: &mut Cells,
    ) -> u64 {
        let (page, _) = self.page_of(VarId::from_index(number * PAGE));
        let first = page.cells_of_all(cells);
        let new = ALL & !page.settled;
        for offset in (0..PAGE as u64).filter(|offset| new >> offset & 1 == 1) {
            if let Some(history) = history(offset) {
                cells.fill(history, first.plus(offset));
            }
        }
        page.settled |= new;
        page.elements |= new;
        u64::from(new.count_ones())
    }

    #[inline]
    fn page_of(&mut self, var: VarId) -> (&mut OwnPage, u64) {
        let (number, offset) = place(var);
        let position = match self.positions[number] {
            0 => self.add_page(number),
            position => position,
        };
        (&mut self.pages[position as usize - 1], offset)
    }

    /// Adds a page and returns its position.
    #[cold]
    #[inline(never)]
    fn add_page(&mut self, number: usize) -> u32 {
        self.pages.push(OwnPage { cells: PageCells::Few(Box::default()), settled: 0, elements: 0 });
        self.positions[number] = self.pages.len() as u32;
        self.positions[number]
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let tables = self.positions.capacity() * size_of::<u32>();
        let beside: usize = self.pages.iter().map(|page| page.cells.heap_bytes()).sum();
        tables + self.pages.capacity() * size_of::<OwnPage>() + beside
    }
}
