//! The lists of the wheel: tickets of events, 256 lists for each byte of a time.
//!
//! A ticket is in the list of the highest byte in which its time differs from the wheel's base. So every ticket of a
//! list is due before all of later lists and of higher bytes, and a list of the lowest byte holds tickets of one time.
//! Tickets of one time are always in one list, in the order in which they were added.
//!
//! A list is a chain of blocks that are read in order. All lists share the blocks, and a block that was read is the
//! next one to be filled, so lists of a million tickets need hardly more memory than their tickets.

/// Bytes of a time.
const BYTES: usize = 8;
/// Lists of each byte.
const LISTS: usize = 256;
/// Lists for which one word says which of them have tickets.
const WORD: usize = u64::BITS as usize;
/// Words for all lists.
const WORDS: usize = BYTES * LISTS / WORD;
/// Tickets in a block: four cache lines. Tests fill more blocks.
const ROOM: usize = if cfg!(test) { 2 } else { 16 };
/// No block.
const NONE: u32 = u32::MAX;

/// When an event is due, and where it is. It is void once the slot has another stamp.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EventTicket {
    pub(super) at: u64,
    pub(super) slot: u32,
    pub(super) stamp: u32,
}

#[derive(Clone, Copy, Debug)]
struct TicketBlock {
    tickets: [EventTicket; ROOM],
    /// The next block of the list, or the next free one.
    next: u32,
}

/// All blocks of a list but the last are full.
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

/// Tickets by time.
#[derive(Clone, Debug)]
pub(super) struct Wheel {
    /// No ticket is due before it.
    base: u64,
    /// Byte by byte from the lowest.
    lists: Vec<TicketList>,
    /// One bit for each list that is not empty.
    occupied: [u64; WORDS],
    /// One bit for each word with such a list.
    words: u32,
    blocks: Vec<TicketBlock>,
    /// The first of the blocks without a list.
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

    /// Sets the base. The list of every ticket must be the same as before.
    pub(super) fn set_base(&mut self, base: u64) {
        self.base = base;
    }

    /// Adds a ticket, after all others of its time.
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

    /// Adds a block to a list whose last one is full.
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

    /// The list whose tickets are due first.
    #[inline]
    pub(super) fn first(&self) -> Option<usize> {
        if self.words == 0 {
            return None;
        }
        let word = self.words.trailing_zeros() as usize;
        Some(word * WORD + self.occupied[word].trailing_zeros() as usize)
    }

    /// All lists with tickets, in the order of their times.
    pub(super) fn occupied(&self) -> impl Iterator<Item = usize> + '_ {
        self.occupied
            .iter()
            .zip(0..)
            .flat_map(|(&word, at)| SetBits { word }.map(move |bit| at * WORD + bit))
    }

    /// Number of tickets in a list.
    pub(super) fn len(&self, list: usize) -> usize {
        self.lists[list].len as usize
    }

    /// The last time that belongs to a list, given the time of one of its tickets.
    pub(super) fn end(list: usize, at: u64) -> u64 {
        at | Self::within(list)
    }

    /// The bits of a time in which tickets of a list may differ.
    pub(super) fn within(list: usize) -> u64 {
        (1 << (8 * (list / LISTS))) - 1
    }

    /// Calls `each` with the tickets of a list, in order.
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

    /// Empties a list. `each` is called with its tickets, in order, and may add them again.
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

    /// Drops the tickets that are void.
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

/// The places of the bits of a word that are set, lowest first.
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
