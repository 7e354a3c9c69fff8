//! Discrete events in virtual time: an event queue, the main loop, and random streams per entity.
//!
//! This module is generic over the event type and independent of the simulated system. A [`Model`] handles one event
//! at a time and schedules more. [`run`] pops events in order and advances the clock. An [`Observer`] sees each event
//! before the model does. Random numbers come from [`Streams`], one stream per entity and purpose; [`dist`] draws from
//! distributions.
//!
//! A run uses one thread and is a function of its inputs: nothing here reads a wall clock, the environment or the
//! iteration order of a hash map.

pub mod dist;
pub mod heap;
mod queue;
mod reservations;
mod run;
mod stop;
mod strata;
mod streams;
mod ziggurat;

pub use queue::{EventId, EventQueue};
pub use reservations::Reservations;
pub use run::{End, Model, Observer, run};
pub use stop::Stop;
pub use strata::stratified_unit;
pub use streams::{EntityKey, Stream, Streams};
