//! The statements of Cloud Foundry's two documents.

use super::readings::cloud_foundry::{
    at_once_without_bytes, canary_instances, held_by_unhealthy, instances_and_pauses,
    last_canary_step, last_status, line_of_cf_app, pauses, peak_instances, replaced, second_batch,
    second_canary_step, single_step, start_with_request, step_fields, steps_paused,
    waits_for_teardown,
};
use super::readings::{accepted, at_once, outcome};
use super::{DocumentStatement, prose, read};

pub(super) const CANARY_STATEMENTS: &[DocumentStatement] = &[
    read(
        (
            "C1",
            "A canary deployment has several steps, with a pause after each.",
        ),
        ("example-canary", "`PAUSED` in the status"),
        pauses,
        "5 pauses",
        "",
    ),
    read(
        ("C2", "10 instances: step 2 has 9 old ones and 2 new ones."),
        ("example-canary", "instances at the end of step 2"),
        second_canary_step,
        "2 new, 9 old",
        "",
    ),
    read(
        ("C3", "Steps are percentages of the instances."),
        ("weight-101", "whether 101 is accepted"),
        accepted,
        "refused",
        "100",
    ),
    read(
        (
            "C4",
            "A step has the nearest number of instances but 0, and halves go down.",
        ),
        ("halves", "new instances at 1, 15, 25 and 45 %"),
        canary_instances,
        "1, 1, 2, 4",
        "halves up",
    ),
    read(
        ("C5", "Between steps there is always one instance more."),
        (
            "example-canary",
            "instances at the end of the step of 100 %",
        ),
        last_canary_step,
        "11",
        "not at a weight of 100",
    ),
    read(
        (
            "C6",
            "19, 20, 20 and 21 % of 10: two instances, and four pauses.",
        ),
        (
            "same-size",
            "new instances at the steps, and `PAUSED` in the status",
        ),
        instances_and_pauses,
        "2, 2, 2, 2; 4 pauses",
        "",
    ),
    read(
        (
            "C7",
            "The status has the completed step while paused, and else the one in progress.",
        ),
        ("same-size", "reasons with their steps"),
        steps_paused,
        "DEPLOYING, then PAUSED: 1, 2, 3, 4",
        "",
    ),
    read(
        (
            "C8",
            "The current step and their number are fields of the status.",
        ),
        ("example-canary", "fields of the status"),
        step_fields,
        "current 1, total 5",
        "",
    ),
    read(
        (
            "C9",
            "Without steps there is one canary beside all instances.",
        ),
        (
            "single-step",
            "instances at the step, and `PAUSED` in the status",
        ),
        single_step,
        "1 new, 10 old; 1 pause",
        "",
    ),
    read(
        ("C10", "A user continues a paused deployment."),
        ("example-canary", "end of the run"),
        outcome,
        "complete",
        "",
    ),
    read(
        ("C11", "A user cancels a deployment."),
        ("cancelled", "last status"),
        last_status,
        "FINALIZED CANCELED",
        "",
    ),
    read(
        (
            "C12",
            "A client may have a simpler list of integers; the request has objects.",
        ),
        ("integers", "whether a list of integers is accepted"),
        accepted,
        "refused",
        "canarySteps: [{instance_weight: 20}",
    ),
    read(
        (
            "C13",
            "`cf app` has PAUSED with max-in-flight and the step.",
        ),
        (
            "example-canary",
            "line of `cf app` (`statuses: documented`)",
        ),
        line_of_cf_app,
        "Canary Deployment currently PAUSED (max-in-flight: 1, canary-step: 1/5)",
        "`cf app` has one line",
    ),
    prose(
        "C14",
        "Traffic may be weighted in the future.",
        "a plan for later",
    ),
    read(
        ("C15", "The request has the steps as objects."),
        ("example-canary", "whether the file is accepted"),
        accepted,
        "accepted",
        "",
    ),
];

pub(super) const FLIGHT_STATEMENTS: &[DocumentStatement] = &[
    read(
        ("M1", "Today: one instance up, one down."),
        ("default-flight", "instances that update at once"),
        at_once,
        "1",
        "",
    ),
    read(
        ("M2", "`--max-in-flight=3` with rolling or canary."),
        ("canary-3", "instances that start with the request"),
        start_with_request,
        "3",
        "a canary with one",
    ),
    read(
        ("M3", "The same for restart, restage and rollback."),
        (
            "restart",
            "instances at once, with an image that cells have",
        ),
        at_once_without_bytes,
        "3 at once, 0 MB",
        "",
    ),
    read(
        ("M4", "The example request: rolling, max_in_flight 10."),
        ("example-rolling", "instances that update at once"),
        at_once,
        "10",
        "",
    ),
    read(
        ("M5", "50 instances, 5 in flight: five new ones at first."),
        ("fifty-5", "instances that start with the request"),
        start_with_request,
        "5",
        "",
    ),
    read(
        ("M6", "It waits until at least one of them is healthy."),
        ("fifty-5", "start of the second batch"),
        second_batch,
        "after the first is healthy",
        "",
    ),
    read(
        (
            "M7",
            "For each old instance that was torn down, a new one is started.",
        ),
        ("fifty-5", "start of the second batch"),
        waits_for_teardown,
        "after the teardown",
        "old ones are ignored",
    ),
    read(
        ("M8", "Never more than 55 instances."),
        ("fifty-5", "`peak_instances` (`countInstances: true`)"),
        peak_instances,
        "55",
        "only desired counts are bounded",
    ),
    read(
        ("M9", "Until all 50 are replaced."),
        ("fifty-5", "instances of the new version"),
        replaced,
        "50 of 50",
        "",
    ),
    read(
        ("M10", "max_in_flight is 1 by default."),
        ("default-flight", "instances that update at once"),
        at_once,
        "1",
        "",
    ),
    read(
        ("M11", "Quotas must have room for so many more."),
        ("quota-54", "whether a quota of 54 is enough"),
        accepted,
        "refused",
        "quota",
    ),
    read(
        ("M11", "With room for them it starts."),
        ("quota-55", "end of the run"),
        outcome,
        "complete",
        "",
    ),
    read(
        ("M12", "`cf app` has DEPLOYING with max-in-flight."),
        ("two-in-flight", "line of `cf app` (`statuses: documented`)"),
        line_of_cf_app,
        "Rolling Deployment currently DEPLOYING (max-in-flight: 2)",
        "`cf app` has one line",
    ),
    read(
        ("M13", "Old instances stay until new ones are healthy."),
        (
            "unhealthy",
            "end of the run with an instance that is never ready",
        ),
        held_by_unhealthy,
        "held",
        "",
    ),
];
