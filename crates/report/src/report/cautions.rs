//! Cautions that a reader must know before the answer: compared variants with different numbers of targets, and notes
//! on the products' files.

use std::collections::BTreeMap;

use itertools::Itertools;

use super::answer::sentence::{listed, quoted, some_of};
use crate::results::FileNotes;
use fleetsim_units::counted;

/// Maximum number of notes in one list, so that the list and the answer fit on a screen.
const MOST_NOTES: usize = 12;

/// A compared variant and the number of its targets.
#[derive(Clone, Copy, Debug)]
pub struct VariantTargets<'v> {
    /// The name of the variant's strategy.
    pub strategy: &'v str,
    /// The variant's label.
    pub variant: &'v str,
    /// The number of targets of the variant.
    pub targets: u64,
}

/// A sentence if compared variants have different numbers of targets. `None`: they have the same number. `target` is
/// the singular noun for a target.
#[must_use]
pub fn different_targets(compared: &[VariantTargets<'_>], target: &str) -> Option<String> {
    let mut names: BTreeMap<u64, Vec<&str>> = BTreeMap::new();
    for variant in compared {
        let named = names.entry(variant.targets).or_default();
        let name = name_in(variant, compared);
        if !named.contains(&name) {
            named.push(name);
        }
    }
    if names.len() < 2 {
        return None;
    }
    let mut parts = Vec::new();
    for (targets, names) in names {
        let has = if names.len() == 1 { "has" } else { "have" };
        let names = some_of(&quoted(names));
        parts.push(format!("{names} {has} {}", counted(targets, target)));
    }
    Some(format!(
        "The compared strategies have different targets, so their times and loads are not comparable: {}.",
        listed(&parts)
    ))
}

/// The name of the variant's strategy if all variants of the strategy have the same number of targets, otherwise the
/// variant's label.
fn name_in<'v>(variant: &VariantTargets<'v>, all: &[VariantTargets<'v>]) -> &'v str {
    let own = all
        .iter()
        .filter(|other| other.strategy == variant.strategy);
    if own.map(|other| other.targets).all_equal() {
        variant.strategy
    } else {
        variant.variant
    }
}

/// One line for each note on a product's file, with the strategies that it concerns.
pub(super) fn file_notes(notes: &[FileNotes]) -> Vec<String> {
    let mut strategies: Vec<(&str, Vec<&str>)> = Vec::new();
    for of_strategy in notes {
        for note in &of_strategy.notes {
            match strategies.iter_mut().find(|(known, _)| known == note) {
                Some((_, names)) => names.push(&of_strategy.strategy),
                None => strategies.push((note, vec![&of_strategy.strategy])),
            }
        }
    }
    let all = strategies.len();
    let mut lines = Vec::new();
    for (note, names) in strategies.into_iter().take(MOST_NOTES) {
        lines.push(format!("{}: {note}", some_of(&quoted(names))));
    }
    if all > MOST_NOTES {
        let more = counted(all - MOST_NOTES, "more note");
        lines.push(format!("{more}; see `file_notes` in provenance.json"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variant<'v>(strategy: &'v str, variant: &'v str, targets: u64) -> VariantTargets<'v> {
        VariantTargets {
            strategy,
            variant,
            targets,
        }
    }

    #[test]
    fn different_numbers_of_targets_are_reported_with_the_numbers() {
        let same = [variant("a", "a x=1", 5), variant("b", "b", 5)];
        assert_eq!(different_targets(&same, "cluster"), None);
        let all = [
            variant("file", "file x=1", 5),
            variant("file", "file x=2", 5),
            variant("all", "all", 1_100),
            variant("batches", "batches", 1_100),
        ];
        let said = different_targets(&all, "cluster").expect("they differ");
        assert!(
            said.ends_with(": `file` has 5 clusters and `all` and `batches` have 1,100 clusters."),
            "{said}"
        );
        let swept = [
            variant("file", "file x=1", 1),
            variant("file", "file x=2", 2),
        ];
        let said = different_targets(&swept, "instance").expect("they differ");
        assert!(
            said.ends_with(": `file x=1` has 1 instance and `file x=2` has 2 instances."),
            "{said}"
        );
    }

    #[test]
    fn a_note_that_concerns_several_strategies_is_one_line() {
        let notes = |strategy: &str, notes: &[&str]| FileNotes {
            strategy: strategy.to_owned(),
            notes: notes.iter().map(|note| (*note).to_owned()).collect(),
        };
        assert!(file_notes(&[]).is_empty());
        let lines = file_notes(&[notes("a", &["x", "y"]), notes("b", &["y"])]);
        assert_eq!(lines, ["`a`: x", "`a` and `b`: y"]);
        let many: Vec<String> = (0..14).map(|at| at.to_string()).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let lines = file_notes(&[notes("a", &many)]);
        assert_eq!(lines.len(), 13);
        assert_eq!(
            lines[12],
            "2 more notes; see `file_notes` in provenance.json"
        );
    }
}
