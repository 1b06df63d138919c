//! Finds the state of a variable: it is in a cell of its own, in a footprint (accesses of a thread that are not judged yet), or in a cell that elements
//! share.

use overtake_trace::{ArrayId, Id, ThreadId, VarId, Variable, Variables};

use super::cells::CellId;
use super::limits::Room;
use super::own::PAGE;
use super::pages::{PageContent, Row, VarPage, distance_after, page_variables};
use super::shadow::Shadow;
use super::{ArrayKind, HUGE, SlimState};
use crate::access::{AccessKind, At};
use crate::visitor::Touch;

/// Most bytes of an element of recorded memory.
const BYTES: u64 = 8;

/// Where the state is that an access changes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Located {
    /// A footprint, which has taken it: nothing more is to be done.
    Collected,
    /// A cell that no other variable shares.
    Cell(CellId),
    /// An element that shares its cell with others, or may do so again.
    Shared(Element),
}

/// An element of an array with a shadow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Element {
    pub(super) shadow: u32,
    pub(super) index: u64,
}

impl SlimState {
    /// Finds the state that an access changes.
    #[inline(always)]
    pub(super) fn locate(
        &mut self,
        thread: ThreadId,
        var: VarId,
        kind: AccessKind,
        variables: &Variables,
    ) -> Located {
        match self.pages[var.index() / PAGE].content() {
            PageContent::Cells(first) => Located::Cell(first.plus((var.index() % PAGE) as u64)),
            PageContent::Elements(row) => {
                if !kind.is_atomic() && self.pending[thread].follow(var, kind.writes(), Some(row)) {
                    return Located::Collected;
                }
                let row = &self.rows[row as usize];
                self.locate_element(var, Element { shadow: row.shadow, index: row.index_of(var) })
            }
            PageContent::Anything => match self.reports.own.cell(var) {
                Some(cell) => Located::Cell(cell),
                None if !kind.is_atomic() && self.pending[thread].follow(var, kind.writes(), None) => {
                    Located::Collected
                }
                None => self.look_up(var, variables),
            },
        }
    }

    /// Adds accesses of a sweep to the footprint of its thread, from this one on, as far as they are its next steps. Returns how many.
    pub(super) fn follow_sweep(&mut self, thread: ThreadId, first: Touch<'_>, count: u32) -> u32 {
        let mut done = 0;
        while done < count {
            let var = VarId(first.var.0 + done);
            let page = var.index() / PAGE;
            match self.pages[page].content() {
                PageContent::Elements(_) => {}
                PageContent::Anything if !self.reports.own.has_page(page) => {}
                PageContent::Cells(_) | PageContent::Anything => break,
            }
            let in_page = count.min(done + (PAGE - var.index() % PAGE) as u32) - done;
            let taken = self.pending[thread].follow_sweep(var, in_page, first.kind.writes());
            done += taken;
            if taken < in_page {
                break;
            }
        }
        done
    }

    /// Takes accesses of a sweep to variables with cells of their own, from this one on, as long as there is nothing to judge. Returns how many.
    pub(super) fn sweep_own(&mut self, at: At, first: Touch<'_>, count: u32) -> u32 {
        let clock = self.clocks.thread(at.thread);
        let mut done = 0;
        while done < count {
            let before = done;
            let cells = self.reports.own.settled_from(VarId(first.var.0 + done));
            for cell in cells.take((count - done) as usize) {
                if !self.cells.take_ordered(cell, clock, at.later(done), first.kind) {
                    return done;
                }
                done += 1;
            }
            if done == before {
                return done;
            }
        }
        done
    }

    /// Finds the state of a variable whose page is not all of one kind, or has not been looked at.
    #[inline(never)]
    fn look_up(&mut self, var: VarId, variables: &Variables) -> Located {
        if let Variable::Element { array, index } = variables.get(var)
            && let Some(shadow) = self.shadow_of(array, index, var, variables)
        {
            self.survey(var, shadow, variables);
            return self.locate_element(var, Element { shadow, index });
        }
        Located::Cell(self.own_cell(var, variables))
    }

    /// An element of an array with a shadow.
    #[inline]
    fn locate_element(&mut self, var: VarId, element: Element) -> Located {
        if self.shadows[element.shadow as usize].has_alone()
            && let Some(cell) = self.locate_divided(var, element)
        {
            return Located::Cell(cell);
        }
        Located::Shared(element)
    }

    /// The cell of an element of an array of which some elements stand alone, if it is one of them.
    fn locate_divided(&mut self, var: VarId, Element { shadow, index }: Element) -> Option<CellId> {
        let segment = self.shadows[shadow as usize].segment(index, &mut self.cells);
        let alone = segment.alone();
        if !alone.contains(&index) {
            return None;
        }
        let mut room = Room { cells: &mut self.cells, own: &mut self.reports.own, limits: self.limits };
        let (page, offset) = (var.index() / PAGE, (var.index() % PAGE) as u64);
        // If a page has only elements, in order, that all stand alone, they are settled together.
        if let Some(row) = self.pages[page].row()
            && let Row { distance, .. } = self.rows[row as usize]
            && let Some(first) = index.checked_sub(offset * distance)
            && first >= alone.start
            && first + (PAGE as u64 - 1) * distance < alone.end
        {
            segment.settle_page((first, distance), page, &mut room);
        }
        let cell = segment.settle(index, var, &mut room);
        self.promote(page);
        Some(cell)
    }

    /// Takes note of a page whose variables all have cells of their own (I1).
    fn promote(&mut self, page: usize) {
        if let Some(first) = self.reports.own.first_of_settled(page) {
            self.pages[page] = VarPage::cells(first);
        }
    }

    /// The shadow of an element, if it is not a variable like any other.
    #[inline]
    fn shadow_of(&mut self, array: ArrayId, index: u64, var: VarId, variables: &Variables) -> Option<u32> {
        let shadow = match self.arrays.get(array) {
            Some(&ArrayKind::Shadowed(shadow)) => shadow,
            Some(ArrayKind::Small) => return None,
            _ => self.meet_array(array, index, var, variables)?,
        };
        (!self.shadows[shadow as usize].is_own(index) && index < HUGE).then_some(shadow)
    }

    /// Decides how an array is treated, once and for all: its length may become known later, or grow.
    #[cold]
    fn meet_array(&mut self, array: ArrayId, index: u64, var: VarId, variables: &Variables) -> Option<u32> {
        let length = variables.array_facts(array).length;
        let distance = distance_after(array, var, index, variables).unwrap_or(1);
        self.named.count(variables);
        let small = self.limits.small;
        // In recorded memory lengths are bytes: a structure with three words has no more than three elements.
        let has_few = |length: u64| length / BYTES < small && self.named.of(array) < small;
        let kind = match length {
            Some(length) if length / distance < small || has_few(length) => ArrayKind::Small,
            _ if self.shadows.len() as u32 == VarPage::ELEMENTS - 1 => ArrayKind::Small,
            _ => {
                let length = length.map(|length| length.min(HUGE));
                if self.shadows.len() == self.shadows.capacity() {
                    self.shadows.reserve_exact(4 + self.shadows.len() / 8); // doubling would take more than short arrays save
                }
                self.shadows.push(Shadow::new(array, length, self.limits));
                ArrayKind::Shadowed(self.shadows.len() as u32 - 1)
            }
        };
        *self.arrays.entry(array) = kind;
        match kind {
            ArrayKind::Shadowed(shadow) => Some(shadow),
            _ => None,
        }
    }

    /// The cell of a variable that shares it with none. Others of its page that surely do not either get theirs as well.
    fn own_cell(&mut self, var: VarId, variables: &Variables) -> CellId {
        let page = var.index() / PAGE;
        if !self.reports.own.has_page(page) {
            for var in page_variables(page, variables).into_iter().flatten() {
                if self.is_own(var, variables) {
                    self.reports.own.settle_variable(var, &mut self.cells);
                }
            }
        }
        let cell = self.reports.own.settle_variable(var, &mut self.cells);
        self.promote(page);
        cell
    }

    /// Whether a variable is surely none that shares its cell.
    fn is_own(&self, var: VarId, variables: &Variables) -> bool {
        let Variable::Element { array, index } = variables.get(var) else { return true };
        match self.arrays.get(array) {
            Some(ArrayKind::Small) => true,
            Some(&ArrayKind::Shadowed(shadow)) => self.shadows[shadow as usize].is_own(index),
            _ => false,
        }
    }

    /// Looks at the page of an element for the first time: are its variables elements of one array, in order?
    fn survey(&mut self, var: VarId, shadow: u32, variables: &Variables) {
        let page = var.index() / PAGE;
        if self.pages[page] != VarPage::UNKNOWN || (page + 1) * PAGE > variables.len() {
            return;
        }
        let before = page.checked_sub(1).and_then(|before| self.pages[before].row());
        let known = [before, self.shadows[shadow as usize].latest_row].into_iter().flatten();
        let fitting =
            known.into_iter().find(|&row| self.is_in_row(page, &self.rows[row as usize], shadow, variables));
        let row = fitting.or_else(|| self.begin_row(page, shadow, variables));
        self.pages[page] = match row {
            Some(row) => {
                self.rows[row as usize].add(page);
                self.shadows[shadow as usize].latest_row = Some(row);
                VarPage::elements(row)
            }
            None => VarPage::MIXED,
        };
    }

    /// Begins a row with a page, if its variables are in order.
    fn begin_row(&mut self, page: usize, shadow: u32, variables: &Variables) -> Option<u32> {
        let row = Row::new(shadow, self.shadows[shadow as usize].array, page, variables)?;
        let may_begin = self.rows.len() < (VarPage::ELEMENTS - 1) as usize;
        (may_begin && self.is_in_row(page, &row, shadow, variables)).then(|| {
            self.rows.push(row);
            self.rows.len() as u32 - 1
        })
    }

    /// Whether all variables of a page are in a row of an array.
    fn is_in_row(&self, page: usize, row: &Row, shadow: u32, variables: &Variables) -> bool {
        let entry = &self.shadows[shadow as usize];
        let is_in_row = |var| {
            let (array, index) = (entry.array, row.index_of(var));
            index < HUGE && !entry.is_own(index) && variables.get(var) == Variable::Element { array, index }
        };
        row.shadow == shadow && page_variables(page, variables).is_some_and(|mut page| page.all(is_in_row))
    }
}
