//! Periodic refreshes: the application controller compares an application again although no event arrived.
//!
//! Its cache announces all applications every `timeout.reconciliation`, all at the same time. Each announcement is
//! delayed by its own jitter, and an application that was compared within the last `timeout.reconciliation` is skipped
//! (argoproj/argo-cd `controller/appcontroller.go`: `newApplicationInformerAndLister`, `needRefreshAppStatus`). By
//! default, an application is therefore refreshed every 120 to 300 s, at irregular intervals.
//!
//! Only the first refresh after a commit is scheduled, and only for a release that nothing else announces. Anything
//! else that a refresh could find is found earlier: clusters are watched, and a change of the spec, a finished
//! operation and a retry each request a comparison. The timer therefore costs one event per application and never
//! keeps a stalled rollout running.
//!
//! With a webhook, the API server asks for the refresh of each application whose source has the repository and the
//! branch of the commit (`HandleEvent` in `util/webhook/webhook.go` at v3.5.1). `--webhook-refresh-workers`, 20, write
//! the annotation, each with one request (`RefreshApp` in `util/argo/argo.go`). The client's limit of 50 requests a
//! second, after a burst of 100, binds before the workers do, so the workers are left out. Also left out:
//! `webhook-refresh-jitter`, which is 0 by default and newer than v3.5, and the annotation `manifest-generate-paths`,
//! which skips applications whose files do not change.

use super::settings::ApplicationControllerSettings;
use crate::control_plane::ApiClient;
use crate::engine::{Streams, dist};
use crate::products::Run;
use crate::units::{SimDuration, SimTime};

/// Number of announcements simulated before the release, enough for the steady state of a long-running controller.
const WARM_UP: u64 = 20;

/// The webhook handler of Argo CD's API server.
pub(super) struct WebhookHandler {
    client: ApiClient,
    watch_delay: SimDuration,
}

impl WebhookHandler {
    pub(super) fn new(run: &Run<'_>) -> Self {
        Self {
            client: ApiClient::new(run.control_loop, &run.streams, "webhook handler")
                .of_hub(&run.hub),
            watch_delay: run.control_loop.watch_delay,
        }
    }

    /// Requests the refresh of the next application. Returns the time at which the application controller sees the
    /// request.
    pub(super) fn refresh(&mut self, now: SimTime) -> SimTime {
        self.client.send(0, now).answered + self.watch_delay
    }
}

/// Returns the refresh times of an application in seconds; the release is at 0.
fn refreshes(
    settings: &ApplicationControllerSettings,
    luck: &Streams,
    application: &str,
) -> impl Iterator<Item = f64> {
    let period = settings.app_resync.as_secs_f64();
    let jitter = settings.app_resync_jitter.as_secs_f64();
    let phase = dist::uniform(
        &mut luck.stream("argocd-application-controller", "resync phase"),
        0.0,
        period,
    );
    let mut delays = luck.stream(application, "refresh jitter");
    let announced = (0_u64..).map(move |nth| {
        phase + period * (nth as f64 - WARM_UP as f64) + dist::uniform(&mut delays, 0.0, jitter)
    });
    let mut last = f64::NEG_INFINITY;
    announced.filter(move |at| {
        let is_expired = *at > last + period;
        if is_expired {
            last = *at;
        }
        is_expired
    })
}

/// Returns the time of an application's first refresh at or after a time.
pub(super) fn next_refresh(
    settings: &ApplicationControllerSettings,
    luck: &Streams,
    application: &str,
    from: SimTime,
) -> SimTime {
    let from = from.saturating_since(SimTime::ZERO).as_secs_f64();
    let next = refreshes(settings, luck, application)
        .find(|at| *at >= from)
        .expect("announcements never end");
    SimTime::ZERO + SimDuration::from_secs_f64(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_application_is_refreshed_every_120_to_300_seconds() {
        for seed in 0..50 {
            let luck = Streams::new(seed, 0);
            let times: Vec<f64> =
                refreshes(&ApplicationControllerSettings::default(), &luck, "shop")
                    .take(200)
                    .collect();
            let gaps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
            assert!(
                gaps.iter().all(|gap| (120.0..=300.0).contains(gap)),
                "{gaps:?}"
            );
            assert!(
                gaps.iter().any(|gap| *gap > 180.0),
                "one announcement comes too soon and is passed over"
            );
        }
    }

    #[test]
    fn a_commit_is_noticed_within_five_minutes_by_few_applications_at_a_time() {
        let (settings, luck) = (ApplicationControllerSettings::default(), Streams::new(1, 0));
        let mut refreshes_by_second = [0; 301];
        for nth in 0..1000 {
            let name = format!("shop-{nth}");
            let first = next_refresh(&settings, &luck, &name, SimTime::ZERO).as_secs_f64();
            assert!((0.0..=300.0).contains(&first), "{name}: {first}");
            refreshes_by_second[first as usize] += 1;
        }
        let most = refreshes_by_second.into_iter().max().expect("seconds");
        // With a jitter of 60 s, 1,000 applications are refreshed at 17 per second.
        assert!((10..50).contains(&most), "{most} in one second");
    }

    #[test]
    fn without_a_jitter_all_applications_are_refreshed_together() {
        let settings = ApplicationControllerSettings {
            app_resync: SimDuration::from_secs(180),
            app_resync_jitter: SimDuration::ZERO,
            ..Default::default()
        };
        let luck = Streams::new(1, 0);
        let first = next_refresh(&settings, &luck, "shop-0", SimTime::ZERO);
        assert!(first.as_secs_f64() <= 360.0, "{first:?}");
        assert!((1..100).all(|nth| next_refresh(
            &settings,
            &luck,
            &format!("shop-{nth}"),
            SimTime::ZERO
        ) == first));
    }
}
