//! The documents of a YAML stream.

use std::ops::Range;

/// Returns the byte ranges of the documents in a YAML stream that contain more than comments.
pub fn documents(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let marks = line.trim_end();
        let has_content_behind = line.starts_with("--- ");
        if marks == "---" || marks == "..." || has_content_behind {
            found.push(start..at);
            start = if has_content_behind {
                at + "---".len()
            } else {
                at + line.len()
            };
        }
        at += line.len();
    }
    found.push(start..text.len());
    let mut with_content = Vec::new();
    for range in found {
        if has_content(&text[range.clone()]) {
            with_content.push(range);
        }
    }
    with_content
}

/// Returns whether a document contains more than comments and directives.
fn has_content(text: &str) -> bool {
    for line in text.lines() {
        let line = line.trim();
        if !line.is_empty() && !line.starts_with(['#', '%']) {
            return true;
        }
    }
    false
}

/// Returns the text with everything outside of a range replaced by blanks, so that offsets stay valid.
pub fn only(text: &str, range: &Range<usize>) -> String {
    let mut alone = String::with_capacity(range.end);
    for byte in text[..range.start].bytes() {
        alone.push(if byte == b'\n' { '\n' } else { ' ' });
    }
    alone.push_str(&text[range.clone()]);
    alone
}
