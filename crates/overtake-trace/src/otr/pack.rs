//! Bit packing: numbers of `width` bits each, one after the other from the lowest bit of the first byte on.
//!
//! Eight numbers fill exactly `width` bytes, so unpacking works on groups of eight with all shifts known at compile
//! time, one function for each width.

/// Bytes that `count` numbers of `width` bits take.
pub(super) fn packed_bytes(count: usize, width: u32) -> usize {
    (count as u64 * u64::from(width)).div_ceil(8) as usize
}

/// Bits needed for numbers up to `largest`.
pub(super) fn width_of(largest: u32) -> u32 {
    u32::BITS - largest.leading_zeros()
}

/// Appends the numbers, each of which must fit `width` bits.
pub(super) fn pack(numbers: impl Iterator<Item = u32>, width: u32, out: &mut Vec<u8>) {
    if width == 0 {
        return;
    }
    let mut pending = 0_u64;
    let mut filled = 0;
    for number in numbers {
        debug_assert!(width_of(number) <= width);
        pending |= u64::from(number) << filled;
        filled += width;
        if filled >= 32 {
            out.extend_from_slice(&(pending as u32).to_le_bytes());
            pending >>= 32;
            filled -= 32;
        }
    }
    out.extend_from_slice(&pending.to_le_bytes()[..filled.div_ceil(8) as usize]);
}

/// Fills `out` with `base` plus the packed numbers, modulo 2^32.
///
/// `bytes` must be [`packed_bytes`] of `out` long and `width` at most 32.
pub(super) fn unpack(bytes: &[u8], width: u32, base: u32, out: &mut [u32]) {
    debug_assert_eq!(bytes.len(), packed_bytes(out.len(), width));
    UNPACKERS[width as usize](bytes, base, out);
}

/// Bytes that unpacking eight numbers may read: 32 for the widest numbers, and the rest of the last word.
const WINDOW: usize = 40;

fn unpack_width<const WIDTH: usize>(bytes: &[u8], base: u32, out: &mut [u32]) {
    let mut rest = bytes;
    for group in out.chunks_mut(8) {
        match (rest.first_chunk::<WINDOW>(), group.as_mut_array::<8>()) {
            (Some(window), Some(group)) => unpack_group::<WIDTH>(window, base, group),
            _ => unpack_last_groups::<WIDTH>(rest, base, group),
        }
        rest = rest.get(WIDTH..).unwrap_or(&[]);
    }
}

/// Unpacks the groups that are so near to the end that a window would reach past it.
#[inline(never)]
fn unpack_last_groups<const WIDTH: usize>(rest: &[u8], base: u32, group: &mut [u32]) {
    let mut window = [0; WINDOW];
    let available = rest.len().min(WINDOW);
    window[..available].copy_from_slice(&rest[..available]);
    let mut whole = [0; 8];
    unpack_group::<WIDTH>(&window, base, &mut whole);
    group.copy_from_slice(&whole[..group.len()]);
}

#[inline(always)]
fn unpack_group<const WIDTH: usize>(window: &[u8; WINDOW], base: u32, group: &mut [u32; 8]) {
    let mask = ((1_u64 << WIDTH) - 1) as u32;
    for (position, number) in group.iter_mut().enumerate() {
        let bit = position * WIDTH;
        let word = &window[bit / 8..bit / 8 + 8];
        let word = u64::from_le_bytes(*word.first_chunk().expect("eight bytes"));
        *number = base.wrapping_add((word >> (bit % 8)) as u32 & mask);
    }
}

type Unpacker = fn(&[u8], u32, &mut [u32]);

macro_rules! unpackers {
    ($($width:literal)*) => { [$(unpack_width::<$width>),*] };
}

const UNPACKERS: [Unpacker; 33] = unpackers!(
    0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unpacking_returns_what_was_packed_at_every_width_and_length() {
        let mut seed = 1_u64;
        for width in 0..=32 {
            for count in (0..70).chain([1000]) {
                let numbers: Vec<u32> = (0..count)
                    .map(|_| {
                        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                        ((seed >> 32) as u32) & ((1_u64 << width) - 1) as u32
                    })
                    .collect();
                let mut bytes = Vec::new();
                pack(numbers.iter().copied(), width, &mut bytes);
                assert_eq!(bytes.len(), packed_bytes(count, width));
                let mut unpacked = vec![0; count];
                unpack(&bytes, width, 0, &mut unpacked);
                assert_eq!(unpacked, numbers, "width {width}, count {count}");
            }
        }
    }
}
