//! Commands as text: results record the command that reproduces them, and later commands run it again.
//!
//! The text can be pasted into a POSIX shell: words that a shell would change are quoted.

/// Joins the words to one command. A word with a NUL byte, which no shell can pass on, is unchanged.
pub(super) fn quoted<S: AsRef<str>>(words: impl IntoIterator<Item = S>) -> String {
    let mut quoted = Vec::new();
    for word in words {
        let word = word.as_ref();
        quoted.push(match shlex::try_quote(word) {
            Ok(word) => word.into_owned(),
            Err(_) => word.to_owned(),
        });
    }
    quoted.join(" ")
}

/// Splits a recorded command into words. An invalid command has no words, which no command line accepts.
pub(super) fn words(command: &str) -> Vec<String> {
    shlex::split(command).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_commands_keep_spaces_quotes_and_comparisons() {
        let asked = [
            "fleetsim",
            "--limit",
            "P(ready_s <= 8 h) >= 95% with 99% confidence",
            "--variant",
            "a;b",
            "it's",
        ];
        assert_eq!(words(&quoted(asked)), asked);
        assert_eq!(quoted(["--limit", "a<10%"]), "--limit 'a<10%'");
        assert_eq!(
            quoted(["run", "experiments/01-max-unavailable"]),
            "run experiments/01-max-unavailable"
        );
    }
}
