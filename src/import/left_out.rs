//! Entries of an export that are not targets of the rollout. Their number goes into the summary, and their names into
//! the experiment.

use crate::units::counted;

/// Maximum number of names in the experiment's comment, about one screen.
const MOST_NAMES: usize = 200;

/// Entries that are left out for the same reason.
pub(super) struct LeftOut {
    names: Vec<String>,
    /// The singular noun for the entries, such as `cluster`.
    one: &'static str,
    /// The reason, such as `not selected by the GitRepo`.
    why: String,
}

impl LeftOut {
    /// Creates the list. `None`: there are no entries.
    pub(super) fn of(names: Vec<String>, one: &'static str, why: &str) -> Option<Self> {
        let why = why.to_owned();
        (!names.is_empty()).then_some(Self { names, one, why })
    }

    /// Returns the note, such as `left out: 95 clusters not selected by fleet.yaml`.
    pub(super) fn note(&self) -> String {
        format!(
            "left out: {} {}",
            counted(self.names.len(), self.one),
            self.why
        )
    }

    /// Returns the note with the names.
    pub(super) fn comment(&self) -> String {
        let shown = self.names.len().min(MOST_NAMES);
        let mut text = format!("{}: {}", self.note(), self.names[..shown].join(", "));
        if self.names.len() > shown {
            text.push_str(&format!(" and {} more", self.names.len() - shown));
        }
        text
    }
}

/// Returns the note about left-out entries, if there are any.
pub(super) fn left_out(count: usize, one: &str, why: &str) -> Option<String> {
    (count > 0).then(|| format!("left out: {} {why}", counted(count, one)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn omitted_entries_are_counted_in_the_note_and_named_in_the_comment() {
        let names = |count: usize| (0..count).map(|at| format!("c{at}")).collect();
        assert!(LeftOut::of(names(0), "cluster", "paused").is_none());
        let some = LeftOut::of(names(2), "cluster", "paused").expect("two");
        assert_eq!(some.note(), "left out: 2 clusters paused");
        assert_eq!(some.comment(), "left out: 2 clusters paused: c0, c1");
        let many = LeftOut::of(names(203), "cluster", "paused").expect("many");
        assert!(many.comment().ends_with(", c199 and 3 more"));
    }
}
