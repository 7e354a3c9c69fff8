//! Swept settings: each swept path with its sorted values, and the lines of variants along it.
//!
//! The scale is numeric if all values are quantities of one kind. A value that only changes the fleet, such as a
//! pattern of names, is shown as its number of clusters. A mix of counts and shares, such as `1` and `5%`, is compared
//! in clusters if all runs have the same number of targets. Everything else stays text, in the experiment's order.

use itertools::Itertools;

use super::axis::{AxisTick, Scale};
use super::data::VariantResults;
use super::format::count;
use crate::results::{Setting, grouped, quantity};

/// Values that span this factor have a logarithmic axis.
const LOG_FROM: f64 = 10.0;
/// Minimum distance of neighbouring values, as a share of the axis: if any two values are closer, all values are
/// evenly spaced.
const GAP_MIN: f64 = 0.015;

/// One swept path.
#[derive(Clone, Debug)]
pub(super) struct SweepAxis<'r> {
    pub(super) path: &'r str,
    pub(super) name: &'r str,
    /// The values of the path in the order of the axis.
    pub(super) values: Vec<SweepValue<'r>>,
    /// The axis title, with the unit unless the labels have it.
    pub(super) title: String,
    /// Whether the positions of the values are quantities. Otherwise the positions are 0, 1, 2 and so on.
    pub(super) numeric: bool,
    /// Whether the values only change the fleet size, which then labels them.
    of_clusters: bool,
    log: bool,
}

/// One value of a swept path.
#[derive(Clone, Debug)]
pub(super) struct SweepValue<'r> {
    /// The value as written in the experiment.
    pub(super) text: &'r str,
    /// The value as shown in reports.
    pub(super) label: String,
    pub(super) place: f64,
}

/// A variant on a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct SweepPoint<'v, 'r> {
    /// The index on the axis of the variant's value.
    pub(super) value: usize,
    pub(super) variant: &'v VariantResults<'r>,
}

/// The variants that differ in one swept setting only.
#[derive(Clone, Debug)]
pub(super) struct SweepLine<'v, 'r> {
    /// The strategy and settings that distinguish the line from the other lines; only the strategy if there is one
    /// line.
    pub(super) name: String,
    /// The points of the line in the order of the axis.
    pub(super) points: Vec<SweepPoint<'v, 'r>>,
}

impl<'v, 'r> SweepLine<'v, 'r> {
    /// The variants of the line in the order of the axis.
    pub(super) fn variants(&self) -> Vec<&'v VariantResults<'r>> {
        self.points.iter().map(|point| point.variant).collect()
    }
}

/// The strategy and the settings that all variants of a line share.
#[derive(Eq, Hash, PartialEq)]
struct LineKey<'v> {
    strategy: &'v str,
    /// The settings that are not on the axis: path and value.
    others: Vec<(&'v str, &'v str)>,
}

impl<'r> SweepAxis<'r> {
    /// The swept paths with two values or more, in the order of the sweep.
    pub(super) fn all(variants: &[VariantResults<'r>]) -> Vec<Self> {
        let settings = variants
            .iter()
            .flat_map(|variant| &variant.info.settings)
            .unique_by(|setting| &setting.path);
        let mut axes = Vec::new();
        for setting in settings {
            let axis = Self::of(variants, &setting.path, &setting.name);
            if axis.values.len() > 1 {
                axes.push(axis);
            }
        }
        axes
    }

    /// The axis of one path, with the values that the variants have.
    fn of(variants: &[VariantResults<'r>], path: &'r str, name: &'r str) -> Self {
        let settings = variants.iter().filter_map(|variant| setting(variant, path));
        let texts: Vec<&'r str> = settings
            .map(|setting| setting.value.as_str())
            .unique()
            .collect();
        let mut values: Vec<SweepValue<'r>> = Vec::new();
        for (at, text) in texts.iter().copied().enumerate() {
            values.push(SweepValue {
                text,
                label: label(text, &texts),
                place: at as f64,
            });
        }
        let kind = SweptValues::of(&texts, path, variants);
        let axis = Self {
            path,
            name,
            values,
            title: kind.title(subject(path, name)),
            numeric: false,
            of_clusters: matches!(kind, SweptValues::FleetSizes(_)),
            log: false,
        };
        match kind.into_places() {
            Some(places) => axis.at_places(&places),
            None => axis,
        }
    }

    /// Puts the values at the given positions, and sorts them. If values would overlap, they are evenly spaced
    /// instead.
    fn at_places(mut self, places: &[f64]) -> Self {
        for (value, place) in self.values.iter_mut().zip(places) {
            value.place = *place;
            if self.of_clusters {
                value.label = count(*place);
            }
        }
        self.values.sort_by(|a, b| a.place.total_cmp(&b.place));
        self.log = self.is_wide();
        if !self.is_apart() {
            self.log = false;
        }
        if !self.is_apart() {
            for (at, value) in self.values.iter_mut().enumerate() {
                value.place = at as f64;
            }
            return self;
        }
        self.numeric = true;
        if self.log {
            self.title.push_str(", logarithmic");
        }
        self
    }

    /// Returns whether the values span a large factor.
    fn is_wide(&self) -> bool {
        let Scale { low, high, .. } = self.scale(0.0, 1.0);
        low > 0.0 && high >= LOG_FROM * low
    }

    /// Returns whether all values are far enough apart not to overlap.
    fn is_apart(&self) -> bool {
        let scale = self.scale(0.0, 1.0);
        self.values
            .windows(2)
            .all(|pair| scale.at(pair[1].place) - scale.at(pair[0].place) >= GAP_MIN)
    }

    /// The name of the setting as used in titles.
    pub(super) fn subject(&self) -> String {
        if self.of_clusters {
            "fleet size".to_owned()
        } else {
            subject(self.path, self.name).to_owned()
        }
    }

    /// The index of the variant's value. `None` if the variant does not have the setting.
    pub(super) fn value_of(&self, variant: &VariantResults<'_>) -> Option<usize> {
        let text = setting(variant, self.path)?.value.as_str();
        self.values.iter().position(|value| value.text == text)
    }

    /// A scale from the first value at `from` to the last at `to`.
    pub(super) fn scale(&self, from: f64, to: f64) -> Scale {
        Scale {
            low: self.values[0].place,
            high: self.values[self.values.len() - 1].place,
            from,
            to,
            log: self.log,
        }
    }

    /// A tick at each value.
    pub(super) fn ticks(&self) -> Vec<AxisTick> {
        self.values
            .iter()
            .map(|value| AxisTick {
                value: value.place,
                label: value.label.clone(),
            })
            .collect()
    }

    /// The lines along this axis, in the experiment's order. Variants without the setting are not on any line.
    pub(super) fn lines<'v>(
        &self,
        axes: &[Self],
        variants: &'v [VariantResults<'r>],
    ) -> Vec<SweepLine<'v, 'r>> {
        let mut points = Vec::new();
        for variant in variants {
            if let Some(value) = self.value_of(variant) {
                points.push((self.line_of(variant), SweepPoint { value, variant }));
            }
        }
        let groups = grouped(points);
        let same_strategy = groups.iter().map(|(key, _)| key.strategy).all_equal();
        let mut lines = Vec::new();
        for (key, mut points) in groups {
            let mut parts: Vec<String> = Vec::new();
            if !same_strategy {
                parts.push(key.strategy.to_owned());
            }
            for axis in axes.iter().filter(|axis| axis.path != self.path) {
                parts.extend(axis.said_of(points[0].variant));
            }
            let name = parts.join(", ");
            points.sort_by_key(|point| point.value);
            lines.push(SweepLine {
                name: if name.is_empty() {
                    key.strategy.to_owned()
                } else {
                    name
                },
                points,
            });
        }
        lines
    }

    /// The line along this axis that a variant is on.
    fn line_of<'v>(&self, variant: &'v VariantResults<'r>) -> LineKey<'v> {
        let mut others = Vec::new();
        for setting in &variant.info.settings {
            if setting.path != self.path {
                others.push((setting.path.as_str(), setting.value.as_str()));
            }
        }
        LineKey {
            strategy: &variant.info.strategy,
            others,
        }
    }

    /// The variant's value after the setting's name: `distribution=cache`. `None` if the variant does not have the
    /// setting.
    pub(super) fn named_of(&self, variant: &VariantResults<'_>) -> Option<String> {
        if self.of_clusters {
            return self.said_of(variant);
        }
        Some(format!(
            "{}={}",
            self.name,
            self.values[self.value_of(variant)?].text
        ))
    }

    /// A value's label for use without the axis title.
    pub(super) fn label_with_unit(&self, value: &SweepValue<'_>) -> String {
        if self.of_clusters {
            format!("{} clusters", value.label)
        } else {
            value.label.clone()
        }
    }

    /// The variant's value in few words: `maxUnavailable=5%`, `10 Gbit/s`, `500 clusters`. Self-explanatory values
    /// appear without the setting's name. `None` if the variant has no value.
    pub(super) fn said_of(&self, variant: &VariantResults<'_>) -> Option<String> {
        let value = &self.values[self.value_of(variant)?];
        if self.of_clusters {
            return Some(self.label_with_unit(value));
        }
        let bare = value.label.chars().all(is_of_number);
        let switch = ["true", "false", "none", "null"].contains(&value.label.as_str());
        Some(if bare || switch {
            format!("{}={}", self.name, value.label)
        } else {
            value.label.clone()
        })
    }
}

/// Returns whether a character is part of a number or of a share.
fn is_of_number(letter: char) -> bool {
    letter.is_ascii_digit() || ".%-".contains(letter)
}

/// The values of a YAML flow map without their keys: `100% unready` for `{share: 100%, kind: unready}`. `None` for
/// other texts.
fn of_map(text: &str) -> Option<String> {
    let inner = text.strip_prefix('{')?.strip_suffix('}')?;
    let mut values: Vec<&str> = Vec::new();
    for field in inner.split(", ") {
        let (_, value) = field.split_once(": ")?;
        values.push(value);
    }
    let is_flat = !values.iter().any(|value| value.contains(['{', '[']));
    is_flat.then(|| values.join(" "))
}

/// A short label for a value: without its parentheses, such as the settings of a distribution method, if that is
/// unique (`prePull` for `prePull(every=10 min)`); a map without its keys.
fn label(text: &str, all: &[&str]) -> String {
    let maps: Vec<Option<String>> = all.iter().map(|text| of_map(text)).collect();
    if let Some(brief) = of_map(text)
        && maps.iter().all(Option::is_some)
        && maps.iter().all_unique()
    {
        return brief;
    }
    let head = before_parentheses(text);
    let alike = all.iter().filter(|other| before_parentheses(other) == head);
    if alike.count() == 1 && !head.is_empty() {
        head.to_owned()
    } else {
        text.to_owned()
    }
}

/// The part of a value before its parentheses.
fn before_parentheses(text: &str) -> &str {
    text.split('(').next().unwrap_or_default()
}

/// The variant's setting with the given path.
fn setting<'r>(variant: &VariantResults<'r>, path: &str) -> Option<&'r Setting> {
    variant
        .info
        .settings
        .iter()
        .find(|setting| setting.path == path)
}

/// The title of a setting: its name in results for a setting of a strategy, its path for a setting of the world.
fn subject<'s>(path: &'s str, name: &'s str) -> &'s str {
    if path.starts_with("strategies.") {
        name
    } else {
        path
    }
}

/// The kind of a swept path's values, in the order in which kinds are tried.
enum SweptValues {
    /// Quantities of one kind: only times, or only shares, for example.
    Quantities(Vec<f64>),
    /// Counts and shares, if the number of targets is the same in all runs.
    Targets {
        places: Vec<f64>,
        /// The addition to the title that explains how counts and shares compare: `in clusters (5% of 200 = 10)`.
        note: String,
    },
    /// Values that only change the number of clusters.
    FleetSizes(Vec<f64>),
    /// Texts in the experiment's order.
    Categories,
}

impl SweptValues {
    /// Determines the kind of a path's values from their texts.
    fn of(texts: &[&str], path: &str, variants: &[VariantResults<'_>]) -> Self {
        Self::quantities(texts)
            .or_else(|| Self::targets(texts, variants))
            .or_else(|| Self::fleet_sizes(texts, path, variants))
            .unwrap_or(Self::Categories)
    }

    /// Reads the texts as quantities. `None`: a text is not a quantity, or there are several kinds.
    fn quantities(texts: &[&str]) -> Option<Self> {
        let mut kinds: Vec<&str> = Vec::new();
        let mut places = Vec::new();
        for text in texts {
            let (kind, place) = match share_of(text) {
                Some(share) => ("share", share),
                None => quantity(text)?,
            };
            kinds.push(kind);
            places.push(place);
        }
        kinds.iter().all_equal().then_some(Self::Quantities(places))
    }

    /// Reads the texts as counts and shares of the targets. `None`: a text is neither, or runs differ in their number
    /// of targets.
    fn targets(texts: &[&str], variants: &[VariantResults<'_>]) -> Option<Self> {
        let targets = common_targets(variants.iter())? as f64;
        if targets <= 0.0 {
            return None;
        }
        let mut places = Vec::new();
        for text in texts {
            places.push(match number_of(text) {
                Some(number) => number,
                None => share_of(text)? * targets,
            });
        }
        let first = texts.iter().find(|text| share_of(text).is_some());
        let text = first.expect("not all are numbers, so one is a share");
        let clusters = count(share_of(text)? * targets);
        let note = format!("in clusters ({text} of {} = {clusters})", count(targets));
        Some(Self::Targets { places, note })
    }

    /// Determines the fleet size for each value. `None`: the setting belongs to a strategy, or the fleet sizes are not
    /// distinct.
    fn fleet_sizes(texts: &[&str], path: &str, variants: &[VariantResults<'_>]) -> Option<Self> {
        if path.starts_with("strategies.") {
            return None;
        }
        let mut sizes: Vec<f64> = Vec::new();
        for text in texts {
            let with_value = variants
                .iter()
                .filter(|variant| setting(variant, path).is_some_and(|own| own.value == *text));
            sizes.push(common_targets(with_value)? as f64);
        }
        let are_distinct = sizes.iter().copied().map(f64::to_bits).all_unique();
        are_distinct.then_some(Self::FleetSizes(sizes))
    }

    /// The title of an axis with these values; `subject` is the name of the setting.
    fn title(&self, subject: &str) -> String {
        match self {
            Self::Quantities(_) | Self::Categories => subject.to_owned(),
            Self::Targets { note, .. } => format!("{subject} {note}"),
            Self::FleetSizes(_) => "number of clusters".to_owned(),
        }
    }

    /// The positions of the values on a numeric scale. `None` for texts.
    fn into_places(self) -> Option<Vec<f64>> {
        match self {
            Self::Quantities(places) | Self::Targets { places, .. } | Self::FleetSizes(places) => {
                Some(places)
            }
            Self::Categories => None,
        }
    }
}

/// Parses a finite number.
fn number_of(text: &str) -> Option<f64> {
    text.parse().ok().filter(|value: &f64| value.is_finite())
}

/// Parses a percentage as a share.
fn share_of(text: &str) -> Option<f64> {
    let percentage = number_of(text.strip_suffix('%')?.trim_end())?;
    Some(percentage / 100.0)
}

/// The number of targets if all runs of the variants have the same number; otherwise, and without runs, `None`.
fn common_targets<'v, 'r: 'v>(
    variants: impl Iterator<Item = &'v VariantResults<'r>>,
) -> Option<u64> {
    let mut common = None;
    for run in variants.flat_map(|variant| &variant.runs) {
        match common {
            None => common = Some(run.targets),
            Some(targets) if targets == run.targets => {}
            Some(_) => return None,
        }
    }
    common
}
