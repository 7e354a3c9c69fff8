//! `fleetsim run --series`: the time series of every run, in builds that can write Parquet.
//!
//! The option exists in every build, so that its error can name the fix.

use fleetsim::results::{Publication, VariantRecord};

use super::Failure;

/// Checks before the long work that this build can write it.
pub(super) fn check(wanted: bool) -> Result<(), Failure> {
    if wanted && !cfg!(feature = "parquet") {
        let fix = "rebuild with `cargo build --release --features parquet`";
        return Err(Failure::Usage(format!("--series needs a fleetsim with Parquet support; {fix}")));
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
    unreachable!("check rejects it before the long work")
}
