//! The largest applications of a run over time, and the others together, as a run in detail records them.
//!
//! In each bin, an application has its own maximum of concurrent pulls, and its pulls at the moment of the bin at which
//! all applications together had the most. The latter add up to the pulls of the run, so they can be stacked; the
//! former need not be simultaneous.
//!
//! Left out: runs that are not displayed, which record no applications over time, so that studies cost nothing; and
//! each of the smaller applications.

use serde::{Deserialize, Serialize};

/// Maximum number of applications that have a series of their own.
pub const LARGEST_APPLICATIONS: usize = 8;

/// The name of all other applications together. No application can have a name with parentheses.
pub const OTHER_APPLICATIONS: &str = "(others)";

/// One application of a run over time, or the others together.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct ApplicationSeries {
    /// The application's name, or [`OTHER_APPLICATIONS`].
    pub application: String,
    /// One for each bin of the run's series.
    pub bins: Vec<ApplicationBin>,
}

/// One time bin of an application.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct ApplicationBin {
    /// Highest number of concurrent pulls of its images in the bin.
    pub pulls: u64,
    /// Pulls of its images at the moment of the bin at which all applications together had the most.
    pub pulls_at_peak: u64,
    /// Targets ready on the wanted revision at the end of the bin.
    pub ready_new: u64,
}
