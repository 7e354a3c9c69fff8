//! The form of an answer: the verdict, and at most a few lines below it, each with one job.

use super::decisions::Decision;

/// The subject of a line of an answer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(in crate::report) enum AnswerKey {
    /// A limit that all or the best variants meet.
    Met,
    /// A limit that is missed.
    Missed,
    /// A limit that these runs are too few for.
    Open,
    /// Targets that stay on the old version.
    Left,
    /// When the targets are ready.
    Time,
    /// Pulls at once, and the load of the registry's link.
    Load,
    /// The parts of the critical path.
    Path,
    /// Where a rollout of a defective revision stops.
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
            Self::Left => "left",
            Self::Time => "time",
            Self::Load => "load",
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
    /// The sentence that answers it.
    pub(in crate::report) verdict: String,
    pub(in crate::report) lines: Vec<AnswerLine>,
    /// The decision of the verdict. `None`: nothing can be chosen.
    pub(in crate::report) decision: Option<Decision>,
}

impl AnswerLines {
    /// Adds a line that has something to say.
    pub(super) fn add(&mut self, key: AnswerKey, text: Option<String>) {
        if let Some(text) = text {
            self.lines.push(AnswerLine { key, text });
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
