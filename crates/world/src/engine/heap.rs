//! A four-way heap of (key, item) with positions: `at[item]` is the position of an item in its heap.
//!
//! One position table serves many heaps, as long as each item is in at most one of them. Four ways instead of two
//! halve the number of cache lines on the way down, which dominate the cost of a pop in a large heap.

/// Marks an item that is in no heap.
pub(crate) const NOWHERE: u32 = u32::MAX;

const WAYS: usize = 4;

/// An item and its key; the order among equal keys is unspecified, but the same in every run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keyed<K> {
    pub key: K,
    pub item: u32,
}

/// Adds `item`.
pub(crate) fn push<K: PartialOrd + Copy>(
    heap: &mut Vec<Keyed<K>>,
    key: K,
    item: u32,
    at: &mut [u32],
) {
    heap.push(Keyed { key, item });
    let last = heap.len() - 1;
    rise(heap, last, at);
}

/// Removes the item at a position.
pub(crate) fn remove<K: PartialOrd + Copy>(
    heap: &mut Vec<Keyed<K>>,
    place: u32,
    at: &mut [u32],
) -> Keyed<K> {
    let gone = heap.swap_remove(place as usize);
    at[gone.item as usize] = NOWHERE;
    if (place as usize) < heap.len() {
        restore(heap, place as usize, at);
    }
    gone
}

/// Changes the key of the item at a position.
pub(crate) fn rekey<K: PartialOrd + Copy>(
    heap: &mut [Keyed<K>],
    place: u32,
    key: K,
    at: &mut [u32],
) {
    heap[place as usize].key = key;
    restore(heap, place as usize, at);
}

/// Returns the positions of the children of `place`.
pub(crate) fn below(place: usize, len: usize) -> std::ops::Range<usize> {
    let first = place * WAYS + 1;
    first.min(len)..(first + WAYS).min(len)
}

fn restore<K: PartialOrd + Copy>(heap: &mut [Keyed<K>], place: usize, at: &mut [u32]) {
    if place > 0 && heap[place].key < heap[(place - 1) / WAYS].key {
        rise(heap, place, at);
    } else {
        sink(heap, place, at);
    }
}

fn rise<K: PartialOrd + Copy>(heap: &mut [Keyed<K>], mut place: usize, at: &mut [u32]) {
    let moved = heap[place];
    while place > 0 {
        let up = (place - 1) / WAYS;
        if heap[up].key <= moved.key {
            break;
        }
        heap[place] = heap[up];
        at[heap[place].item as usize] = place as u32;
        place = up;
    }
    heap[place] = moved;
    at[moved.item as usize] = place as u32;
}

fn sink<K: PartialOrd + Copy>(heap: &mut [Keyed<K>], mut place: usize, at: &mut [u32]) {
    let moved = heap[place];
    loop {
        let mut least: Option<usize> = None;
        for down in below(place, heap.len()) {
            if least.is_none_or(|best| heap[down].key < heap[best].key) {
                least = Some(down);
            }
        }
        let Some(down) = least.filter(|&down| heap[down].key < moved.key) else {
            break;
        };
        heap[place] = heap[down];
        at[heap[place].item as usize] = place as u32;
        place = down;
    }
    heap[place] = moved;
    at[moved.item as usize] = place as u32;
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The oracle is a plain list; every step also checks that positions and keys are consistent.
        #[test]
        fn the_smallest_key_is_first_after_any_push_removal_or_rekeying(
            steps in proptest::collection::vec((0u32..3, 0u32..40, 0u64..50), 0..200),
        ) {
            let (mut heap, mut at, mut list) = (Vec::new(), vec![NOWHERE; 40], vec![None; 40]);
            for (what, item, key) in steps {
                match (what, at[item as usize]) {
                    (0 | 2, NOWHERE) => {
                        push(&mut heap, key, item, &mut at);
                        list[item as usize] = Some(key);
                    }
                    (1, place) if place != NOWHERE => {
                        prop_assert_eq!(remove(&mut heap, place, &mut at).item, item);
                        list[item as usize] = None;
                    }
                    (2, place) => {
                        rekey(&mut heap, place, key, &mut at);
                        list[item as usize] = Some(key);
                    }
                    _ => {}
                }
                prop_assert_eq!(heap.first().map(|first| first.key), list.iter().flatten().min().copied());
                for (item, &key) in list.iter().enumerate() {
                    prop_assert_eq!(key, (at[item] != NOWHERE).then(|| heap[at[item] as usize].key));
                }
            }
        }
    }
}
