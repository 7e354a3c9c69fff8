//! The status conditions that the product's objects show during one run, as a log of changes.
//!
//! A controller shows all its conditions after every pass, and the log keeps those that changed. Its size is bounded
//! regardless of the fleet's size: at most [`PAIRS_MAX`] pairs of object and condition, [`ROWS_MAX`] rows for each
//! pair, and [`ALL_MAX`] rows in total. If a condition changes several times at the same instant, only the last change
//! is kept. If a pair has too many changes, changes that follow the previous one within a minimum spacing are left
//! out. The spacing doubles until the remaining changes fit. The first and the last change of each pair are always
//! kept.

use std::collections::BTreeMap;

use crate::results::StatusRow;
use crate::rollout::ObjectCondition;
use crate::units::{SimDuration, SimTime};

/// Maximum number of pairs of object and condition. Further pairs are left out.
const PAIRS_MAX: usize = 1_000;

/// Maximum number of rows for each pair of object and condition.
const ROWS_MAX: usize = 500;

/// Maximum total number of rows.
const ALL_MAX: usize = 20_000;

/// The log of status conditions in one run.
#[derive(Debug, Default)]
pub struct StatusLog {
    now: SimTime,
    pairs: BTreeMap<(String, String), History>,
    /// Number of changes so far, which determines the order of changes at the same time.
    changes: usize,
}

/// The changes of one pair of object and condition.
#[derive(Debug, Default)]
struct History {
    kept: Vec<StatusChange>,
    /// The last change, if it follows the previous one within `spacing`.
    last: Option<StatusChange>,
    spacing: SimDuration,
}

#[derive(Clone, Debug)]
struct StatusChange {
    at: SimTime,
    number: usize,
    status: String,
    reason: String,
    message: String,
}

impl StatusLog {
    /// Sets the time of the conditions that are shown next.
    pub fn at(&mut self, now: SimTime) {
        self.now = now;
    }

    /// Records these conditions as shown now. Conditions of other objects do not change.
    pub fn show(&mut self, conditions: impl IntoIterator<Item = ObjectCondition>) {
        self.show_at(None, conditions);
    }

    /// Records conditions as shown at a time, which must not be before the last one of the same condition. `None`:
    /// now.
    pub fn show_at(
        &mut self,
        at: Option<SimTime>,
        conditions: impl IntoIterator<Item = ObjectCondition>,
    ) {
        let at = at.unwrap_or(self.now);
        for ObjectCondition {
            object,
            condition,
            status,
            reason,
            message,
        } in conditions
        {
            self.changes += 1;
            let change = StatusChange {
                at,
                number: self.changes,
                status,
                reason,
                message,
            };
            let key = (object, condition);
            let is_full = self.pairs.len() >= PAIRS_MAX;
            match self.pairs.get_mut(&key) {
                Some(history) => history.add(change),
                None if change.is_empty() || is_full => {}
                None => self.pairs.entry(key).or_default().add(change),
            }
        }
    }

    /// Takes the rows in order of time, and leaves the log empty.
    pub fn take(&mut self) -> Vec<StatusRow> {
        let pairs = std::mem::take(&mut self.pairs);
        let most = ROWS_MAX.min(ALL_MAX / pairs.len().max(1));
        let mut rows = Vec::new();
        for ((object, condition), history) in pairs {
            for StatusChange {
                at,
                number,
                status,
                reason,
                message,
            } in history.all(most)
            {
                let row = StatusRow {
                    t_s: at.as_secs_f64(),
                    object: object.clone(),
                    condition: condition.clone(),
                    status,
                    reason,
                    message,
                };
                rows.push(((at, number), row));
            }
        }
        rows.sort_by_key(|(order, _)| *order);
        rows.into_iter().map(|(_, row)| row).collect()
    }
}

impl History {
    fn add(&mut self, change: StatusChange) {
        if self
            .last
            .as_ref()
            .or(self.kept.last())
            .is_some_and(|shown| shown.says(&change))
        {
            return;
        }
        // Conditions that lasted less than the spacing are left out.
        self.last = None;
        if self.kept.last().is_some_and(|shown| shown.at == change.at) {
            self.kept.pop();
        }
        match self.kept.last() {
            Some(shown) if shown.says(&change) => {}
            Some(shown) if change.at.saturating_since(shown.at) < self.spacing => {
                self.last = Some(change);
            }
            _ => self.kept.push(change),
        }
        if self.kept.len() > ROWS_MAX {
            self.thin(ROWS_MAX / 2);
        }
    }

    /// Doubles the spacing between changes until at most `most` remain. The last change is always kept.
    fn thin(&mut self, most: usize) {
        let last = self.last.take().or_else(|| self.kept.last().cloned());
        while self.kept.len() > most {
            let (Some(first), Some(end)) = (self.kept.first(), self.kept.last()) else {
                break;
            };
            let span = end.at.saturating_since(first.at).as_nanos();
            let even = SimDuration::from_nanos((span / most as u64).max(1));
            self.spacing = (self.spacing + self.spacing).max(even);
            let mut next = SimTime::ZERO;
            let spacing = self.spacing;
            self.kept.retain(|change| {
                let stays = change.at >= next;
                if stays {
                    next = change.at + spacing;
                }
                stays
            });
        }
        self.last = last.filter(|last| {
            self.kept
                .last()
                .is_none_or(|kept| kept.number != last.number)
        });
    }

    fn all(mut self, most: usize) -> impl Iterator<Item = StatusChange> {
        if self.kept.len() + usize::from(self.last.is_some()) > most {
            self.thin(most.saturating_sub(1).max(1));
        }
        self.kept.into_iter().chain(self.last)
    }
}

impl StatusChange {
    fn is_empty(&self) -> bool {
        self.status.is_empty() && self.reason.is_empty() && self.message.is_empty()
    }

    fn says(&self, other: &Self) -> bool {
        (&self.status, &self.reason, &self.message)
            == (&other.status, &other.reason, &other.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> SimTime {
        SimTime::from_secs(seconds)
    }

    fn shown(status: &str, message: String) -> ObjectCondition {
        ObjectCondition::new("Bundle/app", "Ready", status, "", message)
    }

    #[test]
    fn status_changes_are_stored_in_chronological_order() {
        let mut log = StatusLog::default();
        let field = |value: &str| ObjectCondition::field("Bundle/app", "display.state", value);
        log.at(at(1));
        log.show([shown("False", "a".to_owned()), field("")]);
        log.at(at(2));
        log.show([shown("False", "a".to_owned()), field("NotReady")]);
        log.at(at(4));
        log.show([shown("True", String::new()), field("")]);
        log.show_at(
            Some(at(3)),
            [ObjectCondition::field(
                "GitRepo/app",
                "display.state",
                "NotReady",
            )],
        );
        let rows: Vec<(f64, String, String)> = log
            .take()
            .into_iter()
            .map(|row| {
                (
                    row.t_s,
                    format!("{} {}", row.object, row.condition),
                    row.status,
                )
            })
            .collect();
        let expected = [
            (1.0, "Bundle/app Ready", "False"),
            (2.0, "Bundle/app display.state", "NotReady"),
            (3.0, "GitRepo/app display.state", "NotReady"),
            (4.0, "Bundle/app Ready", "True"),
            // The field was shown and is empty again. A field that is always empty has no row.
            (4.0, "Bundle/app display.state", ""),
        ];
        assert_eq!(
            rows,
            expected.map(|(at, name, status)| (at, name.to_owned(), status.to_owned()))
        );
        assert!(log.take().is_empty());
    }

    #[test]
    fn of_10_000_changes_the_first_the_last_and_a_few_hundred_are_stored() {
        let mut log = StatusLog::default();
        for second in 0..10_000 {
            log.at(at(second));
            log.show([shown("False", format!("NotReady({second})"))]);
        }
        let rows = log.take();
        assert!(
            (ROWS_MAX / 5..=ROWS_MAX).contains(&rows.len()),
            "{}",
            rows.len()
        );
        assert_eq!(
            (rows[0].message.as_str(), rows[0].t_s.to_bits()),
            ("NotReady(0)", 0_f64.to_bits())
        );
        let last = rows.last().expect("rows");
        assert_eq!(
            (last.message.as_str(), last.t_s.to_bits()),
            ("NotReady(9999)", 9999_f64.to_bits())
        );
        assert!(rows.is_sorted_by(|a, b| a.t_s < b.t_s));
        let steps: Vec<f64> = rows
            .windows(2)
            .map(|pair| pair[1].t_s - pair[0].t_s)
            .collect();
        let longest = steps.iter().copied().fold(0.0, f64::max);
        assert!(
            longest <= 10_000.0 / 100.0,
            "no part of the run is without a row: {longest}"
        );
    }

    #[test]
    fn many_conditions_share_the_maximum_number_of_rows() {
        let mut log = StatusLog::default();
        for second in 0..100 {
            log.at(at(second));
            let one = |nth: u32| {
                ObjectCondition::field(&format!("Application/{nth}"), "status", second.to_string())
            };
            log.show((0..1_200).map(one));
        }
        let rows = log.take();
        assert!(rows.len() <= ALL_MAX, "{}", rows.len());
        assert_eq!(
            rows.iter().filter(|row| row.status == "99").count(),
            PAIRS_MAX,
            "the last words of all that are kept"
        );
    }
}
