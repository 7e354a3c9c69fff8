//! The examples of the library run.

#[path = "../../examples/one_rollout.rs"]
mod one_rollout;
#[path = "../../examples/shared_links.rs"]
mod shared_links;

#[test]
fn one_rollout_runs_every_variant() {
    one_rollout::main().expect("the experiment is valid");
}

#[test]
fn shared_links_complete_at_the_times_derived_by_hand() {
    shared_links::main();
}
