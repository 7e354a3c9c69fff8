//! A set of targets that is iterated in the order of their indices.
//!
//! Partial passes use such sets for their work: changed targets, and candidates in the order of a product's list. The
//! set has one bit for each target and, in the level above, one bit for each non-zero word. A look-up, a change and
//! the step to the next member therefore cost a few words each, whatever the size.

/// A set of indices below a fixed size.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct TargetSet {
    /// The members' bits, then one bit for each non-zero word of the level below. The last level is one word.
    levels: Vec<Vec<u64>>,
    /// Number of members in each block of [`BLOCK`] indices.
    blocks: Vec<usize>,
    /// The exclusive upper bound of the indices.
    universe: usize,
}

const BITS: usize = 64;
/// Size of a block of indices. A count adds the totals of whole blocks, and examines the bits of only one block.
const BLOCK: usize = BITS * BITS;

impl TargetSet {
    /// Creates an empty set of indices below `size`.
    pub fn new(size: usize) -> Self {
        let mut words = size.div_ceil(BITS).max(1);
        let mut levels = vec![vec![0; words]];
        while words > 1 {
            words = words.div_ceil(BITS);
            levels.push(vec![0; words]);
        }
        Self {
            levels,
            blocks: vec![0; size.div_ceil(BLOCK)],
            universe: size,
        }
    }

    /// Creates the set of all indices below `size`.
    pub fn all(size: usize) -> Self {
        let mut set = Self::new(size);
        set.insert_all();
        set
    }

    /// Adds all indices below the size.
    pub fn insert_all(&mut self) {
        for index in 0..self.universe as u32 {
            self.insert(index);
        }
    }

    /// Adds an index. Returns whether it is new.
    ///
    /// # Panics
    /// If the index is not below the size.
    pub fn insert(&mut self, index: u32) -> bool {
        self.set(index, true)
    }

    /// Removes an index. Returns whether it was a member.
    pub fn remove(&mut self, index: u32) -> bool {
        self.set(index, false)
    }

    /// Adds or removes the index. Returns whether this changed the set.
    ///
    /// # Panics
    /// If the index is to be added and is not below the size.
    pub fn set(&mut self, index: u32, is_member: bool) -> bool {
        let mut at = index as usize;
        assert!(
            !is_member || at < self.universe,
            "{index} is below {}",
            self.universe
        );
        if self.contains(index) == is_member {
            return false;
        }
        for level in &mut self.levels {
            let word = &mut level[at / BITS];
            let bit = 1 << (at % BITS);
            let was_empty = *word == 0;
            *word = if is_member { *word | bit } else { *word & !bit };
            if was_empty == (*word == 0) {
                break;
            }
            at /= BITS;
        }
        let count = &mut self.blocks[index as usize / BLOCK];
        *count = if is_member { *count + 1 } else { *count - 1 };
        true
    }

    /// Returns whether the index is in the set.
    pub fn contains(&self, index: u32) -> bool {
        let at = index as usize;
        at < self.universe && self.levels[0][at / BITS] >> (at % BITS) & 1 == 1
    }

    /// Returns the smallest member at or after `from`.
    pub fn next(&self, from: u32) -> Option<u32> {
        super::cost::visit();
        let mut at = from as usize;
        let mut level = 0;
        // Go up until a word has a bit at or after the position, then down to the lowest such bit.
        loop {
            let words = self.levels.get(level)?;
            let rest = match words.get(at / BITS) {
                Some(word) => word >> (at % BITS) << (at % BITS),
                None => 0,
            };
            if rest != 0 {
                at = at / BITS * BITS + rest.trailing_zeros() as usize;
                break;
            }
            at = at / BITS + 1;
            level += 1;
        }
        for words in self.levels[..level].iter().rev() {
            at = at * BITS + words[at].trailing_zeros() as usize;
        }
        Some(at as u32)
    }

    /// Returns the members in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        self.iter_from(0)
    }

    /// Returns the members at or after `first`, in ascending order.
    pub fn iter_from(&self, first: u32) -> impl Iterator<Item = u32> {
        let mut from = Some(first);
        std::iter::from_fn(move || {
            let found = self.next(from?)?;
            from = found.checked_add(1);
            Some(found)
        })
    }

    /// Returns the number of members below an index.
    pub fn count_below(&self, index: u32) -> usize {
        let at = index as usize;
        let words = &self.levels[0];
        let last = at / BITS;
        let mut count: usize = self.blocks.iter().take(at / BLOCK).sum();
        for word in words.iter().take(last).skip(at / BLOCK * BITS) {
            count += word.count_ones() as usize;
        }
        // In the last word only bits below the index count.
        if let Some(word) = words.get(last) {
            let below = word & ((1 << (at % BITS)) - 1);
            count += below.count_ones() as usize;
        }
        count
    }

    /// Returns the number of members.
    pub fn len(&self) -> usize {
        self.blocks.iter().sum()
    }

    /// Returns whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.blocks.iter().all(|count| *count == 0)
    }

    /// Removes all members, at a cost proportional to their number.
    pub fn clear(&mut self) {
        while let Some(index) = self.next(0) {
            self.remove(index);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_target_set_behaves_like_an_ordered_set(
            size in prop::sample::select(vec![1_u32, 63, 64, 65, 4_095, 4_096, 4_097, 300_000]),
            steps in vec((any::<u32>(), 0..3_u8), 0..200),
        ) {
            let (mut set, mut known) = (TargetSet::new(size as usize), BTreeSet::new());
            for (index, step) in steps {
                let index = index % size;
                match step {
                    0 => prop_assert_eq!(set.remove(index), known.remove(&index)),
                    _ => prop_assert_eq!(set.insert(index), known.insert(index)),
                }
                prop_assert_eq!(set.next(index), known.range(index..).next().copied());
                prop_assert_eq!(set.contains(index), known.contains(&index));
                prop_assert_eq!(set.len(), known.len());
                prop_assert_eq!(set.count_below(index), known.range(..index).count());
                prop_assert_eq!(set.count_below(size), known.len());
            }
            prop_assert_eq!(set.iter().collect::<Vec<_>>(), known.iter().copied().collect::<Vec<_>>());
            set.clear();
            prop_assert_eq!(&set, &TargetSet::new(size as usize));
        }
    }

    #[test]
    fn all_indices_can_be_added_together() {
        for size in [0, 1, 64, 65, 4_096, 5_000] {
            let mut one_by_one = TargetSet::new(size as usize);
            (0..size).for_each(|index| _ = one_by_one.insert(index));
            assert_eq!(TargetSet::all(size as usize), one_by_one);
            assert_eq!(one_by_one.iter().count(), size as usize);
        }
    }

    #[test]
    #[should_panic(expected = "7 is below 7")]
    fn an_index_outside_the_set_is_rejected() {
        TargetSet::new(7).insert(7);
    }
}
