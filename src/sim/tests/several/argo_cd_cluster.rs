//! A cluster with the Applications of several sets of Argo CD, as `controllers/argocd/applications.go` models it.
//!
//! There is no agent that the Applications could share. The processors of the application controller are part of the
//! replayed controllers. An outage is one of the cluster, and so of all of its Applications.

use super::super::argo_cd_agent::ArgoCdAgent;
use super::super::field::{Agent as _, Sight};
use super::super::recording::News;
use super::field::ClusterAgents;

/// The Applications of all sets in one cluster.
#[derive(Debug)]
pub(super) struct ArgoCdCluster {
    pub(super) applications: Vec<ArgoCdAgent>,
}

impl ClusterAgents for ArgoCdCluster {
    type Step = ();

    fn is_online(&self) -> bool {
        self.applications.iter().all(ArgoCdAgent::is_online)
    }

    fn written(&mut self, revision: u32, is_held: bool, sight: &mut Sight<'_, ()>) {
        self.applications[sight.target].written(revision, is_held, sight);
    }

    fn step(&mut self, (): (), _sight: &mut Sight<'_, ()>) {}

    fn news(&mut self, news: &News, sight: &mut Sight<'_, ()>) {
        if news.offline.is_none() {
            return self.applications[sight.target].news(news, sight);
        }
        for (application, agent) in self.applications.iter_mut().enumerate() {
            sight.target = application;
            agent.news(news, sight);
        }
    }
}
