//! Name patterns of sync windows, matched like gobwas/glob v0.2.3 does without separators.
//!
//! `*` and `**` match any text, `?` matches one character, `[a-c]` and `[!a-c]` match one character of a set,
//! `{one,two}` matches one of several patterns, and `\` matches the next character literally. A pattern without its
//! closing bracket matches nothing: Argo CD logs an error and continues (`util/glob/glob.go`). The pattern `*` alone
//! matches every text.

/// Returns whether a pattern matches a text.
pub(super) fn glob_matches(pattern: &str, text: &str) -> bool {
    let text: Vec<char> = text.chars().collect();
    alternatives(pattern).is_some_and(|all| all.iter().any(|one| matches(one, &text)))
}

/// A part of a pattern.
#[derive(Clone, Debug, Eq, PartialEq)]
enum GlobPart {
    Text,
    Any,
    One(char),
    Set {
        is_not: bool,
        ranges: Vec<CharRange>,
    },
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct CharRange {
    from: char,
    to: char,
}

/// Expands the braces of a pattern. Returns all alternatives. `None`: a bracket is not closed.
fn alternatives(pattern: &str) -> Option<Vec<Vec<GlobPart>>> {
    let chars: Vec<char> = pattern.chars().collect();
    let mut at = 0;
    let found = sequence(&chars, &mut at, false)?;
    (at == chars.len()).then_some(found)
}

/// Parses up to the end, or inside of braces up to `,` or `}`.
fn sequence(chars: &[char], at: &mut usize, is_inner: bool) -> Option<Vec<Vec<GlobPart>>> {
    let mut all = vec![Vec::new()];
    while *at < chars.len() {
        let char = chars[*at];
        if is_inner && (char == ',' || char == '}') {
            return Some(all);
        }
        *at += 1;
        let parts = match char {
            '{' => braces(chars, at)?,
            '*' => vec![vec![GlobPart::Text]],
            '?' => vec![vec![GlobPart::Any]],
            '[' => vec![vec![set(chars, at)?]],
            '\\' => {
                let next = *chars.get(*at)?;
                *at += 1;
                vec![vec![GlobPart::One(next)]]
            }
            other => vec![vec![GlobPart::One(other)]],
        };
        let mut longer = Vec::new();
        for begin in &all {
            for end in &parts {
                longer.push([begin.clone(), end.clone()].concat());
            }
        }
        all = longer;
    }
    (!is_inner).then_some(all)
}

/// Parses the patterns between braces, after the opening brace.
fn braces(chars: &[char], at: &mut usize) -> Option<Vec<Vec<GlobPart>>> {
    let mut all = Vec::new();
    loop {
        all.extend(sequence(chars, at, true)?);
        let end = *chars.get(*at)?;
        *at += 1;
        if end == '}' {
            return Some(all);
        }
    }
}

/// Parses a set of characters, after the opening bracket.
fn set(chars: &[char], at: &mut usize) -> Option<GlobPart> {
    let is_not = matches!(chars.get(*at), Some('!' | '^'));
    *at += usize::from(is_not);
    let mut ranges = Vec::new();
    loop {
        let from = *chars.get(*at)?;
        *at += 1;
        if from == ']' && !ranges.is_empty() {
            return Some(GlobPart::Set { is_not, ranges });
        }
        let mut to = from;
        if chars.get(*at) == Some(&'-') && chars.get(*at + 1).is_some_and(|end| *end != ']') {
            to = chars[*at + 1];
            *at += 2;
        }
        ranges.push(CharRange { from, to });
    }
}

fn matches(pattern: &[GlobPart], text: &[char]) -> bool {
    let Some((first, rest)) = pattern.split_first() else {
        return text.is_empty();
    };
    if *first == GlobPart::Text {
        return (0..=text.len()).any(|skipped| matches(rest, &text[skipped..]));
    }
    let Some((char, others)) = text.split_first() else {
        return false;
    };
    let fits = match first {
        GlobPart::One(one) => one == char,
        GlobPart::Set { is_not, ranges } => {
            let is_in = ranges
                .iter()
                .any(|range| (range.from..=range.to).contains(char));
            is_in != *is_not
        }
        GlobPart::Any | GlobPart::Text => true,
    };
    fits && matches(rest, others)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_the_product() {
        for (pattern, text, expected) in [
            ("*", "", true),
            ("shop-*", "shop-de", true),
            ("shop-*", "web-shop-de", false),
            ("*-prod", "a/b-prod", true),
            ("?hop", "shop", true),
            ("?hop", "hop", false),
            ("shop-[a-c]?", "shop-b1", true),
            ("shop-[!a-c]", "shop-b", false),
            ("{de,fr}-*", "fr-1", true),
            ("{de,f{i,r}}-*", "fi-1", true),
            ("{de,fr}-*", "it-1", false),
            (r"a\*", "a*", true),
            (r"a\*", "ab", false),
            ("{de", "de", false),
            ("[a", "a", false),
            ("", "", true),
        ] {
            assert_eq!(glob_matches(pattern, text), expected, "{pattern} {text}");
        }
    }
}
