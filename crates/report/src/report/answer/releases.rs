//! The line `ends`: on which release the runs of a variant end, how they got there, and what the way there cost.
//!
//! A run ends on the last release of each application. The way of most runs is told: those that end on the same content
//! for the same reason. Numbers are medians over these runs.
//!
//! Left out: applications after the first two with several releases, and ways of fewer runs, which `releases.csv` has.

use super::sentence::quoted;
use crate::report::data::{VariantResults, target_of};
use crate::report::format::{count, in_unit, number, time};
use crate::results::ReleaseRow;
use fleetsim_units::stats;

/// The content that ran before the first release.
const INSTALLED: &str = "installed";

/// The releases of one run.
struct ReleasesOfRun<'r> {
    first: &'r ReleaseRow,
    last: &'r ReleaseRow,
    /// Says whether the last release has the content of an earlier one.
    is_return: bool,
    /// Target-hours with a defective revision, over all releases.
    exposed_hours: f64,
}

/// Maximum number of applications that the line names.
const MOST_NAMED: usize = 2;

/// The line for a variant. `name`: that of the variant, if several are compared. `None`: each application has one
/// release, whatever people do.
pub(super) fn line(name: Option<&str>, variant: &VariantResults<'_>) -> Option<String> {
    let text = ways(variant).or_else(|| nobody_acts(variant))?;
    Some(match name {
        Some(name) => format!("`{name}`: {text}"),
        None => text,
    })
}

/// Says that no rule of the operator has made people act. `None`: there is none.
fn nobody_acts(variant: &VariantResults<'_>) -> Option<String> {
    let is_first = variant.releases.iter().all(|(_, row)| row.release == 1);
    (is_first && !variant.releases.is_empty()).then(|| {
        "people publish nothing: no rule of `operator` rolls back or repairs before the runs end".to_owned()
    })
}

/// Returns whether most runs of a variant with one application end on what was installed before.
pub(super) fn goes_back(variant: &VariantResults<'_>) -> bool {
    if !variant.applications.is_empty() {
        return false;
    }
    let all = releases_of_runs(variant, "");
    let mut back = 0;
    for run in &all {
        back += usize::from(run.last.content == INSTALLED);
    }
    2 * back > variant.runs.len()
}

/// The ways to the last releases of a variant. `None`: no run has a second release.
fn ways(variant: &VariantResults<'_>) -> Option<String> {
    let mut parts = Vec::new();
    let mut more = 0;
    for application in applications_of(variant) {
        let all = releases_of_runs(variant, application);
        let Some(text) = way_of(variant, &most_alike(&all)) else {
            continue;
        };
        if parts.len() == MOST_NAMED {
            more += 1;
        } else if application.is_empty() {
            parts.push(text);
        } else {
            parts.push(format!("{application}: {text}"));
        }
    }
    if more > 0 {
        parts.push(format!("{more} more in releases.csv"));
    }
    (!parts.is_empty()).then(|| parts.join(". "))
}

/// The way of these runs to their last release. `None`: there are none.
fn way_of(variant: &VariantResults<'_>, told: &[&ReleasesOfRun<'_>]) -> Option<String> {
    let run = told.first()?;
    let mut text = how(run);
    if told.len() < variant.runs.len() {
        text = format!("in {} of {} runs {text}", told.len(), variant.runs.len());
    }
    let times = values(told, published_after);
    text.push_str(&format!(
        ", {} after its first release",
        time(stats::median(&times)?)
    ));
    text.push_str(&reached(variant, told)?);
    // The registry sends for all applications together.
    if variant.applications.is_empty() {
        let moved = values(told, egress);
        text.push_str(&format!(
            "; the registry then sends {}",
            in_unit(stats::median(&moved)?, "bytes")
        ));
    }
    let exposed = values(told, exposed_hours);
    let exposed = stats::median(&exposed)?;
    if exposed > 0.0 {
        text.push_str(&format!(
            "; {}s have the defective revision for {} hours in total",
            target_of([variant.info]),
            number(exposed)
        ));
    }
    Some(text)
}

/// Returns whether most runs of a variant end on another release of an application than its first.
pub(super) fn ends_on_another(variant: &VariantResults<'_>) -> bool {
    let mut changed = 0;
    for run in &variant.runs {
        let mut releases = variant.releases.iter();
        let has_second =
            releases.any(|(replicate, row)| *replicate == run.replicate && row.release > 1);
        changed += usize::from(has_second);
    }
    2 * changed > variant.runs.len()
}

/// The names of the applications with releases, in the order of the experiment. One empty name: there is one
/// application.
fn applications_of<'r>(variant: &VariantResults<'r>) -> Vec<&'r str> {
    let mut names: Vec<&str> = Vec::new();
    for (_, row) in &variant.releases {
        if !names.contains(&row.application.as_str()) {
            names.push(&row.application);
        }
    }
    names
}

fn releases_of_runs<'r>(variant: &VariantResults<'r>, application: &str) -> Vec<ReleasesOfRun<'r>> {
    let mut of_runs = Vec::new();
    for run in &variant.runs {
        let mut rows = Vec::new();
        let mut exposed_hours = 0.0;
        for (replicate, row) in &variant.releases {
            if *replicate == run.replicate && row.application == application {
                rows.push(*row);
                exposed_hours += row.exposed_target_hours;
            }
        }
        if let Some((last, earlier)) = rows.split_last() {
            of_runs.push(ReleasesOfRun {
                first: rows[0],
                last,
                is_return: earlier.iter().any(|row| row.content == last.content),
                exposed_hours,
            });
        }
    }
    of_runs
}

/// The runs with a second release that end in the way in which most of them do.
fn most_alike<'a, 'r>(all: &'a [ReleasesOfRun<'r>]) -> Vec<&'a ReleasesOfRun<'r>> {
    let mut best: Vec<&ReleasesOfRun<'_>> = Vec::new();
    for candidate in all {
        if candidate.last.release == 1 {
            continue;
        }
        let mut alike = Vec::new();
        for other in all {
            let is_alike = other.last.content == candidate.last.content
                && other.last.cause == candidate.last.cause
                && other.last.release == candidate.last.release;
            if is_alike {
                alike.push(other);
            }
        }
        if alike.len() > best.len() {
            best = alike;
        }
    }
    best
}

/// Says what the last release is: `` people roll back (`failed > 5`) ``.
fn how(run: &ReleasesOfRun<'_>) -> String {
    let last = run.last;
    let is_installed = last.content == INSTALLED;
    match last.cause.as_str() {
        "releases" | "changes" if is_installed => {
            "the installed revision is released again".to_owned()
        }
        "releases" | "changes" => format!("{} supersedes the one before", last.content),
        sign => {
            let sign = quoted([sign]).concat();
            if is_installed {
                format!("people roll back ({sign})")
            } else if run.is_return {
                format!("people roll back to {} ({sign})", last.content)
            } else {
                format!("people publish a release that repairs ({sign})")
            }
        }
    }
}

/// Says how many targets are ready on the last release, and when.
fn reached(variant: &VariantResults<'_>, told: &[&ReleasesOfRun<'_>]) -> Option<String> {
    let mut completions = Vec::new();
    for run in told {
        completions.extend(run.last.completion_s);
    }
    let target = target_of([variant.info]);
    let all = if variant.applications.is_empty() {
        format!("all {target}s")
    } else {
        format!("all of its {target}s")
    };
    if completions.len() == told.len() {
        let completion = time(stats::median(&completions)?);
        return Some(format!("; {all} are ready on it {completion} later"));
    }
    let mut done = Vec::new();
    for run in told {
        done.push(run.last.targets_done as f64);
    }
    Some(format!(
        "; it is ready on {} {target}s at most",
        count(stats::median(&done)?)
    ))
}

fn values(told: &[&ReleasesOfRun<'_>], of: fn(&ReleasesOfRun<'_>) -> f64) -> Vec<f64> {
    told.iter().map(|run| of(run)).collect()
}

fn published_after(run: &ReleasesOfRun<'_>) -> f64 {
    run.last.published_s.unwrap_or(0.0) - run.first.published_s.unwrap_or(0.0)
}

const fn egress(run: &ReleasesOfRun<'_>) -> f64 {
    run.last.egress_bytes as f64
}

const fn exposed_hours(run: &ReleasesOfRun<'_>) -> f64 {
    run.exposed_hours
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::synthetic::{six_settings, with_rollbacks};
    use crate::report::tests::readable_quietly;

    #[test]
    fn the_way_back_of_most_runs_is_told_with_its_cost() {
        let mut results = readable_quietly(&six_settings());
        assert_eq!(line(None, &results.variants()[0]), None);
        with_rollbacks(&mut results);
        let variants = results.variants();
        let target = target_of([variants[0].info]);
        let expected = format!(
            "people roll back (`failed > 5`), 30.0 min after its first release; all {target}s are ready on it 90.0 s \
             later; the registry then sends 1 GB; {target}s have the defective revision for 13 hours in total"
        );
        assert_eq!(line(None, &variants[0]), Some(expected));
        assert!(ends_on_another(&variants[0]));
    }

    #[test]
    fn runs_without_a_second_release_are_counted() {
        let mut results = readable_quietly(&six_settings());
        with_rollbacks(&mut results);
        let first = results.tables.runs[0].clone();
        results.tables.releases.retain(|(key, row)| {
            key.variant != first.variant || key.replicate != 0 || row.release == 1
        });
        let variants = results.variants();
        let all = variants[0].runs.len();
        let told = line(None, &variants[0]).expect("most runs go back");
        assert!(
            told.starts_with(&format!("in {} of {all} runs people roll back", all - 1)),
            "{told}"
        );
    }
}
