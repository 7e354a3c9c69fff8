//! `operator`: what people do when a rollout goes wrong, as written.

#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;

use super::release_times::LaterImageFile;
use crate::units::text::WithUnit as _;
use crate::units::{Share, SimDuration};
use crate::world::DurationModel;

/// What people do when they notice a sign.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct OperatorRuleFile {
    /// The sign: `failed > 5`, `failed > 10%`, `exposed > 0`, or `stalled > 30 min`.
    #[cfg_attr(test, schemars(with = "String"))]
    pub(super) when: SignText,
    /// The time from the sign until people have noticed it, decided and acted.
    pub(super) within: DurationModel,
    /// What they do.
    pub(super) then: OperatorAct,
    /// For `fixForward`: the images of the release that repairs, with their content.
    #[serde(default)]
    pub(super) images: Vec<LaterImageFile>,
    /// The key in `applications` of the applications that the rule watches. Default: each application by itself.
    pub(super) application: Option<String>,
}

/// The act of an operator.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum OperatorAct {
    /// The rollout is paused. It stays paused until another rule rolls back or fixes forward.
    Pause,
    /// The content of the release before is published again.
    Rollback,
    /// A release that repairs is published.
    FixForward,
}

/// A sign as written, with its text.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct SignText {
    pub(super) text: String,
    pub(super) sign: OperatorSign,
}

/// A sign that something is wrong with the rollout of an application.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OperatorSign {
    /// More targets than this fail on the wanted revision.
    Failed(TargetAmount),
    /// More targets than this have a defective revision, whether it shows or not.
    Exposed(TargetAmount),
    /// No target has become ready for longer than this, and not all are.
    Stalled(SimDuration),
}

/// A number of targets, or a share of an application's targets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TargetAmount {
    /// A number of targets.
    Number(u64),
    /// A share of the targets.
    Share(f64),
}

impl TargetAmount {
    /// Returns whether a number of targets, out of all targets, is above the amount.
    #[must_use]
    pub fn is_below(self, number: u64, all: u64) -> bool {
        match self {
            Self::Number(most) => number > most,
            Self::Share(most) => number as f64 > most * all as f64,
        }
    }

    /// Returns whether a number of targets can be above the amount, out of this many.
    pub(super) fn can_be_exceeded(self, all: u64) -> bool {
        self.is_below(all, all)
    }

    fn parse(text: &str) -> Result<Self, String> {
        if text.ends_with('%') {
            let share = Share::parse(text).map_err(|error| error.to_string())?;
            return Ok(Self::Share(share.get()));
        }
        let number = text.parse();
        number
            .map(Self::Number)
            .map_err(|_| format!("`{text}` is neither a number of targets nor a share"))
    }
}

/// The sign that `when` may name, for messages.
const SIGNS: &str = "write `failed > 5`, `failed > 10%`, `exposed > 0` or `stalled > 30 min`";

impl TryFrom<String> for SignText {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let Some((name, amount)) = text.split_once('>') else {
            return Err(format!("`{text}` has no `>`; {SIGNS}"));
        };
        if amount.starts_with('=') {
            return Err(format!("`{text}` has `>=`, and signs have `>`; {SIGNS}"));
        }
        let amount = amount.trim();
        let sign = match name.trim() {
            "failed" => TargetAmount::parse(amount).map(OperatorSign::Failed),
            "exposed" => TargetAmount::parse(amount).map(OperatorSign::Exposed),
            "stalled" => SimDuration::parse(amount)
                .map(OperatorSign::Stalled)
                .map_err(|error| error.to_string()),
            other => Err(format!("there is no sign `{other}`")),
        };
        match sign {
            Ok(OperatorSign::Stalled(SimDuration::ZERO)) => {
                Err("a rollout is stalled after a time greater than 0".to_owned())
            }
            Ok(sign) => Ok(Self { text, sign }),
            Err(message) => Err(format!("{message}; {SIGNS}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sign(text: &str) -> Result<OperatorSign, String> {
        SignText::try_from(text.to_owned()).map(|read| read.sign)
    }

    #[test]
    fn a_sign_is_a_number_a_share_or_a_time() {
        let five = TargetAmount::Number(5);
        assert_eq!(sign("failed > 5"), Ok(OperatorSign::Failed(five)));
        assert_eq!(sign("exposed>5"), Ok(OperatorSign::Exposed(five)));
        let tenth = TargetAmount::Share(0.1);
        assert_eq!(sign("failed > 10%"), Ok(OperatorSign::Failed(tenth)));
        let half_an_hour = SimDuration::from_mins(30);
        assert_eq!(
            sign("stalled > 30 min"),
            Ok(OperatorSign::Stalled(half_an_hour))
        );
        for bad in [
            "failed",
            "failed > -1",
            "slow > 5",
            "stalled > 5",
            "stalled > 0 s",
            "failed >= 5",
        ] {
            assert!(sign(bad).is_err_and(
                |message| message.contains("write `failed > 5`") || bad.ends_with("0 s")
            ));
        }
    }

    #[test]
    fn a_share_counts_the_targets_of_the_application() {
        let tenth = TargetAmount::Share(0.1);
        assert!(!tenth.is_below(2, 20));
        assert!(tenth.is_below(3, 20));
        assert!(TargetAmount::Number(0).is_below(1, 20));
    }
}
