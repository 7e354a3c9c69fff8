//! Common imports of all charts: the page with its axes and texts, colours and sizes, number formats, and the data.

pub(super) use itertools::Itertools;

pub(super) use crate::report::axis::*;
pub(super) use crate::report::canvas::*;
pub(super) use crate::report::data::*;
pub(super) use crate::report::findings::{self, Head};
pub(super) use crate::report::format::*;
pub(super) use crate::report::frame::*;
pub(super) use crate::report::sheet::Sheet;
pub(super) use crate::report::style::*;
pub(super) use crate::report::text::*;
pub(super) use crate::results::{Measure, READY_TIME, grouped};
