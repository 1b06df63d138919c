//! Variables: named locations, array elements, and whole heap blocks.

use rustc_hash::FxHashMap;

use crate::error::{Error, ErrorKind, Position, Result};
use crate::id::{ArrayId, Id, VarId};

use super::common::Common;
use super::names::Names;
use super::numbers::Numbers;

/// What a [`VarId`] stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Variable<'a> {
    /// A named location: `V12`, `16e92358.199`.
    Named(&'a [u8]),
    /// An element of an array or of a heap block: `A3[17]`.
    Element {
        /// The array.
        array: ArrayId,
        /// The element's index.
        index: u64,
    },
    /// A whole heap block, the operand of `alloc` and `free`.
    Block(ArrayId),
}

/// What is known of an array besides its name.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct ArrayFacts {
    /// Number of elements, where the input says it (`alloc(A3[4096])`).
    pub length: Option<u64>,
    /// The variable that stands for the whole block, if the array is the operand of an `alloc` or `free`.
    pub block: Option<VarId>,
}

/// The table of variables. An array element is stored as array and index.
#[derive(Clone, Default, Debug)]
pub struct Variables {
    /// The [`Owner`] of each variable. The event loop needs the array of every access, and nothing else, so that arrays have a table of their own.
    owners: Numbers,
    /// The index of an element; the number of a scalar.
    details: Numbers,
    scalars: Names<ScalarId>,
    scalar_vars: Vec<VarId>,
    arrays: Names<ArrayId>,
    /// By array: the number of elements, where it is known.
    lengths: Common<ArrayId, Option<u64>>,
    /// By array: the variable that stands for the whole block, or [`NO_BLOCK`].
    blocks: Numbers,
    /// The elements among the first `indexed` variables, by array and index. The others are added before the next look-up.
    elements: FxHashMap<(ArrayId, u64), VarId>,
    indexed: usize,
}

/// In the table of blocks: the array is none.
const NO_BLOCK: u64 = u64::MAX;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct ScalarId(u32);

impl Id for ScalarId {
    fn from_index(index: usize) -> Self {
        ScalarId(index as u32)
    }
    fn index(self) -> usize {
        self.0 as usize
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Shape {
    Named(ScalarId),
    Element(ArrayId, u64),
    Block(ArrayId),
}

/// Which array a variable belongs to, and as what: 0 for a named location, an odd number for an element, an even one for a block. Blocks that are
/// allocated one after the other have owners close to each other, and so have their elements: that takes little room in [`Numbers`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Owner(u64);

impl Owner {
    const NAMED: Owner = Owner(0);

    fn of_element(array: ArrayId) -> Owner {
        Owner(2 * u64::from(array.0) + 1)
    }

    fn of_block(array: ArrayId) -> Owner {
        Owner(2 * u64::from(array.0) + 2)
    }

    /// The array whose element it is.
    #[inline]
    fn array(self) -> Option<ArrayId> {
        (self.0 % 2 == 1).then_some(ArrayId((self.0 / 2) as u32))
    }
}

/// There are fewer arrays than this.
const MOST_ARRAYS: u32 = u32::MAX - 1;

impl PartialEq for Variables {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len()
            && self.arrays == other.arrays
            && (0..self.arrays.len())
                .map(ArrayId::from_index)
                .all(|array| self.array_facts(array) == other.array_facts(array))
            && (0..self.len()).all(|at| self.get(VarId::from_index(at)) == other.get(VarId::from_index(at)))
    }
}

impl Eq for Variables {}

impl Variables {
    /// The variable written `name` in a text trace: an element if the name ends in `[index]`, else a named location.
    ///
    /// An index is a decimal number without leading zeros that fits 64 bits; anything else (`a[i]`, `a[007]`,
    /// `[3]`) is part of a plain name, so that every name can be written back as it was.
    #[inline]
    pub fn intern(&mut self, name: &[u8]) -> Result<VarId> {
        match split_element(name) {
            Some((array, index)) => {
                let array = self.intern_array(array)?;
                self.intern_element(array, index)
            }
            None => self.intern_scalar(name),
        }
    }

    fn intern_scalar(&mut self, name: &[u8]) -> Result<VarId> {
        let scalar = self.scalars.intern(name)?;
        if let Some(&var) = self.scalar_vars.get(scalar.index()) {
            return Ok(var);
        }
        let var = self.push(Shape::Named(scalar))?;
        self.scalar_vars.push(var);
        Ok(var)
    }

    /// Whether there is a named location called `name`.
    pub(crate) fn has_named(&mut self, name: &[u8]) -> bool {
        self.scalars.find(name).is_some()
    }

    /// The array called `name`.
    #[inline]
    pub fn intern_array(&mut self, name: &[u8]) -> Result<ArrayId> {
        let array = self.arrays.intern(name)?;
        if array.0 >= MOST_ARRAYS {
            return Err(Error::new(ErrorKind::TooLarge, Position::Nowhere, "more than 4294967294 arrays"));
        }
        Ok(array)
    }

    /// Element `index` of `array`.
    #[inline]
    pub fn intern_element(&mut self, array: ArrayId, index: u64) -> Result<VarId> {
        self.index_elements();
        if let Some(&var) = self.elements.get(&(array, index)) {
            return Ok(var);
        }
        let var = self.push(Shape::Element(array, index))?;
        self.elements.insert((array, index), var);
        self.indexed = self.details.len();
        Ok(var)
    }

    /// Appends an element, without a check that it is new. For sealing, which makes each element once.
    pub fn push_element(&mut self, array: ArrayId, index: u64) -> Result<VarId> {
        self.push(Shape::Element(array, index))
    }

    /// The variable that stands for the whole of `array`: the operand of `alloc` and `free`.
    pub fn intern_block(&mut self, array: ArrayId) -> Result<VarId> {
        if let Some(block) = self.block_of(array) {
            return Ok(block);
        }
        let block = self.push(Shape::Block(array))?;
        self.set_block(array, block);
        Ok(block)
    }

    /// The variable that stands for the whole of `array`, if there is one.
    #[inline]
    pub fn block_of(&self, array: ArrayId) -> Option<VarId> {
        let at = array.index();
        let block = if at < self.blocks.len() { self.blocks.get(at) } else { NO_BLOCK };
        (block != NO_BLOCK).then_some(VarId(block as u32))
    }

    fn set_block(&mut self, array: ArrayId, block: VarId) {
        self.blocks.set(array.index(), u64::from(block.0), NO_BLOCK);
    }

    /// A new array without elements, whose name is derived from that of `array`: for a block that reuses an old block's name.
    pub fn fresh_array(&mut self, array: ArrayId) -> Result<ArrayId> {
        let base = self.arrays.name(array).to_vec();
        let fresh = self.arrays.intern_fresh(&base)?;
        self.lengths.set(fresh, self.array_facts(array).length);
        Ok(fresh)
    }

    /// Notes the number of elements of `array`; the largest number given counts.
    pub fn set_length(&mut self, array: ArrayId, length: u64) {
        let known = self.array_facts(array).length.unwrap_or(0);
        self.lengths.set(array, Some(known.max(length)));
    }

    /// What `var` stands for.
    ///
    /// # Panics
    /// If the id is not of this table.
    #[inline]
    pub fn get(&self, var: VarId) -> Variable<'_> {
        match self.shape(var) {
            Shape::Named(scalar) => Variable::Named(self.scalars.name(scalar)),
            Shape::Element(array, index) => Variable::Element { array, index },
            Shape::Block(array) => Variable::Block(array),
        }
    }

    /// The array that `var` is an element of.
    ///
    /// # Panics
    /// If the id is not of this table.
    #[inline]
    pub fn array_of(&self, var: VarId) -> Option<ArrayId> {
        self.owner(var).array()
    }

    /// How many of the `count` variables from `first` on are elements of one array, or else are no elements.
    pub fn alike(&self, first: VarId, count: usize) -> usize {
        let array = self.array_of(first);
        let others = (first.index()..first.index() + count).map(VarId::from_index);
        others.take_while(|&var| self.array_of(var) == array).count()
    }

    #[inline]
    fn owner(&self, var: VarId) -> Owner {
        Owner(self.owners.get(var.index()))
    }

    #[inline]
    fn shape(&self, var: VarId) -> Shape {
        let (owner, detail) = (self.owner(var), self.details.get(var.index()));
        match owner.array() {
            Some(array) => Shape::Element(array, detail),
            None if owner == Owner::NAMED => Shape::Named(ScalarId(detail as u32)),
            None => Shape::Block(ArrayId((owner.0 / 2 - 1) as u32)),
        }
    }

    /// The name of an array.
    pub fn array_name(&self, array: ArrayId) -> &[u8] {
        self.arrays.name(array)
    }

    /// What is known of an array.
    pub fn array_facts(&self, array: ArrayId) -> ArrayFacts {
        ArrayFacts { length: self.lengths.get(array).copied().flatten(), block: self.block_of(array) }
    }

    /// The number of arrays.
    pub fn array_count(&self) -> usize {
        self.arrays.len()
    }

    /// The variable as text traces write it: `V12`, `A3[17]`, or the block's name with its length, `A3[4096]`.
    pub fn write_name(&self, var: VarId, out: &mut Vec<u8>) {
        match self.shape(var) {
            Shape::Named(scalar) => out.extend_from_slice(self.scalars.name(scalar)),
            Shape::Element(array, index) => {
                out.extend_from_slice(self.arrays.name(array));
                out.extend_from_slice(format!("[{index}]").as_bytes());
            }
            Shape::Block(array) => out.extend_from_slice(self.arrays.name(array)),
        }
    }

    /// The variable as text, with anything that is not UTF-8 replaced.
    pub fn display(&self, var: VarId) -> String {
        let mut name = Vec::new();
        self.write_name(var, &mut name);
        String::from_utf8_lossy(&name).into_owned()
    }

    /// The number of variables, block variables included.
    #[inline]
    pub fn len(&self) -> usize {
        self.details.len()
    }

    /// Whether there are no variables.
    pub fn is_empty(&self) -> bool {
        self.details.len() == 0
    }

    /// The number of block variables.
    pub fn block_count(&self) -> usize {
        self.blocks.iter().filter(|&block| block != NO_BLOCK).count()
    }

    /// Appends a named location from a file, without a check that it is new.
    pub(crate) fn push_scalar_unindexed(&mut self, name: &[u8]) {
        self.scalars.push_unindexed(name);
        let var = self.push_unchecked(Shape::Named(ScalarId::from_index(self.scalars.len() - 1)));
        self.scalar_vars.push(var);
    }

    /// Appends an element from a file; the array must be there.
    pub(crate) fn push_element_unindexed(&mut self, array: ArrayId, index: u64) {
        self.push_unchecked(Shape::Element(array, index));
    }

    /// Appends a block variable from a file; the array must be there.
    pub(crate) fn push_block_unindexed(&mut self, array: ArrayId) {
        let block = self.push_unchecked(Shape::Block(array));
        self.set_block(array, block);
    }

    /// Appends an array from a file, without a check that it is new.
    pub(crate) fn push_array_unindexed(&mut self, name: &[u8], length: Option<u64>) {
        self.arrays.push_unindexed(name);
        self.lengths.set(ArrayId::from_index(self.arrays.len() - 1), length);
    }

    fn index_elements(&mut self) {
        if self.indexed == self.details.len() {
            return;
        }
        for at in self.indexed..self.details.len() {
            let var = VarId::from_index(at);
            if let Shape::Element(array, index) = self.shape(var) {
                self.elements.entry((array, index)).or_insert(var);
            }
        }
        self.indexed = self.details.len();
    }

    fn push(&mut self, shape: Shape) -> Result<VarId> {
        if self.details.len() >= u32::MAX as usize {
            return Err(Error::new(ErrorKind::TooLarge, Position::Nowhere, "more than 4294967295 variables"));
        }
        Ok(self.push_unchecked(shape))
    }

    fn push_unchecked(&mut self, shape: Shape) -> VarId {
        let (owner, detail) = match shape {
            Shape::Named(scalar) => (Owner::NAMED, u64::from(scalar.0)),
            Shape::Element(array, index) => (Owner::of_element(array), index),
            Shape::Block(array) => (Owner::of_block(array), 0),
        };
        self.owners.push(owner.0);
        self.details.push(detail);
        VarId::from_index(self.details.len() - 1)
    }
}

/// Splits `A3[17]` into `A3` and 17. None for a name of any other form.
#[inline]
pub(crate) fn split_element(name: &[u8]) -> Option<(&[u8], u64)> {
    let inner = name.strip_suffix(b"]")?;
    let open = memchr::memrchr(b'[', inner)?;
    let index = canonical_number(&inner[open + 1..])?;
    (open > 0).then_some((&inner[..open], index))
}

/// A decimal number as it would be printed: digits only, no leading zero, within 64 bits.
pub(crate) fn canonical_number(digits: &[u8]) -> Option<u64> {
    match digits {
        [] | [b'0', _, ..] => None,
        _ => digits.iter().try_fold(0_u64, |number, digit| {
            let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
            number.checked_mul(10)?.checked_add(digit)
        }),
    }
}
