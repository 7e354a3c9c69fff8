//! Computes partitions and limits from a strategy and its targets.
//!
//! Follows `internal/cmd/controller/target/rollout.go`. Entries of `partitions` may overlap, and there is no partition
//! for the remaining clusters: a cluster can be in several partitions or in none.

use std::borrow::Cow;
use std::collections::BTreeMap;

use itertools::Itertools;

use super::super::IntOrString;
use super::super::label_selector::SelectorError;
use super::cluster::FleetCluster;
use super::config::RolloutStrategy;
use super::limit::{FleetLimitError, limit};
use super::matcher::Matcher;

/// The reason why a strategy is invalid. Fleet then changes nothing and shows the message.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum StrategyError {
    /// An invalid limit or size.
    #[error("rolloutStrategy.{field}: {source}")]
    Limit {
        /// The path of the field, e.g. `partitions[1].maxUnavailable`.
        field: String,
        /// The error in this field.
        source: FleetLimitError,
    },
    /// A selector that Kubernetes rejects.
    #[error("rolloutStrategy.partitions[{entry}]: {source}")]
    Selector {
        /// 0-based index of the entry of `partitions`.
        entry: usize,
        /// The error in the selector.
        source: SelectorError,
    },
}

/// Targets that are updated together, before later partitions.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Partition {
    /// The name that the bundle's status shows.
    pub name: String,
    /// The partition's clusters, as indices into the list of clusters, in list order.
    pub members: Vec<u32>,
    /// The partition counts as unavailable while more clusters than this are outdated or unavailable.
    pub max_unavailable: i64,
    /// Whether `max_unavailable` is configured, in the entry or in the strategy, instead of the default.
    pub is_limit_set: bool,
}

/// The partitions of one bundle and the limits of the whole bundle.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Partitioning {
    /// The partitions in the order in which they are updated.
    pub partitions: Vec<Partition>,
    /// Number of unavailable clusters in the whole bundle at which no more available clusters are updated.
    pub max_unavailable: i64,
    /// Number of unavailable partitions above which later partitions are not updated.
    pub max_unavailable_partitions: i64,
}

impl Partitioning {
    /// Assigns `targets`, which are indices into `clusters` in Fleet's order, to partitions.
    ///
    /// Without targets Fleet ignores the strategy: all defaults apply, and errors in `strategy` have no effect.
    ///
    /// # Errors
    /// The first invalid value or selector that Fleet would encounter. Fleet does not examine values that it does not
    /// need.
    pub fn new(
        strategy: &RolloutStrategy,
        clusters: &[FleetCluster],
        targets: &[u32],
    ) -> Result<Self, StrategyError> {
        let no_strategy = RolloutStrategy::default();
        let strategy = if targets.is_empty() {
            &no_strategy
        } else {
            strategy
        };
        let max_unavailable = field(
            "maxUnavailable",
            count(targets),
            &[strategy.max_unavailable.as_ref()],
        )?;
        let partitions = if strategy.manual_partitions().is_empty() {
            automatic(strategy, targets)?
        } else {
            manual(strategy, clusters, targets)?
        };
        let max_unavailable_partitions = field(
            "maxUnavailablePartitions",
            count(&partitions),
            &[
                strategy.max_unavailable_partitions.as_ref(),
                Some(&IntOrString::Int(0)),
            ],
        )?;
        Ok(Self {
            partitions,
            max_unavailable,
            max_unavailable_partitions,
        })
    }
}

/// With fewer targets than this there is a single partition, unless the strategy configures another number.
pub(super) const THRESHOLD: i64 = 200;

fn automatic(strategy: &RolloutStrategy, targets: &[u32]) -> Result<Vec<Partition>, StrategyError> {
    let threshold = strategy.auto_partition_threshold.unwrap_or(THRESHOLD);
    let is_off =
        matches!(strategy.auto_partition_size, Some(IntOrString::Int(..=0))) || threshold <= 0;
    if is_off || count(targets) < threshold {
        let all = automatic_partition("All".to_owned(), strategy, targets)?;
        return Ok(vec![all]);
    }
    let default_size = IntOrString::from("25%");
    let sizes = [strategy.auto_partition_size.as_ref(), Some(&default_size)];
    let size =
        usize::try_from(field("autoPartitionSize", count(targets), &sizes)?).unwrap_or(usize::MAX);
    let mut partitions = Vec::new();
    let mut first = 0;
    for members in targets.chunks(size) {
        let end = first + members.len();
        let name = format!("Partition {first} - {end}");
        partitions.push(automatic_partition(name, strategy, members)?);
        first = end;
    }
    Ok(partitions)
}

/// Creates a partition with the limit of the strategy.
fn automatic_partition(
    name: String,
    strategy: &RolloutStrategy,
    members: &[u32],
) -> Result<Partition, StrategyError> {
    let limit = strategy.max_unavailable.as_ref();
    Ok(Partition {
        name,
        members: members.to_vec(),
        max_unavailable: field("maxUnavailable", count(members), &[limit])?,
        is_limit_set: limit.is_some(),
    })
}

fn manual(
    strategy: &RolloutStrategy,
    clusters: &[FleetCluster],
    targets: &[u32],
) -> Result<Vec<Partition>, StrategyError> {
    let entries = strategy.manual_partitions();
    let matchers: Vec<Result<Matcher<'_>, SelectorError>> =
        entries.iter().map(Matcher::new).collect();
    let by_label = by_label(matchers.iter().flatten(), clusters, targets);
    let mut partitions = Vec::with_capacity(entries.len());
    for (index, (entry, matcher)) in entries.iter().zip(&matchers).enumerate() {
        let matcher = match matcher {
            Ok(matcher) => matcher,
            Err(source) => {
                return Err(StrategyError::Selector {
                    entry: index,
                    source: source.clone(),
                });
            }
        };
        let candidates = match matcher.needs() {
            None => Cow::Borrowed(targets),
            Some((key, values)) => Cow::Owned(with_label(targets, &by_label[key], values)),
        };
        let mut members = Vec::new();
        for &target in candidates.iter() {
            if matcher.matches(&clusters[target as usize]) {
                members.push(target);
            }
        }
        let values = [
            entry.max_unavailable.as_ref(),
            strategy.max_unavailable.as_ref(),
        ];
        let max_unavailable = field(
            &format!("partitions[{index}].maxUnavailable"),
            count(&members),
            &values,
        )?;
        let is_limit_set = values.iter().any(Option::is_some);
        partitions.push(Partition {
            name: entry.name.clone(),
            members,
            max_unavailable,
            is_limit_set,
        });
    }
    Ok(partitions)
}

/// Returns the targets whose label has one of these values, in order. `by_value`: the positions of the targets for
/// each value.
fn with_label(
    targets: &[u32],
    by_value: &BTreeMap<&str, Vec<usize>>,
    values: &[String],
) -> Vec<u32> {
    let mut places: Vec<usize> = Vec::new();
    for value in values.iter().unique() {
        places.extend(&by_value[value.as_str()]);
    }
    places.sort_unstable();
    places.into_iter().map(|place| targets[place]).collect()
}

/// Groups the positions of targets by the labels that entries need, so that each of many entries examines few targets.
fn by_label<'m>(
    matchers: impl Iterator<Item = &'m Matcher<'m>>,
    clusters: &[FleetCluster],
    targets: &[u32],
) -> BTreeMap<&'m str, BTreeMap<&'m str, Vec<usize>>> {
    let mut found: BTreeMap<&str, BTreeMap<&str, Vec<usize>>> = BTreeMap::new();
    for (key, values) in matchers.filter_map(Matcher::needs) {
        let by_value = found.entry(key).or_default();
        for value in values {
            by_value.insert(value, Vec::new());
        }
    }
    for (place, target) in targets.iter().enumerate() {
        let labels = &clusters[*target as usize].labels;
        for (key, by_value) in &mut found {
            if let Some(value) = labels.get(*key)
                && let Some(places) = by_value.get_mut(value.as_str())
            {
                places.push(place);
            }
        }
    }
    found
}

fn field(name: &str, count: i64, values: &[Option<&IntOrString>]) -> Result<i64, StrategyError> {
    limit(count, values).map_err(|source| StrategyError::Limit {
        field: name.to_owned(),
        source,
    })
}

fn count<T>(list: &[T]) -> i64 {
    list.len() as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clusters(count: usize) -> Vec<FleetCluster> {
        (0..count)
            .map(|index| FleetCluster {
                name: format!("c{index:04}"),
                ..FleetCluster::default()
            })
            .collect()
    }

    fn partitioning(yaml: &str, count: usize) -> Result<Partitioning, StrategyError> {
        let strategy = serde_saphyr::from_str(yaml).expect(yaml);
        let targets: Vec<u32> = (0..count as u32).collect();
        Partitioning::new(&strategy, &clusters(count), &targets)
    }

    #[test]
    fn automatic_partitions_are_blocks_of_equal_size() {
        let cases: [(&str, usize, &[usize], &str); 12] = [
            // strategy, targets, sizes, why
            ("{}", 199, &[199], "fewer than 200 are one partition"),
            ("{}", 200, &[50, 50, 50, 50], "25 % each"),
            (
                "{}",
                230,
                &[57, 57, 57, 57, 2],
                "rounded down, so a small one is left",
            ),
            (
                "{autoPartitionThreshold: 50, autoPartitionSize: 50%}",
                50,
                &[25, 25],
                "a lower threshold",
            ),
            (
                "{autoPartitionThreshold: 0}",
                500,
                &[500],
                "0 switches it off",
            ),
            (
                "{autoPartitionThreshold: -1}",
                500,
                &[500],
                "so does a negative threshold",
            ),
            ("{autoPartitionSize: 0}", 200, &[200], "so does a size of 0"),
            ("{autoPartitionSize: -5}", 200, &[200], "or a negative one"),
            (
                "{autoPartitionThreshold: 1, autoPartitionSize: 0%}",
                3,
                &[1, 1, 1],
                "0 % does not: it is one cluster",
            ),
            (
                "{autoPartitionSize: '150'}",
                200,
                &[150, 50],
                "a text is a size",
            ),
            (
                "{autoPartitionSize: '300'}",
                200,
                &[200],
                "even one beyond all targets",
            ),
            (
                "{maxUnavailable: abc}",
                0,
                &[0],
                "without targets errors have no effect",
            ),
        ];
        for (yaml, targets, sizes, why) in cases {
            let found = partitioning(yaml, targets).expect(yaml).partitions;
            assert_eq!(
                found.iter().map(|p| p.members.len()).collect::<Vec<_>>(),
                sizes,
                "{yaml}, {targets}: {why}"
            );
        }
        let names: Vec<_> = partitioning("{}", 230)
            .expect("defaults")
            .partitions
            .into_iter()
            .map(|p| p.name)
            .collect();
        assert_eq!(names[..2], ["Partition 0 - 57", "Partition 57 - 114"]);
        assert_eq!(names[4], "Partition 228 - 230");
    }

    #[test]
    fn a_cluster_can_be_in_several_manual_partitions_or_in_none() {
        let yaml = "{maxUnavailable: 2, autoPartitionSize: 1, partitions: [
            {name: one, clusterName: c0001},
            {name: most, maxUnavailable: 50%, clusterSelector: {}},
            {name: nobody, maxUnavailable: abc, clusterName: nobody}]}";
        let found =
            partitioning(yaml, 5).expect("an entry that matches nothing hides its bad value");
        let rows: Vec<_> = found
            .partitions
            .iter()
            .map(|p| (p.name.as_str(), p.members.as_slice(), p.max_unavailable))
            .collect();
        assert_eq!(
            rows,
            [
                ("one", &[1][..], 1),
                ("most", &[0, 1, 2, 3, 4], 2),
                ("nobody", &[], 1)
            ]
        );
        assert_eq!(
            (found.max_unavailable, found.max_unavailable_partitions),
            (2, 0)
        );
    }

    #[test]
    fn an_entry_that_requires_a_label_selects_matching_clusters_in_order() {
        let cluster = |index: u32| FleetCluster {
            name: format!("c{index}"),
            labels: std::sync::Arc::new([("wave".to_owned(), (index % 3).to_string())].into()),
            ..FleetCluster::default()
        };
        let clusters: Vec<_> = (0..7)
            .map(cluster)
            .chain([FleetCluster::default()])
            .collect();
        let yaml = "{partitions: [
            {name: one, clusterSelector: {matchLabels: {wave: '1'}}},
            {name: two, clusterSelector: {matchExpressions: [{key: wave, operator: In, values: ['2', '0', '2']}]}},
            {name: both, clusterName: c4, clusterSelector: {matchLabels: {wave: '1'}}},
            {name: none, clusterSelector: {matchLabels: {wave: '9'}}},
            {name: rest, clusterSelector: {matchExpressions: [{key: wave, operator: DoesNotExist}]}}]}";
        let strategy = serde_saphyr::from_str(yaml).expect(yaml);
        let found = Partitioning::new(&strategy, &clusters, &[7, 6, 5, 4, 3, 2, 1, 0]).expect(yaml);
        let members: Vec<&[u32]> = found
            .partitions
            .iter()
            .map(|partition| &*partition.members)
            .collect();
        assert_eq!(members, [&[4, 1][..], &[6, 5, 3, 2, 0], &[4], &[], &[7]]);
    }

    #[test]
    fn partition_errors_name_their_field() {
        for (yaml, message) in [
            (
                "{maxUnavailable: '0'}",
                "rolloutStrategy.maxUnavailable: `0` is neither a whole number above 0 nor",
            ),
            (
                "{autoPartitionThreshold: 1, autoPartitionSize: x%}",
                "rolloutStrategy.autoPartitionSize: `x%` is not a",
            ),
            (
                "{maxUnavailablePartitions: '-1'}",
                "rolloutStrategy.maxUnavailablePartitions: `-1` is neither",
            ),
            (
                "{partitions: [{clusterName: c0000}, {clusterSelector: {}, maxUnavailable: 1e}]}",
                "rolloutStrategy.partitions[1].maxUnavailable: `1e` is neither",
            ),
            (
                "{partitions: [{clusterSelector: {matchExpressions: [{key: a, operator: In}]}}]}",
                "rolloutStrategy.partitions[0]: `In` on `a` needs at least one value",
            ),
        ] {
            let error = partitioning(yaml, 3).expect_err(yaml).to_string();
            assert!(error.starts_with(message), "{yaml}: {error}");
        }
    }
}
