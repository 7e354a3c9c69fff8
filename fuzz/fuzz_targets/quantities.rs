//! One-line texts: quantities with units, durations of Kubernetes, limits, objectives, and the values of a field.

#![no_main]

use fleetsim::results::{Limit, Objective};
use fleetsim::rollout::kubefleet::parse_duration;
use fleetsim::units::{
    Bytes, BytesPerSec, PerSecond, Share, SimDuration, WithUnit, text::parse_factor,
};
use libfuzzer_sys::fuzz_target;

/// Reads a quantity, prints it, and reads it again.
fn quantity<T: WithUnit + std::fmt::Display + std::fmt::Debug>(text: &str) {
    if let Ok(value) = T::parse(text) {
        let printed = value.to_string();
        assert!(T::parse(&printed).is_ok(), "{printed}");
    }
}

fuzz_target!(|text: &str| {
    quantity::<SimDuration>(text);
    quantity::<Bytes>(text);
    quantity::<BytesPerSec>(text);
    quantity::<PerSecond>(text);
    quantity::<Share>(text);
    let _ = parse_factor(text);
    if let Some(duration) = parse_duration(text) {
        let _ = fleetsim::rollout::kubefleet::format_duration(duration);
    }
    if let Ok(limit) = Limit::parse(text) {
        assert!(Limit::parse(&limit.to_string()).is_ok(), "{limit}");
        assert_eq!(limit.measure().column().parse(), Ok(limit.measure()));
    }
    let _ = Objective::parse(text);
});
