//! The words of an error, and what is left of them where nothing of a file may be shown.
//!
//! Fixed words are the program's own, so they never have a part of a file. Words that were put together may have one.

/// The words of an error or of its fix.
#[derive(Clone, Debug)]
pub struct Wording {
    whole: String,
    bare: &'static str,
}

impl Wording {
    /// Words with a part of a file, and the same reason without it.
    pub fn quoting(whole: impl Into<String>, bare: &'static str) -> Self {
        Self {
            whole: whole.into(),
            bare,
        }
    }

    /// All of the words.
    pub fn whole(&self) -> &str {
        &self.whole
    }

    /// The words without any part of a file; `None` if nothing is left.
    pub fn bare(&self) -> Option<&'static str> {
        Some(self.bare).filter(|bare| !bare.is_empty())
    }

    /// The words in one text: all of them, or those without any part of a file.
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
