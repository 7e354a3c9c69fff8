//! Determines the number of clusters in each group of `fleet`, from the ranges in its name, its own count, or its
//! share of all clusters.

use super::check::Checker;
use super::names::{self, LONGEST_NAME, MOST_NAMES};
use crate::document::path::Path;
use crate::world::{ClusterSpec, CountOrPercent};

/// The number of clusters according to a group's `clusters`.
pub(super) enum GroupSize {
    /// `clusters` is not set, so the ranges in the name determine the number.
    ByName,
    /// A fixed number of clusters.
    Count(u64),
    /// `clusters` is invalid, which was reported.
    Wrong,
}

impl Checker<'_> {
    /// Returns the number of clusters in each group.
    pub(super) fn group_sizes(
        &mut self,
        groups: &[ClusterSpec],
        all: Option<u64>,
    ) -> Vec<GroupSize> {
        let mut sizes = Vec::new();
        match all {
            None => {
                for (index, group) in groups.iter().enumerate() {
                    sizes.push(self.group_size(index, group));
                }
            }
            Some(all) => {
                let shares = self
                    .shares(groups, all)
                    .map(|shares| apportion(all, &shares));
                for index in 0..groups.len() {
                    sizes.push(match &shares {
                        Some(counts) => GroupSize::Count(counts[index]),
                        None => GroupSize::Wrong,
                    });
                }
            }
        }
        sizes
    }

    /// Returns the size of a group when the file does not set the total number of clusters.
    fn group_size(&mut self, index: usize, group: &ClusterSpec) -> GroupSize {
        match group.clusters {
            None => GroupSize::ByName,
            Some(CountOrPercent::Count(count)) => GroupSize::Count(u64::from(count)),
            Some(CountOrPercent::Percent(share)) => {
                let message = format!("{share}% needs the size of the fleet");
                let help =
                    "write the size of the fleet at the top of the file, e.g. `clusters: 1000`";
                let path = Path::of("fleet").index(index).key("clusters");
                self.report(&path, message, help);
                GroupSize::Wrong
            }
        }
    }

    /// Returns each group's share of `all` clusters in percent. `None`: a problem was reported.
    fn shares(&mut self, groups: &[ClusterSpec], all: u64) -> Option<Vec<u64>> {
        let fleet = Path::of("fleet");
        let top = Path::of("clusters");
        if all > MOST_NAMES {
            let help = format!("at most {MOST_NAMES} are simulated");
            self.report(&top, format!("{all} clusters"), &help);
            return None;
        }
        let mut shares = Vec::new();
        for (index, group) in groups.iter().enumerate() {
            let Some(CountOrPercent::Percent(share)) = group.clusters else {
                let message = format!(
                    "this group is not a share of the {all} clusters that the file requests"
                );
                let help = "write e.g. `{name: \"store-{0001..}\", clusters: 90%}`, or leave the file's `clusters` out";
                self.report(&fleet.index(index), message, help);
                return None;
            };
            shares.push(u64::from(share));
        }
        if shares.is_empty() {
            let message = "no group of `fleet` has a share of these clusters";
            let help = "write e.g. `fleet: [{name: \"store-{0001..}\", clusters: 100%}]`";
            self.report(&top, message, help);
            return None;
        }
        let sum: u64 = shares.iter().sum();
        if sum != 100 {
            let message = format!("the shares of the groups add up to {sum}%");
            self.report(
                &fleet,
                message,
                "make the groups' `clusters` add up to 100%",
            );
            return None;
        }
        Some(shares)
    }

    /// Returns the names of a group's clusters. `None`: a problem was reported.
    pub(super) fn group_names(
        &mut self,
        path: &Path,
        group: &ClusterSpec,
        size: &GroupSize,
    ) -> Option<Vec<String>> {
        let name = &group.name;
        if name.len() > LONGEST_NAME {
            self.report(
                &path.key("name"),
                format!("the name has {} bytes", name.len()),
                &format!("write at most {LONGEST_NAME}, the limit of Kubernetes"),
            );
            return None;
        }
        let names = match (size, names::is_open(name)) {
            (GroupSize::Wrong, _) => return None,
            (GroupSize::ByName, true) => {
                let message = format!("the range in `{name}` has no end");
                let help = "write `clusters: 900` next to it, or an end such as `{001..900}`";
                self.report(&path.key("name"), message, help);
                return None;
            }
            (GroupSize::Count(_), false) => {
                let message =
                    format!("`{name}` has no open range that could number these clusters");
                let help = "write a name such as `store-{0001..}`, or leave `clusters` out";
                self.report(&path.key("clusters"), message, help);
                return None;
            }
            (GroupSize::ByName, false) => names::expand(name),
            (GroupSize::Count(count), true) => names::numbered(name, *count),
        };
        match names {
            Ok(names) => Some(names),
            Err(message) => {
                let help = "a group's name may contain ranges such as `{001..900}`";
                self.report(&path.key("name"), message, help);
                None
            }
        }
    }
}

/// Distributes `all` clusters by shares in percent, with the divisor method of Webster and Sainte-Laguë: each further
/// cluster goes to the group with the largest share / (2 x its clusters + 1). Unlike rounding, this never removes a
/// cluster from a group as the fleet grows, so a larger fleet contains all clusters of a smaller one.
fn apportion(all: u64, shares: &[u64]) -> Vec<u64> {
    let mut sizes = vec![0_u64; shares.len()];
    for _ in 0..all {
        let mut next = 0;
        for group in 1..shares.len() {
            if shares[group] * (2 * sizes[next] + 1) > shares[next] * (2 * sizes[group] + 1) {
                next = group;
            }
        }
        sizes[next] += 1;
    }
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_that_are_whole_numbers_of_clusters_are_met_exactly() {
        assert_eq!(apportion(200, &[72, 24, 4]), [144, 48, 8]);
        assert_eq!(apportion(1000, &[72, 24, 4]), [720, 240, 40]);
        assert_eq!(apportion(5000, &[72, 24, 4]), [3600, 1200, 200]);
        assert_eq!(apportion(7, &[100]), [7]);
        assert_eq!(apportion(0, &[60, 40]), [0, 0]);
        assert_eq!(apportion(10, &[0, 100]), [0, 10]);
    }

    #[test]
    fn groups_add_up_to_the_fleet_and_never_shrink_as_it_grows() {
        for shares in [&[72, 24, 4][..], &[34, 33, 33], &[50, 50], &[97, 1, 1, 1]] {
            let mut before = apportion(0, shares);
            for all in 1..=500 {
                let sizes = apportion(all, shares);
                assert_eq!(sizes.iter().sum::<u64>(), all);
                assert!(
                    sizes.iter().zip(&before).all(|(now, before)| now >= before),
                    "{shares:?}: {sizes:?}"
                );
                before = sizes;
            }
        }
    }
}
