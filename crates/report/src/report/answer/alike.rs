//! The difference below which two times or numbers of bytes are not told apart.

/// The greatest share of the smaller number by which numbers differ that are alike.
const ALIKE: f64 = 0.02;

/// Returns true if two times or numbers of bytes hardly differ.
pub(super) fn are_alike(a: f64, b: f64) -> bool {
    a.total_cmp(&b).is_eq() || (a - b).abs() <= ALIKE * a.min(b)
}
