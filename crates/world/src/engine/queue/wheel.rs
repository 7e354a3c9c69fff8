//! The lists of the wheel: tickets of events, 256 lists for each byte of a time.
//!
//! A ticket is in a list of the highest byte in which its time differs from the wheel's base, selected by the value of
//! that byte. So all tickets of a list are due before those of later lists and of higher bytes, and all tickets in a
//! list of the lowest byte have the same time. Tickets with the same time are always in the same list, in the order in
//! which they were added.
//!
//! A list is a chain of blocks that are read in order. All lists share the blocks, and the last block that was read is
//! reused first, so the lists of a million tickets need hardly more memory than the tickets.

/// Number of bytes of a time.
const BYTES: usize = 8;
/// Number of lists for each byte.
const LISTS: usize = 256;
/// Number of lists that one word of the occupancy bitmap covers.
const WORD: usize = u64::BITS as usize;
/// Number of words for all lists.
const WORDS: usize = BYTES * LISTS / WORD;
/// Number of tickets in a block: four cache lines. Tests use small blocks, so that few tickets fill several blocks.
const ROOM: usize = if cfg!(test) { 2 } else { 16 };
/// Marks the absence of a block.
const NONE: u32 = u32::MAX;

/// The time at which an event is due, and its slot. The ticket is void once the slot has another stamp.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EventTicket {
    pub(super) at: u64,
    pub(super) slot: u32,
    pub(super) stamp: u32,
}

#[derive(Clone, Copy, Debug)]
struct TicketBlock {
    tickets: [EventTicket; ROOM],
    /// The next block of the list; for a free block, the next free one.
    next: u32,
}

/// A list of tickets. All of its blocks except the last are full.
#[derive(Clone, Copy, Debug)]
struct TicketList {
    first: u32,
    last: u32,
    len: u32,
}

impl TicketList {
    const EMPTY: Self = Self {
        first: NONE,
        last: NONE,
        len: 0,
    };
}

/// All tickets, in lists by time.
#[derive(Clone, Debug)]
pub(super) struct Wheel {
    /// No ticket is due before this time.
    base: u64,
    /// The lists of all bytes, lowest byte first.
    lists: Vec<TicketList>,
    /// One bit for each list that is not empty.
    occupied: [u64; WORDS],
    /// One bit for each non-zero word of `occupied`.
    words: u32,
    blocks: Vec<TicketBlock>,
    /// The first free block; the others follow it.
    free: u32,
}

impl Wheel {
    pub(super) fn new() -> Self {
        Self {
            base: 0,
            lists: vec![TicketList::EMPTY; BYTES * LISTS],
            occupied: [0; WORDS],
            words: 0,
            blocks: Vec::new(),
            free: NONE,
        }
    }

    /// Sets the base to a time for which every ticket belongs in the same list as before.
    pub(super) fn set_base(&mut self, base: u64) {
        self.base = base;
    }

    /// Adds a ticket after all others with the same time.
    #[inline]
    pub(super) fn push(&mut self, ticket: EventTicket) {
        let byte = (63 - ((ticket.at ^ self.base) | 1).leading_zeros()) as usize / 8;
        self.push_to(
            byte * LISTS + (ticket.at >> (8 * byte)) as usize % LISTS,
            ticket,
        );
    }

    #[inline]
    fn push_to(&mut self, list: usize, ticket: EventTicket) {
        let TicketList { last, len, .. } = self.lists[list];
        let place = len as usize % ROOM;
        let block = if place == 0 {
            self.add_block(list)
        } else {
            last
        };
        self.blocks[block as usize].tickets[place] = ticket;
        self.lists[list].len = len + 1;
    }

    /// Adds a block to a list whose last block is full.
    fn add_block(&mut self, list: usize) -> u32 {
        let mut block = self.free;
        if block == NONE {
            block = self.blocks.len() as u32;
            self.blocks.push(TicketBlock {
                tickets: [EventTicket::default(); ROOM],
                next: NONE,
            });
        } else {
            self.free = std::mem::replace(&mut self.blocks[block as usize].next, NONE);
        }
        let TicketList { first, last, .. } = self.lists[list];
        if first == NONE {
            self.lists[list].first = block;
            self.occupied[list / WORD] |= 1 << (list % WORD);
            self.words |= 1 << (list / WORD);
        } else {
            self.blocks[last as usize].next = block;
        }
        self.lists[list].last = block;
        block
    }

    /// Returns the list whose tickets are due first.
    #[inline]
    pub(super) fn first(&self) -> Option<usize> {
        if self.words == 0 {
            return None;
        }
        let word = self.words.trailing_zeros() as usize;
        Some(word * WORD + self.occupied[word].trailing_zeros() as usize)
    }

    /// Returns all lists with tickets, in the order of their times.
    pub(super) fn occupied(&self) -> impl Iterator<Item = usize> + '_ {
        self.occupied
            .iter()
            .zip(0..)
            .flat_map(|(&word, at)| SetBits { word }.map(move |bit| at * WORD + bit))
    }

    /// Returns the number of tickets in a list.
    pub(super) fn len(&self, list: usize) -> usize {
        self.lists[list].len as usize
    }

    /// Returns the last time that belongs to a list; `at` is the time of one of its tickets.
    pub(super) fn end(list: usize, at: u64) -> u64 {
        at | Self::within(list)
    }

    /// Returns the bits in which the times of a list's tickets may differ.
    pub(super) fn within(list: usize) -> u64 {
        (1 << (8 * (list / LISTS))) - 1
    }

    /// Calls `each` with every ticket of a list, in order.
    #[inline]
    pub(super) fn each(&self, list: usize, mut each: impl FnMut(EventTicket)) {
        let TicketList {
            first: mut block,
            len,
            ..
        } = self.lists[list];
        let mut left = len as usize;
        while left > 0 {
            let TicketBlock { tickets, next } = &self.blocks[block as usize];
            for &ticket in &tickets[..left.min(ROOM)] {
                each(ticket);
            }
            left = left.saturating_sub(ROOM);
            block = *next;
        }
    }

    /// Empties a list. Calls `each` with every ticket, in order; `each` may add tickets again.
    #[inline]
    pub(super) fn take(&mut self, list: usize, mut each: impl FnMut(&mut Self, EventTicket)) {
        let TicketList {
            first: mut block,
            len,
            ..
        } = std::mem::replace(&mut self.lists[list], TicketList::EMPTY);
        self.unmark(list);
        let mut left = len as usize;
        while left > 0 {
            let TicketBlock { tickets, next } = self.blocks[block as usize];
            self.blocks[block as usize].next = std::mem::replace(&mut self.free, block);
            for &ticket in &tickets[..left.min(ROOM)] {
                each(self, ticket);
            }
            left = left.saturating_sub(ROOM);
            block = next;
        }
    }

    fn unmark(&mut self, list: usize) {
        let word = &mut self.occupied[list / WORD];
        *word &= !(1 << (list % WORD));
        if *word == 0 {
            self.words &= !(1 << (list / WORD));
        }
    }

    /// Drops the void tickets.
    pub(super) fn retain(&mut self, mut is_valid: impl FnMut(EventTicket) -> bool) {
        for list in 0..BYTES * LISTS {
            if self.lists[list].len > 0 {
                self.take(list, |wheel, ticket| {
                    if is_valid(ticket) {
                        wheel.push_to(list, ticket);
                    }
                });
            }
        }
    }
}

/// Iterates over the positions of the set bits of a word, lowest first.
struct SetBits {
    word: u64,
}

impl Iterator for SetBits {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        if self.word == 0 {
            return None;
        }
        let lowest = self.word.trailing_zeros() as usize;
        self.word &= self.word - 1;
        Some(lowest)
    }
}
