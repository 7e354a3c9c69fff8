//! Texts for a terminal, measured in characters: wrapped, cut, and arranged in columns.

/// The number of characters in a text.
pub(super) fn letters(text: &str) -> usize {
    text.chars().count()
}

/// Breaks a text at spaces so that lines are at most `width` wide if the words allow it; later lines start with
/// `indent`.
#[must_use]
pub fn wrapped(text: &str, width: usize, indent: &str) -> String {
    let mut lines = String::new();
    let mut line = String::new();
    for word in text.split(' ') {
        if !line.trim().is_empty() && letters(&line) + 1 + letters(word) > width {
            lines.push_str(&line);
            lines.push('\n');
            indent.clone_into(&mut line);
        } else if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push_str(&line);
    lines.push('\n');
    lines
}

/// Like [`wrapped`], but an empty text gives no line.
pub(super) fn paragraph(text: &str, width: usize) -> String {
    if text.is_empty() {
        String::new()
    } else {
        wrapped(text, width, "")
    }
}

/// `text` without its middle if it has more than `max` characters; the settings at the end of a name are kept.
pub(super) fn shortened(text: &str, max: usize) -> String {
    if letters(text) <= max {
        return text.to_owned();
    }
    // The text may already contain an ellipsis from an earlier cut.
    let all: Vec<char> = text.chars().filter(|letter| *letter != '…').collect();
    let head = max / 3;
    let tail = max - head - 1;
    all[..head]
        .iter()
        .chain(&['…'])
        .chain(&all[all.len() - tail..])
        .collect()
}

/// The heading of a column, and the function that gives its cell in a row.
type ColumnOf<'c, Row> = (&'c str, &'c dyn Fn(&Row) -> String);

/// A table with a line for each row below the headings. The first `left` columns are left-aligned.
pub(super) fn text_table<Row>(rows: &[Row], left: usize, columns: &[ColumnOf<'_, Row>]) -> String {
    joined(
        &columns
            .iter()
            .map(|(heading, cell)| column(heading, rows, cell))
            .collect::<Vec<_>>(),
        left,
    )
}

/// A column of a table: its heading, and a cell for each row.
pub(super) fn column<'r, Row: 'r>(
    heading: &str,
    rows: impl IntoIterator<Item = &'r Row>,
    cell: impl Fn(&'r Row) -> String,
) -> Vec<String> {
    std::iter::once(heading.to_owned())
        .chain(rows.into_iter().map(cell))
        .collect()
}

/// Like [`side_by_side`], as one text.
pub(super) fn joined(columns: &[Vec<String>], left: usize) -> String {
    side_by_side(columns, left)
        .iter()
        .map(|line| format!("{}\n", line.trim_end()))
        .collect()
}

/// Arranges columns of texts side by side, two spaces apart: one line for each row. The first `left` columns are
/// left-aligned, the others right-aligned.
pub(super) fn side_by_side(columns: &[Vec<String>], left: usize) -> Vec<String> {
    let rows = columns.iter().map(Vec::len).max().unwrap_or(0);
    let mut lines = vec![String::new(); rows];
    for (at, column) in columns.iter().enumerate() {
        let width = column.iter().map(|text| letters(text)).max().unwrap_or(0);
        for (line, text) in lines.iter_mut().zip(column) {
            line.push_str(if at == 0 { "" } else { "  " });
            line.push_str(&if at < left {
                format!("{text:<width$}")
            } else {
                format!("{text:>width$}")
            });
        }
    }
    lines
}
