//! The summary of everything below a link or class, kept in a tournament tree over its children.
//!
//! A change in a child rewrites one path of the tree and stops where nothing changes. Sums are recomputed from both
//! halves and never corrected by a difference, so rounding errors cannot accumulate.

/// A part of the forest as seen from the node above it. Only transfers that *follow* that node are counted; pinned
/// classes below the node count as a fixed rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Summary {
    /// The reading of the node's clock when the next follower ends; infinite without followers.
    pub(super) tag: f64,
    /// The smallest level of a following class: the next class to be pinned when rates rise.
    pub(super) lowest_following: f64,
    /// The largest level of a pinned class: the next class to be unpinned when rates fall.
    pub(super) highest_pinned: f64,
    /// The largest level of a class directly below that has followers; infinite if some followers are in no class.
    pub(super) highest_following: f64,
    /// Throughput of the topmost pinned classes, in bytes per second.
    pub(super) fixed: f64,
    /// The sum of the weights of the transfers that follow. The sum is exact, because weights are whole numbers of
    /// sixteenths.
    pub(super) followers: f64,
}

impl Summary {
    /// The summary of a node without children.
    pub(super) const NOTHING: Self = Self {
        tag: f64::INFINITY,
        lowest_following: f64::INFINITY,
        highest_pinned: f64::NEG_INFINITY,
        highest_following: f64::NEG_INFINITY,
        fixed: 0.0,
        followers: 0.0,
    };

    #[inline]
    fn with(&self, other: &Self) -> Self {
        Self {
            tag: lesser(self.tag, other.tag),
            lowest_following: lesser(self.lowest_following, other.lowest_following),
            highest_pinned: greater(self.highest_pinned, other.highest_pinned),
            highest_following: greater(self.highest_following, other.highest_following),
            fixed: self.fixed + other.fixed,
            followers: self.followers + other.followers,
        }
    }

    /// Returns true if all bits are equal. It does not branch on each field.
    #[inline]
    fn is(&self, other: &Self) -> bool {
        let bits = differing_bits(self.tag, other.tag)
            | differing_bits(self.lowest_following, other.lowest_following)
            | differing_bits(self.highest_pinned, other.highest_pinned)
            | differing_bits(self.highest_following, other.highest_following)
            | differing_bits(self.fixed, other.fixed)
            | differing_bits(self.followers, other.followers);
        bits == 0
    }
}

/// Returns the lesser of two numbers. Neither may be NaN, so this takes one instruction, unlike `f64::min`.
#[inline]
fn lesser(one: f64, other: f64) -> f64 {
    if other < one { other } else { one }
}

/// Returns the greater of two numbers. Neither may be NaN.
#[inline]
fn greater(one: f64, other: f64) -> f64 {
    if other > one { other } else { one }
}

#[inline]
const fn differing_bits(one: f64, other: f64) -> u64 {
    one.to_bits() ^ other.to_bits()
}

/// Marks a slot without a child.
const FREE: u32 = u32::MAX;

/// The children of one node, each in its own slot, and the summary of all of them.
///
/// Nearly all nodes have at most one child, so a single child needs no separate allocation.
#[derive(Debug, Default)]
pub(super) enum Tree {
    /// No children.
    #[default]
    Empty,
    /// One child, in slot 0.
    One { kid: u32, summary: Summary },
    /// Two or more children, now or in the past.
    Wide(Box<WideTree>),
}

impl Tree {
    pub(super) fn is_empty(&self) -> bool {
        matches!(self, Self::Empty)
    }

    /// Assigns a slot to `kid`, whose summary is empty until it is set.
    pub(super) fn insert(&mut self, kid: u32) -> u32 {
        match self {
            Self::Empty => {
                *self = Self::One {
                    kid,
                    summary: Summary::NOTHING,
                };
                0
            }
            Self::One {
                kid: first,
                summary,
            } => {
                let mut wide = WideTree::default();
                let slot = wide.insert(*first);
                wide.set(slot, *summary);
                let slot = wide.insert(kid);
                *self = Self::Wide(Box::new(wide));
                slot
            }
            Self::Wide(wide) => wide.insert(kid),
        }
    }

    /// Sets the summary of one child. Returns whether this changed the overall summary.
    pub(super) fn set(&mut self, slot: u32, summary: Summary) -> bool {
        match self {
            Self::Empty => unreachable!("only a child has a summary"),
            Self::One { summary: known, .. } => !std::mem::replace(known, summary).is(&summary),
            Self::Wide(wide) => wide.set(slot, summary),
        }
    }

    /// Frees a slot. Returns whether this changed the overall summary.
    pub(super) fn remove(&mut self, slot: u32) -> bool {
        let changed = self.set(slot, Summary::NOTHING);
        if let Self::Wide(wide) = self {
            wide.free(slot);
            if !wide.is_empty() {
                return changed;
            }
        }
        *self = Self::Empty;
        changed
    }

    /// Returns the summary of all children.
    #[inline]
    pub(super) fn summary(&self) -> Summary {
        match self {
            Self::Empty => Summary::NOTHING,
            Self::One { summary, .. } => *summary,
            Self::Wide(wide) => wide.cells[1],
        }
    }

    /// Returns a child whose summary has a property that the overall summary has. The property must hold for a
    /// combined summary only if it holds for one of its parts.
    ///
    /// # Panics
    /// If there are no children.
    pub(super) fn find(&self, has: impl Fn(&Summary) -> bool) -> u32 {
        match self {
            Self::Empty => unreachable!("a node without children has no matching child"),
            Self::One { kid, .. } => *kid,
            Self::Wide(wide) => wide.find(has),
        }
    }

    /// Calls `found` with every child whose first tag is at most `due`, in the order of slots.
    pub(super) fn each_due(&self, due: f64, found: &mut impl FnMut(u32)) {
        match self {
            Self::One { kid, summary } if summary.tag <= due => found(*kid),
            Self::Wide(wide) => wide.each_due_in(1, due, found),
            _ => {}
        }
    }

    /// Sets back by `by` the clock that all tags refer to, and calls `each` with every child.
    pub(super) fn set_back(&mut self, by: f64, mut each: impl FnMut(u32)) {
        match self {
            Self::Empty => {}
            Self::One { kid, summary } => {
                summary.tag -= by;
                each(*kid);
            }
            Self::Wide(wide) => wide.set_back(by, each),
        }
    }
}

/// A tree with room for several children.
#[derive(Debug, Default)]
pub(super) struct WideTree {
    /// A complete binary tree: the root is cell 1, the halves of cell i are 2i and 2i + 1, and the slots are the last
    /// row.
    cells: Vec<Summary>,
    /// The child in each slot.
    kids: Vec<u32>,
    free: Vec<u32>,
}

impl WideTree {
    fn width(&self) -> usize {
        self.cells.len() / 2
    }

    fn is_empty(&self) -> bool {
        self.kids.len() == self.free.len()
    }

    fn insert(&mut self, kid: u32) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.kids[slot as usize] = kid;
            return slot;
        }
        if self.kids.len() == self.width() {
            self.grow();
        }
        self.kids.push(kid);
        self.kids.len() as u32 - 1
    }

    fn grow(&mut self) {
        let old = self.width();
        let width = (2 * old).max(1);
        let mut cells = vec![Summary::NOTHING; 2 * width];
        cells[width..width + old].copy_from_slice(&self.cells[old..]);
        for at in (1..width).rev() {
            cells[at] = cells[2 * at].with(&cells[2 * at + 1]);
        }
        self.cells = cells;
    }

    fn set(&mut self, slot: u32, summary: Summary) -> bool {
        let mut at = self.width() + slot as usize;
        if self.cells[at].is(&summary) {
            return false;
        }
        self.cells[at] = summary;
        // The changed half is known, so only the other half is read. The order of the halves does not matter.
        let mut half = summary;
        while at > 1 {
            let merged = half.with(&self.cells[at ^ 1]);
            at /= 2;
            if self.cells[at].is(&merged) {
                return false;
            }
            self.cells[at] = merged;
            half = merged;
        }
        true
    }

    fn free(&mut self, slot: u32) {
        self.kids[slot as usize] = FREE;
        self.free.push(slot);
    }

    fn find(&self, has: impl Fn(&Summary) -> bool) -> u32 {
        let mut at = 1;
        while at < self.width() {
            at = if has(&self.cells[2 * at]) {
                2 * at
            } else {
                2 * at + 1
            };
        }
        self.kids[at - self.width()]
    }

    fn each_due_in(&self, at: usize, due: f64, found: &mut impl FnMut(u32)) {
        if self.cells[at].tag > due {
            return;
        }
        if at >= self.width() {
            found(self.kids[at - self.width()]);
        } else {
            self.each_due_in(2 * at, due, found);
            self.each_due_in(2 * at + 1, due, found);
        }
    }

    fn set_back(&mut self, by: f64, mut each: impl FnMut(u32)) {
        for cell in &mut self.cells {
            cell.tag -= by;
        }
        self.kids
            .iter()
            .copied()
            .filter(|&kid| kid != FREE)
            .for_each(&mut each);
    }
}
