//! The statements of the proposal for Argo CD's ApplicationSets.

use super::readings::argo_cd::{
    changed_back, created_first, last_group, ready_soon, relabelled, second_step,
    step_after_failure, steps_of_elements, told_by_name, unselected, up_to_date, waves,
};
use super::readings::{accepted, at_once};
use super::{DocumentStatement, read};

const IN_STEPS: &str = "dev 5, qa 3, region 1";

pub(super) const STATEMENTS: &[DocumentStatement] = &[
    read(
        ("A1", "All at once is the default."),
        ("no-strategy", "applications that update at once"),
        at_once,
        "14",
        "",
    ),
    read(
        (
            "A2",
            "The first strategy is called AllAtOnce, perhaps Replace.",
        ),
        ("replace", "whether `Replace` is accepted"),
        accepted,
        "refused",
        "`Replace`",
    ),
    read(
        ("A3", "Without steps: one by one, in a fixed order."),
        ("no-steps", "applications at once, and their order"),
        told_by_name,
        "1, by name",
        "write a step",
    ),
    read(
        (
            "A4",
            "Steps select by matchExpressions, and each is finished before the next.",
        ),
        (
            "example-set",
            "most applications at once of each step, in order",
        ),
        waves,
        IN_STEPS,
        "",
    ),
    read(
        (
            "A5",
            "The example: dev together, qa together, the regions one by one.",
        ),
        (
            "example-set",
            "most applications at once of each step, in order",
        ),
        waves,
        IN_STEPS,
        "",
    ),
    read(
        ("A6", "The example is an ApplicationSet as it is."),
        ("example-set-in-argoCd", "whether the file is accepted"),
        accepted,
        "accepted",
        "argoCdProposal",
    ),
    read(
        (
            "A7",
            "Elements of a list generator make the applications and their values.",
        ),
        ("elements", "step of each element"),
        steps_of_elements,
        "engineering-dev: step 1, engineering-prod: step 3, finance-preprod: step 2",
        "",
    ),
    read(
        ("A8", "maxUpdate 0 or undefined: all of the step together."),
        ("zero", "applications that update at once"),
        at_once,
        "5",
        "Argo CD's `0` and `0%` both mean none",
    ),
    read(
        ("A9", "maxUpdate 1: one by one."),
        (
            "example-set",
            "most applications at once of each step, in order",
        ),
        waves,
        IN_STEPS,
        "",
    ),
    read(
        ("A10", "maxUpdate is a number or a percentage."),
        (
            "quarter-of-applications",
            "applications of 14 that update at once",
        ),
        at_once,
        "3",
        "",
    ),
    read(
        ("A11", "Operators In and NotIn."),
        (
            "not-in",
            "last step, and the most of its applications at once",
        ),
        last_group,
        "dev 1",
        "",
    ),
    read(
        ("A12", "maxUpdate limits the current step alone."),
        (
            "example-set",
            "most applications at once of each step, in order",
        ),
        waves,
        IN_STEPS,
        "",
    ),
    read(
        (
            "A13",
            "An application is complete when it is synced, and Healthy after Progressing.",
        ),
        ("example-set", "start of the second step"),
        second_step,
        "after the first",
        "",
    ),
    read(
        ("A14", "Applications are created in the same order."),
        ("first-sets", "applications that the first pass creates"),
        created_first,
        "5",
        "all are written simultaneously; only syncs are ordered",
    ),
    read(
        (
            "A15",
            "A failed sync stalls the rollout: no later step begins.",
        ),
        ("failing", "second step, while an application fails"),
        step_after_failure,
        "waits",
        "",
    ),
    read(
        (
            "A16",
            "As far as maxUpdate allows, the current step goes on.",
        ),
        (
            "failing",
            "complete applications of the step after five minutes",
        ),
        ready_soon,
        "4 of 5",
        "",
    ),
    read(
        (
            "A17",
            "`ApplicationSetUpToDate` is False while the rollout is stalled.",
        ),
        (
            "failing",
            "status after half an hour (`statuses: documented`)",
        ),
        up_to_date,
        "condition False",
        "`ApplicationSetUpToDate` is False while a rollout is stalled",
    ),
    read(
        (
            "A18",
            "A set that is changed in mid-rollout begins a new rollout; the old one is abandoned.",
        ),
        (
            "changed",
            "applications that get the abandoned version after the change, and the end",
        ),
        changed_back,
        "0 after the change, complete",
        "a set that is changed back in mid-rollout",
    ),
    read(
        ("A19", "Other destinations go by the same steps."),
        (
            "other-destinations",
            "step of the applications that got its labels",
        ),
        relabelled,
        "qa with dev",
        "other destinations",
    ),
    read(
        ("A20", "Applications in no step are not changed."),
        (
            "unselected",
            "changed applications, and whether `check` warns of the others",
        ),
        unselected,
        "5 of 14, warned",
        "unselected applications are excluded",
    ),
    read(
        ("A21", "Applications of later steps are held back."),
        ("example-set", "start of the second step"),
        second_step,
        "after the first",
        "",
    ),
];
