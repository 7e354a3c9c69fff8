//! The load for nexosim: there is one model per pending event, and the model schedules its next event itself.

use std::time::Duration;

use nexosim::model::{Context, Model, schedulable};
use nexosim::simulation::{Mailbox, SimInit};
use nexosim::time::MonotonicTime;
use serde::{Deserialize, Serialize};

use crate::{Increments, cpu_seconds};

#[derive(Serialize, Deserialize)]
struct Firing {
    /// The waits between the model's events, in nanoseconds.
    waits: Vec<u64>,
    used: usize,
}

#[Model]
impl Firing {
    #[nexosim(init)]
    async fn init(&mut self, context: &Context<Self>) {
        self.again(context);
    }

    #[nexosim(schedulable)]
    async fn fire(&mut self, (): (), context: &Context<Self>) {
        self.again(context);
    }

    fn again(&mut self, context: &Context<Self>) {
        self.used += 1;
        let wait = Duration::from_nanos(self.waits[self.used % self.waits.len()]);
        context
            .schedule_event(wait, schedulable!(Self::fire), ())
            .expect("a wait is positive");
    }
}

/// CPU time of `events` events, in seconds. Each model uses sixteen of the increments, starting at its own offset.
pub(crate) fn run(pending: u32, events: u32) -> f64 {
    let mut increments = Increments::new();
    let mut bench = SimInit::with_num_threads(1);
    for at in 0..pending {
        let waits = (0..16).map(|_| increments.next()).collect();
        bench = bench.add_model(
            Firing { waits, used: 0 },
            Mailbox::new(),
            &format!("model {at}"),
        );
    }
    let mut simulation = bench
        .init(MonotonicTime::EPOCH)
        .expect("the bench is valid");
    let start = cpu_seconds();
    for _ in 0..events {
        simulation.step().expect("each model has an event");
    }
    cpu_seconds() - start
}
