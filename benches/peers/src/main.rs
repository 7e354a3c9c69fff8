//! Other discrete-event simulators under the load *hold* of `benches/churn`, relative to a binary heap in the same
//! run: `cargo run --release --manifest-path benches/peers/Cargo.toml`.
//!
//! n events are pending; each event schedules itself again after the next of 65,536 exponential increments (mean 1 s,
//! SplitMix64 seeded 42). Columns of each line: simulator, pending events, nanoseconds of CPU time per event, the same
//! for the heap, and the ratio. The smallest of several rounds counts; building is not timed.
//!
//! - `heap`: `std::collections::BinaryHeap` of (time, number, payload): the minimum cost of an event.
//! - `desru`: an event is a boxed closure with a map; the time includes its log of executed events.
//! - `simcore`: the engine of the DSLab simulators; an event goes to a component by its id.
//! - `nexosim`: a model that schedules events for itself, on one thread. Each instant is a step with a barrier.
//!
//! These simulators do more for an event than a queue, and have features that fleetsim's engine lacks. The comparison
//! only says what an event costs in each. The flow models of SimGrid and DSLab's network model are not on crates.io.

mod nexo;

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::rc::Rc;

use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;
use simcore::{Event, EventHandler, Simulation, SimulationContext, cast};

/// The increments of the load in nanoseconds, used cyclically, starting at index 1.
#[derive(Clone)]
pub(crate) struct Increments {
    all: Rc<Vec<u64>>,
    used: usize,
}

impl Increments {
    fn new() -> Self {
        let mut state = 42_u64;
        let mut unit = || {
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mut z = state;
            z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
        };
        let all = (0..65_536)
            .map(|_| (-libm::log(1.0 - unit()) * 1e9).floor() as u64 + 1)
            .collect();
        Self {
            all: Rc::new(all),
            used: 0,
        }
    }

    fn next(&mut self) -> u64 {
        self.used += 1;
        self.all[self.used % self.all.len()]
    }

    fn seconds(&mut self) -> f64 {
        self.next() as f64 * 1e-9
    }
}

/// CPU time of this process over all threads, in seconds.
pub(crate) fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// CPU time of a bare heap under the load, in seconds.
fn heap(pending: u32, events: u32) -> f64 {
    let mut increments = Increments::new();
    let mut heap: BinaryHeap<Reverse<(u64, u32, u32)>> = (0..pending)
        .map(|item| Reverse((increments.next(), item, item)))
        .collect();
    let start = cpu_seconds();
    for number in 0..events {
        let Reverse((at, _, item)) = heap.pop().expect("each is replaced");
        heap.push(Reverse((
            at + increments.next(),
            pending.wrapping_add(number),
            item,
        )));
    }
    cpu_seconds() - start
}

fn desru(pending: u32, events: u32) -> f64 {
    use desru::{Event, EventScheduler};

    fn again(
        scheduler: &mut EventScheduler,
        increments: Rc<RefCell<Increments>>,
        fired: Rc<RefCell<u32>>,
    ) {
        let at = scheduler.current_time + increments.borrow_mut().seconds();
        let action = move |scheduler: &mut EventScheduler| {
            *fired.borrow_mut() += 1;
            again(scheduler, Rc::clone(&increments), Rc::clone(&fired));
            None
        };
        scheduler.schedule(Event::new(at, Some(Box::new(action)), None));
    }
    let mut scheduler = EventScheduler::new();
    let (increments, fired) = (
        Rc::new(RefCell::new(Increments::new())),
        Rc::new(RefCell::new(0)),
    );
    for _ in 0..pending {
        again(&mut scheduler, Rc::clone(&increments), Rc::clone(&fired));
    }
    let start = cpu_seconds();
    // Each pending event fires about once per second of simulated time, so `events` events take this number of
    // seconds.
    scheduler.run_until_max_time(f64::from(events) / f64::from(pending));
    (cpu_seconds() - start) * f64::from(events) / f64::from(*fired.borrow())
}

#[derive(Clone, Serialize)]
struct Fires {}

struct Component {
    context: SimulationContext,
    increments: Increments,
}

impl EventHandler for Component {
    fn on(&mut self, event: Event) {
        cast!(match event.data {
            Fires {} => {
                let after = self.increments.seconds();
                self.context.emit_self(Fires {}, after);
            }
        });
    }
}

fn simcore(pending: u32, events: u32) -> f64 {
    let mut simulation = Simulation::new(1);
    let mut increments = Increments::new();
    let context = simulation.create_context("component");
    for _ in 0..pending {
        context.emit_self(Fires {}, increments.seconds());
    }
    simulation.add_handler(
        "component",
        Rc::new(RefCell::new(Component {
            context,
            increments,
        })),
    );
    let start = cpu_seconds();
    simulation.steps(u64::from(events));
    cpu_seconds() - start
}

fn main() {
    println!("simulator,pending,ns,heap_ns,ratio");
    type Peer = (&'static str, fn(u32, u32) -> f64, u32);
    // The largest number of pending events for each simulator.
    let peers: [Peer; 3] = [
        ("desru", desru, 100_000),
        ("simcore", simcore, 1_000_000),
        ("nexosim", nexo::run, 10_000),
    ];
    for pending in [1_000, 10_000, 100_000, 1_000_000] {
        for (name, run, _) in peers.iter().filter(|(_, _, most)| pending <= *most) {
            let events = 200_000;
            let (mut ours, mut least) = (f64::INFINITY, f64::INFINITY);
            for _ in 0..3 {
                least = least.min(heap(pending, events) / f64::from(events) * 1e9);
                ours = ours.min(run(pending, events) / f64::from(events) * 1e9);
            }
            println!("{name},{pending},{ours:.0},{least:.0},{:.1}", ours / least);
        }
    }
}
