//! A checked `plan`: the limits, the objective, and the candidates, which replace the values of the sweep.

use super::constants::short;
use crate::document::path::{Path, Step};
use crate::document::tree::{Key, Node, Value};
use crate::results::{Limit, Objective};

/// The limits and the objective of a search.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Limits that a setting must meet; each has a [`Limit::demand`].
    pub limits: Vec<Limit>,
    /// The measure or setting to minimise or maximise.
    pub objective: Objective,
    /// Confidence of the comparisons, from 0.5 to below 1.
    pub confidence: f64,
    /// Values of the objective that differ by less than this share count as equal.
    pub indifference: f64,
    /// Runs in which the recommended setting has met all limits; at least 1.
    pub confirm: u32,
    /// Maximum number of runs per candidate. `None`: as many as the statements need.
    pub most: Option<u32>,
    /// Most settings of each strategy and world that are tried. `None`: all.
    pub tries: Option<usize>,
    /// Maximum number of runs. `None`: the search ends when it has its answer.
    pub runs: Option<u64>,
}

/// Runs of each setting that a search within [`Plan::tries`] tries: the same replicates for all.
pub const FIRST_RUNS: usize = 5;

/// Most values of one range.
pub(super) const MOST_STEPS: u32 = 1_000;

/// The file with the candidates of `plan.search` as its sweep. Only the sweep's paths of the world are kept. A path of
/// the world can be searched if it is the objective. Without a
/// `search`, the file is unchanged. Each problem is a path, a message and a fix.
pub(super) fn with_candidates(tree: &Node) -> (Node, Vec<(Path, String, String)>) {
    let search = Path::of("plan").key("search");
    let Some(wanted) = tree.get(&search) else {
        return (tree.clone(), Vec::new());
    };
    let mut problems = Vec::new();
    let is_of_strategy = |key: &Key| key.text.starts_with("strategies.");
    let sweep = Path::of("sweep");
    let mut entries: Vec<(Key, Node)> = tree
        .get(&sweep)
        .map(|sweep| {
            sweep
                .entries()
                .iter()
                .filter(|(key, _)| !is_of_strategy(key))
                .cloned()
                .collect()
        })
        .unwrap_or_default();
    let aims = ["minimise", "maximise"]
        .map(|aim| tree.get(&Path::of("plan").key(aim)).map(Node::short_text));
    for (key, node) in wanted.entries() {
        let here = search.key(&key.text);
        if !is_of_strategy(key) && !aims.iter().flatten().any(|aim| *aim == key.text) {
            let message = format!("`{}` is not a setting of a strategy", key.text);
            let help =
                "use a path below `strategies`, minimise or maximise it, or move it to `sweep`";
            problems.push((here, message, help.to_owned()));
            continue;
        }
        if matches!(node.value, Value::Text(_)) && key.text.split('.').count() == 2 {
            // No `auto`: reading the plan reports it.
            continue;
        }
        match range(node) {
            Ok(values) => entries.push((key.clone(), values)),
            Err((message, help)) => problems.push((here, message, help)),
        }
    }
    let node = Node {
        at: wanted.at.clone(),
        value: Value::Map(entries),
        struck: false,
    };
    let mut tree = tree.without("sweep");
    if let Value::Map(top) = &mut tree.value {
        top.push((
            Key {
                at: wanted.at.clone(),
                text: "sweep".to_owned(),
            },
            node,
        ));
    }
    (tree, problems)
}

/// A range as the list of its values; any other node unchanged.
fn range(node: &Node) -> Result<Node, (String, String)> {
    let at = |key: &str| node.get(&Path(vec![Step::Key(key.to_owned())]));
    let (Some(from), Some(to), Some(steps)) = (at("from"), at("to"), at("steps")) else {
        return Ok(node.clone());
    };
    let Value::Int(steps) = steps.value else {
        return Ok(node.clone());
    };
    let parsed = |node: &Node| {
        let text = node.short_text();
        let end = text
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(text.len());
        let number: f64 = text[..end].parse().ok()?;
        Some((number, text[end..].to_owned(), !text[..end].contains('.')))
    };
    let refused = |message: String, help: &str| Err((message, help.to_owned()));
    let (Some((low, unit, low_whole)), Some((high, unit_high, high_whole))) =
        (parsed(from), parsed(to))
    else {
        return refused(
            "`from` and `to` must be numbers".to_owned(),
            "write e.g. `{from: 1%, to: 100%, steps: 20}`",
        );
    };
    if unit != unit_high {
        return refused(
            format!(
                "`from` is in `{}` and `to` in `{}`",
                unit.trim(),
                unit_high.trim()
            ),
            "use the same unit for both",
        );
    }
    if low <= 0.0 || high <= low {
        return refused(
            format!(
                "invalid range from {} to {}",
                from.short_text(),
                to.short_text()
            ),
            "`from` must be greater than 0 and less than `to`; for other values write a list",
        );
    }
    if !(2..=i128::from(MOST_STEPS)).contains(&steps) {
        return refused(
            format!("`steps` is {steps}"),
            "write 2 to 1000, or a list of values",
        );
    }
    let is_whole = low_whole && high_whole;
    let mut values: Vec<Node> = Vec::new();
    for step in 0..steps {
        let value = low * libm::pow(high / low, step as f64 / (steps - 1) as f64);
        let number = if is_whole {
            format!("{value:.0}")
        } else {
            short(value)
        };
        let value = match (
            unit.is_empty(),
            number.parse::<i64>(),
            number.parse::<f64>(),
        ) {
            (true, Ok(whole), _) => Value::Int(whole.into()),
            (true, Err(_), Ok(float)) => Value::Float(float),
            _ => Value::Text(format!("{number}{unit}")),
        };
        let made = Node {
            at: node.at.clone(),
            value,
            struck: false,
        };
        if values
            .last()
            .is_none_or(|last| last.short_text() != made.short_text())
        {
            values.push(made);
        }
    }
    Ok(Node {
        at: node.at.clone(),
        value: Value::List(values),
        struck: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::testing::source;
    use crate::document::tree;

    fn candidates(range: &str) -> Result<String, String> {
        let text = format!(
            "plan: {{search: {{strategies.a.batches.size: {range}}}}}\nsweep: {{registry.egress: [1]}}"
        );
        let tree = tree::parse(&source(&text)).expect("YAML");
        let (tree, problems) = with_candidates(&tree);
        match problems.first() {
            Some((_, message, _)) => Err(message.clone()),
            None => Ok(tree.get(&Path::of("sweep")).expect("made").short_text()),
        }
    }

    #[test]
    fn a_range_rises_by_equal_ratios() {
        let all = |values: &str| {
            Ok(format!(
                "{{registry.egress: [1], strategies.a.batches.size: [{values}]}}"
            ))
        };
        assert_eq!(
            candidates("{from: 1, to: 16, steps: 5}"),
            all("1, 2, 4, 8, 16")
        );
        assert_eq!(
            candidates("{from: 1%, to: 100%, steps: 3}"),
            all("1%, 10%, 100%")
        );
        assert_eq!(
            candidates("{from: 1, to: 3, steps: 9}"),
            all("1, 2, 3"),
            "what rounds to the same is one"
        );
        assert_eq!(
            candidates("{from: 0.5 h, to: 2 h, steps: 3}"),
            all("0.5 h, 1 h, 2 h")
        );
        assert_eq!(candidates("[7, 10%]"), all("7, 10%"), "a list is as it is");
    }

    #[test]
    fn an_invalid_range_is_reported() {
        for (range, message) in [
            ("{from: 0, to: 5, steps: 3}", "invalid range from 0 to 5"),
            ("{from: 5, to: 5, steps: 3}", "invalid range from 5 to 5"),
            (
                "{from: 1, to: 50%, steps: 3}",
                "`from` is in `` and `to` in `%`",
            ),
            ("{from: 1, to: 5, steps: 1}", "`steps` is 1"),
            (
                "{from: few, to: many, steps: 3}",
                "`from` and `to` must be numbers",
            ),
        ] {
            let error = candidates(range).expect_err(range);
            assert!(error.contains(message), "{range}: {error}");
        }
    }
}
