//! Tests of the whole program and of the library from outside, in one binary: each binary costs a link.
//!
//! `cargo test --test suite NAME` runs the tests of one module, such as `validation::` or `plan::`. `conformance` and
//! `architecture` are binaries of their own: the first prints its own lines, the second needs no simulation.

mod analysis_page;
mod argo_cd_failures;
mod argo_cd_rollouts;
mod calibrate;
mod check;
mod cloud_foundry;
mod committed_results;
mod common;
mod compare;
mod console_pages;
mod displayed_run;
mod documented_examples;
mod endless_runs;
mod event_churn;
mod examples;
mod excerpts;
mod explore;
mod export;
mod external_processes;
mod external_scheduler;
mod failures;
mod figures;
mod forecast;
mod foreign_repositories;
mod forged_runs;
mod imports;
mod init;
mod interrupted_plans;
mod interrupted_studies;
mod inventories;
mod kubefleet_rollouts;
mod kubefleet_runs;
mod model_version;
mod pages;
mod payloads;
mod people;
mod plan;
mod pre_pull;
mod program;
mod random_worlds;
mod report_page;
mod result_tables;
mod risk;
mod scale_out;
mod secrets;
mod sensitivity;
mod shards;
mod signals;
mod strangers;
mod too_much;
mod tuned_plans;
mod upstream_controllers;
mod validation;
