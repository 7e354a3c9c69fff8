//! A checked `plan`: the limits, the objective, and the candidates, which replace the values of the sweep.

use super::constants::short;
use super::worded::{PathProblem, WordedProblem};
use crate::document::path::Path;
use crate::document::tree::{Key, Node, Value};
use crate::results::{Limit, Objective, Setting};

/// The limits and the objective of a search.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Limits that a setting must meet. Each has a [`Limit::demand`].
    pub limits: Vec<Limit>,
    /// The measure or setting to minimise or maximise.
    pub objective: Objective,
    /// Confidence of the comparisons, at least 0.5 and less than 1.
    pub confidence: f64,
    /// Values of the objective that differ by less than this share count as equal.
    pub indifference: f64,
    /// Number of runs in which the recommended setting must have met all limits, at least 1.
    pub confirm: u32,
    /// Maximum number of runs per candidate. `None`: as many runs as needed.
    pub most: Option<u32>,
    /// Maximum number of settings to try for each strategy and world. `None`: all settings are tried.
    pub tries: Option<usize>,
    /// Maximum number of runs. `None`: the search ends only when it has an answer.
    pub runs: Option<u64>,
}

/// Number of runs of each setting in a search with [`Plan::tries`]. All settings use the same replicates.
pub const FIRST_RUNS: usize = 5;

/// Maximum number of values in a range.
pub(super) const MOST_STEPS: u32 = 1_000;

/// Returns the file with a sweep that contains the candidates of `plan.search`. Of the original sweep, only paths of
/// the world remain. A path of the world can be searched if it is the objective. Without `search`, the file does not
/// change.
pub(super) fn with_candidates(tree: &Node) -> (Node, Vec<PathProblem>) {
    let search = Path::of("plan").key("search");
    let Some(wanted) = tree.get(&search) else {
        return (tree.clone(), Vec::new());
    };
    let mut problems = Vec::new();
    let mut entries = Vec::new();
    if let Some(sweep) = tree.get(&Path::of("sweep")) {
        for entry in sweep.entries() {
            if !is_of_strategy(&entry.0) {
                entries.push(entry.clone());
            }
        }
    }
    for (key, node) in wanted.entries() {
        let here = search.key(&key.text);
        if !is_of_strategy(key) && !is_objective(tree, &key.text) {
            let problem = WordedProblem::new(
                format!("`{}` is not a setting of a strategy", key.text),
                "use a path below `strategies`, or `releases` of an application, minimise or maximise it, or move it to \
                 `sweep`",
            );
            problems.push(problem.at(here));
            continue;
        }
        if matches!(node.value, Value::Text(_)) && key.text.split('.').count() == 2 {
            // The value is not `auto`, which is reported when the plan is read.
            continue;
        }
        match range(node) {
            Ok(values) => entries.push((key.clone(), values)),
            Err(problem) => problems.push(problem.at(here)),
        }
    }
    let sweep = Node {
        at: wanted.at.clone(),
        value: Value::Map(entries),
        struck: false,
    };
    let key = Key {
        at: wanted.at.clone(),
        text: "sweep".to_owned(),
    };
    let mut tree = tree.without("sweep");
    if let Value::Map(top) = &mut tree.value {
        top.push((key, sweep));
    }
    (tree, problems)
}

/// Returns whether a key of a sweep or search is a path within one strategy, or the strategy or release time of an
/// application.
fn is_of_strategy(key: &Key) -> bool {
    Setting::is_path_of_strategy(&key.text)
}

/// Returns whether the plan minimises or maximises the setting at a path.
fn is_objective(tree: &Node, path: &str) -> bool {
    ["minimise", "maximise"].iter().any(|aim| {
        tree.get(&Path::of("plan").key(aim))
            .is_some_and(|setting| setting.short_text() == path)
    })
}

/// A range as written in a file.
struct WrittenRange<'n> {
    from: &'n Node,
    to: &'n Node,
    steps: i128,
}

impl<'n> WrittenRange<'n> {
    /// Parses a range from a node. `None`: the node is not a range.
    fn of(node: &'n Node) -> Option<Self> {
        let from = node.get(&Path::of("from"))?;
        let to = node.get(&Path::of("to"))?;
        let Value::Int(steps) = node.get(&Path::of("steps"))?.value else {
            return None;
        };
        Some(Self { from, to, steps })
    }
}

/// An end of a range, as a number and a unit.
struct NumberWithUnit {
    number: f64,
    /// The text after the number, including spaces before it.
    unit: String,
    /// Whether the number is written without a decimal point.
    is_whole: bool,
}

impl NumberWithUnit {
    /// Parses an end from a node. `None`: the text does not begin with a number.
    fn parse(node: &Node) -> Option<Self> {
        let text = node.short_text();
        let end = text
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(text.len());
        let (number, unit) = text.split_at(end);
        Some(Self {
            number: number.parse().ok()?,
            unit: unit.to_owned(),
            is_whole: !number.contains('.'),
        })
    }
}

/// Converts a range to a list of its values. Any other node is returned unchanged.
fn range(node: &Node) -> Result<Node, WordedProblem> {
    let Some(WrittenRange { from, to, steps }) = WrittenRange::of(node) else {
        return Ok(node.clone());
    };
    let Some(ends) = NumberWithUnit::parse(from).zip(NumberWithUnit::parse(to)) else {
        return Err(WordedProblem::new(
            "`from` and `to` must be numbers",
            "write e.g. `{from: 1%, to: 100%, steps: 20}`",
        ));
    };
    let (low, high) = ends;
    if low.unit != high.unit {
        let low = low.unit.trim();
        let high = high.unit.trim();
        return Err(WordedProblem::new(
            format!("`from` is in `{low}` and `to` in `{high}`"),
            "use the same unit for both",
        ));
    }
    if low.number <= 0.0 || high.number <= low.number {
        let low = from.short_text();
        let high = to.short_text();
        return Err(WordedProblem::new(
            format!("invalid range from {low} to {high}"),
            "`from` must be greater than 0 and less than `to`; for other values write a list",
        ));
    }
    if !(2..=i128::from(MOST_STEPS)).contains(&steps) {
        return Err(WordedProblem::new(
            format!("`steps` is {steps}"),
            "write 2 to 1000, or a list of values",
        ));
    }
    let mut values: Vec<Node> = Vec::new();
    for step in 0..steps {
        let share = step as f64 / (steps - 1) as f64;
        let value = Node {
            at: node.at.clone(),
            value: value_between(&low, &high, share),
            struck: false,
        };
        let is_repeated = values
            .last()
            .is_some_and(|last| last.short_text() == value.short_text());
        if !is_repeated {
            values.push(value);
        }
    }
    Ok(Node {
        at: node.at.clone(),
        value: Value::List(values),
        struck: false,
    })
}

/// Returns the value at a share of the geometric distance between two ends.
fn value_between(low: &NumberWithUnit, high: &NumberWithUnit, share: f64) -> Value {
    let number = low.number * libm::pow(high.number / low.number, share);
    let number = if low.is_whole && high.is_whole {
        format!("{number:.0}")
    } else {
        short(number)
    };
    if low.unit.is_empty() {
        if let Ok(whole) = number.parse::<i64>() {
            return Value::Int(whole.into());
        }
        if let Ok(float) = number.parse() {
            return Value::Float(float);
        }
    }
    Value::Text(format!("{number}{}", low.unit))
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
            Some(found) => Err(found.problem.message.clone()),
            None => Ok(tree.get(&Path::of("sweep")).expect("made").short_text()),
        }
    }

    #[test]
    fn the_values_of_a_searched_range_have_equal_ratios() {
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
