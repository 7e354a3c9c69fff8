//! `plan`, checked: what is wanted of a setting, and the candidates put where the sweep's values are.

use crate::document::path::{Path, Step};
use crate::document::tree::{Key, Node, Value};
use crate::results::{Limit, Objective};

/// What a search looks for.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What a setting must keep to; each has a [`Limit::demand`].
    pub limits: Vec<Limit>,
    /// The time that is to be short.
    pub fastest: Objective,
    /// How sure the comparisons have to be, above 0 and below 1.
    pub confidence: f64,
    /// Times that differ by less than this share are one.
    pub indifference: f64,
    /// Runs in which the setting that is named has kept to all limits; at least 1.
    pub confirm: u32,
    /// The search stops after so many runs. `None`: when it has its answer.
    pub runs: Option<u64>,
}

/// Most values of one range.
pub(super) const MOST_STEPS: u32 = 1_000;

/// The file with the candidates of `plan.search` as its sweep: of the sweep only the paths of the world are kept. Without
/// a `search`, the file as it is. Problems come with their path, message and mend.
pub(super) fn with_candidates(tree: &Node) -> (Node, Vec<(Path, String, String)>) {
    let search = Path::of("plan").key("search");
    let Some(wanted) = tree.get(&search) else { return (tree.clone(), Vec::new()) };
    let mut problems = Vec::new();
    let is_of_strategy = |key: &Key| key.text.starts_with("strategies.");
    let sweep = Path::of("sweep");
    let mut entries: Vec<(Key, Node)> = tree
        .get(&sweep)
        .map(|sweep| sweep.entries().iter().filter(|(key, _)| !is_of_strategy(key)).cloned().collect())
        .unwrap_or_default();
    for (key, node) in wanted.entries() {
        let here = search.key(&key.text);
        if !is_of_strategy(key) {
            let message = format!("`{}` is no setting of a strategy, and only those are chosen", key.text);
            problems.push((here, message, "name a path below `strategies`, or put it into `sweep`".to_owned()));
            continue;
        }
        match range(node) {
            Ok(values) => entries.push((key.clone(), values)),
            Err((message, help)) => problems.push((here, message, help)),
        }
    }
    let node = Node { at: wanted.at.clone(), value: Value::Map(entries), struck: false };
    let mut tree = tree.without("sweep");
    if let Value::Map(top) = &mut tree.value {
        top.push((Key { at: wanted.at.clone(), text: "sweep".to_owned() }, node));
    }
    (tree, problems)
}

/// A range as the list of its values; anything else as it is.
fn range(node: &Node) -> Result<Node, (String, String)> {
    let at = |key: &str| node.get(&Path(vec![Step::Key(key.to_owned())]));
    let (Some(from), Some(to), Some(steps)) = (at("from"), at("to"), at("steps")) else { return Ok(node.clone()) };
    let Value::Int(steps) = steps.value else { return Ok(node.clone()) };
    let parsed = |node: &Node| {
        let text = node.short_text();
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let number: f64 = text[..end].parse().ok()?;
        Some((number, text[end..].to_owned(), !text[..end].contains('.')))
    };
    let refused = |message: String, help: &str| Err((message, help.to_owned()));
    let (Some((low, unit, low_whole)), Some((high, unit_high, high_whole))) = (parsed(from), parsed(to)) else {
        return refused("the ends of a range are numbers".to_owned(), "write e.g. `{from: 1%, to: 100%, steps: 20}`");
    };
    if unit != unit_high {
        return refused(
            format!("the range begins in `{}` and ends in `{}`", unit.trim(), unit_high.trim()),
            "write both ends in the same unit",
        );
    }
    if low <= 0.0 || high <= low {
        return refused(
            format!("no range goes from {} to {}", from.short_text(), to.short_text()),
            "it begins above 0 and rises by equal ratios; for other values write a list",
        );
    }
    if !(2..=i64::from(MOST_STEPS)).contains(&steps) {
        return refused(format!("a range of {steps} values"), "write 2 to 1000, or a list of values");
    }
    let is_whole = low_whole && high_whole;
    let mut values: Vec<Node> = Vec::new();
    for step in 0..steps {
        let value = low * libm::pow(high / low, step as f64 / (steps - 1) as f64);
        let number = if is_whole { format!("{value:.0}") } else { short(value) };
        let value = match (unit.is_empty(), number.parse::<i64>(), number.parse::<f64>()) {
            (true, Ok(whole), _) => Value::Int(whole),
            (true, Err(_), Ok(float)) => Value::Float(float),
            _ => Value::Text(format!("{number}{unit}")),
        };
        let made = Node { at: node.at.clone(), value, struck: false };
        if values.last().is_none_or(|last| last.short_text() != made.short_text()) {
            values.push(made);
        }
    }
    Ok(Node { at: node.at.clone(), value: Value::List(values), struck: false })
}

/// Three digits that count.
fn short(value: f64) -> String {
    let decimals = (2 - libm::log10(value).floor() as i32).max(0) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::tree::{self, tests::source};

    fn candidates(range: &str) -> Result<String, String> {
        let text = format!("plan: {{search: {{strategies.a.batches.size: {range}}}}}\nsweep: {{registry.egress: [1]}}");
        let tree = tree::parse(&source(&text)).expect("YAML");
        let (tree, problems) = with_candidates(&tree);
        match problems.first() {
            Some((_, message, _)) => Err(message.clone()),
            None => Ok(tree.get(&Path::of("sweep")).expect("made").short_text()),
        }
    }

    #[test]
    fn a_range_rises_by_equal_ratios() {
        let all = |values: &str| Ok(format!("{{registry.egress: [1], strategies.a.batches.size: [{values}]}}"));
        assert_eq!(candidates("{from: 1, to: 16, steps: 5}"), all("1, 2, 4, 8, 16"));
        assert_eq!(candidates("{from: 1%, to: 100%, steps: 3}"), all("1%, 10%, 100%"));
        assert_eq!(candidates("{from: 1, to: 3, steps: 9}"), all("1, 2, 3"), "what rounds to the same is one");
        assert_eq!(candidates("{from: 0.5 h, to: 2 h, steps: 3}"), all("0.5 h, 1 h, 2 h"));
        assert_eq!(candidates("[7, 10%]"), all("7, 10%"), "a list is as it is");
    }

    #[test]
    fn what_is_no_range_is_told() {
        for (range, message) in [
            ("{from: 0, to: 5, steps: 3}", "no range goes from 0 to 5"),
            ("{from: 5, to: 5, steps: 3}", "no range goes from 5 to 5"),
            ("{from: 1, to: 50%, steps: 3}", "begins in `` and ends in `%`"),
            ("{from: 1, to: 5, steps: 1}", "a range of 1 values"),
            ("{from: few, to: many, steps: 3}", "the ends of a range are numbers"),
        ] {
            let error = candidates(range).expect_err(range);
            assert!(error.contains(message), "{range}: {error}");
        }
    }
}
