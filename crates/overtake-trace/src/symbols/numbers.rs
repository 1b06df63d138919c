//! Long lists of numbers in little room, where neighbours often are at equal distances: the elements of an array, if a loop accesses them first; names
//! of equal length; what many blocks have in common.
//!
//! Numbers stand in pages of [`PAGE`]. A page of numbers at equal distances has the first one and the distance. Any other page has all of its numbers:
//! in a byte each as long as they are close to each other, else in four bytes each as long as they fit.

const PAGE: usize = 64;

/// A list of numbers.
#[derive(Clone, Default, Debug)]
pub(crate) struct Numbers {
    pages: Vec<Page>,
    len: usize,
}

#[derive(Clone, Debug)]
enum Page {
    Even {
        first: u64,
        step: u64,
    },
    /// How far each is above the least.
    Close {
        least: u64,
        above: Box<[u8; PAGE]>,
    },
    Small(Box<[u32; PAGE]>),
    Large(Box<[u64; PAGE]>),
}

const _: () = assert!(size_of::<Page>() == 24);

impl Page {
    #[inline]
    fn get(&self, place: usize) -> u64 {
        match self {
            Page::Even { first, step } => first.wrapping_add(step.wrapping_mul(place as u64)),
            Page::Close { least, above } => least + u64::from(above[place]),
            Page::Small(numbers) => u64::from(numbers[place]),
            Page::Large(numbers) => numbers[place],
        }
    }

    /// Sets a number of a page that has `count` numbers then. It may be the one behind those that the page has.
    fn set(&mut self, place: usize, count: usize, number: u64) {
        let is_kept = match self {
            Page::Even { first, step } if count == 2 && place == 1 => {
                *step = number.wrapping_sub(*first);
                true
            }
            Page::Even { .. } => self.get(place) == number,
            Page::Close { least, above } => {
                let distance = number.checked_sub(*least).and_then(|distance| u8::try_from(distance).ok());
                distance.map(|distance| above[place] = distance).is_some()
            }
            Page::Small(numbers) => u32::try_from(number).map(|number| numbers[place] = number).is_ok(),
            Page::Large(numbers) => {
                numbers[place] = number;
                true
            }
        };
        if !is_kept {
            *self = self.spread(place, count, number);
        }
    }

    /// The page with one of its `count` numbers set, each of them kept apart in the least room.
    #[cold]
    fn spread(&self, changed: usize, count: usize, number: u64) -> Page {
        let numbers = |at| if at == changed { number } else { self.get(at) };
        let least = (0..count).map(numbers).min().unwrap_or_default();
        let most = (0..count).map(numbers).max().unwrap_or_default();
        let all: [u64; PAGE] = std::array::from_fn(|at| if at < count { numbers(at) } else { least });
        if most - least <= u64::from(u8::MAX) {
            Page::Close { least, above: Box::new(all.map(|number| (number - least) as u8)) }
        } else if u32::try_from(most).is_ok() {
            Page::Small(Box::new(all.map(|number| number as u32)))
        } else {
            Page::Large(Box::new(all))
        }
    }
}

impl Numbers {
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The number at a place.
    #[inline]
    pub(crate) fn get(&self, at: usize) -> u64 {
        self.pages[at / PAGE].get(at % PAGE)
    }

    /// Appends a number.
    #[inline]
    pub(crate) fn push(&mut self, number: u64) {
        let (page, place) = (self.len / PAGE, self.len % PAGE);
        match self.pages.get_mut(page) {
            Some(page) => page.set(place, place + 1, number),
            None => self.pages.push(Page::Even { first: number, step: 0 }),
        }
        self.len += 1;
    }

    /// Sets the number at a place. Where the list did not reach that far, it gets the number `between` for the places in between.
    pub(crate) fn set(&mut self, at: usize, number: u64, between: u64) {
        if let Some(page) = self.pages.get_mut(at / PAGE).filter(|_| at < self.len) {
            return page.set(at % PAGE, PAGE.min(self.len - at / PAGE * PAGE), number);
        }
        while self.len < at {
            self.push(between);
        }
        self.push(number);
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = u64> {
        (0..self.len).map(|at| self.get(at))
    }
}

impl PartialEq for Numbers {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
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
                table.push(number);
                assert_eq!((table.len(), table.get(at)), (at + 1, number));
            }
            assert!(table.iter().eq(numbers[start..].iter().copied()), "from {start} on");
        }
    }

    #[test]
    fn numbers_can_be_set_in_any_order() {
        let mut random = 1_u64;
        let mut next = |bound: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 33) % bound
        };
        for bound in [2, 3, 1 << 20, u64::MAX] {
            let (mut table, mut plain) = (Numbers::default(), Vec::new());
            for _ in 0..2_000 {
                let (at, number) = (next(plain.len() as u64 + 5) as usize, next(7).wrapping_mul(bound / 2));
                if at >= plain.len() {
                    plain.resize(at + 1, 9);
                }
                plain[at] = number;
                table.set(at, number, 9);
            }
            assert!(table.iter().eq(plain.iter().copied()), "numbers around {bound}");
        }
    }

    #[test]
    fn numbers_close_to_each_other_take_a_byte() {
        let mut table = Numbers::default();
        (0..6_400).for_each(|at| table.push(1_000 + 3 * at + at % 2));
        assert!(table.pages.iter().all(|page| matches!(page, Page::Close { .. })));
        table.set(70, 900, 0);
        table.set(200, 1 << 40, 0);
        assert_eq!([69, 70, 71, 200, 201].map(|at| table.get(at)), [1_208, 900, 1_214, 1 << 40, 1_604]);
    }

    #[test]
    fn a_sweep_takes_no_room_for_each_of_its_variables() {
        let mut table = Numbers::default();
        (0..6_400).for_each(|at| table.push(8 * at));
        assert_eq!(table.pages.len(), 100);
        assert!(table.pages.iter().all(|page| matches!(page, Page::Even { first: _, step: 8 })));
    }
}
