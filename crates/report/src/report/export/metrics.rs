//! The displayed run of each variant as metrics in the OpenMetrics text format, for Prometheus.
//!
//! Names and labels follow Prometheus' conventions, and each sample has a time, so that `promtool tsdb
//! create-blocks-from openmetrics` stores them next to measured series. The registry's egress has node_exporter's name
//! for a host's outgoing traffic, with `instance="registry"`, so that a panel for the real registry shows the
//! simulated one as well. The other metrics have no counterpart that every cluster exports.

use std::io::{self, Write};

use super::chosen;
use crate::report::data::{Results, VariantResults};
use crate::results::TimelineRow;

/// A gauge.
struct MetricFamily {
    name: &'static str,
    help: &'static str,
    samples: fn(&TimelineRow) -> Vec<(&'static str, f64)>,
}

/// The gauges; labels are written verbatim.
const GAUGES: [MetricFamily; 4] = [
    MetricFamily {
        name: "fleetsim_image_pulls",
        help: "Maximum number of concurrent image pulls in the interval.",
        samples: |row| vec![("", row.pulls as f64)],
    },
    MetricFamily {
        name: "fleetsim_layer_downloads",
        help: "Maximum number of concurrent layer downloads in the interval.",
        samples: |row| vec![("", row.downloads as f64)],
    },
    MetricFamily {
        name: "fleetsim_registry_egress_peak_bytes_per_second",
        help: "Maximum egress of the registries in the interval, as a mean over one second.",
        samples: |row| vec![("", row.egress_peak_1s_bytes_per_s)],
    },
    MetricFamily {
        name: "fleetsim_clusters",
        help: "Clusters in each state at the end of the interval.",
        samples: |row| {
            vec![
                ("state=\"ready\"", row.ready_new as f64),
                ("state=\"updating\"", row.updating as f64),
                ("state=\"not_ready\"", row.not_ready as f64),
                ("state=\"pending\"", row.waiting as f64),
            ]
        },
    },
];

/// The labels of a series: those common to all series of a variant, and `more`.
fn labels(experiment: &str, variant: &VariantResults<'_>, more: &str) -> String {
    let comma = if more.is_empty() { "" } else { "," };
    format!(
        "job=\"fleetsim\",experiment=\"{}\",variant=\"{}\"{comma}{more}",
        quoted(experiment),
        quoted(variant.name())
    )
}

/// Writes the metrics. Time 0 of a run is `start_s`, in seconds since 1970. `variants` are the names of the variants
/// to write; all variants if it is empty.
///
/// # Errors
/// Returns an error if a variant of that name does not exist, or writing fails.
pub fn write_metrics(
    results: &Results,
    variants: &[String],
    start_s: f64,
    out: &mut dyn Write,
) -> io::Result<()> {
    let chosen = chosen(results, variants)
        .map_err(|message| io::Error::new(io::ErrorKind::InvalidInput, message))?;
    let experiment = &results.provenance.experiment;
    for family in &GAUGES {
        head(out, family.name, "gauge", None, family.help)?;
        for variant in &chosen {
            // All samples of a series must be adjacent.
            let series = variant
                .timeline
                .first()
                .map_or(0, |row| (family.samples)(row).len());
            for at in 0..series {
                for row in &variant.timeline {
                    let (label, value) = (family.samples)(row)[at];
                    let time = start_s + row.t_s + row.bin_s;
                    writeln!(
                        out,
                        "{}{{{}}} {value} {time}",
                        family.name,
                        labels(experiment, variant, label)
                    )?;
                }
            }
        }
    }
    let sent = "node_network_transmit_bytes";
    head(
        out,
        sent,
        "counter",
        Some("bytes"),
        "Bytes that the registries have sent.",
    )?;
    for variant in &chosen {
        let labels = labels(
            experiment,
            variant,
            "instance=\"registry\",device=\"egress\"",
        );
        writeln!(out, "{sent}_total{{{labels}}} 0 {start_s}")?;
        let mut bytes = 0.0;
        for row in &variant.timeline {
            bytes += row.egress_bytes_per_s * row.bin_s;
            writeln!(
                out,
                "{sent}_total{{{labels}}} {} {}",
                bytes.round(),
                start_s + row.t_s + row.bin_s
            )?;
        }
    }
    out.write_all(b"# EOF\n")
}

fn head(
    out: &mut dyn Write,
    name: &str,
    kind: &str,
    unit: Option<&str>,
    help: &str,
) -> io::Result<()> {
    writeln!(out, "# TYPE {name} {kind}")?;
    if let Some(unit) = unit {
        writeln!(out, "# UNIT {name} {unit}")?;
    }
    writeln!(out, "# HELP {name} {help}")
}

/// A label's value, escaped for the format.
fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::synthetic::{Fleet, six_settings};
    use crate::report::tests::readable_quietly;

    fn metrics(start_s: f64) -> String {
        let results = readable_quietly(&Fleet {
            replicates: 2,
            ..six_settings()
        });
        let mut bytes = Vec::new();
        write_metrics(&results, &[], start_s, &mut bytes).expect("written");
        String::from_utf8(bytes).expect("text")
    }

    #[test]
    fn families_are_contiguous_counters_never_decrease_and_the_text_ends_with_eof() {
        let text = metrics(1_700_000_000.0);
        assert!(text.ends_with("# EOF\n"), "the mark");
        let mut seen: Vec<&str> = Vec::new();
        let mut last: Option<(&str, f64, f64)> = None;
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (series, rest) = line.split_once("} ").expect("labels end");
            let name = series.split('{').next().expect("a name");
            let (value, time) = rest.split_once(' ').expect("a value and a time");
            let (value, time): (f64, f64) = (
                value.parse().expect("a value"),
                time.parse().expect("a time"),
            );
            if seen.last() != Some(&name) {
                assert!(!seen.contains(&name), "{name} stands together");
                seen.push(name);
            }
            if let Some((before, least, earlier)) = last.filter(|(other, ..)| *other == series) {
                assert!(time > earlier, "{before}: times rise");
                assert!(
                    !name.ends_with("_total") || value >= least,
                    "{before}: a counter never falls"
                );
            }
            assert!(time >= 1_700_000_000.0, "{line}");
            last = Some((series, value, time));
        }
        assert_eq!(seen.len(), 5, "{seen:?}");
    }

    #[test]
    fn the_counter_ends_at_the_bytes_that_the_run_sent() {
        let results = readable_quietly(&Fleet {
            replicates: 2,
            ..six_settings()
        });
        let text = metrics(0.0);
        let variant = &results.variants()[0];
        let sent: f64 = variant
            .timeline
            .iter()
            .map(|row| row.egress_bytes_per_s * row.bin_s)
            .sum();
        let own = format!("variant=\"{}\"", variant.name());
        let last = text
            .lines()
            .rfind(|line| line.starts_with("node_network") && line.contains(&own));
        let value: f64 = last
            .expect("a sample")
            .split("} ")
            .nth(1)
            .and_then(|rest| rest.split(' ').next())
            .expect("a value")
            .parse()
            .expect("a number");
        assert!((value - sent).abs() <= 1.0, "{value} of {sent}");
    }

    #[test]
    fn names_with_quotes_are_escaped() {
        assert_eq!(quoted("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
    }
}
