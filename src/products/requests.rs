//! The API requests of a pass, in the order in which they are sent.

use crate::units::SimDuration;

/// API requests: one after the other, or several at the same time.
///
/// They are counted from 1. Requests that are sent at the same time are answered independently of each other; the next
/// ones are sent when all are answered.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Requests {
    groups: Vec<RequestGroup>,
    total: usize,
    /// The kind of object that the next requests are about.
    kind: usize,
}

/// Requests that follow each other in the same way.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct RequestGroup {
    /// Number of requests.
    pub count: usize,
    /// Most of them that wait for an answer at one time.
    pub width: usize,
    /// How long nothing is sent before them.
    pub pause: SimDuration,
    /// The kind of object. A client has a limit for each kind.
    pub kind: usize,
}

impl Requests {
    /// The next requests are about this kind of object, by its number. They begin with 0.
    pub fn about(&mut self, kind: usize) {
        self.kind = kind;
    }

    /// Adds requests, each sent when the one before is answered.
    pub fn in_turn(&mut self, count: usize) {
        self.at_once(count, 1);
    }

    /// Adds requests that are sent at the same time.
    pub fn together(&mut self, count: usize) {
        self.groups.extend((count > 0).then(|| self.group(count, usize::MAX)));
        self.total += count;
    }

    /// Adds requests of which `width` wait for an answer at a time. Those that were added just before in the same way
    /// count among them.
    pub fn at_once(&mut self, count: usize, width: usize) {
        let kind = self.kind;
        match self.groups.last_mut() {
            Some(last) if (last.width, last.kind) == (width, kind) => last.count += count,
            _ if count > 0 => self.groups.push(self.group(count, width)),
            _ => {}
        }
        self.total += count;
    }

    fn group(&self, count: usize, width: usize) -> RequestGroup {
        RequestGroup { count, width, pause: SimDuration::ZERO, kind: self.kind }
    }

    /// Nothing is sent for a while after the requests so far.
    pub fn pause(&mut self, pause: SimDuration) {
        self.groups.push(RequestGroup { pause, ..self.group(0, 1) });
    }

    /// The number of requests so far.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.total
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// The groups in their order.
    #[must_use]
    pub fn groups(&self) -> &[RequestGroup] {
        &self.groups
    }
}
