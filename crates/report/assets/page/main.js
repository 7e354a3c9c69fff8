// The time slider, playback, the theme and printing; then everything is set up.

/** The slider covers the rollouts of both fleets, on the axis of the curves. */
function timeSpan() {
  const places = state.fleets;
  const [from, to] = extentOf(places);
  const end = Math.max(...places.map((place) => Math.max(clustersOf(place).end, page.variants[place].end)), 1);
  return [from, Math.max(end, to / 1.05)];
}

const SLIDER = 1000;

function timeAt(value) {
  const [from, to] = timeSpan();
  if (value <= 0) return 0;
  if (value >= SLIDER) return to;
  return state.log ? from * (to / from) ** (value / SLIDER) : (to * value) / SLIDER;
}

function valueAt(seconds) {
  const [from, to] = timeSpan();
  if (seconds <= 0) return 0;
  const share = state.log ? Math.log(seconds / from) / Math.log(to / from) : seconds / to;
  return Math.min(Math.max(share, 0), 1) * SLIDER;
}

function setUpTime() {
  const slider = byId("time");
  let position = 0;
  const announce = () => {
    byId("now").textContent = time(state.time);
    const ready = fleets[0].ready;
    slider.setAttribute("aria-valuetext", `${time(state.time)}, ${clustersIn(ready)} of ${clustersIn(fleets[0].clusters.size)} clusters ready`);
  };
  const go = (value) => {
    position = value;
    slider.value = value;
    state.time = timeAt(value);
    changed("time");
    announce();
  };
  /** After a change of the axis or a fleet: keeps the time and moves the slider. */
  const keep = () => {
    position = valueAt(state.time);
    slider.value = position;
    state.time = Math.min(state.time, timeSpan()[1]);
    changed("time");
    announce();
  };
  slider.addEventListener("input", () => go(Number(slider.value)));
  on("axis", keep);
  on("fleets", keep);

  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  let playing = false;
  let before = 0;
  const stop = () => {
    playing = false;
    byId("play").textContent = "▶";
    byId("play").setAttribute("aria-label", "Play");
  };
  const frame = (now) => {
    if (!playing) return;
    const passed = now - before;
    // With reduced motion, one picture per second.
    if (passed >= (calm.matches ? 1000 : 30)) {
      before = now;
      const seconds = 16 / Number(byId("speed").value);
      go(Math.min(position + (Math.min(passed, 1000) / 1000 / seconds) * SLIDER, SLIDER));
      if (position >= SLIDER) return stop();
    }
    requestAnimationFrame(frame);
  };
  byId("play").addEventListener("click", () => {
    if (playing) return stop();
    playing = true;
    byId("play").textContent = "❚❚";
    byId("play").setAttribute("aria-label", "Pause");
    if (position >= SLIDER) go(0);
    before = performance.now();
    requestAnimationFrame(frame);
  });
  slider.addEventListener("pointerdown", stop);

  // Start half-way through the rollout.
  state.time = whenReady(state.fleets[0], 0.5) || timeSpan()[1] / 2;
  keep();
}

function setUpTheme() {
  const button = byId("theme");
  const wanted = matchMedia("(prefers-color-scheme: dark)");
  const set = (theme) => {
    document.documentElement.dataset.theme = theme;
    button.setAttribute("aria-pressed", theme === "dark");
    changed("theme");
  };
  button.setAttribute("aria-pressed", dark());
  button.addEventListener("click", () => set(dark() ? "light" : "dark"));
  wanted.addEventListener("change", () => set(wanted.matches ? "dark" : "light"));

  // Paper is white and has a fixed width.
  const PAPER = 690;
  let theme = null;
  addEventListener("beforeprint", () => {
    theme = document.documentElement.dataset.theme;
    document.documentElement.classList.add("printing");
    document.documentElement.dataset.theme = "light";
    charts.forEach((chart) => chart.draw(PAPER));
    if (page.variants.length) printFleets();
  });
  addEventListener("afterprint", () => {
    document.documentElement.classList.remove("printing");
    set(theme);
  });
}

setUpTable();
setUpWide();
setUpHeld();
setUpTheme();
if (page.variants.length) {
  setUpVariants();
  setUpCurves();
  setUpFleets();
  setUpTime();
}
document.documentElement.classList.add("drawn");
