//! `fleetsim run --series`: the time series of every run, in builds that can write Parquet.
//!
//! The option is there in every build, so that its error can say how to get what it asks for.

use fleetsim::results::{Publication, VariantRecord};

use super::Failure;

/// Before the long work: can this build do it?
pub(super) fn check(wanted: bool) -> Result<(), Failure> {
    if wanted && !cfg!(feature = "parquet") {
        let mend = "build it with `cargo build --release --features parquet`";
        return Err(Failure::Usage(format!("--series writes Parquet, which this fleetsim was built without; {mend}")));
    }
    Ok(())
}

#[cfg(feature = "parquet")]
pub(super) fn write(publication: &Publication, variants: &[VariantRecord]) -> Result<(), Failure> {
    use fleetsim::results::{SERIES_FILE, series_parquet};
    Ok(publication.write(SERIES_FILE, &series_parquet(variants))?)
}

#[cfg(not(feature = "parquet"))]
pub(super) fn write(_publication: &Publication, _variants: &[VariantRecord]) -> Result<(), Failure> {
    unreachable!("check refuses it before the long work")
}
