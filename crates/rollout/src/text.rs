//! Numbers and names in explanations.

/// Maximum number of members of a group that are named.
pub(super) const NAMED: usize = 3;

/// Formats a number and a noun: `1 cluster`, `2 clusters`.
pub(super) fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// Returns `is` or `are`.
pub(super) fn are(number: usize) -> &'static str {
    if number == 1 { "is" } else { "are" }
}

/// Returns the first few names, and the number of further ones: `a, b, c and 2 more`.
pub(super) fn names<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    let mut names = names.into_iter();
    let named = names.by_ref().take(NAMED).collect::<Vec<_>>().join(", ");
    match names.count() {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

/// Formats a number and names: `3 clusters (a, b, c)`.
pub(super) fn listed<'n>(list: impl ExactSizeIterator<Item = &'n str>, noun: &str) -> String {
    match list.len() {
        0 => count(0, noun),
        number => format!("{} ({})", count(number, noun), names(list)),
    }
}
