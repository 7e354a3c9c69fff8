//! What the two options mend, each beside what ships.

use super::*;

fn play(options: Options, story: &str) {
    Story::new(rolling("{maxUpdate: 1}"), options, &[("dev", 2)], Begin::Settled).plays(story);
}

#[test]
fn a_sync_is_requested_twice_as_shipped_and_once_when_mended() {
    // The operation has ended before the pass that notices it: the second request is a second sync.
    play(
        Options::default(),
        "
10 commit 2 => x
10 pass => x
11 start 0 => x
12 synced 0 => x
",
    );
    play(
        Options { trigger_once: true, ..Options::default() },
        "
10 commit 2 => x
10 pass => x
11 start 0 => x
12 synced 0 => x
",
    );
}

#[test]
fn a_changed_spec_is_lost_as_shipped_and_rolled_out_when_mended() {
    play(
        Options::default(),
        "
10 template 2 => x
11 drift => x
",
    );
    play(
        Options { keep_spec_changes: true, ..Options::default() },
        "
10 template 2 => x
10 pass => x
11 drift => x
12 start 0 => x
13 synced 0 => x
14 healthy 0 => x
14 pass => x
",
    );
}

#[test]
fn without_the_flag_a_strategy_has_no_effect() {
    play(
        Options { enable_progressive_syncs: false, ..Options::default() },
        "
10 template 2 => x
11 drift => x
",
    );
}
