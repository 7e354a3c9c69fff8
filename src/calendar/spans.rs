//! The times of a run at which something is open.

use crate::units::SimTime;

/// A span of simulated time.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct TimeSpan {
    /// Its beginning.
    pub(crate) from: SimTime,
    /// Its end.
    pub(crate) to: SimTime,
    /// It is open at its beginning already, and not only after it.
    pub(crate) has_begun: bool,
}

impl TimeSpan {
    /// Returns whether it is open at a time; at its end it is not.
    fn has(self, at: SimTime) -> bool {
        at < self.to && (self.from < at || self.has_begun && self.from == at)
    }
}

/// Spans in the order of their beginnings, of which no two overlap.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct OpenSpans {
    spans: Vec<TimeSpan>,
}

impl OpenSpans {
    /// Adds a span that begins no earlier than those before it, unless it is empty. Spans that overlap become one.
    pub(crate) fn add(&mut self, span: TimeSpan) {
        if span.from >= span.to {
            return;
        }
        if let Some(last) = self.spans.last_mut()
            && (span.from < last.to || span.has_begun && span.from == last.to)
        {
            last.to = last.to.max(span.to);
            return;
        }
        self.spans.push(span);
    }

    /// The spans.
    pub(crate) fn spans(&self) -> &[TimeSpan] {
        &self.spans
    }

    /// Returns whether a span is open at a time.
    pub(crate) fn is_inside(&self, at: SimTime) -> bool {
        let begun = self.spans.partition_point(|span| span.from <= at);
        begun > 0 && self.spans[begun - 1].has(at)
    }
}
