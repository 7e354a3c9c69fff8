//! Records of simulated rollouts, and the charts, tables and pages drawn from them.
//!
//! | module | contents |
//! |---|---|
//! | [`results`] | the records of runs, and how they are stored |
//! | [`report`] | charts, tables and pages, from recorded results alone |

// In a browser, a page has no charts and no files, so some parts are unused there.
#![cfg_attr(target_family = "wasm", allow(dead_code, unused_imports))]

pub mod report;
pub mod results;
