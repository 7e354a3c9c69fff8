//! The page in a real browser, from a server and as a single file: the page is the same, only the engines differ.

use std::time::{Duration, Instant};

use super::{EXPERIMENT, Served, engine, page_file};
use crate::common::folder_with;
use crate::report_page::browser::{self, Page};

/// Waits until a JavaScript expression is true.
pub(super) fn until(page: &mut Page, condition: &str) {
    let start = Instant::now();
    while !page.is(condition) {
        let progress = page
            .text("document.getElementById('progress').textContent + document.getElementById('troubles').textContent");
        assert!(
            start.elapsed() < Duration::from_secs(120),
            "{condition}: {progress}; {:?}",
            page.complaints()
        );
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The condition that the newest question has an answer.
pub(super) const ANSWERED: &str = "!document.querySelector('.answers').classList.contains('stale') && /^\\d/.test(document.getElementById('progress').textContent)";

/// The texts of the table row with this heading.
fn row(page: &mut Page, heading: &str) -> Vec<String> {
    let cells = page.text(&format!(
        "[...[...document.querySelectorAll('#measures tbody tr')].find((row) => row.cells[0].textContent === '{heading}').cells].map((cell) => cell.textContent).join('|')"
    ));
    cells.split('|').map(str::to_owned).collect()
}

/// Uses the page like a reader, with the keyboard only.
fn explored(page: &mut Page, is_foreign: impl Fn(&str) -> bool) {
    until(page, ANSWERED);
    assert_eq!(page.text("document.title"), "How <many> clusters at once?");
    // The page opens with the two ends of the sweep, and an address without settings.
    assert_eq!(row(page, "peak pulls")[1..3], ["4 pulls", "20 pulls"]);
    assert!(page.is("!location.hash"));
    // The swept setting has a slider with its values: 10% and 50% of 40 clusters, each with one pull at a time.
    let slider = "document.querySelector('#groups input[type=range]')";
    page.evaluate(&format!("{slider}.focus()"));
    page.press("Home", 1);
    until(
        page,
        &format!(
            "{ANSWERED} && decodeURIComponent(location.hash).includes('rancherFleet.maxUnavailable=10%')"
        ),
    );
    assert_eq!(row(page, "peak pulls")[1..3], ["4 pulls", "4 pulls"]);
    page.press("End", 1);
    until(
        page,
        &format!(
            "{ANSWERED} && decodeURIComponent(location.hash).includes('rancherFleet.maxUnavailable=50%')"
        ),
    );
    assert_eq!(
        page.text(&format!("{slider}.getAttribute('aria-valuetext')")),
        "50%"
    );
    assert_eq!(
        row(page, "peak pulls")[1..4],
        ["4 pulls", "20 pulls", "+16 pulls"]
    );
    assert!(
        page.text("document.getElementById('pastes').textContent")
            .contains("maxUnavailable: 50%")
    );
    until(
        page,
        "/^(6|[1-9]\\d+) of/.test(document.getElementById('progress').textContent)",
    );
    assert!(
        row(page, "completion")[4].contains(" to −"),
        "the interval leaves out zero: {:?}",
        row(page, "completion")
    );
    // The test types a value that is not in the sweep. For an invalid value, the server returns the error.
    let input = "document.querySelector('#groups .value input')";
    page.evaluate(&format!(
        "{input}.focus(); {input}.value = '25%'; {input}.dispatchEvent(new Event('change'))"
    ));
    until(
        page,
        &format!("{ANSWERED} && location.hash.includes('25%25')"),
    );
    assert_eq!(row(page, "peak pulls")[2], "10 pulls");
    page.evaluate(&format!(
        "{input}.value = 'many'; {input}.dispatchEvent(new Event('change'))"
    ));
    until(
        page,
        &format!("{input}.getAttribute('aria-invalid') === 'true'"),
    );
    let described =
        format!("document.getElementById({input}.getAttribute('aria-describedby')).textContent");
    assert!(
        page.text(&described).contains("many"),
        "the control has its error"
    );
    page.evaluate("document.getElementById('reset').click()");
    until(page, &format!("{ANSWERED} && !location.hash"));
    assert_eq!(row(page, "peak pulls")[2], "20 pulls");
    // A variant against itself shows no difference, and the page says what to do.
    page.evaluate(
        "const after = document.getElementById('after'); after.selectedIndex = 0; after.dispatchEvent(new Event('change'))",
    );
    until(
        page,
        &format!("{ANSWERED} && location.hash.includes('after')"),
    );
    assert_eq!(row(page, "peak pulls")[1..3], ["4 pulls", "4 pulls"]);
    assert!(
        page.text("document.getElementById('progress').textContent")
            .contains("change a setting to see its effect")
    );
    // Every control has an accessible name, and so does every heading and table.
    let nameless = "[...document.querySelectorAll('input, select, button')].filter((one) => !(one.labels?.length || one.getAttribute('aria-label') || one.textContent.trim())).length";
    assert_eq!(page.whole(nameless), 0, "controls without a name");
    for attribute in [
        "[role=alert]#troubles",
        "[role=status]#progress",
        "main",
        "h1",
        "nav[aria-label]",
        "th[scope=col]",
    ] {
        assert!(
            page.is(&format!("document.querySelector('{attribute}')")),
            "{attribute}"
        );
    }
    page.resize(390, 844);
    page.settle();
    let (wide, room) = (
        page.number("document.scrollingElement.scrollWidth"),
        page.number("innerWidth"),
    );
    assert!(
        wide <= room && room <= 390.0,
        "{wide} px of page in {room} px"
    );
    let top = |id: &str| format!("document.getElementById('{id}').getBoundingClientRect().top");
    assert!(
        page.is(&format!("{} < {}", top("difference"), top("settings"))),
        "the effect is above the settings"
    );
    assert!(
        page.is(&format!("{} < {}", top("settings"), top("time-title"))),
        "and the curves are below"
    );
    assert_eq!(page.complaints(), [""; 0]);
    let foreign: Vec<String> = page
        .requests()
        .into_iter()
        .filter(|url| is_foreign(url))
        .collect();
    assert_eq!(foreign, [""; 0], "nothing is loaded from elsewhere");
}

#[test]
fn a_reader_explores_the_page_of_a_server() {
    let Some(browser) = browser::find() else {
        return;
    };
    let served = Served::begin(EXPERIMENT);
    let mut page = Page::open_at(&browser, &served.address(), 1280, 900);
    let own = format!("http://{}/", served.host);
    explored(&mut page, |url| {
        ![own.as_str(), "data:", "blob:", "about:"]
            .iter()
            .any(|start| url.starts_with(start))
    });
    // A copied link opens the page with the settings at the time of copying.
    let link = format!("{}#set=registry.egress%3D100+Mbit%2Fs", served.address());
    let mut page = Page::open_at(&browser, &link, 1280, 900);
    until(&mut page, ANSWERED);
    assert_eq!(
        row(&mut page, "peak egress")[1..3],
        ["200 Mbit/s", "100 Mbit/s"]
    );
}

#[test]
fn the_unit_of_egress_follows_the_answer_and_long_names_fit_a_phone() {
    let Some(browser) = browser::find() else {
        return;
    };
    let name = "a-strategy-with-a-name-of-exactly-sixty-characters-for-tests";
    let served = Served::begin(&EXPERIMENT.replace("careful", name));
    // The page was made for 200 Mbit/s; 40 clusters with 50 Mbit/s each take 2 Gbit/s.
    let set = format!(
        "set=registry.egress%3Dunlimited&set=strategies.{name}.rancherFleet.maxUnavailable%3D100%25"
    );
    let mut page = Page::open_at(&browser, &format!("{}#{set}", served.address()), 390, 844);
    until(&mut page, ANSWERED);
    let unit =
        page.text("document.querySelector('#curve-egress').previousElementSibling.textContent");
    assert_eq!(
        unit,
        "Registry egress Gbit/s, 1 s mean, maximum per time bin"
    );
    let (wide, room) = (
        page.number("document.scrollingElement.scrollWidth"),
        page.number("innerWidth"),
    );
    assert!(
        wide <= room && room <= 390.0,
        "{wide} px of page in {room} px"
    );
}

#[test]
fn a_reader_explores_a_page_in_a_single_file() {
    let (Some(engine), Some(browser)) = (engine(), browser::find()) else {
        return;
    };
    let folder = folder_with(&[("experiment.yaml", EXPERIMENT)]);
    let mut page = Page::open(&browser, &page_file(folder.path(), &engine), 1280, 900);
    explored(&mut page, |url| {
        !["file:", "data:", "blob:", "about:"]
            .iter()
            .any(|start| url.starts_with(start))
    });
}

#[test]
fn without_the_simulator_a_page_says_how_to_get_it() {
    let folder = folder_with(&[("experiment.yaml", EXPERIMENT)]);
    let asked = crate::common::fleetsim(folder.path())
        .args(["explore", ".", "--page", "p.html", "--engine", "no.gz"])
        .assert();
    let output = asked.code(2).get_output().stderr.clone();
    let text = String::from_utf8(output).expect("text");
    assert!(
        text.contains("run `web/build` in a checkout and name it with --engine"),
        "{text}"
    );
    assert!(!folder.path().join("p.html").exists());
}
