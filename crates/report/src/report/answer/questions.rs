//! The questions of a study: variants with the same fleet, release and faults answer one question together.
//!
//! [`groups`](super::groups) compares variants within one world. A team may also choose among worlds, such as with and
//! without a cache; a fleet of another size is another question.

use super::groups::{VariantGroup, labels, title_of};
use super::worlds::is_choice;
use crate::report::data::VariantResults;
use crate::results::{Setting, grouped};

/// The questions, in the experiment's order.
pub(super) fn questions(variants: &[VariantResults<'_>]) -> Vec<VariantGroup> {
    let settings: Vec<&[Setting]> = variants
        .iter()
        .map(|variant| variant.info.settings.as_slice())
        .collect();
    let mut keyed = Vec::new();
    for (at, settings) in settings.iter().enumerate() {
        let mut conditions = settings.to_vec();
        conditions.retain(|setting| !setting.is_of_strategy() && !is_choice(setting));
        keyed.push((conditions, at));
    }
    let parts = grouped(keyed);
    let is_alone = parts.len() < 2;
    let mut questions = Vec::new();
    for (_, members) in parts {
        let own: Vec<&VariantResults<'_>> = members.iter().map(|&at| &variants[at]).collect();
        questions.push(VariantGroup {
            title: if is_alone {
                String::new()
            } else {
                title_of(&settings, &members)
            },
            labels: labels(&own),
            members,
        });
    }
    questions
}
