//! The sweep: paths of the file, each with the values it takes, and the grid they make for each strategy.
//!
//! A setting is put into the tree of the file and the file is read again, so that a swept value goes through the same
//! reading and checking as one written in place, and an error in it points at the sweep's own line.

use std::ops::Range;

use itertools::Itertools;

use crate::document::in_one_line;
use crate::document::path::{Path, Step};
use crate::document::problem::{Problem, any_of, did_you_mean};
use crate::document::tree::{Key, Node, Value};
use crate::results::Setting;

/// One swept path with its values.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    pub(crate) path: Path,
    /// Where the path is written.
    pub(crate) at: Range<usize>,
    pub(crate) values: Vec<Node>,
    /// Its name in results: the last key of the path, or the whole path where that is not unique.
    pub(crate) name: String,
}

impl Axis {
    /// The one strategy it is about. `None`: all of them.
    pub(crate) fn strategy(&self) -> Option<&str> {
        match self.path.0.as_slice() {
            [Step::Key(top), Step::Key(strategy), ..] if top == "strategies" => Some(strategy),
            _ => None,
        }
    }
}

/// One choice of values: an index into each axis' values, for the axes that matter.
pub(crate) type Point = Vec<(usize, usize)>;

/// The axes of a file, in its order. `problem` makes a problem at a path of the sweep.
pub(crate) fn axes(
    tree: &Node,
    problem: impl Fn(&Path, String) -> Problem,
) -> (Vec<Axis>, Vec<Problem>) {
    let sweep = Path::of("sweep");
    let mut axes: Vec<Axis> = Vec::new();
    let mut problems = Vec::new();
    let strategies: Vec<&str> = tree
        .get(&Path::of("strategies"))
        .map(|node| {
            node.entries()
                .iter()
                .map(|(key, _)| key.text.as_str())
                .collect()
        })
        .unwrap_or_default();
    for (key, node) in tree.get(&sweep).map(Node::entries).unwrap_or_default() {
        match axis(key, node, &strategies, &axes) {
            Ok(axis) => axes.push(axis),
            Err((message, help)) => {
                problems.push(problem(&sweep.key(&key.text), message).with_help(help));
            }
        }
    }
    let names: Vec<String> = axes.iter().map(|axis| axis.path.last_key()).collect();
    let unique = (0..names.len()).all(|at| !names[..at].contains(&names[at]));
    for (axis, name) in axes.iter_mut().zip(names) {
        axis.name = if unique { name } else { axis.path.to_string() };
    }
    (axes, problems)
}

/// One entry of a sweep beside the axes before it, or a message and the fix.
fn axis(
    key: &Key,
    node: &Node,
    strategies: &[&str],
    axes: &[Axis],
) -> Result<Axis, (String, String)> {
    let refused = |message: String, help: &str| Err((message, help.to_owned()));
    let help = "write e.g. `registry.egress` or `fleet[0].downlink`";
    let path = Path::parse(&key.text).map_err(|message| (message, help.to_owned()))?;
    let axis = Axis {
        path,
        at: key.at.clone(),
        values: node.items().to_vec(),
        name: String::new(),
    };
    if let Some(Step::Key(top)) = axis.path.0.first()
        && [
            "name",
            "question",
            "seed",
            "replicates",
            "precision",
            "uncertainty",
            "sweep",
            "plan",
        ]
        .contains(&top.as_str())
    {
        let message = format!("`{top}` is of the whole experiment and cannot vary");
        return refused(message, "sweep a setting of the world or of a strategy");
    }
    if axis.path == Path::of("strategies")
        || axis.strategy().is_some_and(|_| axis.path.0.len() == 2)
    {
        let help = "write another entry of `strategies` instead, or sweep a setting inside of one";
        return refused("a strategy as a whole cannot be swept".to_owned(), help);
    }
    if let Some(strategy) = axis
        .strategy()
        .filter(|strategy| !strategies.contains(strategy))
    {
        let help = did_you_mean(strategy, strategies.iter().copied(), || {
            match strategies.is_empty() {
                true => "write a strategy below `strategies` first".to_owned(),
                false => format!("there are {}", any_of(strategies)),
            }
        });
        return refused(format!("there is no strategy `{strategy}`"), &help);
    }
    if !matches!(node.value, Value::List(_)) || axis.values.is_empty() {
        let help = "write a list of one value or more, e.g. `[10 Gbit/s, 20 Gbit/s]`";
        return refused(format!("`{}` has no values to take", key.text), help);
    }
    if let Some(twice) = axis
        .values
        .iter()
        .map(Node::label)
        .sorted()
        .duplicates()
        .next()
    {
        let message = format!("the value `{twice}` is there twice");
        return refused(message, "keep one; equal settings have equal results");
    }
    match axes.iter().find(|other| other.path.overlaps(&axis.path)) {
        Some(other) => refused(
            format!("`{}` is swept by `{}` too", key.text, other.path),
            "keep one of the two",
        ),
        None => Ok(axis),
    }
}

/// Number of points that [`grid`] would have; saturating.
pub(crate) fn grid_size(axes: &[Axis], strategy: &str) -> usize {
    let sizes = axes
        .iter()
        .filter(|axis| axis.strategy().is_none_or(|of| of == strategy))
        .map(|axis| axis.values.len());
    sizes.fold(1, usize::saturating_mul)
}

/// All choices of values that matter to one strategy, the first axis changing slowest.
pub(crate) fn grid(axes: &[Axis], strategy: &str) -> Vec<Point> {
    let mut points = vec![Point::new()];
    for (at, axis) in axes
        .iter()
        .enumerate()
        .filter(|(_, axis)| axis.strategy().is_none_or(|of| of == strategy))
    {
        points = points
            .iter()
            .flat_map(|point| {
                (0..axis.values.len()).map(move |value| [point.as_slice(), &[(at, value)]].concat())
            })
            .collect();
    }
    points
}

/// The values of a point.
pub(crate) fn settings(axes: &[Axis], point: &Point) -> Vec<Setting> {
    let setting = |&(axis, value): &(usize, usize)| Setting {
        path: axes[axis].path.to_string(),
        name: axes[axis].name.clone(),
        value: in_one_line(&axes[axis].values[value].label()),
    };
    point.iter().map(setting).collect()
}

/// The file with a point's values put in and without its sweep, which may be large and would be copied for each point.
///
/// # Errors
/// The axis whose path leads nowhere, and the part of it that does.
pub(crate) fn apply(tree: &Node, axes: &[Axis], point: &Point) -> Result<Node, (usize, Path)> {
    let mut tree = tree.without("sweep");
    for &(at, value) in point {
        let axis = &axes[at];
        tree.set(&axis.path, &axis.values[value], &axis.at)
            .map_err(|path| (at, path))?;
    }
    Ok(tree)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::testing::source;
    use crate::document::tree;

    fn axes_of(text: &str) -> (Vec<Axis>, Vec<String>) {
        let tree = tree::parse(&source(text)).expect("YAML");
        let (axes, problems) = axes(&tree, |path, message| {
            Problem::of_file(&path.to_string(), message)
        });
        (axes, problems.iter().map(ToString::to_string).collect())
    }

    const GRID: &str = "
strategies: {a: {allAtOnce: {}}, b: {oneByOne: {}}}
sweep:
  registry.egress: [1 Gbit/s, 2 Gbit/s]
  strategies.b.rancherFleet.maxUnavailable: [1, 5%, 10%]
";

    #[test]
    fn the_grid_leaves_strategies_alone_that_a_path_is_not_about() {
        let (axes, problems) = axes_of(GRID);
        assert_eq!(problems, [""; 0]);
        let texts = |strategy: &str| {
            grid(&axes, strategy)
                .iter()
                .map(|point| Setting::in_short(&settings(&axes, point)))
                .collect::<Vec<_>>()
        };
        assert_eq!(texts("a"), ["egress=1 Gbit/s", "egress=2 Gbit/s"]);
        assert_eq!(
            texts("b"),
            [
                "egress=1 Gbit/s; maxUnavailable=1",
                "egress=1 Gbit/s; maxUnavailable=5%",
                "egress=1 Gbit/s; maxUnavailable=10%",
                "egress=2 Gbit/s; maxUnavailable=1",
                "egress=2 Gbit/s; maxUnavailable=5%",
                "egress=2 Gbit/s; maxUnavailable=10%",
            ]
        );
        for strategy in ["a", "b"] {
            assert_eq!(grid_size(&axes, strategy), grid(&axes, strategy).len());
        }
    }

    #[test]
    fn names_are_whole_paths_when_last_keys_are_equal() {
        let (axes, _) = axes_of("sweep: {registry.egress: [1], regions.0.egress: [1]}");
        let names: Vec<&str> = axes.iter().map(|axis| axis.name.as_str()).collect();
        assert_eq!(names, ["registry.egress", "regions[0].egress"]);
    }

    #[test]
    fn what_is_no_axis_is_refused() {
        for (sweep, message) in [
            ("a..b: [1]", "`a..b` is not a path: it has an empty step"),
            (
                "registry.egress: []",
                "`registry.egress` has no values to take",
            ),
            (
                "registry.egress: 10 Gbit/s",
                "`registry.egress` has no values to take",
            ),
            ("registry.egress: [1, 1]", "the value `1` is there twice"),
            (
                "seed: [1, 2]",
                "`seed` is of the whole experiment and cannot vary",
            ),
            ("strategies.a: [1]", "a strategy as a whole cannot be swept"),
            (
                "strategies.alpa.batches.size: [1]",
                "there is no strategy `alpa` (help: did you mean `alpha`?)",
            ),
            (
                "strategies.x.batches.size: [1]",
                "there is no strategy `x` (help: there are `alpha` or `b`)",
            ),
            ("{a: [1], a.b: [1]}", "`a.b` is swept by `a` too"),
        ] {
            let entries = if sweep.starts_with('{') {
                sweep.to_owned()
            } else {
                format!("{{{sweep}}}")
            };
            let (_, problems) = axes_of(&format!(
                "strategies: {{alpha: {{}}, b: {{}}}}\nsweep: {entries}"
            ));
            assert!(
                problems.len() == 1 && problems[0].contains(message),
                "{sweep}: {problems:?}"
            );
        }
    }
}
