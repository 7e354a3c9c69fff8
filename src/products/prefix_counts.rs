//! Counts the members of a set below a place, in logarithmic time: a binary indexed tree (Fenwick, Software: Practice
//! and Experience 24 (1994)).

/// A set of places below a fixed size.
#[derive(Clone, Debug, Default)]
pub(super) struct PrefixCounts {
    is_member: Vec<bool>,
    /// Entry n counts the members among the last `n & -n` places before n.
    sums: Vec<usize>,
}

impl PrefixCounts {
    /// An empty set of places below `size`.
    pub(super) fn new(size: usize) -> Self {
        Self { is_member: vec![false; size], sums: vec![0; size + 1] }
    }

    /// Adds the place or removes it.
    pub(super) fn set(&mut self, place: usize, is_member: bool) {
        if std::mem::replace(&mut self.is_member[place], is_member) == is_member {
            return;
        }
        let mut at = place + 1;
        while at < self.sums.len() {
            if is_member {
                self.sums[at] += 1;
            } else {
                self.sums[at] -= 1;
            }
            at += at & at.wrapping_neg();
        }
    }

    /// Number of members below `place`.
    pub(super) fn below(&self, place: usize) -> usize {
        let (mut at, mut sum) = (place, 0);
        while at > 0 {
            sum += self.sums[at];
            at &= at - 1;
        }
        sum
    }

    /// Number of members.
    pub(super) fn len(&self) -> usize {
        self.below(self.is_member.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_below_a_place_are_counted_after_every_change() {
        let mut counts = PrefixCounts::new(37);
        for step in 0..500_usize {
            // Places in no order, each often added, removed, and set to what it is.
            let place = step * 29 % 37;
            counts.set(place, step % 3 != 0);
            for place in 0..=37 {
                let expected = counts.is_member[..place].iter().filter(|is_member| **is_member).count();
                assert_eq!(counts.below(place), expected, "step {step}, below {place}");
            }
        }
        assert_eq!(counts.len(), counts.is_member.iter().filter(|is_member| **is_member).count());
        assert_eq!(PrefixCounts::new(0).len(), 0);
    }
}
