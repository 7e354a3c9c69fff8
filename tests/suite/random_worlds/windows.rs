//! Windows in some of the random worlds: Schedules under Rancher Fleet, and sync windows under Argo CD. They have
//! separate random numbers, so that the other parts of a world do not depend on them.

use std::any::Any;
use std::fmt::Write;
use std::sync::Arc;

use fleetsim::products::argo_cd::ArgoCdStrategy;
use fleetsim::products::rancher_fleet::RancherFleetStrategy;
use fleetsim::scenario::{Overrides, Scenario, load};

use super::luck::Luck;
use super::world::RINGS;
use crate::common::folder_with;

/// The number of minutes between two beginnings of a window. Each divides an hour.
const PERIODS: [u32; 6] = [5, 10, 15, 20, 30, 60];

/// Gives windows to the targets of some rings.
pub(crate) fn add(luck: &mut Luck, scenario: &mut Scenario) {
    if luck.chance(0.5) {
        return;
    }
    let strategy: &dyn Any = scenario.strategy();
    if let Some(strategy) = strategy.downcast_ref::<RancherFleetStrategy>() {
        let loaded = loaded(
            scenario,
            "rancherFleet: {schedules: windows.yaml}",
            &schedules(luck),
        );
        let loaded: &dyn Any = loaded.strategy();
        let of_file: &RancherFleetStrategy = loaded.downcast_ref().expect("Fleet's strategy");
        scenario.set_strategy(Arc::new(RancherFleetStrategy {
            schedules: of_file.schedules.clone(),
            ..strategy.clone()
        }));
    } else if let Some(strategy) = strategy.downcast_ref::<ArgoCdStrategy>() {
        let windows = sync_windows(luck, scenario);
        let loaded = loaded(scenario, "argoCd: {project: windows.yaml}", &windows);
        let loaded: &dyn Any = loaded.strategy();
        let of_file: &ArgoCdStrategy = loaded.downcast_ref().expect("Argo CD's strategy");
        scenario.set_strategy(Arc::new(ArgoCdStrategy {
            sync_windows: of_file.sync_windows.clone(),
            ..strategy.clone()
        }));
    }
}

/// Whether a scenario has windows.
pub(crate) fn has_some(scenario: &Scenario) -> bool {
    let strategy: &dyn Any = scenario.strategy();
    let fleet = strategy.downcast_ref::<RancherFleetStrategy>();
    let argo_cd = strategy.downcast_ref::<ArgoCdStrategy>();
    fleet.is_some_and(|strategy| strategy.schedules.is_some())
        || argo_cd.is_some_and(|strategy| strategy.sync_windows.is_some())
}

/// Loads a strategy with windows for the clusters of a scenario.
fn loaded(scenario: &Scenario, strategy: &str, windows: &str) -> Scenario {
    let mut fleet = String::new();
    for cluster in &scenario.world.clusters {
        let mut labels = String::new();
        for (key, value) in cluster.labels.iter() {
            write!(labels, "{key}: '{value}', ").expect("memory takes it");
        }
        let name = &cluster.name;
        writeln!(
            fleet,
            "  - {{name: {name}, nodes: 1, labels: {{{labels}}}}}"
        )
        .expect("memory takes it");
    }
    let text = format!(
        "name: windows
startsAt: 2026-03-28 23:50 Europe/Berlin
fleet:
{fleet}release:
  images: [{{name: app, manifest: {{layers: [{{size: 5 MB}}]}}}}]
  workloads: [{{kind: Deployment, image: app}}]
strategies: {{tested: {{{strategy}}}}}
"
    );
    let folder = folder_with(&[("experiment.yaml", &text), ("windows.yaml", windows)]);
    let experiment = load(folder.path(), &Overrides::default());
    let mut experiment = experiment.unwrap_or_else(|error| panic!("{}", error.render(false)));
    experiment.variants.swap_remove(0).scenario
}

/// One or two Schedules, each for one ring. The later one may open after the horizon.
fn schedules(luck: &mut Luck) -> String {
    let mut text = String::new();
    for at in 0..luck.number(1, 2) {
        let period = PERIODS[luck.number(0, 5) as usize];
        let duration = luck.number(1, period - 1);
        let hours = if luck.chance(0.1) { "12" } else { "*" };
        let minutes = if period == 60 {
            "0".to_owned()
        } else {
            format!("0/{period}")
        };
        let ring = luck.number(0, RINGS - 1);
        text.push_str(&format!(
            "---
apiVersion: fleet.cattle.io/v1alpha1
kind: Schedule
metadata: {{name: s{at}, namespace: fleet-default}}
spec:
  schedule: '0 {minutes} {hours} * * ?'
  duration: {duration}m
  location: Europe/Berlin
  targets: {{clusters: [{{clusterSelector: {{matchLabels: {{ring: '{ring}'}}}}}}]}}
"
        ));
    }
    text
}

/// One or two sync windows, each for some of the applications.
fn sync_windows(luck: &mut Luck, scenario: &Scenario) -> String {
    let mut windows = String::new();
    for _ in 0..luck.number(1, 2) {
        let kind = if luck.chance(0.5) { "allow" } else { "deny" };
        let period = PERIODS[luck.number(0, 5) as usize];
        let duration = luck.number(1, period);
        let minutes = if period == 60 {
            "0".to_owned()
        } else {
            format!("*/{period}")
        };
        let has_overrun = luck.chance(0.3);
        let mut names = Vec::new();
        for cluster in &scenario.world.clusters {
            if luck.chance(0.5) {
                names.push(cluster.name.clone());
            }
        }
        let names = names.join(", ");
        windows.push_str(&format!(
            "  - {{kind: {kind}, schedule: '{minutes} * * * *', duration: {duration}m, syncOverrun: {has_overrun},
      timeZone: Europe/Berlin, applications: [{names}]}}
"
        ));
    }
    format!(
        "apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {{name: shop}}
spec:
  syncWindows:
{windows}"
    )
}
