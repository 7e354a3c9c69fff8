//! Discrete events in virtual time: a queue, a loop, and the luck of each entity.
//!
//! Generic over the event type: no word here knows what is simulated. A [`Model`] handles one event at a time and
//! schedules more; [`run`] pops them in order and moves the clock; an [`Observer`] sees each of them before the model
//! does. Random draws come from [`Streams`], one stream per entity and purpose, and are shaped by [`dist`].
//!
//! One run is one thread and one function of its inputs: nothing here reads a wall clock, the environment or the
//! order of a hash map.

pub mod dist;
mod queue;
mod run;
mod streams;

pub use queue::{EventId, EventQueue};
pub use run::{End, Model, Observer, run};
pub use streams::{EntityKey, Stream, Streams};
