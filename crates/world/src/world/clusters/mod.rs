//! Clusters and their deployments: agents, workloads and pods.
//!
//! | file | models |
//! |---|---|
//! | `cluster` | the state of one cluster, and how it and its nodes are created |
//! | `deployment` | the state of one application on one cluster |
//! | `cluster_draws` | random properties that are drawn for a cluster before the run |
//! | `cuts` | outages in progress that cut a cluster off |
//! | `agent`, `agent_steps`, `agent_spec` | instructions, applies and reports, with their delays |
//! | `agent_queue` | the workers of an agent, which its deployments share |
//! | `agent_client`, `agent_requests` | the limit of an agent's requests, which its deployments share |
//! | `apply_rules`, `failed_applies` | what an agent does when an apply fails |
//! | `releases` | which revision is wanted, and how long deployments have a defective one |
//! | `removal` | the end of a deployment's workloads, once nothing wants them |
//! | `pod`, `pods` | pods, readiness probes, image back-off; all pods with their events |
//! | `scheduling` | the room of nodes, and pods that fit on none |
//! | `autoscaling`, `autoscaling_spec` | nodes that join while pods wait |
//! | `pod_queues` | how fast pods are created, scheduled and started |
//! | `workload`, `controllers`, `rolling` | rolling updates of Deployments and DaemonSets |
//! | `restarts` | when a container that crashed starts again |
//! | `progress_deadline` | the progress deadline of a Deployment |
//! | `spec` | the settings |
//! | `site` | the links of kinds of sites |

pub(super) mod agent;
pub(super) mod agent_client;
mod agent_queue;
mod agent_requests;
pub(super) mod agent_spec;
mod agent_steps;
pub(super) mod apply_rules;
pub(super) mod autoscaling;
pub(super) mod autoscaling_spec;
pub(super) mod cluster;
pub(super) mod cluster_draws;
mod controllers;
pub(super) mod cuts;
pub(super) mod deployment;
mod failed_applies;
pub(super) mod pod;
pub(super) mod pod_queues;
pub(super) mod pods;
pub(super) mod progress_deadline;
mod releases;
pub(super) mod removal;
pub(super) mod restarts;
pub(super) mod rolling;
pub(super) mod scheduling;
pub(super) mod site;
pub(super) mod spec;
#[cfg(test)]
mod tests;
pub(super) mod workload;
