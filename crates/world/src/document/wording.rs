//! The text of an error, and the part of it that may be shown if a file's content must not be shown.
//!
//! Fixed texts are the program's own, so they never contain a part of a file. Composed texts may contain one.

/// The text of an error or of its fix.
#[derive(Clone, Debug)]
pub struct Wording {
    whole: String,
    bare: &'static str,
}

impl Wording {
    /// Creates a text that quotes a file. `bare`: a text with the same meaning that does not quote it.
    pub fn quoting(whole: impl Into<String>, bare: &'static str) -> Self {
        Self {
            whole: whole.into(),
            bare,
        }
    }

    /// Returns the full text.
    pub fn whole(&self) -> &str {
        &self.whole
    }

    /// Returns the text without any content of a file; `None` if nothing is left.
    pub fn bare(&self) -> Option<&'static str> {
        Some(self.bare).filter(|bare| !bare.is_empty())
    }

    /// Returns the full text, or if `is_withheld` the text without any content of a file.
    pub fn shown(self, is_withheld: bool) -> Option<String> {
        if is_withheld {
            self.bare().map(str::to_owned)
        } else {
            Some(self.whole)
        }
    }
}

impl From<&'static str> for Wording {
    fn from(fixed: &'static str) -> Self {
        Self::quoting(fixed, fixed)
    }
}

impl From<String> for Wording {
    fn from(whole: String) -> Self {
        Self::quoting(whole, "")
    }
}
