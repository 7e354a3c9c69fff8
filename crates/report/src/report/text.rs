//! Measures texts in the font of the charts, and cuts them to the available width.

use ab_glyph::{Font, FontRef, GlyphId};

use super::style::{BOLD, REGULAR};
use fleetsim_units::io::printable;

/// `text` escaped for HTML and its attributes.
pub(super) fn escaped(text: &str) -> String {
    // The character `&` comes first, because all escapes begin with it.
    let escapes = [
        ('&', "&amp;"),
        ('<', "&lt;"),
        ('>', "&gt;"),
        ('"', "&quot;"),
        ('\'', "&#39;"),
    ];
    let mut escaped = printable(text).into_owned();
    for (letter, escape) in escapes {
        escaped = escaped.replace(letter, escape);
    }
    escaped
}

/// The weight of a text.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) enum Weight {
    Regular,
    Bold,
}

/// The width of `text` in logical pixels, with kerning.
pub(super) fn text_width(text: &str, size: f64, weight: Weight) -> f64 {
    let (_, width) = lay_out(text, size, weight);
    width
}

/// The width of the widest text; 0 if there are no texts.
pub(super) fn widest(texts: impl IntoIterator<Item: AsRef<str>>, size: f64, weight: Weight) -> f64 {
    texts
        .into_iter()
        .map(|text| text_width(text.as_ref(), size, weight))
        .fold(0.0, f64::max)
}

/// The glyphs of `text` with their distances from the left end, and the width of the whole text.
pub(super) fn lay_out(text: &str, size: f64, weight: Weight) -> (Vec<(GlyphId, f64)>, f64) {
    let font = face(weight);
    let scale = glyph_scale(size, weight);
    let mut at = 0.0;
    let mut glyphs: Vec<(GlyphId, f64)> = Vec::with_capacity(text.len());
    for letter in text.chars() {
        let glyph = font.glyph_id(letter);
        if let Some(&(before, _)) = glyphs.last() {
            at += scale * f64::from(font.kern_unscaled(before, glyph));
        }
        glyphs.push((glyph, at));
        at += scale * f64::from(font.h_advance_unscaled(glyph));
    }
    (glyphs, at)
}

/// The font of a weight.
pub(super) fn face(weight: Weight) -> &'static FontRef<'static> {
    match weight {
        Weight::Regular => &REGULAR,
        Weight::Bold => &BOLD,
    }
}

/// Logical pixels per font unit, in a text of the given size.
pub(super) fn glyph_scale(size: f64, weight: Weight) -> f64 {
    size / f64::from(
        face(weight)
            .units_per_em()
            .expect("a scalable font says its em"),
    )
}

/// `text`, cut with an ellipsis if it is wider than `width`.
pub(super) fn fitted(text: &str, size: f64, weight: Weight, width: f64) -> String {
    if text_width(text, size, weight) <= width {
        return text.to_owned();
    }
    let letters: Vec<char> = text.chars().collect();
    for kept in (1..letters.len()).rev() {
        let start: String = letters[..kept].iter().collect();
        let cut = format!("{}…", start.trim_end());
        if text_width(&cut, size, weight) <= width {
            return cut;
        }
    }
    String::new()
}

/// `text` in at most `most` lines that are broken at spaces. If the last line is too wide, it is cut with an ellipsis.
pub(super) fn in_lines(
    text: &str,
    size: f64,
    weight: Weight,
    width: f64,
    most: usize,
) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let is_last_line = lines.len() >= most;
        if let Some(line) = lines.last_mut() {
            let longer = format!("{line} {word}");
            if is_last_line || text_width(&longer, size, weight) <= width {
                *line = longer;
                continue;
            }
        }
        lines.push(word.to_owned());
    }
    lines
        .iter()
        .map(|line| fitted(line, size, weight, width))
        .collect()
}

/// A name with its middle cut if it is wider than `width`, because strategies are at the start and settings at the
/// end.
pub(super) fn fitted_name(name: &str, size: f64, weight: Weight, width: f64) -> String {
    if text_width(name, size, weight) <= width {
        return name.to_owned();
    }
    let letters: Vec<char> = name.chars().collect();
    for kept in (1..letters.len()).rev() {
        let tail = kept * 2 / 3;
        let head = kept - tail;
        let mut cut: String = letters[..head].iter().collect();
        cut.push('…');
        cut.extend(&letters[letters.len() - tail..]);
        if text_width(&cut, size, weight) <= width {
            return cut;
        }
    }
    String::new()
}

/// Length in bytes of the longest prefix of whole words, including the last space, that all names share. Every name
/// continues after it.
pub(super) fn common_start(names: &[&str]) -> usize {
    let [first, _, ..] = names else {
        return 0;
    };
    let mut common = 0;
    for (space, _) in first.match_indices(' ') {
        let end = space + 1;
        if !all_continue(names, &first[..end]) {
            break;
        }
        common = end;
    }
    common
}

/// Returns whether all names begin with `start` and continue after it.
fn all_continue(names: &[&str], start: &str) -> bool {
    names
        .iter()
        .all(|name| name.len() > start.len() && name.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LABEL_SIZE: f64 = 13.0;

    #[test]
    fn a_text_too_wide_for_its_room_ends_in_an_ellipsis() {
        assert_eq!(
            fitted("maxUnavailable", LABEL_SIZE, Weight::Regular, 500.0),
            "maxUnavailable"
        );
        let cut = fitted(
            "maxUnavailable 100 percent",
            LABEL_SIZE,
            Weight::Regular,
            80.0,
        );
        assert!(cut.ends_with('…') && cut.len() > 6, "{cut}");
        assert!(text_width(&cut, LABEL_SIZE, Weight::Regular) <= 80.0);
    }

    #[test]
    fn a_long_text_has_several_lines_and_only_the_last_is_cut() {
        let in_two = |text: &str| in_lines(text, LABEL_SIZE, Weight::Regular, 100.0, 2);
        assert_eq!(in_two("one"), ["one"]);
        assert_eq!(
            in_two("maxUnavailable 5 percent"),
            ["maxUnavailable", "5 percent"]
        );
        let cut = in_two("maxUnavailable of five percent, or of every cluster at once");
        assert!(
            cut.len() == 2 && cut[0] == "maxUnavailable" && cut[1].ends_with('…'),
            "{cut:?}"
        );
    }

    #[test]
    fn the_common_prefix_of_names_ends_at_a_word_and_is_never_a_whole_name() {
        let cases = [
            (
                &["from git max=5%", "from git max=10%"][..],
                "from git ",
                "settings differ",
            ),
            (&["max=5%", "max=10%"], "", "half a word is none"),
            (&["fleet a", "all at once"], "", "nothing in common"),
            (
                &["fleet a", "fleet a b"],
                "fleet ",
                "the shorter name stays",
            ),
            (
                &["fleet ", "fleet b"],
                "",
                "nothing would be left of the first",
            ),
            (
                &["alone in the world"],
                "",
                "a single name has no common start",
            ),
            (&[], "", "no name"),
        ];
        for (names, expected, reason) in cases {
            assert_eq!(common_start(names), expected.len(), "{reason}");
        }
    }

    #[test]
    fn a_shortened_name_keeps_its_setting() {
        let cut = fitted_name(
            "a strategy with a long name, maxUnavailable=25%",
            LABEL_SIZE,
            Weight::Bold,
            160.0,
        );
        assert!(
            cut.starts_with('a') && cut.contains('…') && cut.ends_with("=25%"),
            "{cut}"
        );
        assert!(text_width(&cut, LABEL_SIZE, Weight::Bold) <= 160.0);
    }
}
