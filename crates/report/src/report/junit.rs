//! The asserted limits as a JUnit report, which most CI systems show.
//!
//! The experiment is a test suite, and each limit is a test case for each variant that it applies to. The report is
//! restricted to what common readers of the format agree on: suites, cases and failures with a message. A case has no
//! duration.

use super::data::Results;
use super::limits::JudgedLimit;
use super::text::escaped;

/// The report, as XML.
#[must_use]
pub fn junit(results: &Results) -> String {
    let variants = results.variants();
    let mut cases = String::new();
    let mut tests = 0;
    let mut failures = 0;
    let suite = escaped(&results.provenance.experiment);
    for limit in JudgedLimit::all(results, &variants) {
        for &(variant, verdict) in &limit.verdicts {
            tests += 1;
            failures += usize::from(!verdict.holds);
            let name = escaped(&format!("{} [{}]", limit.asserted.limit, variant.name()));
            let case = format!("    <testcase classname=\"{suite}\" name=\"{name}\"");
            let (words, why) = limit.in_words(variant, verdict);
            let [message, why] = [words, why.unwrap_or_default()].map(|text| escaped(&text));
            cases.push_str(&match verdict.holds {
                true => format!("{case}/>\n"),
                false => format!("{case}>\n      <failure message=\"{message}\">{why}</failure>\n    </testcase>\n"),
            });
        }
    }
    let counts = format!("tests=\"{tests}\" failures=\"{failures}\" errors=\"0\"");
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"fleetsim\" {counts}>\n  <testsuite name=\"{suite}\" \
         {counts} skipped=\"0\">\n{cases}  </testsuite>\n</testsuites>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::super::synthetic::{Fleet, Wave, six_settings};
    use super::super::tests::readable_quietly;
    use super::*;
    use crate::results::LimitInfo;

    #[test]
    fn every_limit_is_a_test_case_for_each_variant_that_it_applies_to() {
        let waves = vec![Wave::new("a <b>", 10, 0), Wave::new("c", 50, 0)];
        let mut results = readable_quietly(&Fleet {
            clusters: 50,
            replicates: 2,
            waves,
            ..six_settings()
        });
        let limit = |limit: &str| LimitInfo {
            limit: limit.to_owned(),
            strategy: None,
        };
        results.provenance.limits = vec![limit("peak_pulls < 100"), limit("completion < 1d")];
        let xml = junit(&results);
        assert!(
            xml.starts_with(
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"fleetsim\" tests=\"4\" failures=\"1\""
            ),
            "{xml}"
        );
        let failed = "<testcase classname=\"max-unavailable\" name=\"peak_pulls &lt; 100 [c]\">\n      <failure message=\"150 pulls; 2 of 2 runs outside the limit\"></failure>";
        assert!(xml.contains(failed), "{xml}");
        assert!(
            xml.contains("name=\"completion &lt; 1d [a &lt;b&gt;]\"/>"),
            "{xml}"
        );
        assert_eq!(
            (xml.matches("<testcase ").count(), xml.matches("/>").count()),
            (4, 3)
        );
        results.provenance.limits.clear();
        assert!(
            junit(&results).contains("tests=\"0\" failures=\"0\""),
            "without limits the suite is empty"
        );
    }
}
