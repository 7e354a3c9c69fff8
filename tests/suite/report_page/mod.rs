//! The page `report.html` in a real browser: it draws, reacts to mouse and keyboard, and makes no network request.
//!
//! Without a browser these tests say so and pass; if `CI` is set they fail instead.

pub(crate) mod browser;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use browser::Page;
use tempfile::TempDir;

use super::common::{fleetsim, folder_with};

/// Four variants, one of which can never advance, because with a maxUpdate of 0 nothing is synced.
const EXPERIMENT: &str = r#"
name: page
question: How <many> clusters at once?
seed: 7
replicates: 3
horizon: 12h
fleet:
  - {name: "store-{01..60}", labels: {env: prod}, nodes: 2, downlink: 50 Mbit/s, rtt: 30 ms}
registry: {egress: 200 Mbit/s}
release:
  kind: update
  images:
    - {name: shop, manifest: {layers: [{size: 80 MB}]}}
  workloads: [{kind: Deployment, image: shop, replicas: 2, readiness: {period: 10 s}}]
strategies:
  careful: {rancherFleet: {maxUnavailable: 10%}}
  all-at-once: {allAtOnce: {}}
  stuck:
    argoCd:
      strategy:
        type: RollingSync
        rollingSync: {steps: [{matchExpressions: [{key: env, operator: In, values: [prod]}], maxUpdate: 0}]}
sweep: {strategies.careful.rancherFleet.maxUnavailable: [10%, 50%]}
"#;

/// Ten thousand clusters, instructed in four batches.
const LARGE: &str = r#"
name: large
question: Does the page bear ten thousand clusters?
seed: 1
replicates: 1
horizon: 24h
fleet: [{name: "site-{00001..10000}", nodes: 1, downlink: 100 Mbit/s, rtt: 30 ms}]
registry: {egress: 100 Gbit/s}
release:
  kind: update
  images: [{name: shop, manifest: {layers: [{size: 20 MB}]}}]
  workloads: [{kind: Deployment, image: shop, readiness: {period: 10 s}}]
strategies: {batches: {batches: {size: 2500}}}
"#;

/// A folder with an experiment, and the program's results below `out`.
fn results(experiment: &str) -> TempDir {
    let folder = folder_with(&[("experiment.yaml", experiment)]);
    fleetsim(folder.path())
        .args(["run", ".", "--out", "out"])
        .assert()
        .success();
    folder
}

static SMALL: LazyLock<TempDir> = LazyLock::new(|| results(EXPERIMENT));

fn file_of(folder: &Path) -> PathBuf {
    folder.join("out/report.html")
}

/// A page with the results of [`EXPERIMENT`] in a window of the given size. `None` without a browser.
fn small(width: u32, height: u32) -> Option<Page> {
    let browser = browser::find()?;
    Some(Page::open(&browser, &file_of(SMALL.path()), width, height))
}

/// Asserts that the page had no error and fetched nothing but its own file.
fn assert_quiet(page: &Page) {
    assert_eq!(page.complaints(), [""; 0]);
    let foreign: Vec<String> = page
        .requests()
        .into_iter()
        .filter(|url| {
            !url.starts_with("file:") && !url.starts_with("data:") && url != "about:blank"
        })
        .collect();
    assert_eq!(foreign, [""; 0], "the page asks the network for nothing");
}

/// A script that counts the pixels of a canvas with approximately the given colour (`#rrggbb`).
fn pixels(canvas: &str, colour: &str) -> String {
    format!(
        "(() => {{
            const canvas = document.querySelector('{canvas}');
            const want = [1, 3, 5].map((at) => parseInt('{colour}'.slice(at, at + 2), 16));
            const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', {{ willReadFrequently: true }});
            copy.drawImage(canvas, 0, 0);
            const data = copy.getImageData(0, 0, canvas.width, canvas.height).data;
            let found = 0;
            for (let at = 0; at < data.length; at += 4) {{
                if (data[at + 3] > 200 && want.every((value, i) => Math.abs(value - data[at + i]) < 12)) found += 1;
            }}
            return found;
        }})()"
    )
}

/// Number of clusters in a state, according to the legend.
fn counted(fleet: usize, state: &str) -> String {
    format!(
        "Number(document.querySelectorAll('.panel')[{fleet}].querySelector('[data-state={state}] b').textContent.replace(',', ''))"
    )
}

/// The first variant's colour: the darker of the two of Rancher Fleet.
const FIRST: &str = "#003350";
const READY: &str = "#004e86";

#[test]
fn the_page_shows_the_question_the_answer_stalled_rollouts_and_every_curve() {
    let Some(mut page) = small(1280, 900) else {
        return;
    };
    assert_eq!(page.text("document.title"), "How <many> clusters at once?");
    assert_eq!(
        page.text("document.querySelector('h1').textContent"),
        "How <many> clusters at once?"
    );
    let answer = page.text("document.getElementById('answer').innerText");
    assert!(
        answer.contains("all 60 clusters ready in ") && answer.contains("stuck: no run completes"),
        "{answer}"
    );
    let held = page.text("document.getElementById('unfinished').innerText");
    assert!(
        held.contains("0 complete, 3 stalled") && held.contains("Not updated: 60 of 60 clusters"),
        "{held}"
    );
    assert!(held.contains("maxUpdate: maxUpdate is 0"), "{held}");
    // The box folds with the keyboard, and is open again on paper.
    let open = "document.querySelector('details.held').open";
    page.evaluate("document.querySelector('.held summary').focus()");
    page.press("Enter", 1);
    assert!(!page.is(open));
    page.evaluate("dispatchEvent(new Event('beforeprint'))");
    assert!(page.is(open), "paper has the full text");
    page.evaluate("dispatchEvent(new Event('afterprint'))");
    assert!(!page.is(open));
    for curve in ["pulls", "egress", "ready"] {
        let blue = page.whole(&pixels(&format!("#curve-{curve} canvas"), FIRST));
        assert!(
            blue > 100,
            "{curve}: {blue} pixels of the first variant's colour"
        );
    }
    for state in [READY, "#dde1e6"] {
        let squares = page.whole(&pixels(
            &format!("#fleet-{}", u32::from(state != READY)),
            state,
        ));
        assert!(squares > 500, "{state}: {squares} pixels");
    }
    assert_quiet(&page);
}

#[test]
fn the_slider_works_with_the_keyboard_only() {
    let Some(mut page) = small(1280, 900) else {
        return;
    };
    page.evaluate("document.getElementById('time').focus()");
    page.press("Home", 1);
    assert_eq!(page.whole(&counted(0, "pending")), 60);
    assert_eq!(page.whole(&pixels("#fleet-0", READY)), 0);
    let mut ready = 0;
    let mut seen = Vec::new();
    for _ in 0..20 {
        page.press("ArrowRight", 50);
        let now = page.whole(&counted(0, "ready"));
        assert!(now >= ready, "the fleet comes round: {now} after {ready}");
        ready = now;
        seen.push(now);
        let states = [
            "pending",
            "instructed",
            "pulling",
            "starting",
            "ready",
            "offline",
            "defective",
        ];
        let all: i64 = states
            .map(|state| page.whole(&counted(0, state)))
            .iter()
            .sum();
        assert_eq!(all, 60, "every cluster is in one state");
    }
    seen.dedup();
    assert!(seen.len() > 2, "in waves, not at once: {seen:?}");
    page.press("End", 1);
    // As in `targets_done`, the fastest variant completes in all runs, the stuck one in none.
    assert_eq!(
        (
            page.whole(&counted(0, "ready")),
            page.whole(&counted(1, "ready"))
        ),
        (60, 0)
    );
    assert!(page.whole(&pixels("#fleet-0", READY)) > 500);
    assert!(
        page.text("document.getElementById('time').getAttribute('aria-valuetext')")
            .ends_with("60 of 60 clusters ready")
    );
    // The marker of the curves moves together with the slider.
    let marker = "new DOMMatrix(getComputedStyle(document.querySelector('.marker')).transform).m41";
    let end = page.number(marker);
    page.press("ArrowLeft", 200);
    let earlier = page.number(marker);
    assert!(earlier < end - 20.0, "{earlier} is left of {end}");
    // The name and times of a cluster are shown without the mouse.
    page.evaluate("document.getElementById('fleet-0').focus()");
    page.press("ArrowRight", 2);
    let detail = page.text("document.querySelector('.panel .detail').textContent");
    assert!(
        detail.starts_with("store-02 ")
            && detail.contains("instructed ")
            && detail.contains("ready "),
        "{detail}"
    );
    assert_quiet(&page);
}

#[test]
fn a_heading_sorts_the_table_and_reverses_it() {
    let Some(mut page) = small(1280, 900) else {
        return;
    };
    let column = "[...document.querySelectorAll('#comparison thead th')].findIndex((th) => th.textContent.startsWith('completion'))";
    let cells = format!(
        "[...document.querySelectorAll('#comparison tbody tr')].map((row) => row.cells[{column}].dataset.sort ?? '').join()"
    );
    let values = |text: &str| {
        text.split(',')
            .map(|cell| cell.parse().unwrap_or(f64::INFINITY))
            .collect::<Vec<f64>>()
    };
    let sort = format!("document.querySelectorAll('#comparison thead th')[{column}]");
    page.evaluate(&format!("{sort}.querySelector('button').focus()"));
    page.press("Enter", 1);
    assert_eq!(
        page.text(&format!("{sort}.getAttribute('aria-sort')")),
        "ascending"
    );
    let up = values(&page.text(&cells));
    assert!(
        up.len() == 4 && up.is_sorted() && up[3].is_infinite(),
        "{up:?}"
    );
    page.press("Enter", 1);
    assert_eq!(
        page.text(&format!("{sort}.getAttribute('aria-sort')")),
        "descending"
    );
    let down = values(&page.text(&cells));
    assert_eq!(
        down,
        [up[2], up[1], up[0], up[3]],
        "what has no value stays at the end"
    );
    assert_quiet(&page);
}

#[test]
fn a_variant_can_be_hidden_and_shown_again() {
    let Some(mut page) = small(1280, 900) else {
        return;
    };
    let blue = pixels("#curve-pulls canvas", FIRST);
    let before = page.whole(&blue);
    page.evaluate("document.querySelector('#comparison tbody input').click()");
    page.settle();
    assert!(page.whole(&blue) < before / 20, "its line is gone");
    assert_eq!(
        page.text("document.querySelector('#chips .toggle').getAttribute('aria-pressed')"),
        "false"
    );
    assert_eq!(
        page.text("document.getElementById('shown').textContent"),
        "3 of 4 variants shown."
    );
    page.evaluate("document.querySelector('#chips .only').click()");
    page.settle();
    assert!(page.whole(&blue) > 100);
    assert_eq!(
        page.whole("document.querySelectorAll('#comparison input:checked').length"),
        1
    );
    page.evaluate("document.getElementById('show-none').click()");
    page.settle();
    page.evaluate("document.getElementById('show-all').click()");
    page.settle();
    // Filtering by strategy leaves the two settings of one strategy.
    page.evaluate("(() => { const select = document.getElementById('filter-strategy'); select.value = 'careful'; select.dispatchEvent(new Event('change')); })()");
    page.settle();
    assert_eq!(
        page.whole("document.querySelectorAll('#comparison input:checked').length"),
        2
    );
    assert_quiet(&page);
}

#[test]
fn the_curves_show_values_under_the_mouse_and_zoom() {
    let Some(mut page) = small(1280, 900) else {
        return;
    };
    page.point("#curve-ready .u-over", 0.9, 0.5);
    assert!(!page.is("document.getElementById('tip').hidden"));
    assert_eq!(
        page.whole("document.querySelectorAll('#tip tr').length"),
        4,
        "a value for every variant"
    );
    page.evaluate("document.getElementById('curve-pulls').focus()");
    page.press("ArrowRight", 1);
    page.press("+", 2);
    assert!(
        !page.is("document.getElementById('zoom-reset').disabled"),
        "zoomed in"
    );
    assert!(
        page.whole(&pixels("#curve-pulls canvas", "#e3e7ec")) > 0,
        "the grid is drawn"
    );
    page.press("Escape", 1);
    assert!(
        page.is("document.getElementById('zoom-reset').disabled"),
        "zoomed out"
    );
    for axis in ["axis-linear", "axis-log"] {
        page.evaluate(&format!("document.getElementById('{axis}').click()"));
        page.settle();
        assert!(
            page.whole(&pixels("#curve-ready canvas", FIRST)) > 50,
            "{axis}"
        );
    }
    assert_quiet(&page);
}

#[test]
fn dark_mode_print_and_phones_have_separate_layouts() {
    let Some(mut page) = small(1280, 900) else {
        return;
    };
    let ground = "getComputedStyle(document.body).backgroundColor";
    let light = page.text(ground);
    page.emulate("", "dark");
    assert_ne!(page.text(ground), light);
    assert!(
        page.whole(&pixels("#curve-ready canvas", "#35729d")) > 50,
        "the first variant's colour on dark ground"
    );
    page.evaluate("document.getElementById('theme').click()");
    assert_eq!(page.text(ground), light, "the button has the last word");
    page.emulate("print", "light");
    let visible = |selector: &str| {
        format!("document.querySelector('{selector}').getClientRects().length > 0")
    };
    for hidden in [
        "#controls",
        "#timebar",
        "#theme",
        ".chips .only",
        ".top nav",
    ] {
        assert!(!page.is(&visible(hidden)), "{hidden} is not for paper");
    }
    for shown in [
        "h1",
        "#answer",
        "#comparison",
        "#curve-pulls canvas",
        "#unfinished",
    ] {
        assert!(page.is(&visible(shown)), "{shown} is for paper");
    }
    page.evaluate("dispatchEvent(new Event('beforeprint'))");
    assert!(
        page.whole("document.querySelectorAll('#print-fleets canvas').length") >= 4,
        "the fleet at a few times"
    );
    page.evaluate("dispatchEvent(new Event('afterprint'))");
    page.emulate("", "light");
    page.resize(390, 844);
    page.settle();
    page.settle();
    let (wide, room) = (
        page.number("document.scrollingElement.scrollWidth"),
        page.number("innerWidth"),
    );
    assert!(
        wide <= room && room <= 390.0,
        "{wide} px of page in {room} px"
    );
    assert!(
        page.whole(&pixels("#curve-ready canvas", FIRST)) > 50,
        "curves are drawn again for a narrow page"
    );
    // Columns beyond the edge of the table are announced until they are in view.
    let more = "document.querySelector('.wide').classList.contains('more')";
    assert!(page.is(more) && !page.is("document.querySelector('.sideways').hidden"));
    page.evaluate("document.querySelector('.wide > .scroll').scrollLeft = 9999");
    page.settle();
    assert!(!page.is(more), "the last column is in sight");
    // A limit in the heading of a narrow column breaks between its words.
    let lines = "(() => {
        const heading = [...document.querySelectorAll('#comparison .sorts')].at(-1);
        heading.closest('th').className = 'limit';
        heading.textContent = 'completion_p95 < 3h';
        const word = document.createRange();
        word.setStart(heading.firstChild, 0);
        word.setEnd(heading.firstChild, 'completion_p95'.length);
        return word.getClientRects().length;
    })()";
    assert_eq!(page.whole(lines), 1, "lines of a word");
    assert_quiet(&page);
}

#[test]
fn ten_thousand_clusters_are_drawn_and_move_without_delay() {
    let Some(browser) = browser::find() else {
        return;
    };
    let folder = results(LARGE);
    let file = file_of(folder.path());
    let bytes = fs::metadata(&file).expect("written").len();
    assert!(bytes < 1_000_000, "{bytes} bytes");
    let mut page = Page::open(&browser, &file, 1280, 900);
    page.evaluate("document.getElementById('time').focus()");
    page.press("Home", 1);
    assert_eq!(page.whole(&counted(0, "pending")), 10_000);
    let took = page.number(
        "(() => {
            const slider = document.getElementById('time');
            const start = performance.now();
            for (let value = 0; value < 1000; value += 50) {
                slider.value = value;
                slider.dispatchEvent(new Event('input'));
            }
            return (performance.now() - start) / 20;
        })()",
    );
    assert!(took < 250.0, "{took} ms for one step of time");
    page.press("End", 1);
    assert_eq!(page.whole(&counted(0, "ready")), 10_000);
    let elements = page.whole("document.querySelectorAll('*').length");
    assert!(
        elements < 1500,
        "{elements} elements: squares are not elements"
    );
    page.point("#fleet-0", 0.5, 0.4);
    let tip = page.text("document.getElementById('tip').textContent");
    assert!(tip.starts_with("site-") && tip.contains("batch 2"), "{tip}");
    let done = page.whole(&counted(0, "ready"));
    let runs = fs::read_to_string(folder.path().join("out/runs.csv")).expect("runs.csv");
    assert!(runs.contains(&format!(",{done},")), "as targets_done says");
    assert_quiet(&page);
}
