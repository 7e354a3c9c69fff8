//! The sweep: paths in the file, each with its values, and the grid that they form for each strategy.
//!
//! Each value is inserted into the file's tree, which is then read again. A swept value is therefore checked like any
//! other value in the file, and an error in it points to the line in the sweep.

use std::ops::Range;

use itertools::Itertools;

use super::alternatives::{self, Alternatives};
use super::worded::{PathProblem, WordedProblem};
use crate::document::in_one_line;
use crate::document::path::{Path, Step};
use crate::document::problem::{any_of, did_you_mean};
use crate::document::tree::{Key, Node, Value};
use crate::results::Setting;

/// A swept path and its values.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    pub(crate) path: Path,
    /// The position of the swept path in the file.
    pub(crate) at: Range<usize>,
    pub(crate) values: Vec<Node>,
    /// The axis's name in results: the last key of the path, or the whole path if the key is not unique.
    pub(crate) name: String,
    /// The variant that the axis is about. `None`: it is about all.
    variant: Option<String>,
}

impl Axis {
    /// Returns whether the axis is a setting of the world: not of a strategy, nor when an application is released.
    pub(crate) fn is_of_world(&self) -> bool {
        !Setting::is_path_of_strategy(&self.path.to_string())
    }

    /// Returns whether runs of a variant depend on the axis.
    fn is_about(&self, variant: &str) -> bool {
        match &self.variant {
            Some(own) => own == variant,
            None => true,
        }
    }

    /// Returns whether the axis tunes a variant, in the same world.
    pub(crate) fn tunes(&self, variant: &str) -> bool {
        !self.is_of_world() && self.is_about(variant)
    }
}

/// A value of an axis.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(crate) struct AxisValue {
    /// The index of the axis.
    pub(crate) axis: usize,
    /// The index of the value on the axis.
    pub(crate) value: usize,
}

/// A combination of values for the relevant axes.
pub(crate) type Point = Vec<AxisValue>;

/// A point whose values cannot be inserted into the file, because the path of an axis does not exist.
#[derive(Debug)]
pub(crate) struct LeadsNowhere {
    /// The index of the axis whose path does not exist.
    pub(crate) axis: usize,
    /// The part of the path below which nothing can be set.
    pub(crate) part: Path,
}

/// Returns the names of the strategies in a file.
fn strategy_names(tree: &Node) -> Vec<&str> {
    let Some(strategies) = tree.get(&Path::of("strategies")) else {
        return Vec::new();
    };
    let mut names = Vec::new();
    for (key, _) in strategies.entries() {
        names.push(key.text.as_str());
    }
    names
}

/// Returns the axes in a file, in order, and the problems with invalid entries of the sweep.
pub(super) fn axes(tree: &Node) -> (Vec<Axis>, Vec<PathProblem>) {
    let sweep = Path::of("sweep");
    let mut axes: Vec<Axis> = Vec::new();
    let mut problems = Vec::new();
    let strategies = strategy_names(tree);
    let alternatives = Alternatives::of(tree);
    for (key, node) in tree.get(&sweep).map(Node::entries).unwrap_or_default() {
        match axis(key, node, &strategies, &axes) {
            Ok(mut axis) => {
                let strategy = alternatives::strategy_of(&axis.path);
                let own = strategy.filter(|own| !alternatives.own.iter().any(|name| name == own));
                axis.variant = own.map(str::to_owned);
                axes.push(axis);
            }
            Err(problem) => problems.push(problem.at(sweep.key(&key.text))),
        }
    }
    let names: Vec<String> = axes.iter().map(|axis| axis.path.last_key()).collect();
    let unique = names.iter().all_unique();
    for (axis, name) in axes.iter_mut().zip(names) {
        axis.name = if unique { name } else { axis.path.to_string() };
    }
    (axes, problems)
}

/// Returns the axis for an entry of a sweep, given the preceding axes.
fn axis(key: &Key, node: &Node, strategies: &[&str], axes: &[Axis]) -> Result<Axis, WordedProblem> {
    let path = Path::parse(&key.text).map_err(|message| {
        WordedProblem::new(
            message,
            "write e.g. `registry.egress` or `fleet[0].downlink`",
        )
    })?;
    let axis = Axis {
        path,
        at: key.at.clone(),
        values: node.items().to_vec(),
        name: String::new(),
        variant: None,
    };
    check_path(&axis, strategies)?;
    if !matches!(node.value, Value::List(_)) || axis.values.is_empty() {
        return Err(WordedProblem::new(
            format!("`{}` is empty: list at least one value", key.text),
            "write a list of one value or more, e.g. `[10 Gbit/s, 20 Gbit/s]`",
        ));
    }
    let labels = axis.values.iter().map(Node::label).sorted();
    if let Some(twice) = labels.duplicates().next() {
        return Err(WordedProblem::new(
            format!("the value `{twice}` appears twice"),
            "keep one; equal settings have equal results",
        ));
    }
    match axes.iter().find(|other| other.path.overlaps(&axis.path)) {
        Some(other) => Err(WordedProblem::new(
            format!("`{}` is swept by `{}` too", key.text, other.path),
            "keep one of the two",
        )),
        None => Ok(axis),
    }
}

/// Settings of the experiment as a whole, which cannot differ between variants.
const OF_EXPERIMENT: [&str; 9] = [
    "name",
    "question",
    "seed",
    "allowLeftBehind",
    "replicates",
    "precision",
    "uncertainty",
    "sweep",
    "plan",
];

/// Returns whether a top-level key is a setting of the experiment as a whole.
pub(crate) fn is_setting_of_experiment(key: &str) -> bool {
    OF_EXPERIMENT.contains(&key)
}

/// Checks that the setting of an axis can vary.
fn check_path(axis: &Axis, strategies: &[&str]) -> Result<(), WordedProblem> {
    if let Some(Step::Key(top)) = axis.path.0.first()
        && is_setting_of_experiment(top)
    {
        return Err(WordedProblem::new(
            format!("`{top}` applies to the whole experiment and cannot vary"),
            "sweep a setting of the world or of a strategy",
        ));
    }
    let strategy = alternatives::strategy_of(&axis.path);
    let is_strategy = strategy.is_some() && axis.path.0.len() == 2;
    if is_strategy || axis.path == Path::of("strategies") {
        return Err(WordedProblem::new(
            "a strategy as a whole cannot be swept",
            "write another entry of `strategies` instead, or sweep a setting inside one",
        ));
    }
    if let Some(strategy) = strategy
        && !strategies.contains(&strategy)
    {
        let help = did_you_mean(strategy, strategies.iter().copied(), || {
            if strategies.is_empty() {
                "write a strategy below `strategies` first".to_owned()
            } else {
                format!("there are {}", any_of(strategies))
            }
        });
        return Err(WordedProblem::new(
            format!("there is no strategy `{strategy}`"),
            help,
        ));
    }
    Ok(())
}

/// Returns the number of points that [`grid`] would return, saturating at the maximum.
pub(crate) fn grid_size(axes: &[Axis], strategy: &str) -> usize {
    let mut size: usize = 1;
    for axis in axes {
        if axis.is_about(strategy) {
            size = size.saturating_mul(axis.values.len());
        }
    }
    size
}

/// Returns all combinations of values that are relevant to one strategy. The first axis changes slowest.
pub(crate) fn grid(axes: &[Axis], strategy: &str) -> Vec<Point> {
    let mut points = vec![Point::new()];
    for (at, axis) in axes.iter().enumerate() {
        if !axis.is_about(strategy) {
            continue;
        }
        let mut longer = Vec::new();
        for point in points {
            for value in 0..axis.values.len() {
                let mut point = point.clone();
                point.push(AxisValue { axis: at, value });
                longer.push(point);
            }
        }
        points = longer;
    }
    points
}

/// Returns the part of a point that affects the world, without the settings of strategies and release times.
pub(crate) fn world_point(axes: &[Axis], point: &Point) -> Point {
    let mut of_world = point.clone();
    of_world.retain(|chosen| axes[chosen.axis].is_of_world());
    of_world
}

/// Returns the settings at a point.
pub(crate) fn settings(axes: &[Axis], point: &Point) -> Vec<Setting> {
    let mut settings = Vec::new();
    for chosen in point {
        let axis = &axes[chosen.axis];
        settings.push(Setting {
            path: axis.path.to_string(),
            name: axis.name.clone(),
            value: in_one_line(&axis.values[chosen.value].label()),
        });
    }
    settings
}

/// Returns the file with a point's values inserted and without the sweep, which may be large and would be copied for
/// each point.
///
/// # Errors
/// Returns an error if the path of an axis does not exist.
pub(crate) fn apply(tree: &Node, axes: &[Axis], point: &Point) -> Result<Node, LeadsNowhere> {
    let mut tree = tree.without("sweep");
    for chosen in point {
        let axis = &axes[chosen.axis];
        if let Err(part) = tree.set(&axis.path, &axis.values[chosen.value], &axis.at) {
            return Err(LeadsNowhere {
                axis: chosen.axis,
                part,
            });
        }
    }
    Ok(tree)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::problem::Problem;
    use crate::document::testing::source;
    use crate::document::tree;

    fn axes_of(text: &str) -> (Vec<Axis>, Vec<String>) {
        let tree = tree::parse(&source(text)).expect("YAML");
        let (axes, problems) = axes(&tree);
        let mut shown = Vec::new();
        for PathProblem { path, problem } in problems {
            let problem =
                Problem::of_file(&path.to_string(), problem.message).with_help(problem.help);
            shown.push(problem.to_string());
        }
        (axes, shown)
    }

    const GRID: &str = "
strategies: {a: {allAtOnce: {}}, b: {oneByOne: {}}}
sweep:
  registry.egress: [1 Gbit/s, 2 Gbit/s]
  strategies.b.rancherFleet.maxUnavailable: [1, 5%, 10%]
";

    #[test]
    fn the_grid_does_not_vary_strategies_that_a_path_does_not_concern() {
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
    fn an_invalid_axis_is_refused() {
        for (sweep, message) in [
            ("a..b: [1]", "`a..b` is not a path: it has an empty step"),
            (
                "registry.egress: []",
                "`registry.egress` is empty: list at least one value",
            ),
            (
                "registry.egress: 10 Gbit/s",
                "`registry.egress` is empty: list at least one value",
            ),
            ("registry.egress: [1, 1]", "the value `1` appears twice"),
            (
                "seed: [1, 2]",
                "`seed` applies to the whole experiment and cannot vary",
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
