//! Compares with both libraries' own answers, with a naive search, and with times computed by hand.
//!
//! `recorded.txt` was printed by a program that calls robfig/cron v3.0.1 and reugn/go-quartz v0.15.2, built with Go.
//! Each line has the library, the expression, the zone, a time, and the next six times in seconds after that time. The
//! zones change their clocks in these weeks.

use proptest::prelude::*;

use super::{CalendarStart, FiveFieldCron, OpenSpans, QuartzCron, TimeSpan, UnixSeconds, Zone};
use crate::units::{SimDuration, SimTime};

const RECORDED: &str = include_str!("recorded.txt");

fn zone(name: &str) -> Zone {
    Zone::load(name).expect("a zone of the database")
}

fn instant(text: &str) -> UnixSeconds {
    let at: jiff::Timestamp = text.parse().expect("a time");
    at.as_second()
}

/// Returns the next times according to the library with this name.
fn next_times(library: &str, text: &str, name: &str, start: UnixSeconds) -> Vec<String> {
    let zone = zone(name);
    let mut at = start;
    let mut times = Vec::new();
    for _ in 0..6 {
        let next = match library {
            "robfig" => FiveFieldCron::parse(text).expect("valid").next(at, &zone),
            _ => QuartzCron::parse(text).expect("valid").next(at, &zone),
        };
        let Some(next) = next else {
            times.push("never".to_owned());
            break;
        };
        at = next;
        times.push((at - start).to_string());
    }
    times
}

#[test]
fn next_times_equal_those_of_the_libraries() {
    let mut compared = 0;
    for line in RECORDED.lines() {
        let parts: Vec<&str> = line.split('|').collect();
        let &[library @ ("robfig" | "quartz"), text, name, start, expected] = parts.as_slice()
        else {
            continue;
        };
        let found = next_times(library, text, name, instant(start));
        assert_eq!(found.join(" "), expected, "{line}");
        compared += 1;
    }
    assert!(compared > 100, "{compared}");
}

#[test]
fn invalid_expressions_are_refused_with_the_messages_of_the_libraries() {
    let mut compared = 0;
    for line in RECORDED.lines() {
        let parts: Vec<&str> = line.splitn(3, '|').collect();
        let &[library, text, expected] = parts.as_slice() else {
            continue;
        };
        let found = match library {
            "robfig-error" => FiveFieldCron::parse(text).map(|_| ()),
            "quartz-error" => QuartzCron::parse(text)
                .map(|_| ())
                .map_err(|message| format!("parse cron expression: {message}")),
            _ => continue,
        };
        let found = found.err().unwrap_or_else(|| "<nil>".to_owned());
        assert_eq!(found, expected, "{line}");
        compared += 1;
    }
    assert_eq!(compared, 28);
}

/// 02:30 in the night in which Berlin sets its clocks from 02:00 to 03:00, and in the night in which 02:30 occurs
/// twice.
#[test]
fn a_time_that_the_clocks_skip_or_repeat_is_found_as_each_library_finds_it() {
    let berlin = zone("Europe/Berlin");
    let spring = instant("2026-03-28T12:00:00Z");
    let autumn = instant("2026-10-24T12:00:00Z");
    let robfig = FiveFieldCron::parse("30 2 * * *").expect("valid");
    let quartz = QuartzCron::parse("0 30 2 * * ?").expect("valid");
    let words = |at: Option<UnixSeconds>| berlin.in_words(at.expect("a time"));
    // 02:30 does not exist: robfig/cron waits for the next day, and go-quartz fires at 03:30.
    assert_eq!(
        words(robfig.next(spring, &berlin)),
        "Mon 2026-03-30 02:30 Europe/Berlin"
    );
    assert_eq!(
        words(quartz.next(spring, &berlin)),
        "Sun 2026-03-29 03:30 Europe/Berlin"
    );
    // 02:30 in summer time is 00:30 UTC, and in winter time 01:30 UTC. Only robfig/cron fires at both.
    let first = robfig.next(autumn, &berlin).expect("a time");
    assert_eq!(first, instant("2026-10-25T00:30:00Z"));
    assert_eq!(
        robfig.next(first, &berlin),
        Some(instant("2026-10-25T01:30:00Z"))
    );
    let only = quartz.next(autumn, &berlin).expect("a time");
    assert_eq!(only, instant("2026-10-25T01:30:00Z"));
    assert_eq!(
        quartz.next(only, &berlin),
        Some(instant("2026-10-26T01:30:00Z"))
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// In UTC, the next time of five plain fields is the first minute that a naive search finds.
    #[test]
    fn a_naive_search_finds_the_same_minute(
        minute in 0_i64..60,
        hours in prop::sample::select(vec!["*", "3", "*/5", "8-17", "0,12,23"]),
        weekdays in prop::sample::select(vec!["*", "1-5", "sun", "2,4"]),
        start in 1_700_000_000_i64..1_800_000_000,
    ) {
        let cron = FiveFieldCron::parse(&format!("{minute} {hours} * * {weekdays}")).expect("valid");
        let quartz_days = match weekdays {
            "1-5" => "MON-FRI",
            "sun" => "SUN",
            "2,4" => "TUE,THU",
            any => any,
        };
        // `0-23` instead of `*` avoids days that end in an hour after 23.
        let quartz_hours = if hours == "*" { "0-23" } else { hours };
        let quartz =
            QuartzCron::parse(&format!("0 {minute} {quartz_hours} ? * {quartz_days}")).expect("valid");
        let mut naive = start - start.rem_euclid(60) + 60;
        while !fits(naive, minute, hours, weekdays) {
            naive += 60;
        }
        prop_assert_eq!(cron.next(start, &Zone::utc()), Some(naive));
        prop_assert_eq!(quartz.next(start, &Zone::utc()), Some(naive));
    }
}

/// Returns whether a minute fits the fields of the naive search.
fn fits(at: UnixSeconds, minute: i64, hours: &str, weekdays: &str) -> bool {
    let hour = at.rem_euclid(86_400) / 3_600;
    // 1970-01-01 was a Thursday, the day 4.
    let weekday = (at.div_euclid(86_400) + 4).rem_euclid(7);
    let is_hour = match hours {
        "3" => hour == 3,
        "*/5" => hour % 5 == 0,
        "8-17" => (8..=17).contains(&hour),
        "0,12,23" => [0, 12, 23].contains(&hour),
        _ => true,
    };
    let is_weekday = match weekdays {
        "1-5" => (1..=5).contains(&weekday),
        "sun" => weekday == 0,
        "2,4" => [2, 4].contains(&weekday),
        _ => true,
    };
    at.rem_euclid(3_600) / 60 == minute && is_hour && is_weekday
}

#[test]
fn zones_come_from_the_database_and_their_names_are_case_sensitive() {
    assert!(Zone::load("Europe/Berlin").is_some());
    assert!(Zone::load("europe/berlin").is_none());
    assert!(Zone::load("Mars/Olympus").is_none());
    for name in ["", "UTC", "Local"] {
        assert_eq!(Zone::load(name), Some(Zone::utc()));
    }
}

#[test]
fn a_start_is_a_date_a_time_and_a_zone() {
    let start = CalendarStart::parse("2026-03-28 22:00 Europe/Berlin").expect("a start");
    assert_eq!(start.at(), instant("2026-03-28T21:00:00Z"));
    assert_eq!(start.day_from_monday(), 5);
    assert_eq!(start.since_midnight(), SimDuration::from_hours(22));
    // The clocks advance by eight hours and skip one of them.
    assert_eq!(start.until_clocks_move(8 * 60), SimDuration::from_hours(7));
    let plain = CalendarStart::parse("2026-03-28 22:00").expect("a start");
    assert_eq!(plain.at(), instant("2026-03-28T22:00:00Z"));
    for (text, message) in [
        ("2026-03-28", "is not a date and time"),
        ("2026-02-30 22:00", "is not a date and time"),
        ("2026-03-28 24:00", "is not a date and time"),
        ("2026-03-28 22:00 Berlin", "is not a time zone"),
        (
            "2026-03-29 02:30 Europe/Berlin",
            "the clocks skip this time",
        ),
        ("2026-03-28 22:00 UTC now", "after the time zone"),
    ] {
        let error = CalendarStart::parse(text).expect_err("refused");
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn the_ends_of_a_span_are_outside_of_it() {
    let at = |minutes: u64| SimTime::ZERO + SimDuration::from_mins(minutes);
    let mut spans = OpenSpans::default();
    for (from, to, has_begun) in [
        (0, 5, true),
        (10, 15, false),
        (12, 20, false),
        (20, 25, false),
        (30, 30, false),
        (60, 120, false),
    ] {
        spans.add(TimeSpan {
            from: at(from),
            to: at(to),
            has_begun,
        });
    }
    assert_eq!(
        spans.spans().len(),
        4,
        "two overlap, and an empty one is none"
    );
    for (minute, is_inside) in [
        (0, true),
        (5, false),
        (10, false),
        (11, true),
        (15, true),
        (20, false),
        (21, true),
        (90, true),
        (120, false),
    ] {
        assert_eq!(spans.is_inside(at(minute)), is_inside, "{minute}");
    }
}
