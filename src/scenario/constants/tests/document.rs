//! Generates docs/assumptions.md: the constants, the settings that are not constants, and the numbers fixed in the
//! code.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::choices::CHOICES;
use super::*;

/// Numbers in the code of the world, products and rules that are not settings: the file, the name, and the reason why
/// the number is fixed.
const FIXED: &[(&str, &str, &str)] = &[
    (
        "products/argo_cd/settings.rs",
        "PLENTY",
        "bound: more than any fleet needs, in trials that lift the controller",
    ),
    (
        "products/strategy.rs",
        "REMAINING_TIME",
        "numerical: what a trial leaves of a time that it lifts",
    ),
    (
        "products/argo_cd/settings.rs",
        "MOST_SHARDS",
        "a limit of what is simulated: each process takes memory",
    ),
    (
        "world/transfers/link_loads.rs",
        "MOST_METERED",
        "a limit of what is measured: each change looks at all of these links",
    ),
    (
        "world/nodes/catalog.rs",
        "MOST_IMAGES",
        "a limit of what is simulated: images are numbered with 16 bits",
    ),
    (
        "world/nodes/catalog.rs",
        "MOST_LAYERS",
        "a limit of what is simulated: layers are numbered with 16 bits",
    ),
    (
        "products/argo_cd/application_controller/windows.rs",
        "LOOK",
        "the product's source",
    ),
    (
        "products/argo_cd/sync_windows.rs",
        "FORESIGHT",
        "how far an explanation looks ahead",
    ),
    (
        "products/argo_cd/controller/mod.rs",
        "ROW_MOVES",
        "the steps of an application's row, in the product's source",
    ),
    (
        "products/argo_cd/controller/mod.rs",
        "SET_WORKERS",
        "the product's default number of workers",
    ),
    (
        "products/argo_cd/controller/deletion.rs",
        "COLLECTOR_REQUESTS_EACH",
        "counted in Kubernetes' source",
    ),
    (
        "products/argo_cd/controller/set_client.rs",
        "APPLICATIONS",
        "the number of a kind of object",
    ),
    (
        "products/argo_cd/controller/set_client.rs",
        "SET",
        "the number of a kind of object",
    ),
    (
        "products/argo_cd/refresh.rs",
        "WARM_UP",
        "numerical: refreshes are in a steady state at the release",
    ),
    (
        "products/cloud_foundry/adapter.rs",
        "QUERIES_OF_A_PASS",
        "counted in the product's source; `controller.request` scales it",
    ),
    (
        "products/cloud_foundry/adapter.rs",
        "QUERIES_OF_A_WRITE",
        "as above",
    ),
    (
        "products/cloud_foundry/adapter.rs",
        "UPDATER_WORKERS",
        "the product's source",
    ),
    (
        "products/external/session.rs",
        "ANSWERS_OF_A_SEEN_TARGET",
        "bound of a process's answers",
    ),
    (
        "products/external/session.rs",
        "DRAWS",
        "numerical: draws that one duration of `hello` stands for",
    ),
    (
        "products/external/session.rs",
        "TIMES",
        "numerical: durations in `hello`",
    ),
    (
        "products/external/session.rs",
        "LEAST_PROGRESS",
        "a limit on processes that let no time pass",
    ),
    (
        "products/external/session.rs",
        "LONGEST_TEXT",
        "length of a text",
    ),
    (
        "products/external/session.rs",
        "MOST_ANSWERS",
        "a limit on processes that let no time pass",
    ),
    (
        "products/external/session.rs",
        "PROTOCOL",
        "version of a protocol",
    ),
    (
        "products/kubefleet/staged_run.rs",
        "REQUESTS_OF_A_NEW_RUN",
        "counted in the product's source",
    ),
    (
        "products/kubefleet/rolling_controller/mod.rs",
        "WORKERS",
        "the product's default number of workers",
    ),
    (
        "products/kubefleet/staged_controller.rs",
        "WORKERS",
        "the product's default number of workers",
    ),
    (
        "products/kubefleet/work_generator.rs",
        "APPROVALS",
        "the number of a kind of object",
    ),
    (
        "products/kubefleet/work_generator.rs",
        "BINDINGS",
        "the number of a kind of object",
    ),
    (
        "products/kubefleet/work_generator.rs",
        "CACHE_POLL",
        "client-go's `syncedPollPeriod`",
    ),
    (
        "products/kubefleet/work_generator.rs",
        "REMOVAL_WAIT",
        "how often runs look; no figure of the product's agent",
    ),
    (
        "products/kubefleet/work_generator.rs",
        "RUNS",
        "the number of a kind of object",
    ),
    (
        "products/kubefleet/work_generator.rs",
        "WORKERS",
        "the product's default number of workers",
    ),
    (
        "products/kubefleet/work_generator.rs",
        "WORKS",
        "the number of a kind of object",
    ),
    (
        "products/rancher_fleet/controller.rs",
        "DISPLAY_WORKERS",
        "the product's default number of workers",
    ),
    (
        "products/rancher_fleet/controller.rs",
        "BUNDLE_WORKERS",
        "the product's default number of workers",
    ),
    (
        "products/rancher_fleet/controller/writes.rs",
        "EARLY_END_WAIT",
        "the product's source",
    ),
    (
        "products/rancher_fleet/controller/writes.rs",
        "FINALIZER_REQUESTS",
        "counted in the product's source",
    ),
    (
        "products/rancher_fleet/failed_apply.rs",
        "ATOMIC_WAIT",
        "helm's `DefaultStatusWatcherTimeout`",
    ),
    (
        "products/upstream.rs",
        "TIMEOUT",
        "real time, not simulated",
    ),
    (
        "products/words.rs",
        "LARGEST_OBJECT",
        "etcd's limit of a request",
    ),
    (
        "rollout/argo_cd/config.rs",
        "LONG",
        "the requeue periods of the product's generators",
    ),
    ("rollout/argo_cd/config.rs", "SHORT", "as above"),
    (
        "rollout/argo_cd/deletion.rs",
        "PATIENCE",
        "the product's source",
    ),
    (
        "rollout/argo_cd/retry.rs",
        "RETRY_FACTOR",
        "the product's source; `retry.backoff` of a template replaces it",
    ),
    (
        "rollout/argo_cd/retry.rs",
        "RETRY_FIRST",
        "the product's source; `retry.backoff` of a template replaces it",
    ),
    (
        "rollout/argo_cd/retry.rs",
        "RETRY_LIMIT",
        "as above, `retry.limit`",
    ),
    ("rollout/argo_cd/retry.rs", "RETRY_MAX", "as above"),
    (
        "rollout/argo_cd/triggers.rs",
        "DELETION_REQUEUE",
        "the product's source",
    ),
    (
        "rollout/argo_cd/triggers.rs",
        "ERROR_REQUEUE",
        "the product's source",
    ),
    (
        "rollout/back_off.rs",
        "FIRST",
        "controller-runtime's default rate limiter",
    ),
    ("rollout/back_off.rs", "LONGEST", "as above"),
    (
        "rollout/cloud_foundry/control_loop.rs",
        "CRASH_BACKOFF_MAX",
        "Diego's source; `node.crashBackoff` replaces it",
    ),
    (
        "rollout/cloud_foundry/control_loop.rs",
        "CRASH_BACKOFF_MIN",
        "as above",
    ),
    (
        "rollout/cloud_foundry/control_loop.rs",
        "CRASH_RESET",
        "as above",
    ),
    (
        "rollout/cloud_foundry/control_loop.rs",
        "GRACEFUL_SHUTDOWN",
        "Diego's source",
    ),
    (
        "rollout/cloud_foundry/control_loop.rs",
        "IMMEDIATE_RESTARTS",
        "Diego's source; `node.crashBackoff` replaces it",
    ),
    (
        "rollout/cloud_foundry/control_loop.rs",
        "MAX_CRASHES",
        "Diego's source",
    ),
    (
        "rollout/cloud_foundry/control_loop.rs",
        "UPDATE_FREQUENCY",
        "the default of capi-release",
    ),
    (
        "rollout/cloud_foundry/view.rs",
        "DEFAULT_MEMORY_IN_MB",
        "the product's default; only quotas use it",
    ),
    (
        "rollout/kubefleet/binding/list.rs",
        "PART",
        "length of a name",
    ),
    (
        "rollout/kubefleet/control_loop.rs",
        "CLEAN_UP_WAIT",
        "the product's source",
    ),
    (
        "rollout/kubefleet/control_loop.rs",
        "CLUSTER_UPDATING_WAIT",
        "the product's source",
    ),
    (
        "rollout/kubefleet/control_loop.rs",
        "STAGE_WAIT",
        "the product's source",
    ),
    (
        "products/kubefleet/config.rs",
        "PLACEMENT_DELAY",
        "the default of `placementDelay`",
    ),
    (
        "products/kubefleet/config.rs",
        "SNAPSHOT_DELAY",
        "the default of `snapshotDelay`",
    ),
    (
        "rollout/kubefleet/control_loop.rs",
        "STUCK_AFTER",
        "the product's source",
    ),
    (
        "rollout/kubefleet/rolling/mod.rs",
        "PERIOD_SECONDS",
        "the product's default; `unavailablePeriodSeconds` replaces it",
    ),
    (
        "rollout/kubefleet/validate.rs",
        "STAGES",
        "the product's limit",
    ),
    (
        "rollout/rancher_fleet/documented.rs",
        "BATCH",
        "the product's documentation",
    ),
    (
        "rollout/rancher_fleet/ledger.rs",
        "LISTED",
        "length of a text",
    ),
    (
        "rollout/rancher_fleet/partition.rs",
        "THRESHOLD",
        "the product's default; `autoPartitionThreshold` replaces it",
    ),
    (
        "rollout/rancher_fleet/pass.rs",
        "MAX_NEW",
        "the product's default; `maxNew` replaces it",
    ),
    ("rollout/target_set.rs", "BITS", "bits of a word"),
    (
        "rollout/target_set.rs",
        "BLOCK",
        "indices that are counted together; no result depends on it",
    ),
    (
        "world/clusters/progress_deadline.rs",
        "LOOK_AGAIN",
        "kubernetes/kubernetes, `requeueStuckDeployment`",
    ),
    ("world/clusters/spec.rs", "MOST_NODES", "bound of a setting"),
    (
        "world/faults/cut.rs",
        "RETRANSMISSION_MAX",
        "the kernel's limit, `TCP_RTO_MAX`",
    ),
    (
        "world/faults/pulls.rs",
        "CONNECTIONS",
        "counted in containerd's source, as `model.md` lists the requests of a pull",
    ),
    ("world/faults/pulls.rs", "REQUESTS", "as above"),
    ("world/faults/pulls.rs", "ROUND_TRIPS", "as above"),
    (
        "world/faults/renewal.rs",
        "WARM_UP",
        "numerical: failures are in a steady state at the release",
    ),
    (
        "world/faults/slow.rs",
        "MOST",
        "numerical bound of a drawn factor",
    ),
    (
        "world/faults/strata.rs",
        "CANDIDATES",
        "numerical: strata of the runs of a study",
    ),
    ("world/meter/mod.rs", "CLASSES", "resolution of a record"),
    ("world/meter/mod.rs", "HOUR", "definition of a measure"),
    ("world/meter/mod.rs", "MAX_BINS", "resolution of a record"),
    ("world/meter/mod.rs", "MINUTE", "definition of a measure"),
    ("world/meter/mod.rs", "PHASES", "definition of a measure"),
    ("world/meter/mod.rs", "SECOND", "definition of a measure"),
    (
        "world/nodes/catalog.rs",
        "MOST_BYTES",
        "numerical bound of a drawn size",
    ),
    (
        "world/nodes/disk.rs",
        "DIRTY_EXPIRE",
        "the kernel's default, `vm.dirty_expire_centisecs`",
    ),
    (
        "world/nodes/spec.rs",
        "UNLIMITED",
        "a rate that stands for no limit",
    ),
    (
        "world/nodes/node.rs",
        "MOST",
        "numerical: contents that are compared, so that equal ones share memory",
    ),
    (
        "products/fields/document.rs",
        "MOST_VALUES",
        "bound of a file",
    ),
    (
        "world/nodes/disk.rs",
        "MEMORY_RATE",
        "numerical: as good as no time",
    ),
    (
        "world/nodes/runtime/request.rs",
        "FIRST_RETRANSMISSION",
        "RFC 6298, as Linux has it",
    ),
    (
        "world/nodes/runtime/spec.rs",
        "MAX_ATTEMPTS",
        "bound of a setting",
    ),
    (
        "world/quantity/measured.rs",
        "MOST_VALUES",
        "bound of a file",
    ),
    (
        "world/quantity/mod.rs",
        "FEWEST",
        "numerical: draws whose sum is drawn at once",
    ),
    ("world/quantity/mod.rs", "WIDEST", "as above"),
    ("world/registry/burst.rs", "NOTHING", "numerical: a byte"),
    ("world/registry/other_load.rs", "MIB", "a unit"),
    (
        "world/registry/other_load.rs",
        "PARTS",
        "numerical: steps of a sum",
    ),
    ("world/registry/tcp.rs", "INITIAL_SEGMENTS", "RFC 6928"),
    ("world/registry/tcp.rs", "MATHIS", "Mathis et al. (1997)"),
];

/// Files whose constants are the defaults of settings.
const DEFAULTS: &[&str] = &[
    "world/calibration.rs",
    "control_plane/settings.rs",
    "world/clusters/agent_spec.rs",
];

/// Returns the numeric constants in the code by file and name, without tests and without limits on texts and records.
fn in_code() -> BTreeMap<(String, String), String> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let mut found = BTreeMap::new();
    let rooms = [
        ("world", "crates/world/src/world"),
        ("products", "src/products"),
        ("rollout", "crates/rollout/src"),
    ];
    for (room, folder) in rooms {
        let folder = root.join(folder);
        files(&folder, &mut |path, text| {
            let below = path.strip_prefix(&folder).expect("below the folder");
            let name = Path::new(room).join(below).display().to_string();
            if name.contains("tests") || DEFAULTS.contains(&name.as_str()) {
                return;
            }
            let code = text
                .split("#[cfg(test)]\nmod tests {")
                .next()
                .unwrap_or_default();
            for line in code
                .lines()
                .filter_map(|line| line.split_once("const ").map(|(_, rest)| rest))
            {
                let Some((name_of, rest)) = line.split_once(": ") else {
                    continue;
                };
                let Some((kind, value)) = rest.split_once(" = ") else {
                    continue;
                };
                let is_number = [
                    "SimDuration",
                    "Bytes",
                    "BytesPerSec",
                    "f64",
                    "u32",
                    "u64",
                    "usize",
                    "i64",
                ];
                let is_bound = kind == "usize"
                    && ["MAX", "SHOWN", "NAMED"]
                        .iter()
                        .any(|end| name_of.ends_with(end));
                let is_name =
                    !is_bound && name_of.chars().all(|c| c.is_ascii_uppercase() || c == '_');
                if is_name
                    && is_number.contains(&kind)
                    && !value.contains("MAX;")
                    && name_of != "COUNT"
                {
                    let value = value
                        .trim_end_matches(';')
                        .replace("SimDuration::from_", "");
                    found.insert((name.clone(), name_of.to_owned()), value);
                }
            }
        });
    }
    found
}

fn files(folder: &Path, see: &mut impl FnMut(&Path, &str)) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files(&path, see);
        } else {
            see(&path, &std::fs::read_to_string(&path).expect("a text"));
        }
    }
}

#[test]
fn every_number_fixed_in_the_code_has_a_reason() {
    let found = in_code();
    let listed: Vec<(String, String)> = FIXED
        .iter()
        .map(|(file, name, _)| ((*file).into(), (*name).into()))
        .collect();
    let unlisted: Vec<_> = found.keys().filter(|key| !listed.contains(key)).collect();
    assert!(
        unlisted.is_empty(),
        "make each a setting, or list it with its reason: {unlisted:#?}"
    );
    let gone: Vec<_> = listed
        .iter()
        .filter(|key| !found.contains_key(key))
        .collect();
    assert!(gone.is_empty(), "no longer in the code: {gone:#?}");
}

#[test]
fn the_page_of_assumptions_is_current() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/assumptions.md");
    let (written, current) = (std::fs::read_to_string(&path).unwrap_or_default(), page());
    if written != current && std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, current).expect("docs can be written");
        return;
    }
    assert!(
        written == current,
        "docs/assumptions.md is out of date; write it with `UPDATE_DOCS=1 cargo test --lib assumptions`"
    );
}

fn page() -> String {
    let rows: Vec<&Constant> = all().collect();
    let count = |basis| rows.iter().filter(|row| row.basis == basis).count();
    let mut text = wrapped(&format!(
        "# Assumptions\n\nEvery constant of the model, with its value, its range and its basis. This page is generated \
         from `src/scenario/constants/`. Values are the defaults of the settings; `fleetsim assumptions \
         EXPERIMENT` prints those that take part in an experiment, with the values in force there.\n\nOf {} constants, {} \
         were measured or calibrated, {} are documented defaults that installations change, and {} are guesses. [`fleetsim \
         sensitivity`](sensitivity.md) ranks them by their effect on an experiment. `uncertainty: constants` draws all \
         of them, so that intervals are total.\n\nThe truth is expected within the range. Where an \
         experiment has its own value, the range moves with it in proportion, unless it is *absolute*. The shape is \
         the distribution over the range: *uniform*, or *loguniform* (each factor of two equally likely). Random \
         quantities vary by one factor; the sigma of a lognormal is a constant of its own.",
        rows.len(),
        count(Basis::Measured),
        count(Basis::Documented),
        count(Basis::Guess),
    ));
    let begins = |place: &str| {
        rows.iter()
            .position(|row| row.places[0] == place)
            .expect("a subject has a first constant")
    };
    let (registries, agents) = (begins("|registry.perConnection"), begins("|agent.apply"));
    for (title, constants) in [
        ("Sites, nodes and workloads", &rows[..registries]),
        (
            "Registries, images and their distribution",
            &rows[registries..agents],
        ),
        ("Agents and controllers of the products", &rows[agents..]),
    ] {
        text += &format!("\n## {title}\n\n{}", table(constants));
    }
    text += "\n## Settings that are not varied\n\n";
    for choice in CHOICES {
        let paths: Vec<String> = choice
            .paths
            .iter()
            .map(|path| format!("`{}`", path.trim_end_matches(".**")))
            .collect();
        text += &item(&format!(
            "{}: {}.",
            capital(choice.reason),
            paths.join(", ")
        ));
    }
    text += "\n## Numbers fixed in the code\n\n| number | value | reason |\n|---|---|---|\n";
    let values = in_code();
    for (file, name, reason) in FIXED {
        let value = values
            .get(&((*file).to_owned(), (*name).to_owned()))
            .map_or("", String::as_str);
        text += &format!("| `{file}`: `{name}` | `{value}` | {reason} |\n");
    }
    text
}

fn table(constants: &[&Constant]) -> String {
    let mut text = String::from(
        "| constant | of | value | range | shape | basis |\n|---|---|---|---|---|---|\n",
    );
    let mut sources = String::new();
    for row in constants {
        let of = if row.products.is_empty() || row.products.len() > 6 {
            "all"
        } else {
            &row.products[0]
        };
        let of = if row.products.len() == 6 {
            "rancherFleet and baselines"
        } else {
            of
        };
        let value = row
            .default_value()
            .map_or_else(|| "none".to_owned(), |value| row.text(value));
        let absolute = if row.is_absolute { ", absolute" } else { "" };
        text += &format!(
            "| <a id=\"{}\"></a>`{}` | {of} | {value} | {} to {} | {}{absolute} | {} |\n",
            anchor(&row.name(), of),
            row.name(),
            row.range[0],
            row.range[1],
            row.shape.word(),
            row.basis.word()
        );
        let whom = if of == "all" {
            String::new()
        } else {
            format!(" ({of})")
        };
        sources += &item(&format!(
            "`{}`{whom}, {}: {}.",
            row.name(),
            row.basis.word(),
            row.source
        ));
    }
    format!("{text}\n{sources}")
}

/// Returns the anchor of a constant's row, to which other pages link: `fleet[*].downlink` has the anchor
/// `fleet-downlink`, and `agent.apply` of Argo CD has the anchor `agent-apply-argoCd`.
fn anchor(name: &str, of: &str) -> String {
    const OMITTED: [&str; 5] = [
        "strategies",
        "*",
        "argoCd",
        "applicationController",
        "kubeFleetRolling",
    ];
    let is_in_strategy = name.starts_with("strategies");
    let parts: Vec<&str> = name
        .split('.')
        .map(|part| part.trim_end_matches("[*]"))
        .filter(|part| !OMITTED.contains(part))
        .collect();
    let path = parts.join("-");
    match of.split(' ').next() {
        Some(product) if of != "all" && !is_in_strategy => format!("{path}-{product}"),
        _ => path,
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

fn item(text: &str) -> String {
    lines(&format!("- {text}"), "  ")
}

fn wrapped(text: &str) -> String {
    let paragraphs: Vec<String> = text
        .split("\n\n")
        .map(|paragraph| lines(paragraph, ""))
        .collect();
    paragraphs.join("\n")
}

/// Wraps text to lines of at most 119 columns, with indented continuation lines.
fn lines(text: &str, indent: &str) -> String {
    let (mut wrapped, mut column) = (String::new(), 0);
    for word in text.split_whitespace() {
        let width = word.chars().count();
        if column > 0 && column + 1 + width > 118 {
            wrapped += &format!("\n{indent}");
            column = indent.len();
        } else if column > 0 {
            wrapped.push(' ');
            column += 1;
        }
        wrapped += word;
        column += width;
    }
    wrapped + "\n"
}
