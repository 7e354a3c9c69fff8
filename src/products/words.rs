//! Phrases that the explanations of several products share.

use crate::rollout::RuleSet;

/// Which rules a strategy follows.
pub(crate) const fn by(rules: RuleSet) -> &'static str {
    match rules {
        RuleSet::Shipped => "by the rules that ship",
        RuleSet::Documented => "by the rules that its documentation describes",
    }
}

/// The first names of a list, and how many more there are.
pub(crate) fn first_names(names: &[String]) -> String {
    const SHOWN: usize = 5;
    let shown = names.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN { format!("{shown} and {} more", names.len() - SHOWN) } else { shown }
}
