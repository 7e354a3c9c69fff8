//! The defaults are in the middle of their sources: no experiment has a value at the defaults outside of its own total
//! interval over draws of the constants.
//!
//! Compared are the median completion times of the committed results. An end that the draws do not reach before the
//! horizon bounds nothing.

use serde::Deserialize;

use super::common::{folders_in, root};

/// The columns of `uncertainty.csv` that are compared.
#[derive(Deserialize)]
struct UncertaintyColumns {
    variant: String,
    measure: String,
    luck_median: Option<f64>,
    total_low: Option<f64>,
    total_high: Option<f64>,
}

impl UncertaintyColumns {
    fn is_within(&self, nominal: f64) -> bool {
        self.total_low.is_none_or(|low| low <= nominal)
            && self.total_high.is_none_or(|high| nominal <= high)
    }
}

/// The minimum number of compared variants.
const FEWEST: usize = 90;

#[test]
fn no_experiment_has_a_value_at_the_defaults_outside_of_its_total_interval() {
    let mut outside = Vec::new();
    let mut compared = 0;
    let mut folders = folders_in(&root().join("results"));
    folders.extend(folders_in(&root().join("results/12-incidents")));
    for folder in folders {
        let path = folder.join("uncertainty.csv");
        let Ok(mut reader) = csv::Reader::from_path(&path) else {
            continue;
        };
        for row in reader.deserialize() {
            let row: UncertaintyColumns = row.expect("a row");
            let Some(nominal) = row.luck_median.filter(|_| row.measure == "completion_s") else {
                continue;
            };
            compared += 1;
            if !row.is_within(nominal) {
                outside.push(format!("{} {}: {nominal} s", path.display(), row.variant));
            }
        }
    }
    assert!(outside.is_empty(), "{outside:#?}");
    assert!(compared >= FEWEST, "{compared} variants");
}
