//! Whether results keep to the limits that the experiment states, told limit by limit and variant by variant.

use super::data::Results;
use super::format::{RateUnit, count, number, time};
use crate::results::{Limit, Verdict};

/// A limit, and the strategy whose variants must keep to it; `None`: all must.
pub type Demand<'d> = (&'d Limit, Option<&'d str>);

/// Whether all demands are met, and the text that tells it; empty without demands.
#[must_use]
pub fn verdicts(results: &Results, demands: &[Demand<'_>]) -> (bool, String) {
    let mut all_hold = true;
    let mut text = String::new();
    for &(limit, strategy) in demands {
        let variants = results.variants();
        let judged: Vec<(&str, usize, Verdict)> = variants
            .iter()
            .filter(|variant| strategy.is_none_or(|strategy| variant.info.strategy == strategy))
            .map(|variant| (variant.name(), variant.runs.len(), limit.judge(&variant.runs)))
            .collect();
        let failed = judged.iter().filter(|(_, _, verdict)| !verdict.holds).count();
        all_hold &= failed == 0;
        let outcome = if failed == 0 { "holds" } else { "FAILS" };
        text.push_str(&format!("\nassert {limit}: {outcome}\n"));
        let width = judged.iter().map(|(name, ..)| name.chars().count()).max().unwrap_or(0);
        for (name, runs, verdict) in judged {
            let mark = if verdict.holds { "ok  " } else { "FAIL" };
            let value = value(limit, verdict.value);
            text.push_str(&format!(
                "  {mark}  {name:width$}  {value}; {} of {runs} runs beyond\n",
                verdict.runs_beyond
            ));
        }
    }
    (all_hold, text)
}

/// A value of the limit's measure with its unit.
pub(super) fn value(limit: &Limit, value: f64) -> String {
    match limit.measure().unit {
        _ if value.is_infinite() => "never".to_owned(),
        "s" => time(value),
        "bytes/s" => RateUnit::for_max(value).text(value),
        "bytes" => format!("{} GB", number(value / 1e9)),
        "1" => format!("{} %", number(value * 100.0)),
        unit => {
            let count = count(value);
            // Units are plural: `targets`, `pulls`, `requests`.
            match (count.as_str(), unit) {
                ("1", "passes") => "1 pass".to_owned(),
                ("1", _) => format!("1 {}", unit.strip_suffix('s').unwrap_or(unit)),
                _ => format!("{count} {unit}"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::synthetic;
    use super::*;

    #[test]
    fn a_value_has_its_unit_and_one_is_singular() {
        let told = |limit: &str, number: f64| value(&Limit::parse(limit).expect("a limit"), number);
        assert_eq!(told("bad_release_exposure <= 20%", 1.0), "1 target");
        assert_eq!(told("bad_release_exposure <= 20%", 38.0), "38 targets");
        assert_eq!(told("completion < 1h", 2400.0), "40.0 min");
        assert_eq!(told("completion < 1h", f64::INFINITY), "never");
    }

    #[test]
    fn each_variant_is_judged_and_one_that_fails_fails_the_whole() {
        let home = tempfile::tempdir().expect("a temporary folder");
        synthetic::six_settings().publish(&home.path().join("results"));
        let results = Results::read(&home.path().join("results")).expect("readable");
        let (first, strategy) = {
            let variants = results.variants();
            (variants[0].name().to_owned(), variants[0].info.strategy.clone())
        };
        let holds = Limit::parse("peak_pulls >= 0").expect("a limit");
        let fails = Limit::parse("peak_pulls < 0").expect("a limit");
        assert_eq!(verdicts(&results, &[]), (true, String::new()));
        let (all, text) = verdicts(&results, &[(&holds, None)]);
        assert!(all && text.starts_with("\nassert peak_pulls >= 0: holds\n  ok    "), "{text}");
        let (all, text) = verdicts(&results, &[(&holds, None), (&fails, Some(&strategy))]);
        assert!(!all && text.contains(&format!("assert peak_pulls < 0: FAILS\n  FAIL  {first}")), "{text}");
    }
}
