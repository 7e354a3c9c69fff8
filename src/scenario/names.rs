//! Names with ranges: `store-{0001..0900}` stands for 900 names. If the number 900 is given elsewhere, so does
//! `store-{0001..}`.

/// Maximum number of names that one text may stand for.
pub(crate) const MOST_NAMES: u64 = 1_000_000;

/// Maximum length of a region, or of a name with ranges, in bytes. It is the limit of a Kubernetes object name,
/// because each cluster in a group has a copy.
pub(super) const LONGEST_NAME: usize = 253;

/// Returns all names that `text` stands for, in order, with the last range changing fastest. As in a shell, leading
/// zeros in a range's bounds set the number of digits.
///
/// # Errors
/// Returns an error message if a range is invalid or descending, or if there would be more than [`MOST_NAMES`] names.
pub(crate) fn expand(text: &str) -> Result<Vec<String>, String> {
    // Each range, with the text before it.
    let mut ranges: Vec<(&str, NumberRange)> = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let closed = after.split_once('}');
        let Some((inside, behind)) = closed else {
            return Err(no_range(&rest[before.len()..]));
        };
        let Some(range) = NumberRange::parse(inside) else {
            return Err(no_range(&rest[before.len()..]));
        };
        if range.from > range.to {
            return Err(format!("the range `{{{inside}}}` runs backwards"));
        }
        ranges.push((before, range));
        rest = behind;
    }

    let mut total: u64 = 1;
    for (_, range) in &ranges {
        total = total.saturating_mul((range.to - range.from).saturating_add(1));
    }
    if total > MOST_NAMES {
        return Err(format!(
            "`{text}` stands for {total} clusters; a fleet has at most {MOST_NAMES}"
        ));
    }
    let mut names = vec![String::new()];
    for (before, range) in ranges {
        let digits = range.digits;
        let mut longer = Vec::new();
        for name in &names {
            for number in range.from..=range.to {
                longer.push(format!("{name}{before}{number:0digits$}"));
            }
        }
        names = longer;
    }
    for name in &mut names {
        name.push_str(rest);
    }
    Ok(names)
}

/// Returns the error message for text in braces that is not a range.
fn no_range(text: &str) -> String {
    format!("`{text}` is not a range; write e.g. `{{001..900}}`")
}

/// Returns whether a range in the name has no end, such as `store-{0001..}`.
pub(crate) fn is_open(text: &str) -> bool {
    text.contains("..}")
}

/// Returns the first `count` names of an open range: `store-{0001..}` and 900 give `store-{0001..0900}`. The range's
/// start sets the number of digits regardless of the count, so that a larger fleet contains all names of a smaller
/// one, in the same order.
///
/// # Errors
/// Returns an error message if the open range is invalid, is not the only one, or has too few digits, or if `count` is
/// above [`MOST_NAMES`].
pub(crate) fn numbered(text: &str, count: u64) -> Result<Vec<String>, String> {
    let (head, after) = text.split_once("..}").unwrap_or((text, ""));
    let (before, from) = head.rsplit_once('{').unwrap_or((head, ""));
    if !is_number(from) {
        return Err(format!("`{text}` has no open range such as `{{0001..}}`"));
    }
    if before.contains('{') || after.contains('{') {
        return Err(format!("`{text}` has another range next to the open one"));
    }
    if count > MOST_NAMES {
        return Err(format!(
            "`{text}` would stand for {count} clusters; a fleet has at most {MOST_NAMES}"
        ));
    }
    let digits = if is_padded(from) { from.len() } else { 1 };
    let start: u64 = from
        .parse()
        .map_err(|_| format!("`{from}` is not a number"))?;
    let end = start + count;
    if is_padded(from) && end.saturating_sub(1).to_string().len() > digits {
        return Err(format!(
            "`{text}` has too few digits for {count} clusters; write `{{{start:0width$}..}}`",
            width = (end - 1).to_string().len()
        ));
    }
    Ok((start..end)
        .map(|number| format!("{before}{number:0digits$}{after}"))
        .collect())
}

/// A range of numbers in a name.
struct NumberRange {
    from: u64,
    /// The last number, which is included.
    to: u64,
    /// Minimum number of digits.
    digits: usize,
}

impl NumberRange {
    /// Parses a range such as `001..900`.
    fn parse(text: &str) -> Option<Self> {
        let (from, to) = text.split_once("..")?;
        if !is_number(from) || !is_number(to) {
            return None;
        }
        let digits = if is_padded(from) || is_padded(to) {
            from.len().max(to.len())
        } else {
            1
        };
        Some(Self {
            from: from.parse().ok()?,
            to: to.parse().ok()?,
            digits,
        })
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.len() <= 18 && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_padded(number: &str) -> bool {
    number.len() > 1 && number.starts_with('0')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_expand_as_in_a_shell() {
        let cases: [(&str, &[&str]); 7] = [
            ("edge", &["edge"]),
            ("c-{1..3}", &["c-1", "c-2", "c-3"]),
            ("c-{08..10}", &["c-08", "c-09", "c-10"]),
            ("c-{8..10}", &["c-8", "c-9", "c-10"]),
            ("{1..2}-{01..02}", &["1-01", "1-02", "2-01", "2-02"]),
            ("c-{01..100}x{0..0}", &["c-001x0", "c-002x0"]),
            ("c-{5..5}", &["c-5"]),
        ];
        for (text, names) in cases {
            let expanded = expand(text).expect(text);
            assert_eq!(&expanded[..names.len()], names, "{text}");
        }
        assert_eq!(
            expand("store-{0001..0900}").map(|names| names.len()),
            Ok(900)
        );
    }

    #[test]
    fn an_open_range_gives_the_requested_number_of_names() {
        for (text, count, closed) in [
            ("store-{0001..}", 900, "store-{0001..0900}"),
            ("store-{0001..}", 9999, "store-{0001..9999}"),
            ("c{1..}x", 12, "c{1..12}x"),
            ("c-{008..}", 5, "c-{008..012}"),
            ("c-{10..}", 1000, "c-{10..1009}"),
        ] {
            assert_eq!(numbered(text, count), expand(closed), "{text}");
        }
        assert_eq!(numbered("store-{0001..}", 0), Ok(Vec::new()));
    }

    #[test]
    fn a_longer_open_range_begins_with_the_names_of_a_shorter_one() {
        let (few, many) = (
            numbered("store-{0001..}", 200),
            numbered("store-{0001..}", 5000),
        );
        let (few, many) = (few.expect("200"), many.expect("5000"));
        assert_eq!(few, many[..200]);
        assert!(many.is_sorted(), "names sort as they are numbered");
    }

    #[test]
    fn invalid_open_ranges_are_refused() {
        for (text, count, message) in [
            (
                "store-{01..}",
                200,
                "`store-{01..}` has too few digits for 200 clusters; write `{001..}`",
            ),
            (
                "store-{02..}",
                99,
                "`store-{02..}` has too few digits for 99 clusters; write `{002..}`",
            ),
            (
                "{1..2}-{01..}",
                2,
                "`{1..2}-{01..}` has another range next to the open one",
            ),
            (
                "{01..}-{01..}",
                2,
                "`{01..}-{01..}` has another range next to the open one",
            ),
            ("c-{..}", 2, "`c-{..}` has no open range such as `{0001..}`"),
            (
                "c-{a..}",
                2,
                "`c-{a..}` has no open range such as `{0001..}`",
            ),
            ("c..}", 2, "`c..}` has no open range such as `{0001..}`"),
            (
                "c-{1..}",
                1_000_001,
                "`c-{1..}` would stand for 1000001 clusters; a fleet has at most 1000000",
            ),
        ] {
            assert!(is_open(text), "{text}");
            assert_eq!(numbered(text, count), Err(message.to_owned()), "{text}");
        }
    }

    #[test]
    fn an_invalid_range_is_refused() {
        for (text, message) in [
            ("c-{1..", "`{1..` is not a range; write e.g. `{001..900}`"),
            (
                "c-{a..b}",
                "`{a..b}` is not a range; write e.g. `{001..900}`",
            ),
            ("c-{1,2}", "`{1,2}` is not a range; write e.g. `{001..900}`"),
            ("c-{}", "`{}` is not a range; write e.g. `{001..900}`"),
            (
                "c-{-1..2}",
                "`{-1..2}` is not a range; write e.g. `{001..900}`",
            ),
            ("c-{3..1}", "the range `{3..1}` runs backwards"),
            (
                "c-{1..10000000}",
                "`c-{1..10000000}` stands for 10000000 clusters; a fleet has at most 1000000",
            ),
            (
                "{0..999999999999999999}{0..999999999999999999}",
                "`{0..999999999999999999}{0..999999999999999999}` stands for 18446744073709551615 clusters; \
                 a fleet has at most 1000000",
            ),
        ] {
            assert_eq!(expand(text), Err(message.to_owned()), "{text}");
        }
    }
}
