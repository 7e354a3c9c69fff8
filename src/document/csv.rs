//! CSV before it is read: a reader takes all that follows an unclosed quote for one cell, and says nothing.

/// An error for [`unclosed_quote`].
pub(crate) const UNCLOSED_QUOTE: &str = "a quote that opens a cell must be closed";
/// Its fix.
pub(crate) const CLOSE_QUOTE: &str = "close it, or write a quote in a cell twice, within quotes";

/// The byte of a quote that nothing closes: readers of CSV take all that follows for one cell.
pub(crate) fn unclosed_quote(csv: &str) -> Option<usize> {
    let (mut opened, mut is_begin) = (None, true);
    for (at, letter) in csv.char_indices() {
        match (opened, letter) {
            // A doubled quote closes and opens again. What follows another one is the next cell, or the quote belongs
            // to a later cell.
            (Some(_), '"') => match csv[at + 1..].chars().next() {
                None | Some(',' | '\n' | '\r' | '"' | ' ' | '\t') => opened = None,
                Some(_) => break,
            },
            (None, '"') if is_begin || csv[..at].ends_with('"') => opened = Some(at),
            _ => {}
        }
        is_begin = matches!(letter, ',' | '\n' | '\r') || is_begin && letter == ' ';
    }
    opened
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quote_that_nothing_closes_is_found() {
        assert_eq!(unclosed_quote("a,\"b, \"\"c\"\"\"\n5\" disk,\"\"\n"), None);
        assert_eq!(unclosed_quote("n,l\na,\"x\nb,\"y\nc,z\n"), Some(6));
        assert_eq!(unclosed_quote("n,l\na,\"x=1\nb,y\n"), Some(6));
    }
}
