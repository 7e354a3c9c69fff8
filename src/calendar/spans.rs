//! The times of a run at which something is open.

use crate::units::SimTime;

/// A span of simulated time.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct TimeSpan {
    /// Start of the span.
    pub(crate) from: SimTime,
    /// End of the span.
    pub(crate) to: SimTime,
    /// The span includes its start.
    pub(crate) has_begun: bool,
}

impl TimeSpan {
    /// Returns whether the span contains a time. The span does not contain its end.
    fn has(self, at: SimTime) -> bool {
        at < self.to && (self.from < at || self.has_begun && self.from == at)
    }
}

/// Spans that do not overlap, in the order of their starts.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct OpenSpans {
    spans: Vec<TimeSpan>,
}

impl OpenSpans {
    /// Adds a span unless it is empty. The span must not begin earlier than the existing spans. Overlapping spans are
    /// merged.
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

    /// Returns whether a span contains a time.
    pub(crate) fn is_inside(&self, at: SimTime) -> bool {
        let begun = self.spans.partition_point(|span| span.from <= at);
        begun > 0 && self.spans[begun - 1].has(at)
    }
}
