// State shared by all parts of the page: the data, the shown variants, the time, the theme, and listeners.

const page = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);

const state = {
  shown: page.variants.map((_, at) => page.shown.includes(at)),
  log: page.log,
  fleets: page.fleets.slice(),
  // Seconds since the start of the run.
  time: 0,
};

const listeners = {};

/** Calls `listener` whenever `what` changed: shown, axis, zoom, fleets, time, theme. */
function on(what, listener) {
  (listeners[what] ||= []).push(listener);
}

function changed(what) {
  for (const listener of listeners[what] || []) listener();
}

/** An element with attributes and children. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

const dark = () => document.documentElement.dataset.theme === "dark";
const colourOf = (variant) => variant.colours[dark() ? 1 : 0];

/** The value of a colour or size that the style sheet names. */
const styled = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** The sample of a variant's line, as in the table. */
function swatchOf(variant) {
  const ns = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(ns, "svg");
  const attributes = { class: "swatch", width: 26, height: 8, "aria-hidden": "true" };
  for (const [name, value] of Object.entries(attributes)) svg.setAttribute(name, value);
  svg.style.setProperty("--light", variant.colours[0]);
  svg.style.setProperty("--dark", variant.colours[1]);
  const line = document.createElementNS(ns, "line");
  const ends = { x1: 0, y1: 4, x2: 26, y2: 4, "stroke-dasharray": variant.dash.map((length) => length * 0.8).join(" ") };
  for (const [name, value] of Object.entries(ends)) line.setAttribute(name, value);
  svg.append(line);
  return svg;
}

/** Shows these variants and no others. */
function show(variants) {
  state.shown = page.variants.map((_, at) => variants.includes(at));
  changed("shown");
}

const shownPlaces = () => state.shown.flatMap((shown, at) => (shown ? [at] : []));
