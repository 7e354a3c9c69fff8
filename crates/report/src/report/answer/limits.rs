//! Which variants meet the limits that the experiment asserts, in a sentence.

use super::groups::Named;
use super::sentence::{listed, quoted, some_of};
use crate::report::data::VariantResults;
use crate::report::format::time;
use crate::report::limits::{AssertedLimit, exceeded, fails};

/// Number of these variants that meet the limits that apply to them. `None` when no limit applies to any of them.
pub(in crate::report) fn sentence(
    all: &[Named<'_, '_>],
    limits: &[AssertedLimit],
) -> Option<String> {
    let own: Vec<&AssertedLimit> = limits
        .iter()
        .filter(|limit| all.iter().any(|(_, _, variant)| limit.applies_to(variant)))
        .collect();
    let bound: Vec<&Named<'_, '_>> = all
        .iter()
        .filter(|(_, _, variant)| own.iter().any(|limit| limit.applies_to(variant)))
        .collect();
    let meeting: Vec<bool> = bound
        .iter()
        .map(|(_, _, variant)| exceeded(variant, limits) == 0)
        .collect();
    let met = meeting.iter().filter(|meets| **meets).count();
    let which = which(&bound, &own);
    let open = bound
        .iter()
        .filter(|(_, _, variant)| is_open(variant, limits))
        .count();
    let said = match (bound.as_slice(), met) {
        ([], _) => return None,
        ([(_, only, variant)], met) => {
            let verb = match (met, open) {
                (1, _) => "meets",
                (_, 0) => "does not meet",
                _ => "is not shown to meet",
            };
            let limits: Vec<String> = own
                .iter()
                .filter(|limit| limit.applies_to(variant))
                .map(|limit| limit.limit.to_string())
                .collect();
            let s = if limits.len() == 1 { "" } else { "s" };
            format!("`{only}` {verb} the limit{s} {}.", listed(&limits))
        }
        (bound, _) if bound.len() < all.len() => some_have_limits(bound, &meeting, met),
        (bound, 1) => {
            let only = bound
                .iter()
                .zip(&meeting)
                .find(|(_, meets)| **meets)
                .map_or("", |(named, _)| named.1);
            let meets = if open > 0 {
                "is shown to meet"
            } else {
                "meets"
            };
            format!(
                "`{only}` is the only one of {} variants that {meets} {which}.",
                bound.len()
            )
        }
        (bound, 2..) => format!("{met} of {} variants meet {which}.", bound.len()),
        (bound, 0) if own.len() == 1 && open == 0 => {
            format!("None of the {} variants meets {which}.", bound.len())
        }
        (bound, 0) if open > 0 => format!(
            "None of the {} variants is shown to meet {which}.",
            bound.len()
        ),
        (bound, 0) => {
            let counts = || {
                bound
                    .iter()
                    .map(|(_, _, variant)| exceeded(variant, limits))
            };
            let (least, most) = (
                counts().min().expect("some are bound"),
                counts().max().unwrap_or(0),
            );
            let fewest = bound.iter().zip(counts()).filter(|(_, n)| *n == least);
            let fewest = quoted(fewest.map(|((_, label, _), _)| *label));
            let s = if fewest.len() == 1 { "s" } else { "" };
            let rest = match least == most {
                true => format!("each exceeds {least}"),
                false => format!("{} exceed{s} the fewest ({least})", some_of(&fewest)),
            };
            format!(
                "None of the {} variants meets {which}; {rest}.",
                bound.len()
            )
        }
    };
    let more = match open {
        0 => String::new(),
        1 => " For one variant, these runs are too few to tell.".to_owned(),
        open => format!(" For {open} variants, these runs are too few to tell."),
    };
    Some(said + &more)
}

/// Returns true if the runs of a variant are too few to tell whether it meets its limits.
fn is_open(variant: &VariantResults<'_>, limits: &[AssertedLimit]) -> bool {
    exceeded(variant, limits) > 0 && !fails(variant, limits)
}

/// The limits, in words.
fn which(bound: &[&Named<'_, '_>], limits: &[&AssertedLimit]) -> String {
    // Otherwise each variant has limits of its own.
    let alike = bound
        .iter()
        .all(|(_, _, variant)| limits.iter().all(|limit| limit.applies_to(variant)));
    match limits {
        [only] => format!("the limit {}", only.limit),
        [_, _] if alike => "both limits".to_owned(),
        _ if alike => format!("all {} limits", limits.len()),
        _ => "the limits that apply to them".to_owned(),
    }
}

/// `is the fastest of the 3 of 6 variants that meet both limits`, where some do. `None`: some variants have no limit.
/// A variant that does not complete in every run is not counted, as one that stalls early keeps its load low.
pub(in crate::report) fn of_all(all: &[Named<'_, '_>], limits: &[AssertedLimit]) -> Option<String> {
    let own: Vec<&AssertedLimit> = limits
        .iter()
        .filter(|limit| all.iter().all(|(_, _, variant)| limit.applies_to(variant)))
        .collect();
    let within = all
        .iter()
        .copied()
        .filter(|(_, _, variant)| exceeded(variant, limits) == 0);
    let (whole, stalled): (Vec<_>, Vec<_>) = within.partition(|(_, _, variant)| variant.is_whole());
    let (whole, stalled) = if whole.is_empty() {
        (stalled, whole)
    } else {
        (whole, stalled)
    };
    let which = which(&all.iter().collect::<Vec<_>>(), &own);
    let is_some_open = all.iter().any(|(_, _, variant)| is_open(variant, limits));
    let (meets, meet) = if is_some_open {
        ("is shown to meet", "are shown to meet")
    } else {
        ("meets", "meet")
    };
    let (completes, complete) = if stalled.is_empty() {
        ("", "")
    } else {
        ("completes and ", "complete and ")
    };
    let count = all.len();
    (own.len() == limits.len() && !whole.is_empty()).then(|| match whole.len() {
        met if met == count => {
            format!("is the fastest of {count} variants, which all meet {which}")
        }
        1 => format!("is the only one of {count} variants that {completes}{meets} {which}"),
        met => {
            format!("is the fastest of the {met} of {count} variants that {complete}{meet} {which}")
        }
    })
}

/// The fastest variant that is faster than `time_s` and exceeds a limit, with the limit and its value.
pub(in crate::report) fn next_beyond(
    all: &[Named<'_, '_>],
    time_s: f64,
    limits: &[AssertedLimit],
) -> Option<String> {
    let faster = all
        .iter()
        .filter_map(|named| Some((named.2.ready_time().filter(|ready| *ready < time_s)?, named)));
    let beyond = faster.filter(|(_, (_, _, variant))| fails(variant, limits));
    // The slowest of these is the next step.
    let (ready, (_, label, variant)) = beyond.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let broken = limits.iter().find_map(|limit| {
        let verdict = limit
            .judge(variant)
            .filter(|verdict| !verdict.holds && !verdict.is_undecided())?;
        Some(format!("{} ({})", limit.limit, limit.value(verdict)))
    })?;
    Some(format!(
        "The next faster, `{label}`, completes after {}, but exceeds {broken}.",
        time(ready)
    ))
}

/// Where only some variants have a limit, they are named.
fn some_have_limits(bound: &[&Named<'_, '_>], meeting: &[bool], met: usize) -> String {
    let named = |meets: bool| {
        let names = bound.iter().zip(meeting).filter(|(_, own)| **own == meets);
        some_of(&quoted(names.map(|((_, label, _), _)| *label)))
    };
    let count = bound.len();
    match met {
        0 => format!(
            "None of the {count} variants with a limit meets it: {}.",
            named(false)
        ),
        2 if count == 2 => format!("Both variants with a limit meet it: {}.", named(true)),
        _ if met == count => format!(
            "All {count} variants with a limit meet it: {}.",
            named(true)
        ),
        _ => {
            let verb = if met == 1 { "meets" } else { "meet" };
            let others = if count - met == 1 { "does" } else { "do" };
            format!(
                "{met} of the {count} variants with a limit {verb} it; {} {others} not.",
                named(false)
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Results;
    use crate::report::synthetic::{Fleet, Wave, six_settings};
    use crate::results::Limit;

    /// The sentence for waves whose strategies are their names, with limits for some strategies.
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
        let all: Vec<Named<'_, '_>> = variants
            .iter()
            .enumerate()
            .map(|(at, variant)| (at, variant.name(), variant))
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
    fn a_limit_that_too_few_runs_leave_open_is_not_called_exceeded() {
        let share = "P(peak_pulls < 9000) >= 95%";
        assert_eq!(
            said(&[("one", 10)], &[(share, None)]).expect("a sentence"),
            "`one` is not shown to meet the limit P(peak_pulls < 9000) >= 95%. For one variant, these runs are too few \
             to tell."
        );
        let both = said(
            &[("one", 10), ("two", 500)],
            &[(share, None), ("peak_pulls < 100", None)],
        )
        .expect("a sentence");
        assert_eq!(
            both,
            "None of the 2 variants is shown to meet both limits. For one variant, these runs are too few to tell."
        );
    }
}
