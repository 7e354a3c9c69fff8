//! Phrases used in the explanations of several products.

use crate::rollout::RuleSet;

/// Describes the rules that a strategy follows.
pub(crate) const fn by(rules: RuleSet) -> &'static str {
    match rules {
        RuleSet::Shipped => "as shipped",
        RuleSet::Documented => "as documented",
    }
}

/// Returns the lines of a table, from its header and rows. A column is as wide as its longest cell, and right-aligned
/// if its title begins with `>`.
pub(crate) fn table<const N: usize>(
    header: [&str; N],
    rows: impl Iterator<Item = [String; N]>,
) -> Vec<String> {
    let titles = header.map(|title| title.trim_start_matches('>').to_owned());
    let all: Vec<[String; N]> = std::iter::once(titles).chain(rows).collect();
    let mut widths = [0; N];
    for row in &all {
        for (width, text) in widths.iter_mut().zip(row) {
            *width = text.chars().count().max(*width);
        }
    }
    let mut lines = Vec::new();
    for row in &all {
        let mut cells = Vec::new();
        for (column, text) in row.iter().enumerate() {
            let width = widths[column];
            cells.push(if header[column].starts_with('>') {
                format!("{text:>width$}")
            } else if column + 1 == N {
                text.clone()
            } else {
                format!("{text:width$}")
            });
        }
        lines.push(cells.join("  "));
    }
    lines
}

/// Appends the name of a stage to a cluster's list of stages.
pub(crate) fn add_stage(stages: &mut String, name: &str) {
    if !stages.is_empty() {
        stages.push_str("; ");
    }
    stages.push_str(name);
}

/// Returns the first names in a list, and the number of further names.
pub(crate) fn first_names(names: &[String]) -> String {
    const SHOWN: usize = 5;
    let shown = names
        .iter()
        .take(SHOWN)
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(", ");
    if names.len() > SHOWN {
        format!("{shown} and {} more", names.len() - SHOWN)
    } else {
        shown
    }
}

/// The maximum size of an object in etcd as deployed with Kubernetes, in bytes: `--max-request-bytes`, 1.5 MiB.
const LARGEST_OBJECT: u64 = 1_572_864;

/// Returns a warning if an object with `count` parts of `bytes` each is too large for etcd.
pub(crate) fn object_limit(object: &str, part: &str, bytes: u64, count: usize) -> Option<String> {
    let size = bytes * count as u64;
    (size > LARGEST_OBJECT).then(|| {
        format!(
            "{object} has about {bytes} B for each {part}: {:.1} MB for {count}. etcd accepts 1.5 MiB, enough for {}, so \
             the product cannot write it and the rollout stops",
            size as f64 / 1e6,
            LARGEST_OBJECT / bytes,
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_too_large_from_the_first_part_that_exceeds_the_limit() {
        // 1,572,864 B / 405 B = 3,883.6, and 1,572,864 B / 468 B = 3,360.8.
        for (bytes, most) in [(405, 3883), (468, 3360)] {
            assert_eq!(object_limit("the status", "cluster", bytes, most), None);
            let warning =
                object_limit("the status", "cluster", bytes, most + 1).expect("a warning");
            assert!(
                warning.contains(&format!("enough for {most},")),
                "{warning}"
            );
        }
    }
}
