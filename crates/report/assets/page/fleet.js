// The fleet: one square for each cluster, coloured by its state at the time of the slider.

const [PENDING, INSTRUCTED, PULLING, STARTING, READY, OFFLINE, DEFECTIVE] = page.states.map((_, at) => at);
const decoded = new Map();

/** A variant's clusters: moments in seconds, NaN for never; places of squares by stage. */
function clustersOf(place) {
  if (decoded.has(place)) return decoded.get(place);
  const { fleet } = page.variants[place];
  const names = page.names[fleet.names] || [];
  const size = names.length;
  const column = () => new Float64Array(size).fill(NaN);
  const clusters = { names, size, instructed: column(), applied: column(), first: column(), last: column(), ready: column() };
  let instructedBefore = 0;
  for (let at = 0; at < size; at += 1) {
    const instructed = fleet.instructed[at] ?? null;
    let before = 0;
    if (instructed !== null) {
      instructedBefore += instructed;
      before = instructedBefore;
      clusters.instructed[at] = instructedBefore * fleet.step;
    }
    for (const name of ["applied", "first", "last", "ready"]) {
      const since = fleet[name][at] ?? null;
      if (since === null) continue;
      before += since;
      clusters[name][at] = before * fleet.step;
    }
  }
  clusters.offline = new Uint8Array(size);
  clusters.defective = new Uint8Array(size);
  for (const at of fleet.offline) clusters.offline[at] = 1;
  for (const at of fleet.defective) clusters.defective[at] = 1;
  clusters.stage = new Uint32Array(size);
  let at = 0;
  for (const [stage, length] of fleet.runs) {
    clusters.stage.fill(stage, at, at + length);
    at += length;
  }
  clusters.stages = fleet.stages;
  const moments = [clusters.instructed, clusters.applied, clusters.first, clusters.last, clusters.ready];
  clusters.end = 0;
  for (const moment of moments) for (const time of moment) if (time > clusters.end) clusters.end = time;
  decoded.set(place, clusters);
  return clusters;
}

/** The state of a cluster. Comparisons with NaN are false, so a moment that never comes has not been reached. */
function stateAt(clusters, at, seconds) {
  if (clusters.ready[at] <= seconds) return READY;
  const applied = clusters.applied[at] <= seconds;
  if (clusters.offline[at] && !applied) return OFFLINE;
  const pulled = clusters.last[at] <= seconds;
  if (clusters.first[at] <= seconds && !pulled) return PULLING;
  if (!(clusters.instructed[at] <= seconds)) return PENDING;
  if (!applied) return INSTRUCTED;
  return clusters.defective[at] ? DEFECTIVE : STARTING;
}

/** States of all clusters at a time, and how many are in each. */
function statesAt(clusters, seconds) {
  const states = new Uint8Array(clusters.size);
  const counts = new Array(page.states.length).fill(0);
  for (let at = 0; at < clusters.size; at += 1) {
    states[at] = stateAt(clusters, at, seconds);
    counts[states[at]] += 1;
  }
  return { states, counts };
}

/** How many clusters so many squares stand for. */
function clustersIn(squares) {
  return page.each === 1 ? count(squares) : `about ${count(squares * page.each)}`;
}

const LABEL = 18;

/** Positions of the squares: by stage if there are a few stages, otherwise in one block. */
function layOut(clusters, width, highest, byStage = true) {
  const few = byStage && clusters.stages.length > 1 && clusters.stages.length <= 12;
  const groups = few ? clusters.stages.map((name) => ({ name, members: [] })) : [{ name: "", members: [] }];
  for (let at = 0; at < clusters.size; at += 1) groups[few ? clusters.stage[at] : 0].members.push(at);
  const label = few ? LABEL : 0;
  const heightWith = (cell) => {
    const columns = Math.floor(width / cell);
    return groups.reduce((sum, { members }) => sum + label + Math.ceil(members.length / columns) * cell + (few ? 6 : 0), 0);
  };
  let cell = 26;
  while (cell > 2 && heightWith(cell) > highest) cell -= cell > 8 ? 1 : 0.5;
  const columns = Math.max(Math.floor(width / cell), 1);
  const x = new Float32Array(clusters.size);
  const y = new Float32Array(clusters.size);
  const order = [];
  const labels = [];
  let top = 0;
  for (const { name, members } of groups) {
    if (few) labels.push({ text: `${name || "no stage"} (${clustersIn(members.length)})`, y: top + 12 });
    top += label;
    members.forEach((cluster, at) => {
      x[cluster] = (at % columns) * cell;
      y[cluster] = top + Math.floor(at / columns) * cell;
      order.push(cluster);
    });
    top += Math.ceil(members.length / columns) * cell + (few ? 6 : 0);
  }
  const gap = cell >= 10 ? 2 : cell >= 5 ? 1 : cell >= 3 ? 0.5 : 0;
  return { cell, gap, columns, x, y, order, labels, width, height: Math.max(top, 1) };
}

/** Draws squares; `selected` gets a frame. Returns the counts. */
function drawFleet(canvas, clusters, layout, seconds, selected = -1) {
  const ratio = devicePixelRatio || 1;
  const [width, height] = [Math.round(layout.width * ratio), Math.round(layout.height * ratio)];
  if (canvas.width !== width || canvas.height !== height) {
    [canvas.width, canvas.height] = [width, height];
    canvas.style.width = `${layout.width}px`;
    canvas.style.height = `${layout.height}px`;
  }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, layout.width, layout.height);
  const { states, counts } = statesAt(clusters, seconds);
  const side = layout.cell - layout.gap;
  const colours = page.states.map((state) => state[dark() ? 2 : 1]);
  for (let state = 0; state < colours.length; state += 1) {
    if (!counts[state]) continue;
    context.fillStyle = colours[state];
    for (let at = 0; at < clusters.size; at += 1) {
      if (states[at] === state) context.fillRect(layout.x[at], layout.y[at], side, side);
    }
  }
  if (side >= 5) {
    // Marks that do not depend on colour: a hole for offline, a cross for defective.
    for (let at = 0; at < clusters.size; at += 1) {
      const [left, top] = [layout.x[at], layout.y[at]];
      if (states[at] === OFFLINE) {
        context.fillStyle = styled("--ground");
        context.fillRect(left + side * 0.3, top + side * 0.3, side * 0.4, side * 0.4);
      } else if (states[at] === DEFECTIVE) {
        context.strokeStyle = styled("--ground");
        context.lineWidth = Math.max(side / 8, 1);
        context.beginPath();
        context.moveTo(left + side * 0.2, top + side * 0.2);
        context.lineTo(left + side * 0.8, top + side * 0.8);
        context.moveTo(left + side * 0.8, top + side * 0.2);
        context.lineTo(left + side * 0.2, top + side * 0.8);
        context.stroke();
      }
    }
  }
  context.fillStyle = styled("--muted");
  context.font = "12px system-ui, sans-serif";
  for (const { text, y } of layout.labels) context.fillText(text, 0, y, layout.width);
  if (selected >= 0) {
    context.strokeStyle = styled("--ink");
    context.lineWidth = 2;
    context.strokeRect(layout.x[selected] - 1, layout.y[selected] - 1, side + 2, side + 2);
  }
  return counts;
}

/** A cluster in words. */
function described(clusters, at) {
  const name = page.states[stateAt(clusters, at, state.time)][0];
  const stage = clusters.stages[clusters.stage[at]];
  const moments = [
    ["instructed", clusters.instructed[at]],
    ["applied", clusters.applied[at]],
    ["first pull", clusters.first[at]],
    ["last pull finished", clusters.last[at]],
    ["ready", clusters.ready[at]],
  ];
  const reached = moments.filter(([, moment]) => !Number.isNaN(moment)).map(([what, moment]) => `${what} ${time(moment)}`);
  const never = Number.isNaN(clusters.ready[at]) ? ["never ready"] : [];
  return { name: clusters.names[at], now: name, stage, moments: [...reached, ...never].join(" · ") };
}

class Fleet {
  constructor(slot) {
    this.slot = slot;
    this.selected = -1;
    this.select = make("select", { "aria-label": `Variant of fleet ${slot + 1}` });
    page.variants.forEach((variant, at) => this.select.append(make("option", { value: at }, variant.label)));
    this.select.value = state.fleets[slot];
    this.select.addEventListener("change", () => {
      state.fleets[slot] = Number(this.select.value);
      changed("fleets");
    });
    this.swatch = make("span", {});
    this.counts = make("ul", { class: "legend" });
    this.entries = page.states.map(([name, light, onDark]) => {
      const number = make("b", {});
      const square = make("i", { class: `square ${name}`, style: `--light:${light};--dark:${onDark}` });
      const entry = make("li", { "data-state": name }, square, `${name} `, number);
      this.counts.append(entry);
      return { entry, number };
    });
    this.canvas = make("canvas", { tabindex: 0, role: "img", id: `fleet-${slot}` });
    this.detail = make("p", { class: "detail", role: "status" });
    this.canvas.addEventListener("mousemove", (event) => this.point(event));
    this.canvas.addEventListener("click", (event) => this.point(event));
    this.canvas.addEventListener("mouseleave", () => {
      hideTip();
      this.choose(-1);
    });
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    this.canvas.addEventListener("blur", () => this.choose(-1));
    const head = make("div", { class: "panel-head" }, this.swatch, this.select);
    this.box = make("div", { class: "panel" }, head, this.counts, this.canvas, this.detail);
    byId("fleets").append(this.box);
  }

  get place() {
    return state.fleets[this.slot];
  }

  arrange() {
    this.select.value = this.place;
    this.swatch.replaceChildren(swatchOf(page.variants[this.place]));
    const clusters = clustersOf(this.place);
    // A change of size only, such as by the text below, keeps the selection.
    if (clusters !== this.clusters) this.selected = -1;
    this.clusters = clusters;
    const width = Math.floor(this.box.clientWidth);
    if (width <= 0) return;
    this.layout = layOut(this.clusters, width, width < 480 ? 420 : 400);
    // States that never occur are left out of the legend.
    const some = (column) => column.some((value) => value === 1);
    const { entries } = this;
    entries[OFFLINE].entry.hidden = !some(clusters.offline);
    entries[DEFECTIVE].entry.hidden = !some(clusters.defective);
    this.draw();
  }

  draw() {
    if (!this.layout || !this.box.clientWidth) return;
    const counts = drawFleet(this.canvas, this.clusters, this.layout, state.time, this.selected);
    this.entries.forEach(({ number }, at) => (number.textContent = clustersIn(counts[at])));
    this.ready = counts[READY];
    const text = `${page.variants[this.place].label} at ${time(state.time)}: ${clustersIn(counts[READY])} of ${clustersIn(this.clusters.size)} clusters ready`;
    this.canvas.setAttribute("aria-label", `${text}. Use the arrow keys to move between clusters.`);
  }

  choose(at) {
    if (at === this.selected) return;
    this.selected = at;
    this.draw();
    this.detail.textContent = "";
    if (at >= 0) {
      const { name, now, stage, moments } = described(this.clusters, at);
      this.detail.append(make("strong", {}, name), ` ${now}${stage ? `, ${stage}` : ""}: ${moments}`);
    }
  }

  /** The cluster at a place of the canvas; -1 for none. */
  at(x, y) {
    const { cell, order } = this.layout;
    return order.find((at) => x >= this.layout.x[at] && x < this.layout.x[at] + cell && y >= this.layout.y[at] && y < this.layout.y[at] + cell) ?? -1;
  }

  point(event) {
    const at = this.at(event.offsetX, event.offsetY);
    this.choose(at);
    if (at < 0) return hideTip();
    const { name, now, stage, moments } = described(this.clusters, at);
    const lines = moments.split(" · ").map((line) => make("div", {}, line));
    showTip([make("strong", {}, name), ` ${now}`, make("div", { class: "unit" }, stage), ...lines], event.clientX, event.clientY);
  }

  key(event) {
    const { order, columns } = this.layout;
    const now = order.indexOf(this.selected);
    const moves = { ArrowLeft: now - 1, ArrowRight: now + 1, ArrowUp: now - columns, ArrowDown: now + columns, Home: 0, End: order.length - 1 };
    if (event.key === "Escape") return this.choose(-1);
    if (!(event.key in moves) || !order.length) return;
    event.preventDefault();
    this.choose(order[Math.min(Math.max(now < 0 ? 0 : moves[event.key], 0), order.length - 1)]);
  }
}

const fleets = [];

/** When a share of those clusters of a variant that became ready was ready. */
function whenReady(place, share) {
  const ready = [...clustersOf(place).ready].filter((time) => !Number.isNaN(time)).sort((a, b) => a - b);
  return ready.length ? ready[Math.min(Math.floor(ready.length * share), ready.length - 1)] : 0;
}

/** The fleets at a few times, for paper. */
function printFleets() {
  const strips = [...new Set(state.fleets)].map((place) => {
    const clusters = clustersOf(place);
    const times = [0.1, 0.5, 0.9].map((share) => whenReady(place, share));
    times.push(clusters.end);
    const pictures = [...new Set(times)].map((seconds) => {
      const canvas = make("canvas", {});
      const counts = drawFleet(canvas, clusters, layOut(clusters, 160, 150, false), seconds);
      return make("figure", {}, canvas, make("figcaption", {}, `${time(seconds)}: ${clustersIn(counts[READY])} of ${clustersIn(clusters.size)} ready`));
    });
    const heading = make("p", {}, swatchOf(page.variants[place]), ` ${page.variants[place].label}`);
    return make("div", { class: "strip" }, heading, make("div", {}, ...pictures));
  });
  const squares = page.states.map(([name, light]) =>
    make("li", {}, make("i", { class: `square ${name}`, style: `--light:${light};--dark:${light}` }), name),
  );
  byId("print-fleets").replaceChildren(make("ul", { class: "legend" }, ...squares), ...strips);
}

function setUpFleets() {
  const slots = page.fleets[0] === page.fleets[1] ? [0] : [0, 1];
  fleets.push(...slots.map((slot) => new Fleet(slot)));
  const arrange = () => fleets.forEach((fleet) => fleet.arrange());
  on("fleets", arrange);
  on("theme", () => fleets.forEach((fleet) => fleet.draw()));
  on("time", () => fleets.forEach((fleet) => fleet.draw()));
  new ResizeObserver(arrange).observe(byId("fleets"));
  arrange();
}
