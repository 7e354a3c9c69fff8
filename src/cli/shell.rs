//! Commands as text: results record the command that reproduces them, and later commands repeat it.
//!
//! The text can be pasted into a POSIX shell: words with characters that are special to a shell are quoted.

/// Joins words to one command. A word with a NUL byte, which no shell can pass on, is not quoted.
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

/// Splits a recorded command into words. Returns no words for an invalid command, which every command line parser
/// rejects.
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
