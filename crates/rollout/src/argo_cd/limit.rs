//! The number of applications of a step that may be updated concurrently.
//!
//! Follows `applicationset/progressivesync/progressive_sync.go` and `pkg/util/intstr` of kubernetes/apimachinery at
//! eed236ceee2c19c2753a3d93ac0631dc20750454. A number is used unchanged, so 0 or less never promotes anything. Any
//! text except `0%` gives at least 1, even an unreadable text.

use super::super::IntOrString;

/// A resolved `maxUpdate`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct StepLimit {
    /// Maximum number of concurrent applications. `None`: all. 0 or less: none.
    pub applications: Option<i64>,
    /// Whether the text is neither `N%` nor another form that the product can read.
    pub is_unreadable: bool,
}

/// Resolves `max_update` for a step of `total` applications.
pub fn limit(max_update: Option<&IntOrString>, total: usize) -> StepLimit {
    let (applications, is_unreadable) = match max_update {
        None => (None, false),
        Some(IntOrString::Int(number)) => (Some(i64::from(*number)), false),
        Some(IntOrString::String(text)) => match text.strip_suffix('%').map(str::parse::<i64>) {
            Some(Ok(percent)) => (
                Some(share(percent, total).max(i64::from(text != "0%"))),
                false,
            ),
            _ => (Some(1), true),
        },
    };
    StepLimit {
        applications,
        is_unreadable,
    }
}

/// Returns `percent` of `total`, rounded down in floats as in the product. A value that does not fit is the smallest
/// integer, as on amd64.
fn share(percent: i64, total: usize) -> i64 {
    let share = (percent as f64 * total as f64 / 100.0).floor();
    if share.abs() < 9_223_372_036_854_775_808.0 {
        share as i64
    } else {
        i64::MIN
    }
}

/// The budget of one step in one pass.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct StepBudget {
    /// Maximum number of applications that are Pending or Progressing. `None`: all. 0 or less: none.
    pub limit: Option<i64>,
    /// The step's rows, including Healthy ones.
    pub total: usize,
    /// Rows that are Pending or Progressing.
    pub updating: usize,
    /// Whether the budget was used up when a row of the step was processed, whatever its status. The product logs
    /// this.
    pub is_used_up: bool,
    /// Whether the budget blocked an application in this pass.
    pub has_blocked: bool,
    /// Whether `maxUpdate` could not be read.
    pub is_unreadable: bool,
}

impl StepBudget {
    /// Creates the budget of a step of `total` rows; `updating` of them are Pending or Progressing.
    pub fn new(max_update: Option<&IntOrString>, total: usize, updating: usize) -> Self {
        let StepLimit {
            applications,
            is_unreadable,
        } = limit(max_update, total);
        let is_unreadable = is_unreadable && total > 0;
        Self {
            limit: applications,
            total,
            updating,
            is_unreadable,
            ..Self::default()
        }
    }

    /// Processes one row of the step. Returns whether the row joins the update: it `wants` to, and the budget has
    /// room.
    pub fn turn(&mut self, wants: bool) -> bool {
        let has_room = self
            .limit
            .is_none_or(|limit| (self.updating as i64) < limit);
        let is_taken = wants && has_room;
        self.updating += usize::from(is_taken);
        self.is_used_up |= !has_room;
        self.has_blocked |= wants && !has_room;
        is_taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_resolve_as_in_argo_cd() {
        let cases = [
            // value  total  limit  why
            ("25%", 10, 2, "rounds down"),
            ("1%", 7, 1, "but to at least one"),
            ("99%", 7, 6, "rounds down, never up"),
            ("150%", 7, 10, "more than all is not capped"),
            ("0%", 7, 0, "the one text that promotes nothing"),
            ("00%", 7, 1, "another spelling of it does not"),
            ("+0%", 7, 1, "nor does this"),
            ("-10%", 7, 1, "at least one"),
            ("50%", 0, 1, "also of none"),
            (
                "99999999999999999%",
                10_000,
                1,
                "too large for an integer: the smallest, and so one",
            ),
        ];
        for (text, total, expected, why) in cases {
            let got = limit(Some(&text.into()), total);
            assert_eq!(
                got,
                StepLimit {
                    applications: Some(expected),
                    is_unreadable: false
                },
                "{text} of {total}: {why}"
            );
        }
        for text in [
            "5",
            "abc",
            "",
            "%",
            "10.5%",
            "50 %",
            " 50%",
            "1e1%",
            "0x10%",
            "99999999999999999999%",
        ] {
            let got = limit(Some(&text.into()), 7);
            assert_eq!(
                got,
                StepLimit {
                    applications: Some(1),
                    is_unreadable: true
                },
                "{text:?} cannot be read"
            );
        }
    }

    #[test]
    fn a_number_is_used_unchanged() {
        for number in [-1, 0, 1, 1000] {
            let expected = StepLimit {
                applications: Some(i64::from(number)),
                is_unreadable: false,
            };
            assert_eq!(limit(Some(&number.into()), 7), expected);
        }
        assert_eq!(limit(None, 7).applications, None, "absent: all");
    }

    #[test]
    fn a_used_up_budget_blocks_further_updates() {
        let mut budget = StepBudget::new(Some(&2.into()), 7, 1);
        assert!(budget.turn(true) && !budget.is_used_up);
        assert!(
            !budget.turn(false) && budget.is_used_up && !budget.has_blocked,
            "nothing was blocked"
        );
        assert!(!budget.turn(true) && budget.has_blocked);
        assert!(
            !StepBudget::new(Some(&(-1).into()), 7, 0).turn(true),
            "below 0"
        );
        assert!(StepBudget::new(None, 7, 7).turn(true), "no limit");
        assert!(
            !StepBudget::new(Some(&"abc".into()), 0, 0).is_unreadable,
            "unused without a row"
        );
    }
}
