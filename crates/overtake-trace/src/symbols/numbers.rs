//! A number for each variable, in little room: neighbours are elements of one array, with indices at equal distances if a loop accesses them first.
//!
//! Numbers stand in pages of [`PAGE`]. A page of numbers at equal distances has the first one and the distance, any other page has all of its numbers, in
//! four bytes each as long as they fit.

use crate::id::{Id, VarId};

const PAGE: usize = 64;

/// Numbers by variable.
#[derive(Clone, Default, Debug)]
pub(super) struct Numbers {
    pages: Vec<Page>,
    len: usize,
}

#[derive(Clone, Debug)]
enum Page {
    Even { first: u64, step: u64 },
    Small(Box<[u32; PAGE]>),
    Large(Box<[u64; PAGE]>),
}

impl Page {
    #[inline]
    fn get(&self, place: usize) -> u64 {
        match self {
            Page::Even { first, step } => first.wrapping_add(step.wrapping_mul(place as u64)),
            Page::Small(numbers) => u64::from(numbers[place]),
            Page::Large(numbers) => numbers[place],
        }
    }

    /// Puts a number behind the `place` numbers of the page.
    fn push(&mut self, place: usize, number: u64) {
        if let (Page::Even { first, step }, 1) = (&mut *self, place) {
            *step = number.wrapping_sub(*first);
        }
        if let Page::Small(numbers) = self
            && let Ok(small) = u32::try_from(number)
        {
            numbers[place] = small;
        } else if let Page::Large(numbers) = self {
            numbers[place] = number;
        } else if self.get(place) != number {
            self.spread(place);
            self.push(place, number);
        }
    }

    /// Keeps each of the `count` numbers apart, in the least room that is more than it takes now.
    fn spread(&mut self, count: usize) {
        let numbers = |at| if at < count { self.get(at) } else { 0 };
        let all: [u64; PAGE] = std::array::from_fn(numbers);
        let are_small = all.iter().all(|number| u32::try_from(*number).is_ok());
        *self = match self {
            Page::Even { .. } if are_small => Page::Small(Box::new(all.map(|number| number as u32))),
            _ => Page::Large(Box::new(all)),
        };
    }
}

impl Numbers {
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The number of a variable.
    #[inline]
    pub(super) fn get(&self, var: VarId) -> u64 {
        self.pages[var.index() / PAGE].get(var.index() % PAGE)
    }

    /// Gives the next variable its number.
    #[inline]
    pub(super) fn push(&mut self, number: u64) -> VarId {
        let (page, place) = (self.len / PAGE, self.len % PAGE);
        match self.pages.get_mut(page) {
            Some(page) => page.push(place, number),
            None => self.pages.push(Page::Even { first: number, step: 0 }),
        }
        self.len += 1;
        VarId::from_index(self.len - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_comes_back_however_it_is_kept() {
        let sweep = (0..200).map(|at| 40 + 4 * at);
        let backwards = (0..100).map(|at| u64::MAX - 7 * at);
        let alternating = (0..100).map(|at| if at % 2 == 0 { at } else { 0 });
        let growing = (0..100).map(|at| (at * at) << (at / 3));
        let one_large = (0..70).map(|at| if at == 40 { 1 << 32 } else { at * at });
        let numbers: Vec<u64> =
            sweep.chain(backwards).chain(alternating).chain(growing).chain(one_large).collect();
        for start in 0..numbers.len() {
            let mut table = Numbers::default();
            for (at, &number) in numbers[start..].iter().enumerate() {
                assert_eq!(table.push(number), VarId::from_index(at));
                assert_eq!(table.get(VarId::from_index(at)), number);
            }
            let kept = (0..table.len()).map(|at| table.get(VarId::from_index(at)));
            assert!(kept.eq(numbers[start..].iter().copied()), "from {start} on");
        }
    }

    #[test]
    fn a_sweep_takes_no_room_for_each_of_its_variables() {
        let mut table = Numbers::default();
        (0..6_400).for_each(|at| _ = table.push(8 * at));
        assert_eq!(table.pages.len(), 100);
        assert!(table.pages.iter().all(|page| matches!(page, Page::Even { first: _, step: 8 })));
    }
}
