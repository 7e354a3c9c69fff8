//! The times at which the requests of a pass are answered.
//!
//! Each request draws its latency from one random stream of the run, and waits for a token where the controller's
//! client has a limit. Why one draw for each request, and not one for the sum? A draw takes 20 ns and the request that
//! it stands for takes milliseconds, so an hour in which the controller never rests costs some 10 ms.

use crate::engine::{Reservations, Stream, Streams};
use crate::products::{ControlLoop, Requests};
use crate::units::SimTime;
use crate::world::DurationModel;

/// The latencies of a controller's requests during one run.
pub(super) struct RequestClock {
    latency: DurationModel,
    draws: Stream,
    /// The limit of a client for one kind of object.
    limit: Option<Reservations>,
    /// Those in use, by the number of the kind.
    limits: Vec<Reservations>,
}

impl RequestClock {
    pub(super) fn new(timing: &ControlLoop, streams: Streams) -> Self {
        let draws = streams.stream("controller", "API requests");
        Self { latency: timing.request.clone(), draws, limit: timing.client_limit(), limits: Vec::new() }
    }

    /// The time of each answer, in the order of the requests; the first is sent at `now`.
    pub(super) fn answers(&mut self, now: SimTime, requests: &Requests) -> Vec<SimTime> {
        let mut answers = Vec::with_capacity(requests.len());
        let mut sent = now;
        for group in requests.groups() {
            let begin = sent + group.pause;
            let first = answers.len();
            for nth in 0..group.count {
                // A place is free when the earliest of those that wait has its answer.
                let free = if nth < group.width { begin } else { freed(&answers[first..], group.width) };
                let answer = self.admitted(group.kind, free) + self.latency.sample(&mut self.draws);
                answers.push(answer);
            }
            sent = answers[first..].iter().copied().fold(begin, SimTime::max);
        }
        answers
    }

    /// When the client sends a request about this kind of object.
    fn admitted(&mut self, kind: usize, sent: SimTime) -> SimTime {
        let Some(limit) = &self.limit else { return sent };
        while self.limits.len() <= kind {
            self.limits.push(limit.clone());
        }
        self.limits[kind].reserve(sent)
    }
}

/// When one of `width` places is free, after requests with these answers in the order of their sending.
fn freed(answers: &[SimTime], width: usize) -> SimTime {
    if width == 1 {
        return *answers.last().expect("a place is taken");
    }
    let mut latest = answers.to_vec();
    latest.sort_unstable();
    latest[latest.len() - width]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::SimDuration;

    fn millis(millis: u64) -> SimTime {
        SimTime::from_nanos(millis * 1_000_000)
    }

    fn timing(qps: u32, burst: u32) -> ControlLoop {
        let request = SimDuration::from_millis(5).into();
        ControlLoop { request, ..ControlLoop::limited(qps, burst) }
    }

    #[test]
    fn requests_follow_each_other_and_those_sent_together_share_their_time() {
        let mut requests = Requests::default();
        requests.in_turn(2);
        requests.together(3);
        requests.in_turn(1);
        let mut clock = RequestClock::new(&timing(0, 0), Streams::new(1, 0));
        assert_eq!(clock.answers(millis(100), &requests), [105, 110, 115, 115, 115, 120].map(millis));
    }

    #[test]
    fn a_client_limit_spreads_requests_beyond_its_burst() {
        let mut requests = Requests::default();
        requests.together(4);
        requests.in_turn(1);
        let mut clock = RequestClock::new(&timing(50, 2), Streams::new(1, 0));
        // Tokens after the burst of 2 come every 20 ms: at 20 and 40 ms, and the last at 60 ms.
        assert_eq!(clock.answers(SimTime::ZERO, &requests), [5, 5, 25, 45, 65].map(millis));
    }

    #[test]
    fn each_kind_of_object_has_a_limit_and_few_requests_wait_at_a_time() {
        let mut requests = Requests::default();
        requests.at_once(3, 2);
        requests.at_once(1, 2);
        requests.about(1);
        requests.in_turn(1);
        let answers = RequestClock::new(&timing(0, 0), Streams::new(1, 0)).answers(SimTime::ZERO, &requests);
        assert_eq!(answers, [5, 5, 10, 10, 15].map(millis));
        let answers = RequestClock::new(&timing(50, 4), Streams::new(1, 0)).answers(SimTime::ZERO, &requests);
        assert_eq!(answers, [5, 5, 10, 10, 15].map(millis), "four tokens for one kind, and four for the other");
    }

    #[test]
    fn latencies_have_the_mean_of_their_distribution() {
        const REQUESTS: usize = 100_000;
        let mut requests = Requests::default();
        requests.in_turn(REQUESTS);
        let timing = ControlLoop::kubernetes();
        let answers = RequestClock::new(&timing, Streams::new(1, 0)).answers(SimTime::ZERO, &requests);
        let mean = answers.last().expect("there are requests").as_secs_f64() / REQUESTS as f64;
        // 7 ms · exp(0.4² / 2) = 7.583 ms; its standard deviation is 3.2 ms / sqrt(100 000) = 0.01 ms.
        assert!((mean - 0.007_583).abs() < 0.000_05, "{mean}");
    }
}
