//! The form of an answer: the verdict, and at most a few lines below it, each with one subject.

use super::decisions::Decision;
use super::groups::NamedVariant;
use super::{bound, path};

/// The subject of a line of an answer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(in crate::report) enum AnswerKey {
    /// A limit that all or the best variants meet.
    Met,
    /// A limit that is missed.
    Missed,
    /// A limit for which there are too few runs.
    Open,
    /// The release on which the runs end, and how they got there.
    Ends,
    /// Targets that stay on the old version.
    Left,
    /// The time at which the targets are ready.
    Time,
    /// Concurrent pulls, and the load of the registry's link.
    Load,
    /// The application that is done last, and those that make the peak of pulls.
    Applications,
    /// What a rollout costs.
    Cost,
    /// What holds the rollout back, by trials.
    Bound,
    /// The parts of the critical path.
    Path,
    /// The point at which a rollout of a defective revision stops.
    Stops,
    /// The other variants.
    Else,
}

impl AnswerKey {
    /// The word at the start of the line.
    pub(in crate::report) const fn word(self) -> &'static str {
        match self {
            Self::Met => "✓",
            Self::Missed => "✗",
            Self::Open => "?",
            Self::Ends => "ends",
            Self::Left => "left",
            Self::Time => "time",
            Self::Load => "load",
            Self::Applications => "apps",
            Self::Cost => "cost",
            Self::Bound => "bound",
            Self::Path => "path",
            Self::Stops => "stops",
            Self::Else => "else",
        }
    }
}

/// A line of an answer.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::report) struct AnswerLine {
    pub(in crate::report) key: AnswerKey,
    pub(in crate::report) text: String,
}

/// The answer to a question.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::report) struct AnswerLines {
    /// The sentence that answers the question.
    pub(in crate::report) verdict: String,
    pub(in crate::report) lines: Vec<AnswerLine>,
    /// The decision of the verdict. `None`: nothing can be chosen.
    pub(in crate::report) decision: Option<Decision>,
    /// The index of the chosen variant, of which the lines speak. `None`: nothing can be chosen, or the question is not
    /// about time.
    pub(in crate::report) chosen: Option<usize>,
}

impl AnswerLines {
    /// Adds a line if it has a text.
    pub(super) fn add(&mut self, key: AnswerKey, text: Option<String>) {
        if let Some(text) = text {
            self.lines.push(AnswerLine { key, text });
        }
    }

    /// Adds what holds the chosen variant back: by trials, or else the parts of its critical path.
    pub(super) fn add_cause(&mut self, chosen: &NamedVariant<'_, '_>) {
        self.chosen = Some(chosen.at);
        match bound::line(chosen.variant) {
            Some(text) => self.add(AnswerKey::Bound, Some(text)),
            None => self.add(AnswerKey::Path, path::line(chosen.variant)),
        }
    }

    /// The verdict and the lines as one text, for tests.
    #[cfg(test)]
    pub(in crate::report) fn text(&self) -> String {
        let mut text = self.verdict.clone();
        for line in &self.lines {
            text.push_str(&format!("\n  {:<6}  {}", line.key.word(), line.text));
        }
        text
    }
}
