//! Explains why a label selector selects no cluster.

use itertools::Itertools;

use crate::document::problem::some_of;
use crate::rollout::label_selector::{LabelSelector, Labels};

/// Returns the labels or values that exist in the fleet, next to those that the selector requires.
pub(crate) fn why_none(selector: &LabelSelector, clusters: &[&Labels]) -> String {
    let keys = selector
        .match_labels
        .keys()
        .chain(selector.match_expressions.iter().map(|part| &part.key));
    for key in keys {
        let values = clusters
            .iter()
            .filter_map(|labels| labels.get(key).map(String::as_str));
        let values: Vec<&str> = values.sorted_unstable().dedup().collect();
        let asked = selector.match_labels.get(key);
        if values.is_empty() {
            let keys = clusters.iter().flat_map(|labels| labels.keys());
            let known: Vec<String> = keys.sorted_unstable().dedup().cloned().collect();
            return match known.is_empty() {
                true => "no cluster has any label".to_owned(),
                false => format!(
                    "no cluster has the label `{key}`; existing labels are {}",
                    some_of(&known)
                ),
            };
        }
        if asked.is_some_and(|asked| !values.contains(&asked.as_str())) {
            let values: Vec<String> = values.into_iter().map(str::to_owned).collect();
            return format!("the label `{key}` has the values {}", some_of(&values));
        }
    }
    "each of its parts matches some cluster, but no cluster matches all of them".to_owned()
}
