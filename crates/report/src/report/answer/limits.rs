//! The variants that meet the limits asserted by the experiment, in a sentence.

use super::groups::NamedVariant;
use super::sentence::{listed, quoted, some_of};
use crate::report::data::VariantResults;
use crate::report::format::time;
use crate::report::limits::{AssertedLimit, exceeded, fails};

/// The number of these variants that meet all limits that apply to them, as a sentence. `None` if no limit applies to
/// any of them.
pub(in crate::report) fn sentence(
    all: &[NamedVariant<'_, '_>],
    limits: &[AssertedLimit],
) -> Option<String> {
    let mut own: Vec<&AssertedLimit> = limits.iter().collect();
    own.retain(|limit| all.iter().any(|named| limit.applies_to(named.variant)));
    let mut bound: Vec<BoundVariant<'_, '_>> = Vec::new();
    for named in all {
        if own.iter().any(|limit| limit.applies_to(named.variant)) {
            bound.push(BoundVariant::of(*named, limits));
        }
    }
    let open = bound.iter().filter(|bound| bound.is_open).count();
    let said = match bound.as_slice() {
        [] => return None,
        [only] => of_one(only, &own),
        bound if bound.len() < all.len() => some_have_limits(bound),
        bound => of_several(bound, &own, open),
    };
    let more = match open {
        0 => String::new(),
        1 => " For one variant, these runs are too few to decide.".to_owned(),
        open => format!(" For {open} variants, these runs are too few to decide."),
    };
    Some(said + &more)
}

/// A variant to which limits apply.
struct BoundVariant<'v, 'r> {
    label: &'v str,
    variant: &'v VariantResults<'r>,
    /// The number of limits that it exceeds or is not shown to meet.
    exceeded: usize,
    /// True if its runs are too few to decide on its limits.
    is_open: bool,
}

impl<'v, 'r> BoundVariant<'v, 'r> {
    /// Compares a variant with its limits.
    fn of(named: NamedVariant<'v, 'r>, limits: &[AssertedLimit]) -> Self {
        Self {
            label: named.label,
            variant: named.variant,
            exceeded: exceeded(named.variant, limits),
            is_open: is_open(named.variant, limits),
        }
    }

    /// Returns whether it meets all limits that apply to it.
    const fn meets(&self) -> bool {
        self.exceeded == 0
    }
}

/// `` `batches` meets the limit completion < 4h. ``
fn of_one(only: &BoundVariant<'_, '_>, own: &[&AssertedLimit]) -> String {
    let verb = match (only.meets(), only.is_open) {
        (true, _) => "meets",
        (false, false) => "does not meet",
        (false, true) => "is not shown to meet",
    };
    let mut limits: Vec<String> = Vec::new();
    for limit in own {
        if limit.applies_to(only.variant) {
            limits.push(limit.limit.to_string());
        }
    }
    let s = if limits.len() == 1 { "" } else { "s" };
    format!("`{}` {verb} the limit{s} {}.", only.label, listed(&limits))
}

/// The number of variants that meet the limits, or the only one that does. For `open` variants, there are too few runs
/// to decide.
fn of_several(bound: &[BoundVariant<'_, '_>], own: &[&AssertedLimit], open: usize) -> String {
    let variants: Vec<&VariantResults<'_>> = bound.iter().map(|bound| bound.variant).collect();
    let which = which(&variants, own);
    let count = bound.len();
    let mut meeting = bound.iter().filter(|bound| bound.meets());
    match (meeting.next(), meeting.count()) {
        (Some(only), 0) => {
            let meets = if open > 0 {
                "is shown to meet"
            } else {
                "meets"
            };
            let label = only.label;
            format!("`{label}` is the only one of {count} variants that {meets} {which}.")
        }
        (Some(_), others) => format!("{} of {count} variants meet {which}.", others + 1),
        (None, _) if own.len() == 1 && open == 0 => {
            format!("None of the {count} variants meets {which}.")
        }
        (None, _) if open > 0 => format!("None of the {count} variants is shown to meet {which}."),
        (None, _) => format!(
            "None of the {count} variants meets {which}; {}.",
            closest(bound)
        ),
    }
}

/// `` `a` exceeds the fewest (1) ``, for variants that all exceed limits.
fn closest(bound: &[BoundVariant<'_, '_>]) -> String {
    let counts = bound.iter().map(|bound| bound.exceeded);
    let least = counts.clone().min().expect("some are bound");
    if counts.max() == Some(least) {
        return format!("each exceeds {least}");
    }
    let fewest = bound.iter().filter(|bound| bound.exceeded == least);
    let fewest = quoted(fewest.map(|bound| bound.label));
    let s = if fewest.len() == 1 { "s" } else { "" };
    format!("{} exceed{s} the fewest ({least})", some_of(&fewest))
}

/// Returns true if the runs of a variant are too few to decide whether it meets its limits.
fn is_open(variant: &VariantResults<'_>, limits: &[AssertedLimit]) -> bool {
    exceeded(variant, limits) > 0 && !fails(variant, limits)
}

/// The limits in words.
fn which(bound: &[&VariantResults<'_>], limits: &[&AssertedLimit]) -> String {
    // Otherwise each variant has its own limits.
    let alike = bound
        .iter()
        .all(|variant| limits.iter().all(|limit| limit.applies_to(variant)));
    match limits {
        [only] => format!("the limit {}", only.limit),
        [_, _] if alike => "both limits".to_owned(),
        _ if alike => format!("all {} limits", limits.len()),
        _ => "the limits that apply to them".to_owned(),
    }
}

/// `is the fastest of the 3 of 6 variants that meet both limits`, if any do. `None`: some variants have no limit. A
/// variant that does not complete in every run is not counted, because one that stalls early has a low load.
pub(in crate::report) fn of_all(
    all: &[NamedVariant<'_, '_>],
    limits: &[AssertedLimit],
) -> Option<String> {
    let all: Vec<&VariantResults<'_>> = all.iter().map(|named| named.variant).collect();
    for limit in limits {
        if !all.iter().all(|variant| limit.applies_to(variant)) {
            return None;
        }
    }
    let mut whole = 0;
    let mut stalled = 0;
    for variant in &all {
        if exceeded(variant, limits) > 0 {
            continue;
        }
        if variant.is_whole() {
            whole += 1;
        } else {
            stalled += 1;
        }
    }
    if whole == 0 {
        (whole, stalled) = (stalled, whole);
    }
    if whole == 0 {
        return None;
    }
    let which = which(&all, &limits.iter().collect::<Vec<_>>());
    let (meets, meet) = if all.iter().any(|variant| is_open(variant, limits)) {
        ("is shown to meet", "are shown to meet")
    } else {
        ("meets", "meet")
    };
    let (completes, complete) = if stalled == 0 {
        ("", "")
    } else {
        ("completes and ", "complete and ")
    };
    let count = all.len();
    Some(match whole {
        met if met == count => {
            format!("is the fastest of {count} variants, which all meet {which}")
        }
        1 => format!("is the only one of {count} variants that {completes}{meets} {which}"),
        met => {
            format!("is the fastest of the {met} of {count} variants that {complete}{meet} {which}")
        }
    })
}

/// The fastest variant that is faster than `time_s` and exceeds a limit, with that limit and its value.
pub(in crate::report) fn next_beyond(
    all: &[NamedVariant<'_, '_>],
    time_s: f64,
    limits: &[AssertedLimit],
) -> Option<String> {
    // The slowest of the faster ones is the next step.
    let mut next: Option<NamedVariant<'_, '_>> = None;
    let mut next_s = f64::NEG_INFINITY;
    for named in all {
        let Some(ready_s) = named.variant.ready_time() else {
            continue;
        };
        if ready_s < time_s && ready_s >= next_s && fails(named.variant, limits) {
            next = Some(*named);
            next_s = ready_s;
        }
    }
    let NamedVariant { label, variant, .. } = next?;
    let broken = limits.iter().find_map(|limit| broken(limit, variant))?;
    Some(format!(
        "The next faster, `{label}`, completes after {}, but exceeds {broken}.",
        time(next_s)
    ))
}

/// A limit with the value of a variant that exceeds it. `None`: the limit is met, or there are too few runs to decide.
fn broken(limit: &AssertedLimit, variant: &VariantResults<'_>) -> Option<String> {
    let verdict = limit.judge(variant)?;
    if verdict.holds || verdict.is_undecided() {
        return None;
    }
    Some(format!("{} ({})", limit.limit, limit.value(verdict)))
}

/// If only some variants have a limit, the sentence names them.
fn some_have_limits(bound: &[BoundVariant<'_, '_>]) -> String {
    let (meeting, others): (Vec<_>, Vec<_>) = bound.iter().partition(|bound| bound.meets());
    let met = meeting.len();
    let count = bound.len();
    let meeting = some_of(&quoted(meeting.iter().map(|bound| bound.label)));
    let exceeding = some_of(&quoted(others.iter().map(|bound| bound.label)));
    match met {
        0 => format!("None of the {count} variants with a limit meets it: {exceeding}."),
        2 if count == 2 => format!("Both variants with a limit meet it: {meeting}."),
        _ if met == count => format!("All {count} variants with a limit meet it: {meeting}."),
        _ => {
            let verb = if met == 1 { "meets" } else { "meet" };
            let does = if others.len() == 1 { "does" } else { "do" };
            format!("{met} of the {count} variants with a limit {verb} it; {exceeding} {does} not.")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Results;
    use crate::report::synthetic::{Fleet, Wave, six_settings};
    use crate::results::Limit;

    /// The sentence for waves named after their strategies, with limits for some strategies.
    fn said(sizes: &[(&str, u64)], limits: &[(&str, Option<&str>)]) -> Option<String> {
        let wave = |(name, size): &(&str, u64)| Wave {
            strategy: (*name).to_owned(),
            ..Wave::new(name, *size, 0)
        };
        let home = tempfile::tempdir().expect("a temporary folder");
        Fleet {
            waves: sizes.iter().map(wave).collect(),
            replicates: 2,
            ..six_settings()
        }
        .publish(&home.path().join("results"));
        let results = Results::read(&home.path().join("results")).expect("readable");
        let variants = results.variants();
        let all: Vec<NamedVariant<'_, '_>> = variants
            .iter()
            .enumerate()
            .map(|(at, variant)| NamedVariant {
                at,
                label: variant.name(),
                variant,
            })
            .collect();
        let limit = |(limit, strategy): &(&str, Option<&str>)| AssertedLimit {
            limit: Limit::parse(limit).expect("a limit"),
            strategy: strategy.map(str::to_owned),
        };
        sentence(&all, &limits.iter().map(limit).collect::<Vec<_>>())
    }

    #[test]
    fn only_variants_that_a_limit_applies_to_are_counted() {
        let four = [("one", 10), ("two", 100), ("three", 500), ("four", 1000)];
        assert_eq!(said(&four, &[]), None);
        assert_eq!(
            said(&four, &[("peak_pulls < 5", Some("nobody"))]),
            None,
            "a limit for nobody here"
        );
        let text_of = |limits: &[(&str, Option<&str>)]| said(&four, limits).expect("a sentence");
        assert_eq!(
            text_of(&[("peak_pulls < 100", Some("one"))]),
            "`one` meets the limit peak_pulls < 100."
        );
        assert_eq!(
            text_of(&[("peak_pulls < 100", Some("four"))]),
            "`four` does not meet the limit peak_pulls < 100."
        );
        let two = |first: &'static str, second: &'static str| {
            text_of(&[
                ("peak_pulls < 100", Some(first)),
                ("peak_pulls < 2000", Some(second)),
            ])
        };
        assert_eq!(
            two("one", "two"),
            "Both variants with a limit meet it: `one` and `two`."
        );
        assert_eq!(
            two("one", "four"),
            "1 of the 2 variants with a limit meets it; `four` does not."
        );
        assert_eq!(
            two("three", "four"),
            "None of the 2 variants with a limit meets it: `three` and `four`."
        );
        assert_eq!(
            text_of(&[("peak_pulls < 100", None)]),
            "`one` is the only one of 4 variants that meets the limit peak_pulls < 100."
        );
        assert_eq!(
            text_of(&[("peak_pulls < 2000", None)]),
            "3 of 4 variants meet the limit peak_pulls < 2000."
        );
    }

    #[test]
    fn a_limit_that_too_few_runs_leave_undecided_is_not_reported_as_exceeded() {
        let share = "P(peak_pulls < 9000) >= 95%";
        assert_eq!(
            said(&[("one", 10)], &[(share, None)]).expect("a sentence"),
            "`one` is not shown to meet the limit P(peak_pulls < 9000) >= 95%. For one variant, these runs are too few \
             to decide."
        );
        let both = said(
            &[("one", 10), ("two", 500)],
            &[(share, None), ("peak_pulls < 100", None)],
        )
        .expect("a sentence");
        assert_eq!(
            both,
            "None of the 2 variants is shown to meet both limits. For one variant, these runs are too few to decide."
        );
    }
}
