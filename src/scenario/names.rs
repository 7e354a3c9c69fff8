//! Names with ranges: `store-{0001..0900}` stands for 900 names.

/// Most names that one text may stand for.
pub(crate) const MOST_NAMES: u64 = 1_000_000;

/// A part of a name.
enum Part<'t> {
    Text(&'t str),
    /// From, to (inclusive), and digits to fill up to.
    Range(u64, u64, usize),
}

/// All names that `text` stands for, in order, the last range running fastest. As in a shell, a range whose bounds are
/// written with leading zeros gives names of that many digits.
///
/// # Errors
/// When a range is no range, runs backwards, or there would be more than [`MOST_NAMES`]; in words.
pub(crate) fn expand(text: &str) -> Result<Vec<String>, String> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        let close = rest[open..].find('}').map(|at| open + at);
        let inside = close.map(|close| &rest[open + 1..close]);
        let range = inside.and_then(range);
        let (Some(close), Some((from, to, digits))) = (close, range) else {
            return Err(format!("`{}` is not a range; write e.g. `{{001..900}}`", &rest[open..]));
        };
        if from > to {
            return Err(format!("the range `{{{}}}` runs backwards", inside.unwrap_or_default()));
        }
        parts.push(Part::Text(&rest[..open]));
        parts.push(Part::Range(from, to, digits));
        rest = &rest[close + 1..];
    }
    parts.push(Part::Text(rest));

    let counts = parts.iter().map(|part| match part {
        Part::Text(_) => 1,
        Part::Range(from, to, _) => (to - from).saturating_add(1),
    });
    let total = counts.fold(1_u64, u64::saturating_mul);
    if total > MOST_NAMES {
        return Err(format!("`{text}` stands for {total} clusters; a fleet has at most {MOST_NAMES}"));
    }
    let mut names = vec![String::new()];
    for part in parts {
        names = match part {
            Part::Text(text) => names.into_iter().map(|name| name + text).collect(),
            Part::Range(from, to, digits) => names
                .iter()
                .flat_map(|name| (from..=to).map(move |number| format!("{name}{number:0digits$}")))
                .collect(),
        };
    }
    Ok(names)
}

fn range(inside: &str) -> Option<(u64, u64, usize)> {
    let (from, to) = inside.split_once("..")?;
    let is_number = |text: &str| !text.is_empty() && text.len() <= 18 && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(from) || !is_number(to) {
        return None;
    }
    let padded = (from.len() > 1 && from.starts_with('0')) || (to.len() > 1 && to.starts_with('0'));
    let digits = if padded { from.len().max(to.len()) } else { 1 };
    Some((from.parse().ok()?, to.parse().ok()?, digits))
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
        assert_eq!(expand("store-{0001..0900}").map(|names| names.len()), Ok(900));
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for (text, message) in [
            ("c-{1..", "`{1..` is not a range; write e.g. `{001..900}`"),
            ("c-{a..b}", "`{a..b}` is not a range; write e.g. `{001..900}`"),
            ("c-{1,2}", "`{1,2}` is not a range; write e.g. `{001..900}`"),
            ("c-{}", "`{}` is not a range; write e.g. `{001..900}`"),
            ("c-{-1..2}", "`{-1..2}` is not a range; write e.g. `{001..900}`"),
            ("c-{3..1}", "the range `{3..1}` runs backwards"),
            ("c-{1..10000000}", "`c-{1..10000000}` stands for 10000000 clusters; a fleet has at most 1000000"),
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
