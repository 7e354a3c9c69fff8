//! Compresses the rows of a picture of flat colours (RFC 1950 and 1951).
//!
//! In a chart, most pixels are as the one before them or as the one above. So only these two places are tried for a
//! repetition, which needs no search: a general compressor spends most of its time on that. Codes are made for the
//! picture at hand, in one block.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Bytes of a repetition.
const LENGTHS: std::ops::RangeInclusive<usize> = 3..=258;
/// The farthest repetition.
const REACH: usize = 32_768;
/// The symbol that ends the block.
const END: usize = 256;
/// Symbols of bytes, the end and lengths; and of distances.
const SYMBOLS: [usize; 2] = [286, 30];
/// Longest code in bits.
const LONGEST: u32 = 15;

/// A byte, or a repetition with its length and the place of its distance in the list of distances.
#[derive(Clone, Copy)]
enum Token {
    Byte(u8),
    Repetition(u16, u8),
}

/// Bytes with the bits of codes, lowest bit first.
#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    pending: u64,
    count: u32,
}

/// The code of each symbol: its bits, the first one lowest, and their number, which is 0 for unused symbols.
type Codes = Vec<(u32, u32)>;

/// `data` as a zlib stream; `distances` are those at which bytes often repeat.
pub(super) fn compressed(data: &[u8], distances: [usize; 2]) -> Vec<u8> {
    let tokens = tokens(data, distances);
    let mut counts = SYMBOLS.map(|symbols| vec![0_u64; symbols]);
    counts[0][END] = 1;
    for token in &tokens {
        match *token {
            Token::Byte(byte) => counts[0][usize::from(byte)] += 1,
            Token::Repetition(length, at) => {
                counts[0][length_symbol(length.into()).0] += 1;
                counts[1][distance_symbol(distances[usize::from(at)]).0] += 1;
            }
        }
    }
    let [of_bytes, of_distances] = counts.map(|counts| codes(&code_lengths(counts)));
    let mut bits = Bits { bytes: vec![0x78, 0x01], ..Bits::default() };
    bits.head(&of_bytes, &of_distances);
    for token in tokens {
        match token {
            Token::Byte(byte) => bits.put(of_bytes[usize::from(byte)]),
            Token::Repetition(length, at) => {
                for ((symbol, extra), codes) in [
                    (length_symbol(length.into()), &of_bytes),
                    (distance_symbol(distances[usize::from(at)]), &of_distances),
                ] {
                    bits.put(codes[symbol]);
                    bits.put(extra);
                }
            }
        }
    }
    bits.put(of_bytes[END]);
    bits.finish(data)
}

/// The data as bytes and repetitions, each as long as it can be.
fn tokens(data: &[u8], distances: [usize; 2]) -> Vec<Token> {
    let (mut tokens, mut at) = (Vec::new(), 0);
    while at < data.len() {
        let (mut longest, mut place) = (0, 0);
        for (number, &distance) in (0..).zip(&distances) {
            if distance <= at.min(REACH) && longest < *LENGTHS.end() {
                let most = (data.len() - at).min(*LENGTHS.end());
                let length = common(&data[at - distance..][..most], &data[at..][..most]);
                if length > longest {
                    (longest, place) = (length, number);
                }
            }
        }
        if LENGTHS.contains(&longest) {
            tokens.push(Token::Repetition(longest as u16, place));
            at += longest;
        } else {
            tokens.push(Token::Byte(data[at]));
            at += 1;
        }
    }
    tokens
}

/// The number of bytes at the start that are equal.
fn common(one: &[u8], other: &[u8]) -> usize {
    const STEP: usize = 8;
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("a step's bytes"));
    let mut at = 0;
    for (a, b) in one.chunks_exact(STEP).zip(other.chunks_exact(STEP)) {
        let differing = word(a) ^ word(b);
        if differing != 0 {
            return at + (differing.trailing_zeros() / 8) as usize;
        }
        at += STEP;
    }
    at + one[at..].iter().zip(&other[at..]).take_while(|(a, b)| a == b).count()
}

/// The symbol of a length, with the value and the number of its extra bits.
fn length_symbol(length: usize) -> (usize, (u32, u32)) {
    if length == *LENGTHS.end() {
        return (285, (0, 0));
    }
    let (place, extra) = in_groups(length - LENGTHS.start(), 4);
    (257 + place, extra)
}

fn distance_symbol(distance: usize) -> (usize, (u32, u32)) {
    in_groups(distance - 1, 2)
}

/// Values are numbered in groups of `each` symbols: those of the first two groups are single values, and each further
/// group has twice as many for a symbol. Returns the symbol, and the value and the number of its extra bits.
fn in_groups(value: usize, each: usize) -> (usize, (u32, u32)) {
    if value < 2 * each {
        return (value, (0, 0));
    }
    let extra = value.ilog2() - each.ilog2();
    let place = extra as usize * each + (value >> extra);
    (place, ((value & ((1 << extra) - 1)) as u32, extra))
}

/// The length of each symbol's code: Huffman's, of counts that are levelled until no code is too long.
fn code_lengths(mut counts: Vec<u64>) -> Vec<u32> {
    // A decoder expects at least two codes of bytes; a single distance is as good as two.
    for symbol in 0..2 {
        if counts.iter().filter(|count| **count > 0).count() < 2 {
            counts[symbol] = counts[symbol].max(1);
        }
    }
    loop {
        let lengths = huffman(&counts);
        if lengths.iter().all(|length| *length <= LONGEST) {
            return lengths;
        }
        counts.iter_mut().filter(|count| **count > 0).for_each(|count| *count = *count / 4 + 1);
    }
}

fn huffman(counts: &[u64]) -> Vec<u32> {
    let mut lengths = vec![0; counts.len()];
    // Trees by their count, then by their age; each with its symbols.
    let used = (0..counts.len()).filter(|symbol| counts[*symbol] > 0);
    let mut trees: BinaryHeap<_> = used.map(|symbol| Reverse((counts[symbol], symbol, vec![symbol]))).collect();
    let mut age = counts.len();
    while let (Some(Reverse((one, _, mut symbols))), Some(Reverse((other, _, others)))) = (trees.pop(), trees.pop()) {
        symbols.extend(others);
        symbols.iter().for_each(|symbol| lengths[*symbol] += 1);
        trees.push(Reverse((one + other, age, symbols)));
        age += 1;
        if trees.len() == 1 {
            break;
        }
    }
    lengths
}

/// Codes of these lengths, in the order that the format fixes.
fn codes(lengths: &[u32]) -> Codes {
    let mut codes = vec![(0, 0); lengths.len()];
    let mut next = 0_u32;
    for length in 1..=LONGEST {
        next <<= 1;
        for (code, _) in codes.iter_mut().zip(lengths).filter(|(_, of)| **of == length) {
            *code = (next.reverse_bits() >> (32 - length), length);
            next += 1;
        }
    }
    codes
}

impl Bits {
    fn put(&mut self, (bits, count): (u32, u32)) {
        self.pending |= u64::from(bits) << self.count;
        self.count += count;
        if self.count >= 32 {
            self.bytes.extend((self.pending as u32).to_le_bytes());
            self.pending >>= 32;
            self.count -= 32;
        }
    }

    /// The head of the only block: the lengths of both codes, each as four bits.
    fn head(&mut self, of_bytes: &Codes, of_distances: &Codes) {
        /// The order in which the format lists the codes of code lengths.
        const ORDER: [u32; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
        // The last block, with codes of its own; then the numbers of codes.
        for (value, bits) in [(1, 1), (2, 2), (286 - 257, 5), (30 - 1, 5), (19 - 4, 4)] {
            self.put((value, bits));
        }
        ORDER.iter().for_each(|length| self.put((if *length < 16 { 4 } else { 0 }, 3)));
        for (_, length) in of_bytes.iter().chain(of_distances) {
            self.put((length.reverse_bits() >> 28, 4));
        }
    }

    fn finish(mut self, data: &[u8]) -> Vec<u8> {
        let bytes = self.count.div_ceil(8) as usize;
        self.bytes.extend(&self.pending.to_le_bytes()[..bytes]);
        self.bytes.extend(simd_adler32::adler32(&data).to_be_bytes());
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn inflated(bytes: &[u8]) -> Vec<u8> {
        let mut data = Vec::new();
        flate2::read::ZlibDecoder::new(bytes).read_to_end(&mut data).expect("a zlib stream");
        data
    }

    fn assert_reads_back(data: &[u8], stride: usize) -> usize {
        let bytes = compressed(data, [1, stride]);
        assert!(inflated(&bytes) == data, "{} bytes in rows of {stride}", data.len());
        bytes.len()
    }

    proptest! {
        #[test]
        fn what_was_compressed_reads_back(
            runs in vec((any::<u8>(), 1..700_usize), 0..60),
            noise in vec(any::<u8>(), 0..300),
            stride in prop::sample::select(vec![2_usize, 3, 50, 1_921, 32_768, 40_000]),
        ) {
            let mut data: Vec<u8> = runs.iter().flat_map(|(byte, count)| std::iter::repeat_n(*byte, *count)).collect();
            data.extend(&noise);
            data.extend_from_within(..);
            data.extend(vec![7; 33_000]);
            assert_reads_back(&data, stride);
        }
    }

    #[test]
    fn flat_rows_take_few_bytes() {
        let row: Vec<u8> = (0..1_921).map(|at| if at % 300 < 40 { 9 } else { 0 }).collect();
        let bytes = assert_reads_back(&row.repeat(1_000), row.len());
        // Eleven bits for each repetition of 258 bytes.
        assert!(bytes < 11_000, "{bytes}");
    }

    #[test]
    fn very_uneven_counts_still_have_codes_that_the_format_allows() {
        // Fibonacci numbers make Huffman's longest codes.
        let (mut counts, mut pair) = (Vec::new(), (1_u64, 1));
        for _ in 0..60 {
            counts.push(pair.0);
            pair = (pair.1, pair.0 + pair.1);
        }
        let lengths = code_lengths(counts);
        assert!(lengths.iter().all(|length| (1..=LONGEST).contains(length)), "{lengths:?}");
        let sum: f64 = lengths.iter().map(|length| 1.0 / f64::from(1_u32 << length)).sum();
        assert!((sum - 1.0).abs() < 1e-12, "every sequence of bits is a code: {sum}");
    }

    #[test]
    fn lengths_and_distances_have_the_symbols_of_the_format() {
        let lengths = [(3, 257, 0), (10, 264, 0), (11, 265, 1), (12, 265, 1), (257, 284, 5), (258, 285, 0)];
        for (length, symbol, bits) in lengths {
            let (found, (_, extra)) = length_symbol(length);
            assert_eq!((found, extra), (symbol, bits), "length {length}");
        }
        for (distance, symbol, bits) in [(1, 0, 0), (4, 3, 0), (5, 4, 1), (1_921, 21, 9), (32_768, 29, 13)] {
            let (found, (_, extra)) = distance_symbol(distance);
            assert_eq!((found, extra), (symbol, bits), "distance {distance}");
        }
    }
}
