//! Tests of values on the command line: `--set PATH=VALUE`.

use super::*;

fn load_with(arguments: &[&str]) -> Result<Experiment, LoadError> {
    let folder = folder();
    fs::write(folder.path().join("experiment.yaml"), SKETCH).expect("written");
    let set = arguments
        .iter()
        .map(|argument| (*argument).to_owned())
        .collect();
    load(
        &folder.path().join("experiment.yaml"),
        &Overrides {
            set,
            ..Overrides::default()
        },
    )
}

fn refused(arguments: &[&str]) -> Vec<String> {
    let error = load_with(arguments).expect_err("refused");
    error.problems.iter().map(ToString::to_string).collect()
}

#[test]
fn set_values_replace_those_in_the_experiment_and_its_files() {
    let experiment = load_with(&[
        "registry.egress=unlimited",
        "fleet[0].downlink=20 Mbit/s",
        "release.workloads[0].start={median: 9 s, sigma: 0.1}",
        "faults.pullFailure=1%",
        "strategies.from-git.rancherFleet.maxUnavailable=30%",
        "node.runtime=containerd-1.7",
        "replicates=3",
    ]);
    let experiment = experiment.unwrap_or_else(|error| panic!("{error}"));
    let world = &experiment.variants[0].scenario.world;
    assert_eq!(world.registry.egress, crate::units::BytesPerSec::UNLIMITED);
    assert_eq!(experiment.replicates, 3);
    let resolved = &experiment.resolved();
    for line in [
        "registry.egress: unlimited  # `--set`",
        "fleet[0].downlink: 20 Mbit/s  # `--set`",
    ] {
        assert!(resolved.contains(line), "{line}\n{resolved}");
    }
    assert!(
        resolved.contains("fleet[1].downlink: 10 Gbit/s  # line"),
        "{resolved}"
    );
    // A runtime's defaults are those of its version.
    assert!(
        resolved.contains("node.slotScope: image  # default\n"),
        "{resolved}"
    );
    assert!(
        resolved.contains("node.noProgressTimeout: 60 s  # default\n"),
        "{resolved}"
    );
}

#[test]
fn a_disk_has_the_values_of_its_class() {
    let disk = |arguments: &[&str]| {
        let resolved = load_with(arguments)
            .unwrap_or_else(|error| panic!("{error}"))
            .resolved();
        let everywhere = resolved.split("strategies:\n").next().unwrap_or_default();
        let lines = everywhere
            .lines()
            .filter_map(|line| line.trim().strip_prefix("node.disk."));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let buffer = "buffer: 1.2 GB  # default: guess";
    assert_eq!(
        disk(&[]),
        [
            buffer,
            "class: boot-disk  # default",
            "rate: 176 MB/s  # default: documented"
        ]
    );
    let gp3 = disk(&["node.disk.class=gp3"]);
    assert_eq!(
        gp3,
        [
            buffer,
            "class: gp3  # `--set`",
            "rate: 131 MB/s  # default: documented"
        ]
    );
    assert_eq!(
        disk(&["node.disk.class=none"]),
        ["class: none  # `--set`"],
        "no disk has no rate"
    );
}

#[test]
fn errors_in_set_values_point_at_the_argument() {
    assert_eq!(
        refused(&["registry.egress=0", "registry.egres=1 Gbit/s"]),
        [
            "--set:1:1: registry.egres: unknown field `egres` (help: did you mean `egress`?)",
            "--set:1:17: registry.egress: `0` has no unit; write e.g. `10 Gbit/s` or `unlimited`",
        ]
    );
    let list = "--set:1:1: replicates: expected a whole number, 0 or more, found a list";
    assert_eq!(refused(&["replicates=[1, 2]"]), [list]);
    assert_eq!(
        refused(&["fleet[7].nodes=3"]),
        [
            "--set:1:1: fleet[7].nodes: `fleet[7].nodes` is not a setting of this file: there is no `fleet[7]` (help: \
          indices count from 0, and only maps have settings inside)"
        ]
    );
    for (argument, message) in [
        (
            "registry.egress",
            "`--set` must have a path, `=` and a value",
        ),
        ("=1", "`` is not a path"),
        (
            "sweep={}",
            "`sweep` cannot be set here: write it in the file",
        ),
        ("horizon=[1", "is not a valid value"),
    ] {
        let found = refused(&[argument]);
        assert!(
            found.len() == 1 && found[0].contains(message),
            "{argument}: {found:#?}"
        );
    }
    let twice = refused(&["registry.egress=1 Gbit/s", "registry.egress=2 Gbit/s"]);
    assert!(
        twice[0].contains("`registry.egress` is also set: keep one of the two"),
        "{twice:#?}"
    );
}

#[test]
fn a_set_value_replaces_a_sweep() {
    let swept = load_with(&[]).expect("valid").variants.len();
    let experiment =
        load_with(&["strategies.defaults.rancherFleet.maxUnavailable=3"]).expect("valid");
    let of_defaults = experiment
        .variants
        .iter()
        .filter(|variant| variant.strategy == "defaults")
        .collect::<Vec<_>>();
    assert!(
        of_defaults.len() == 1
            && of_defaults[0].settings.is_empty()
            && swept > experiment.variants.len()
    );
    assert_eq!(
        experiment.set_yaml,
        "strategies:\n  defaults:\n    rancherFleet:\n      maxUnavailable: 3\n"
    );
    let snippet = of_defaults[0]
        .scenario
        .strategy()
        .snippet()
        .expect("a product");
    assert!(
        snippet.text.contains("maxUnavailable: 3"),
        "{}",
        snippet.text
    );
    // In the file, the list must be complete.
    let yaml = load_with(&["fleet[1].rtt=9 ms"]).expect("valid").set_yaml;
    assert!(
        yaml.starts_with("fleet:\n  - name:")
            && yaml.contains("9 ms")
            && yaml.matches("- name").count() == 2,
        "{yaml}"
    );
}

#[test]
fn an_experiment_is_read_again_from_its_files_and_no_others() {
    let experiment = load_with(&[]).expect("valid");
    let again = |set: &str| {
        let overrides = Overrides {
            set: vec![set.to_owned()],
            ..Overrides::default()
        };
        load_again(&experiment.name, &experiment.inputs, &overrides)
    };
    let same =
        load_again(&experiment.name, &experiment.inputs, &Overrides::default()).expect("valid");
    assert_eq!(
        format!("{:?}", same.variants),
        format!("{:?}", experiment.variants)
    );
    assert_eq!(
        (&same.name, same.resolved()),
        (&experiment.name, experiment.resolved())
    );
    let error = again("inventory=/etc/hosts")
        .expect_err("a file that was not read")
        .to_string();
    assert!(
        error.contains("it did not exist when the experiment was read"),
        "{error}"
    );
}

#[test]
fn only_a_search_may_have_limits_of_its_own() {
    let limits = "plan.limits=[peak_pulls < 7]";
    assert_eq!(
        refused(&[limits]),
        [
            "--set:1:1: plan.limits: `plan` cannot be set here: write it in the file (help: write e.g. `--set \
          registry.egress=unlimited` or `--set fleet[0].downlink=\"20 Mbit/s\"`)"
        ]
    );
    let folder = folder();
    let file = folder.path().join("experiment.yaml");
    fs::write(&file, SKETCH).expect("written");
    let overrides = Overrides {
        set: vec![
            limits.to_owned(),
            "plan.search={strategies.defaults.rancherFleet.maxUnavailable: [5%, 10%]}".to_owned(),
        ],
        ..Overrides::default()
    };
    let planned = load_plan(&file, &overrides).unwrap_or_else(|error| panic!("{error}"));
    let plan = planned.plan.expect("a search has a plan");
    let texts: Vec<String> = plan.limits.iter().map(ToString::to_string).collect();
    assert_eq!(texts, ["peak_pulls < 7"]);
}
