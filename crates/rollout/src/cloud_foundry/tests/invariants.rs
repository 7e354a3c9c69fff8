//! Properties of every pass and rollout for all behaviours of instances.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::Strategy;

use super::*;

/// Random reports of instances between two passes.
#[derive(Clone, Debug)]
struct Weather {
    /// States of the new process's instances, by index; states without an instance are ignored.
    lrps: Vec<LrpState>,
    /// Whether stopped old instances have exited.
    torn_down: bool,
    diego: bool,
    continues: bool,
}

fn lrp() -> impl Strategy<Value = LrpState> {
    prop_oneof![
        6 => Just(LrpState::Running),
        2 => Just(LrpState::Claimed),
        1 => Just(LrpState::RunningNotRoutable),
        1 => Just(LrpState::Crashed),
        1 => Just(LrpState::Unreported),
    ]
}

fn weather() -> impl Strategy<Value = Weather> {
    (
        vec(lrp(), 0..25),
        any::<bool>(),
        prop::bool::weighted(0.9),
        any::<bool>(),
    )
        .prop_map(|(lrps, torn_down, diego, continues)| Weather {
            lrps,
            torn_down,
            diego,
            continues,
        })
}

fn options() -> impl Strategy<Value = DeploymentOptions> {
    let steps = prop::option::of(vec(1..=100_u8, 1..4));
    (any::<bool>(), 1..8_u64, prop::option::of(0..15_u32), steps).prop_map(
        |(canary, max_in_flight, web, steps)| {
            let canary_steps = steps.filter(|_| canary).map(|mut steps| {
                steps.sort_unstable();
                steps
            });
            let strategy = if canary {
                super::DeploymentStrategy::Canary
            } else {
                super::DeploymentStrategy::Rolling
            };
            DeploymentOptions {
                strategy,
                max_in_flight,
                web_instances: web,
                canary_steps,
                ..DeploymentOptions::default()
            }
        },
    )
}

fn rules() -> impl Strategy<Value = RuleSet> {
    prop_oneof![Just(RuleSet::Shipped), Just(RuleSet::Documented)]
}

/// Applies the reports in `weather` to the app.
fn blow(app: &mut AppView, weather: &Weather) {
    let index = app.deployments.len() - 1;
    let new = app.deployments[index].process;
    app.diego_available = weather.diego;
    for process in &mut app.processes {
        if Some(process.id) == new {
            let reported = weather
                .lrps
                .iter()
                .copied()
                .take(process.instances as usize);
            process.lrps = reported.collect::<Vec<_>>().into();
        } else if weather.torn_down {
            while process.lrps.len() > process.instances as usize {
                process.lrps.pop();
            }
        }
    }
    if weather.continues {
        // Rejected unless the deployment is paused.
        let _ = app.continue_deployment(index);
    }
}

/// Returns the number of existing instances: the desired ones, and those that are being stopped.
fn existing(app: &AppView) -> u64 {
    app.desired_instances()
        + app
            .processes
            .iter()
            .map(|process| u64::from(process.stopping()))
            .sum::<u64>()
}

proptest! {
    /// A batch starts at most max in flight beyond what is routable and, under shipped rules, nothing while an
    /// instance is unhealthy. New instances are never removed; old ones are never added.
    #[test]
    fn no_limit_is_exceeded(
        instances in 0..12_u32, options in options(), rules in rules(), weathers in vec(weather(), 1..20),
    ) {
        let mut app = AppView::settled(OLD, instances);
        let mut updater = CloudFoundry::new(rules);
        app.create(rules, &options, NEW).expect("there is no quota");
        let new = app.deployments[0].process.expect("the app is started");
        let highest = u64::from(instances.max(options.web_instances.unwrap_or(0)));
        prop_assert!(u64::from(app.process(new).expect("created").instances) <= options.max_in_flight);
        for (step, weather) in weathers.iter().enumerate() {
            let now = SimTime::from_secs(5 * (step as u64 + 1));
            blow(&mut app, weather);
            let before = app.clone();
            let hold = updater.hold(&app);
            let pass = updater.reconcile(now, &app);
            for action in &pass.actions {
                match *action {
                    ProcessAction::Scale(target, instances) if target == new => {
                        let process = before.process(new).expect("it is scaled");
                        let counts = process.counts();
                        prop_assert!(instances > process.instances, "it grows only");
                        let in_flight = u64::from(instances - counts.routable);
                        prop_assert!(in_flight <= options.max_in_flight, "{in_flight} in flight");
                        prop_assert!(rules == RuleSet::Documented || counts.unhealthy == 0);
                    }
                    ProcessAction::Scale(target, instances) => {
                        prop_assert!(instances < before.process(target).expect("it is scaled").instances);
                    }
                    ProcessAction::Delete(target) => prop_assert_ne!(target, new),
                }
            }
            app.store(&pass);
            let state = |app: &AppView| app.deployments[0].state;
            let moves = !pass.actions.is_empty() || state(&app) != state(&before);
            let is_over = !before.deployments[0].is_active();
            prop_assert_eq!(hold.is_some(), !moves && !is_over, "a hold never contradicts a pass: {:?}", hold);
            prop_assert_eq!(pass.wake_at.is_some(), app.deployments[0].is_ticked());
            if rules == RuleSet::Documented {
                prop_assert!(existing(&app) <= highest + options.max_in_flight, "{} exist", existing(&app));
            } else if options.web_instances.is_none() {
                // A step has one instance more than the app.
                let extra = u64::from(options.strategy == super::DeploymentStrategy::Canary);
                prop_assert!(app.desired_instances() <= highest + extra + options.max_in_flight);
            }
            if !app.deployments[0].is_active() {
                prop_assert_eq!(app.processes.len(), 1, "only the new process is left");
                let process = app.process(new).expect("it is");
                prop_assert!(process.instances >= options.web_instances.unwrap_or(instances));
            }
        }
    }

    /// Without failures every rollout ends with the requested instances, within the explained number of passes.
    #[test]
    fn without_failures_every_rollout_ends(
        instances in 0..40_u32, options in options(), rules in rules(),
    ) {
        // The explanation covers only deployments that do not change the number of instances.
        let options = DeploymentOptions { web_instances: None, ..options };
        let mut app = AppView::settled(OLD, instances);
        let mut updater = CloudFoundry::new(rules);
        app.create(rules, &options, NEW).expect("there is no quota");
        let explained = explain(&options, rules, instances, &AppQuota::default());
        let (mut now, mut passes, mut pauses, mut peak) = (SimTime::ZERO, 0, 0, app.desired_instances());
        prop_assert_eq!(app.processes[1].instances, explained.first_batch);
        while app.active().is_some() {
            now = updater.next_pass(now);
            for process in &mut app.processes {
                process.lrps = vec![LrpState::Running; process.instances as usize].into();
            }
            let pass = updater.reconcile(now, &app);
            app.store(&pass);
            passes += 1;
            peak = peak.max(app.desired_instances());
            if app.deployments[0].state == DeploymentState::Paused {
                let step = app.deployments[0].current_step(rules).expect("it is a canary");
                prop_assert_eq!(app.process(app.deployments[0].process.expect("started")).map(|p| p.instances), Some(step.canary));
                app.continue_deployment(0).expect("it is paused");
                pauses += 1;
            }
            prop_assert!(passes < 500, "it does not end: {:?}", updater.hold(&app));
        }
        prop_assert_eq!(pauses, explained.steps.len());
        let of_steps = explained.steps.last().map_or(0, |step| step.canary);
        prop_assert_eq!(app.desired_instances(), u64::from(instances.max(of_steps)));
        prop_assert!(peak <= explained.peak_instances, "{peak} of {}", explained.peak_instances);
        if let Some(expected) = explained.passes {
            prop_assert_eq!(passes, expected);
        }
    }

    /// From any state, a cancelled deployment leaves one process with the original number of instances.
    #[test]
    fn a_cancelled_rollout_is_rolled_back_in_one_pass(
        instances in 0..12_u32, options in options(), rules in rules(), weathers in vec(weather(), 0..8),
    ) {
        let mut app = AppView::settled(OLD, instances);
        let mut updater = CloudFoundry::new(rules);
        app.create(rules, &options, NEW).expect("there is no quota");
        for weather in &weathers {
            blow(&mut app, weather);
            let pass = updater.reconcile(SimTime::ZERO, &app);
            app.store(&pass);
        }
        prop_assume!(app.cancel_deployment(0).is_ok());
        let pass = updater.reconcile(SimTime::ZERO, &app);
        app.store(&pass);
        prop_assert_eq!(app.deployments[0].state, DeploymentState::Canceled);
        let left: Vec<_> = app.processes.iter().map(|process| (process.revision, process.instances)).collect();
        prop_assert_eq!((app.revision, left), (OLD, vec![(OLD, instances)]));
    }
}
