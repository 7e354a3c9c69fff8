//! The displayed run of each variant as an event trace, in the JSON format of Perfetto, chrome://tracing and
//! Speedscope.
//!
//! A variant is a process of the trace. Its tracks are the scheduler's passes, the product's statuses, counters of
//! pulls, egress and cluster states, and a track for each cluster with its phases: from the instruction until the
//! agent has applied it, the pulls, and from the last pull until the cluster is ready. Times are in microseconds since
//! the start of the rollout, or of the pre-pull if there is one.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::chosen;
use crate::report::data::{Results, VariantResults};
use crate::results::{ClusterRow, RunKey, Tables};

/// The tracks of the scheduler's passes and of statuses; clusters follow.
const PASSES: usize = 1;
const STATUSES: usize = 2;
const FIRST_CLUSTER: usize = 10;

/// Writes the trace. `variants` are the names of the variants to write; all variants if it is empty.
///
/// # Errors
/// Returns an error if a variant of that name does not exist, or writing fails.
pub fn write_trace(results: &Results, variants: &[String], out: &mut dyn Write) -> io::Result<()> {
    let chosen = chosen(results, variants)
        .map_err(|message| io::Error::new(io::ErrorKind::InvalidInput, message))?;
    let mut writer = EventWriter { out, any: false };
    writer
        .out
        .write_all(b"{\"displayTimeUnit\":\"ms\",\"traceEvents\":[")?;
    for (process, variant) in (1..).zip(&chosen) {
        let writer = &mut writer;
        let replicate = variant.displayed.map_or(0, |run| run.replicate);
        writer.named(
            "process_name",
            process,
            0,
            &format!("{}, replicate {replicate}", variant.name()),
        )?;
        passes(writer, process, &results.tables, variant)?;
        statuses(writer, process, &results.tables, variant)?;
        counters(writer, process, variant)?;
        clusters(writer, process, variant)?;
    }
    writer.out.write_all(b"\n]}\n")
}

/// Writes events separated by commas.
struct EventWriter<'w> {
    out: &'w mut dyn Write,
    any: bool,
}

impl EventWriter<'_> {
    fn event(&mut self, event: &Value) -> io::Result<()> {
        self.out.write_all(if self.any { b",\n" } else { b"\n" })?;
        self.any = true;
        serde_json::to_writer(&mut self.out, event).map_err(io::Error::from)
    }

    fn named(&mut self, what: &str, process: usize, track: usize, name: &str) -> io::Result<()> {
        self.event(&json!({ "ph": "M", "name": what, "pid": process, "tid": track, "args": { "name": name } }))
    }
}

/// Converts seconds to microseconds.
fn micros(seconds: f64) -> f64 {
    (seconds * 1e6).round()
}

/// The rows of a variant.
fn of_variant<'r, Row>(
    rows: &'r [(RunKey, Row)],
    variant: &VariantResults<'_>,
) -> impl Iterator<Item = &'r Row> {
    rows.iter()
        .filter(|(key, _)| key.variant == variant.name())
        .map(|(_, row)| row)
}

fn passes(
    writer: &mut EventWriter<'_>,
    process: usize,
    of: &Tables,
    variant: &VariantResults<'_>,
) -> io::Result<()> {
    writer.named("thread_name", process, PASSES, "scheduler")?;
    for pass in of_variant(&of.passes, variant) {
        writer.event(&json!({
            "ph": "X", "cat": "scheduler", "name": if pass.passes > 1 { "passes" } else { "pass" },
            "pid": process, "tid": PASSES, "ts": micros(pass.t_s), "dur": micros(pass.duration_s),
            "args": { "created": pass.created, "promoted": pass.promoted, "unavailable": pass.unavailable,
                "passes": pass.passes },
        }))?;
    }
    Ok(())
}

fn statuses(
    writer: &mut EventWriter<'_>,
    process: usize,
    of: &Tables,
    variant: &VariantResults<'_>,
) -> io::Result<()> {
    writer.named("thread_name", process, STATUSES, "statuses")?;
    for status in of_variant(&of.statuses, variant) {
        writer.event(&json!({
            "ph": "i", "s": "t", "cat": "status",
            "name": format!("{} {}={}", status.object, status.condition, status.status),
            "pid": process, "tid": STATUSES, "ts": micros(status.t_s),
            "args": { "reason": status.reason, "message": status.message },
        }))?;
    }
    Ok(())
}

fn counters(
    writer: &mut EventWriter<'_>,
    process: usize,
    variant: &VariantResults<'_>,
) -> io::Result<()> {
    for row in &variant.timeline {
        let counters = [
            ("image pulls", json!({ "pulls": row.pulls })),
            ("layer downloads", json!({ "downloads": row.downloads })),
            (
                "registry egress, Mbit/s",
                json!({ "egress": row.egress_bytes_per_s * 8e-6 }),
            ),
            (
                "clusters",
                json!({ "ready": row.ready_new, "updating": row.updating, "not ready": row.not_ready,
                    "pending": row.waiting }),
            ),
        ];
        for (name, args) in counters {
            writer.event(&json!({ "ph": "C", "name": name, "pid": process, "ts": micros(row.t_s), "args": args }))?;
        }
    }
    Ok(())
}

fn clusters(
    writer: &mut EventWriter<'_>,
    process: usize,
    variant: &VariantResults<'_>,
) -> io::Result<()> {
    for (at, cluster) in variant.clusters.iter().enumerate() {
        let track = FIRST_CLUSTER + at;
        writer.named("thread_name", process, track, &cluster.cluster)?;
        phases(writer, process, track, cluster)?;
        if let Some(ready) = cluster.ready_s {
            writer.event(&json!({
                "ph": "i", "s": "t", "cat": "cluster", "name": "ready", "pid": process, "tid": track,
                "ts": micros(ready), "args": {},
            }))?;
        }
    }
    Ok(())
}

fn phases(
    writer: &mut EventWriter<'_>,
    process: usize,
    track: usize,
    cluster: &ClusterRow,
) -> io::Result<()> {
    let phases = [
        ("apply", cluster.instructed_s, cluster.applied_s),
        ("pull", cluster.first_pull_s, cluster.last_pull_s),
        (
            "start",
            cluster.last_pull_s.or(cluster.applied_s),
            cluster.ready_s,
        ),
    ];
    for (name, from, to) in phases {
        let Some((from, to)) = from.zip(to).filter(|(from, to)| from <= to) else {
            continue;
        };
        writer.event(&json!({
            "ph": "X", "cat": "cluster", "name": name, "pid": process, "tid": track,
            "ts": micros(from), "dur": micros(to - from),
            "args": { "stage": cluster.stage, "pulls": cluster.pulls, "failed_pulls": cluster.failed_pulls,
                "received_bytes": cluster.received_bytes },
        }))?;
    }
    Ok(())
}
