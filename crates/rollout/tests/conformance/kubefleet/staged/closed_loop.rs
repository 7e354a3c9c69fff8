//! Closed loops: clusters and people react to the actions of a run.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::super::{
    External, Loop, Next, Phases, Started, at, by_name, differ, remove, work_state,
};
use super::around::{Around, Config};
use super::change::{Change, run_error};
use crate::suite::parse;

#[derive(Deserialize)]
struct LoopCase {
    config: Config,
    #[serde(flatten)]
    phases: Phases,
    approval_delay_ms: Option<u64>,
    deletion_ms: u64,
    horizon_ms: u64,
    #[serde(default)]
    externals: Vec<External>,
}

enum Event {
    External(Value),
    Status {
        binding: String,
        generation: u64,
        status: String,
    },
    Gone {
        binding: String,
    },
}

pub fn check_loop(case: &Value) -> Result<(), String> {
    let read: LoopCase = parse(case);
    let mut around = Around::new(&read.config);
    let mut clock = Loop::new(read.horizon_ms);
    let mut started = Started::default();
    around
        .view
        .bindings
        .iter()
        .for_each(|binding| _ = started.is_new(binding));
    for external in read.externals {
        clock.schedule(external.at_ms, Event::External(external.event));
    }
    let (mut timeline, mut times, mut passes) = (Vec::new(), Vec::new(), 0);
    let ended = loop {
        match clock.next() {
            Next::End(how) => break how,
            Next::Event(Event::External(event)) => {
                let wakes = around.apply(at(clock.now), &event);
                clock.is_ready |= wakes;
            }
            Next::Event(Event::Gone { binding }) => remove(&mut around.view.bindings, &binding),
            Next::Event(Event::Status {
                binding,
                generation,
                status,
            }) => {
                let found = by_name(&mut around.view.bindings, &binding);
                if let Some(binding) = found.filter(|binding| binding.generation == generation) {
                    binding.report(at(clock.now), work_state(&status));
                }
            }
            Next::Pass => {
                passes += 1;
                if times.len() < 60 {
                    times.push(clock.now);
                }
                let initialized = around.run.status().initialized;
                let deleting: Vec<String> = names_of_deleting(&around);
                let (pass, change) = around.pass(at(clock.now));
                clock.pass_ends(pass.status.next);
                for binding in around.view.bindings.iter() {
                    if started.is_new(binding) {
                        for phase in read
                            .phases
                            .of(&around.clusters[binding.target.index()].name)
                        {
                            let (binding, generation) = (binding.name.clone(), binding.generation);
                            let status = phase.status.clone();
                            clock.schedule(
                                clock.now + phase.after_ms,
                                Event::Status {
                                    binding,
                                    generation,
                                    status,
                                },
                            );
                        }
                    }
                }
                for binding in names_of_deleting(&around) {
                    if !deleting.contains(&binding) {
                        clock.schedule(clock.now + read.deletion_ms, Event::Gone { binding });
                    }
                }
                if let Some(delay) = read.approval_delay_ms {
                    for request in &change.requested {
                        let event = json!({"type": "approve", "request": request});
                        clock.schedule(clock.now + delay, Event::External(event));
                    }
                }
                note(&mut timeline, clock.now, &around, initialized, &change);
            }
        }
    };
    differ(
        "timeline",
        &lines(&case["timeline"]),
        &lines(&json!(timeline)),
    )?;
    differ(
        "reconcile_times_ms",
        &case["reconcile_times_ms"],
        &json!(times),
    )?;
    differ("reconcile_count", &case["reconcile_count"], &json!(passes))?;
    differ("ended", &case["ended"], &json!(ended))
}

fn names_of_deleting(around: &Around) -> Vec<String> {
    around
        .view
        .bindings
        .iter()
        .filter(|binding| binding.deleting)
        .map(|binding| binding.name.clone())
        .collect()
}

/// Adds the changes of a pass to the timeline.
fn note(
    timeline: &mut Vec<Value>,
    now: u64,
    around: &Around,
    initialized: Option<bool>,
    change: &Change,
) {
    let mut add = |kind: &str, stage: &str, cluster: &str, detail: &str| {
        let mut entry: Map<String, Value> = Map::new();
        entry.insert("t_ms".to_owned(), json!(now));
        for (key, value) in [
            ("type", kind),
            ("stage", stage),
            ("cluster", cluster),
            ("detail", detail),
        ] {
            entry.insert(key.to_owned(), json!(value));
        }
        timeline.push(Value::Object(entry));
    };
    let run = around.run.status();
    if run.initialized != initialized {
        match run.initialized {
            Some(true) => add("run_initialized", "", "", ""),
            _ => add(
                "run_init_failed",
                "",
                "",
                run.failure.as_ref().map_or("", run_error),
            ),
        }
    }
    for (kind, list) in [
        ("cluster_succeeded", &change.succeeded),
        ("cluster_failed", &change.failed),
        ("cluster_started", &change.started),
    ] {
        list.iter()
            .for_each(|(stage, cluster)| add(kind, stage, cluster, ""));
    }
    change
        .requested
        .iter()
        .for_each(|request| add("approval_requested", "", "", request));
    change
        .accepted
        .iter()
        .for_each(|request| add("approval_accepted", "", "", request));
    change
        .elapsed
        .iter()
        .for_each(|stage| add("timed_wait_elapsed", stage, "", ""));
    for (stage, (progressing, reason, succeeded)) in &change.stages {
        add(
            "stage",
            stage,
            "",
            &format!("{progressing}/{reason}/{succeeded}"),
        );
    }
    if let Some(((progressing, reason, succeeded), code, stuck)) =
        change.run.as_ref().filter(|((p, ..), ..)| !p.is_empty())
    {
        let mut detail = format!("{progressing}/{reason}/{succeeded}");
        if !stuck.is_empty() {
            detail.push_str(&format!(" stuck: {stuck}"));
        }
        if !code.is_empty() {
            detail.push_str(&format!(" code: {code}"));
        }
        add("run", "", "", &detail);
    }
}

/// Returns the timeline as text, so that a disagreement is readable.
fn lines(timeline: &Value) -> Value {
    let line = |entry: &Value| {
        let field = |key: &str| {
            entry
                .get(key)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        format!(
            "\n{} {} {} {} {}",
            entry["t_ms"],
            field("type"),
            field("stage"),
            field("cluster"),
            field("detail")
        )
    };
    Value::String(
        timeline
            .as_array()
            .expect("a list")
            .iter()
            .map(line)
            .collect(),
    )
}
