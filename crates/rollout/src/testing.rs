//! Lists of targets in the scripts of the products' tests.

/// Reads a list of targets: `0-3,7`.
pub(super) fn ranges(text: &str) -> Vec<u32> {
    let number = |text: &str| text.parse::<u32>().expect("an index");
    let mut list = Vec::new();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        list.extend(number(first)..=number(last));
    }
    list
}

/// Prints a list of targets: `0-3,7`.
pub(super) fn print_ranges(list: &[u32]) -> String {
    let print = |run: &[u32]| match run {
        [one] => one.to_string(),
        run => format!("{}-{}", run[0], run[run.len() - 1]),
    };
    list.chunk_by(|a, b| a + 1 == *b)
        .map(print)
        .collect::<Vec<_>>()
        .join(",")
}
