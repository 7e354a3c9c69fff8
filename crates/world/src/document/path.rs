//! Paths inside a structured file: `strategies.from-git.rancherFleet.maxUnavailable`, `fleet[0].downlink`.

use std::fmt;

/// One component of a path: a step from a value to a value inside it.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Step {
    /// The value of a key in a map.
    Key(String),
    /// An item of a list, counted from 0.
    Index(usize),
}

/// A path from the top of a file to a value in it.
#[derive(Clone, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub struct Path(pub Vec<Step>);

impl Path {
    /// Creates the path of the top-level field `key`.
    pub fn of(key: &str) -> Self {
        Self::default().key(key)
    }

    /// Returns this path extended by `key`.
    pub fn key(&self, key: &str) -> Self {
        self.join(Step::Key(key.to_owned()))
    }

    /// Returns this path extended by the item at `index`.
    pub fn index(&self, index: usize) -> Self {
        self.join(Step::Index(index))
    }

    /// Returns this path extended by `below`.
    pub fn then(&self, below: &Self) -> Self {
        Self([self.0.as_slice(), &below.0].concat())
    }

    fn join(&self, step: Step) -> Self {
        let mut steps = self.0.clone();
        steps.push(step);
        Self(steps)
    }

    /// Returns true if this path is `other` or inside it.
    pub fn starts_with(&self, other: &Self) -> bool {
        self.0.starts_with(&other.0)
    }

    /// Returns true if one of two paths starts with the other.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.starts_with(other) || other.starts_with(self)
    }

    /// Returns the last key of the path, or the whole path if it has no key.
    pub fn last_key(&self) -> String {
        match self.0.last() {
            Some(Step::Key(key)) => key.clone(),
            _ => self.to_string(),
        }
    }

    /// Parses a path: `a.b[0].c`, or `a.b.0.c`, which many tools write. A part in braces, such as the range in
    /// `applications.svc-{01..40}.strategy`, belongs to its key.
    ///
    /// # Errors
    /// If a step is empty or an index is not a number. The error is a message.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut steps = Vec::new();
        for part in parts(text) {
            let (key, mut rest) = part.split_at(part.find('[').unwrap_or(part.len()));
            if key.is_empty() && (rest.is_empty() || steps.is_empty()) {
                return Err(format!("`{text}` is not a path: it has an empty step"));
            }
            match key.parse() {
                Ok(index) => steps.push(Step::Index(index)),
                Err(_) if key.is_empty() => {}
                Err(_) => steps.push(Step::Key(key.to_owned())),
            }
            while !rest.is_empty() {
                let Some((step, after)) = leading_index(rest) else {
                    return Err(format!(
                        "`{text}` is not a path: `{rest}` is not an index like `[0]`"
                    ));
                };
                steps.push(step);
                rest = after;
            }
        }
        Ok(Self(steps))
    }
}

/// Returns the parts of a path between its dots, which do not separate parts inside braces.
fn parts(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut begin = 0;
    let mut is_in_braces = false;
    for (at, character) in text.char_indices() {
        match character {
            '{' => is_in_braces = true,
            '}' => is_in_braces = false,
            '.' if !is_in_braces => {
                parts.push(&text[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[begin..]);
    parts
}

/// Parses an index in brackets at the start of a text. Returns the index and the rest of the text. `[*]`, which
/// constants use, means every entry.
fn leading_index(text: &str) -> Option<(Step, &str)> {
    let (index, after) = text.strip_prefix('[')?.split_once(']')?;
    let step = match index {
        "*" => Step::Key(index.to_owned()),
        _ => Step::Index(index.parse().ok()?),
    };
    Some((step, after))
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.0.iter().enumerate() {
            match step {
                Step::Key(key) if at == 0 => f.write_str(key)?,
                Step::Key(key) => write!(f, ".{key}")?,
                Step::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_read_and_print() {
        for (text, printed) in [
            ("registry.egress", "registry.egress"),
            ("fleet[0].downlink", "fleet[0].downlink"),
            ("fleet[*].downlink", "fleet.*.downlink"),
            ("fleet.0.downlink", "fleet[0].downlink"),
            ("a[1][2].b", "a[1][2].b"),
            (
                "applications.svc-{01..40}.releases.every",
                "applications.svc-{01..40}.releases.every",
            ),
        ] {
            assert_eq!(
                Path::parse(text).map(|path| path.to_string()),
                Ok(printed.to_owned()),
                "{text}"
            );
        }
    }

    #[test]
    fn an_invalid_path_is_refused() {
        for text in [
            "",
            ".",
            "a..b",
            "a.",
            ".a",
            "a[",
            "a[]",
            "a[x]",
            "a[0]b",
            "[0]",
            "{1..2}..b",
        ] {
            assert!(Path::parse(text).is_err(), "{text:?}");
        }
    }
}
