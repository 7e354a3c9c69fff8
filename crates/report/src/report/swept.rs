//! Swept settings: each swept path with its values in order, and the lines of variants along it.
//!
//! Values get a numeric scale where all of them are quantities of one kind. A value that only changes the fleet, such
//! as a pattern of names, is shown as its number of clusters. A mix of counts and shares, such as `1` and `5%`, is
//! compared in clusters where all runs have the same number of targets. Everything else stays text, in the
//! experiment's order.

use itertools::Itertools;

use super::axis::{AxisTick, Scale};
use super::data::VariantResults;
use super::format::count;
use crate::results::{Setting, grouped, quantity};

/// Values that span this factor are put on a logarithmic axis.
const LOG_FROM: f64 = 10.0;
/// Neighbours closer than this share of an axis would overlap; the values are then spaced evenly.
const GAP_MIN: f64 = 0.015;

/// One swept path.
#[derive(Clone, Debug)]
pub(super) struct SweepAxis<'r> {
    pub(super) path: &'r str,
    pub(super) name: &'r str,
    /// Its values in the order of the axis.
    pub(super) values: Vec<SweepValue<'r>>,
    /// The axis title, with the unit where labels have none.
    pub(super) title: String,
    /// Whether places are quantities. Otherwise they count from 0.
    pub(super) numeric: bool,
    /// Whether the values only change the fleet size, which then labels them.
    of_clusters: bool,
    log: bool,
}

/// One value of a swept path.
#[derive(Clone, Debug)]
pub(super) struct SweepValue<'r> {
    /// As the experiment writes it.
    pub(super) text: &'r str,
    /// As reports show it.
    pub(super) label: String,
    pub(super) place: f64,
}

/// The variants that differ in one swept setting only.
#[derive(Clone, Debug)]
pub(super) struct SweepLine<'v, 'r> {
    /// The strategy and settings that distinguish it from the other lines; the strategy where it is the only one.
    pub(super) name: String,
    /// The index of the value, and the variant, in the order of the axis.
    pub(super) points: Vec<(usize, &'v VariantResults<'r>)>,
}

impl<'r> SweepAxis<'r> {
    /// The swept paths with two values or more, in the order of the sweep.
    pub(super) fn all(variants: &[VariantResults<'r>]) -> Vec<Self> {
        let settings = variants
            .iter()
            .flat_map(|variant| &variant.info.settings)
            .unique_by(|setting| &setting.path);
        let axes = settings.map(|setting| Self::of(variants, &setting.path, &setting.name));
        axes.filter(|axis| axis.values.len() > 1).collect()
    }

    fn of(variants: &[VariantResults<'r>], path: &'r str, name: &'r str) -> Self {
        let settings = variants.iter().filter_map(|variant| setting(variant, path));
        let texts: Vec<&'r str> = settings
            .map(|setting| setting.value.as_str())
            .unique()
            .collect();
        let evenly = |(at, &text): (usize, &&'r str)| SweepValue {
            text,
            label: label(text, &texts),
            place: at as f64,
        };
        let mut values: Vec<SweepValue<'r>> = texts.iter().enumerate().map(evenly).collect();
        let (places, title, labels) = quantities(&texts, path, name, variants);
        let of_clusters = labels.is_some();
        let text = Self {
            path,
            name,
            values: values.clone(),
            title,
            numeric: false,
            of_clusters,
            log: false,
        };
        let Some(places) = places else { return text };
        for (at, value) in values.iter_mut().enumerate() {
            value.place = places[at];
            if let Some(labels) = &labels {
                value.label.clone_from(&labels[at]);
            }
        }
        values.sort_by(|a, b| a.place.total_cmp(&b.place));
        let (low, high) = (values[0].place, values[values.len() - 1].place);
        let apart = |log: &bool| {
            let scale = Scale {
                low,
                high,
                from: 0.0,
                to: 1.0,
                log: *log,
            };
            values
                .windows(2)
                .all(|pair| scale.at(pair[1].place) - scale.at(pair[0].place) >= GAP_MIN)
        };
        let is_wide = low > 0.0 && high >= LOG_FROM * low;
        let Some(log) = [is_wide, false].into_iter().find(apart) else {
            values
                .iter_mut()
                .enumerate()
                .for_each(|(at, value)| value.place = at as f64);
            return Self { values, ..text };
        };
        let title = if log {
            format!("{}, logarithmic", text.title)
        } else {
            text.title
        };
        Self {
            values,
            title,
            numeric: true,
            log,
            ..text
        }
    }

    /// The setting in a title.
    pub(super) fn subject(&self) -> String {
        if self.of_clusters {
            "fleet size".to_owned()
        } else {
            subject(self.path, self.name).to_owned()
        }
    }

    /// The index of the value that a variant has. `None` when it has none.
    pub(super) fn value_of(&self, variant: &VariantResults<'_>) -> Option<usize> {
        let text = setting(variant, self.path)?.value.as_str();
        self.values.iter().position(|value| value.text == text)
    }

    /// A scale of the places from the first value at `from` to the last at `to`.
    pub(super) fn scale(&self, from: f64, to: f64) -> Scale {
        let (low, high) = (
            self.values[0].place,
            self.values[self.values.len() - 1].place,
        );
        Scale {
            low,
            high,
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

    /// The lines along this axis, in the experiment's order. Variants without the setting are on none.
    pub(super) fn lines<'v>(
        &self,
        axes: &[Self],
        variants: &'v [VariantResults<'r>],
    ) -> Vec<SweepLine<'v, 'r>> {
        let others = |variant: &'v VariantResults<'r>| -> Vec<(&'v str, &'v str)> {
            let of = |setting: &'v Setting| (setting.path.as_str(), setting.value.as_str());
            variant
                .info
                .settings
                .iter()
                .map(of)
                .filter(|(path, _)| *path != self.path)
                .collect()
        };
        let key = |variant: &'v VariantResults<'r>| (&variant.info.strategy, others(variant));
        let points = variants
            .iter()
            .filter_map(|variant| Some((key(variant), (self.value_of(variant)?, variant))));
        let lines = grouped(points);
        let same_strategy = lines.iter().map(|((strategy, _), _)| *strategy).all_equal();
        let line = |((strategy, _), mut points): (
            (&'v String, _),
            Vec<(usize, &'v VariantResults<'r>)>,
        )| {
            let others = axes
                .iter()
                .filter(|axis| axis.path != self.path)
                .filter_map(|axis| axis.said_of(points[0].1));
            let name = (!same_strategy)
                .then(|| strategy.clone())
                .into_iter()
                .chain(others)
                .join(", ");
            points.sort_by_key(|(value, _)| *value);
            SweepLine {
                name: if name.is_empty() {
                    strategy.clone()
                } else {
                    name
                },
                points,
            }
        };
        lines.into_iter().map(line).collect()
    }

    /// The variant's value after the setting's name: `distribution=cache`. `None` when it has none.
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

    /// A value's label for places without the axis title.
    pub(super) fn label_with_unit(&self, value: &SweepValue<'_>) -> String {
        if self.of_clusters {
            format!("{} clusters", value.label)
        } else {
            value.label.clone()
        }
    }

    /// The variant's value in few words: `maxUnavailable=5%`, `10 Gbit/s`, `500 clusters`. Values that speak for
    /// themselves have no name. `None` when the variant has none.
    pub(super) fn said_of(&self, variant: &VariantResults<'_>) -> Option<String> {
        let value = &self.values[self.value_of(variant)?];
        if self.of_clusters {
            return Some(self.label_with_unit(value));
        }
        let bare = value
            .label
            .chars()
            .all(|letter| letter.is_ascii_digit() || ".%-".contains(letter));
        let switch = ["true", "false", "none", "null"].contains(&value.label.as_str());
        Some(if bare || switch {
            format!("{}={}", self.name, value.label)
        } else {
            value.label.clone()
        })
    }
}

/// The values of a flow map without their keys: `100% unready` for `{share: 100%, kind: unready}`. `None` for other
/// texts.
fn of_map(text: &str) -> Option<String> {
    let inner = text.strip_prefix('{')?.strip_suffix('}')?;
    let values = inner
        .split(", ")
        .map(|field| Some(field.split_once(": ")?.1));
    let values: Vec<&str> = values.collect::<Option<_>>()?;
    values
        .iter()
        .all(|value| !value.contains(['{', '[']))
        .then(|| values.join(" "))
}

/// A value without its parentheses, such as the settings of a distribution method, where the rest is unique:
/// `prePull` for `prePull(every=10 min)`; maps without their keys.
fn label(text: &str, all: &[&str]) -> String {
    let maps: Vec<Option<String>> = all.iter().map(|text| of_map(text)).collect();
    if let Some(brief) = of_map(text)
        && maps.iter().all(Option::is_some)
        && maps.iter().all_unique()
    {
        return brief;
    }
    let head = |text: &str| text.split('(').next().unwrap_or_default().to_owned();
    let alone = all.iter().filter(|other| head(other) == head(text)).count() == 1;
    if alone && !head(text).is_empty() {
        head(text)
    } else {
        text.to_owned()
    }
}

fn setting<'r>(variant: &VariantResults<'r>, path: &str) -> Option<&'r Setting> {
    variant
        .info
        .settings
        .iter()
        .find(|setting| setting.path == path)
}

/// Settings of strategies are titled by their name as in results, settings of the world by their path.
fn subject<'s>(path: &'s str, name: &'s str) -> &'s str {
    if path.starts_with("strategies.") {
        name
    } else {
        path
    }
}

/// The values on a numeric scale, the axis title, and labels where they are not the texts.
fn quantities(
    texts: &[&str],
    path: &str,
    name: &str,
    variants: &[VariantResults<'_>],
) -> (Option<Vec<f64>>, String, Option<Vec<String>>) {
    let subject = subject(path, name);
    let number = |text: &str| text.parse().ok().filter(|value: &f64| value.is_finite());
    let share = |text: &str| {
        text.strip_suffix('%')
            .and_then(|text| number(text.trim_end()))
            .map(|share| share / 100.0)
    };
    let of_kind = |text: &&str| {
        share(text)
            .map(|share| ("share", share))
            .or_else(|| quantity(text))
    };
    if let Some(found) = texts.iter().map(of_kind).collect::<Option<Vec<_>>>()
        && found.iter().map(|(kind, _)| kind).all_equal()
    {
        return (
            Some(found.into_iter().map(|(_, place)| place).collect()),
            subject.to_owned(),
            None,
        );
    }
    let all = |parse: &dyn Fn(&str) -> Option<f64>| {
        texts
            .iter()
            .map(|text| parse(text))
            .collect::<Option<Vec<f64>>>()
    };
    let targets =
        |variant: &'_ VariantResults<'_>| variant.runs.iter().map(|run| run.targets).collect_vec();
    let targets_of = |text: &str| -> Option<u64> {
        let with = |variant: &&VariantResults<'_>| {
            setting(variant, path).is_some_and(|setting| setting.value == text)
        };
        variants
            .iter()
            .filter(with)
            .flat_map(targets)
            .all_equal_value()
            .ok()
    };
    let everywhere = variants.iter().flat_map(targets).all_equal_value().ok();
    if let Some(targets) = everywhere.filter(|targets| *targets > 0)
        && let Some(places) =
            all(&|text| number(text).or_else(|| share(text).map(|share| share * targets as f64)))
    {
        let first = texts
            .iter()
            .find_map(|text| share(text).map(|share| (text, share)));
        let (text, share) = first.expect("not all are numbers, so one is a share");
        let clusters = count(share * targets as f64);
        let title = format!(
            "{subject} in clusters ({text} of {} = {clusters})",
            count(targets as f64)
        );
        return (Some(places), title, None);
    }
    let sizes = all(&|text| targets_of(text).map(|targets| targets as f64));
    let are_distinct = |sizes: &Vec<f64>| sizes.iter().map(|size| size.to_bits()).all_unique();
    if let Some(sizes) = sizes
        .filter(are_distinct)
        .filter(|_| !path.starts_with("strategies."))
    {
        let labels = sizes.iter().map(|size| count(*size)).collect();
        return (Some(sizes), "number of clusters".to_owned(), Some(labels));
    }
    (None, subject.to_owned(), None)
}
