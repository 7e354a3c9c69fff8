// Curves over time: concurrent pulls, egress and ready clusters, on one time axis that can be zoomed.
//
// The axis runs in `u`: seconds, or their decimal logarithm. Every visible curve is put on one grid with a column for
// each pixel. Columns join bins as the tables do: the maximum of counts and of egress, the last of states.

const view = { full: [0, 1], zoom: null };
const charts = [];

const toU = (seconds) => (state.log ? Math.log10(Math.max(seconds, 1e-9)) : seconds);
const toSeconds = (u) => (state.log ? 10 ** u : u);
const inView = () => view.zoom || view.full;

/** The first moment with activity in a variant, in seconds. */
function begins(variant) {
  const { pulls, ready, bin } = variant.series;
  const first = ready.findIndex((value, at) => value > 0 || pulls[at] > 0);
  return Math.max(first > 0 ? first * bin : bin / 2, 1);
}

/** The time range of the curves of these variants, in seconds; a logarithmic axis has no zero. */
function extentOf(places) {
  const variants = places.map((at) => page.variants[at]);
  const end = Math.max(...variants.map((variant) => variant.end), 1);
  if (!state.log) return [0, end * 1.01];
  const begin = Math.min(...variants.map(begins), end / 10);
  return [Math.max(begin, 0.1), end * 1.05];
}

function resetView() {
  const [from, to] = extentOf(shownPlaces().length ? shownPlaces() : page.variants.map((_, at) => at));
  view.full = [toU(from), toU(to)];
  view.zoom = null;
}

const join = {
  most(column, from, to) {
    let most = 0;
    for (let at = from; at < to; at += 1) if (column[at] > most) most = column[at];
    return most;
  },
  last: (column, _from, to) => column[to - 1],
};

/** A column of a variant on the grid `us`; `after` is the value after the curve has ended. */
function onGrid(variant, column, how, us, scale, after) {
  const { bin } = variant.series;
  return us.map((u, at) => {
    const next = at + 1 < us.length ? us[at + 1] : u + (us[1] - us[0] || 0);
    const from = Math.floor(toSeconds(u) / bin + 1e-9);
    const to = Math.min(Math.max(Math.ceil(toSeconds(next) / bin - 1e-9), from + 1), column.length);
    if (from >= column.length) return after;
    return join[how](column, Math.max(from, 0), to) * scale;
  });
}

const sameTargets = page.variants.every((variant) => variant.targets === page.variants[0].targets);

const quantities = [
  {
    id: "pulls",
    title: "Concurrent image pulls",
    unit: "concurrent pulls, maximum per time bin",
    columns: ["pulls", "pulls5", "pulls95"],
    how: "most",
    scale: () => 1,
    text: count,
    whole: true,
  },
  {
    id: "egress",
    title: "Registry egress",
    // More runs can need another unit.
    get unit() {
      return `${page.rate[1]}, 1 s mean, maximum per time bin`;
    },
    columns: ["egress", "egress5", "egress95"],
    how: "most",
    scale: () => page.egress_unit / page.rate[0],
    text: number,
    link: true,
  },
  {
    id: "ready",
    title: "Clusters ready on the new revision",
    unit: sameTargets ? "clusters" : "% of clusters",
    columns: ["ready"],
    how: "last",
    scale: (variant) => (sameTargets ? 1 : 100 / Math.max(variant.targets, 1)),
    text: sameTargets ? count : number,
    whole: sameTargets,
    stays: true,
  },
];

/** The grid and the visible curves: the line of each shown variant, and the ends of its band if it has one. */
function gridded(quantity, width) {
  const [from, to] = inView();
  const columns = Math.max(Math.round(width), 2);
  const us = Array.from({ length: columns }, (_, at) => from + ((to - from) * at) / (columns - 1));
  const data = [us];
  let most = 0;
  for (const place of shownPlaces()) {
    const variant = page.variants[place];
    const scale = quantity.scale(variant);
    for (const name of quantity.columns) {
      const column = variant.series[name];
      if (!column.length) continue;
      const stuck = quantity.stays && column[column.length - 1] < variant.targets;
      const after = stuck ? column[column.length - 1] * scale : null;
      const values = onGrid(variant, column, quantity.how, us, scale, after);
      for (const value of values) if (value > most) most = value;
      data.push(values);
    }
  }
  const links = quantity.link ? [...new Set(shownPlaces().map((at) => page.variants[at].link))].filter((link) => link) : [];
  // A link far above the curves would flatten them.
  const drawn = links.map((link) => link / page.rate[0]).filter((link) => link <= 3 * most);
  return { data, top: Math.max(most, ...drawn, 0), links: drawn };
}

class Curve {
  constructor(quantity) {
    this.quantity = quantity;
    this.plot = make("div", {
      class: "plot",
      tabindex: 0,
      role: "group",
      "aria-roledescription": "chart",
      "aria-label": `${quantity.title} over time. Use left and right to read values, plus and minus to zoom, Escape to show everything.`,
      id: `curve-${quantity.id}`,
    });
    this.unit = make("span", { class: "unit" });
    const caption = make("figcaption", {}, quantity.title, " ", this.unit);
    byId("curves").append(make("figure", { class: "curve" }, caption, this.plot));
    this.marker = make("div", { class: "marker" });
    this.plot.addEventListener("keydown", (event) => this.key(event));
    this.plot.addEventListener("blur", () => this.leave());
  }

  draw(width = this.plot.clientWidth) {
    if (this.chart) this.chart.destroy();
    const narrow = width < 560;
    const { quantity } = this;
    this.unit.textContent = quantity.unit;
    const axisWidth = narrow ? 46 : 58;
    const inner = width - axisWidth - 16;
    this.inner = inner;
    const grid = gridded(quantity, inner);
    this.grid = grid;
    const font = `${narrow ? 11 : 12}px system-ui, sans-serif`;
    const common = {
      stroke: styled("--muted"),
      font,
      grid: { stroke: styled("--grid"), width: 1 },
      ticks: { stroke: styled("--grid"), width: 1, size: 5 },
    };
    const room = Math.max(Math.floor(inner / (narrow ? 74 : 95)), 2);
    const series = [{}];
    const bands = [];
    this.lines = [];
    for (const place of shownPlaces()) {
      const variant = page.variants[place];
      const colour = colourOf(variant);
      const at = series.length;
      series.push({ stroke: colour, width: 1.75, dash: variant.dash, points: { show: false }, scale: "y" });
      this.lines.push({ place, at });
      if (quantity.columns.length > 1 && variant.series[quantity.columns[1]].length) {
        // Only the area between the band's edges is drawn.
        series.push({ stroke: "transparent", width: 0, points: { show: false } });
        series.push({ stroke: "transparent", width: 0, points: { show: false } });
        bands.push({ series: [at + 2, at + 1], fill: `${colour}${dark() ? "38" : "30"}` });
      }
    }
    this.chart = new uPlot(
      {
        width,
        height: narrow ? 210 : 250,
        padding: [10, 16, 0, 0],
        legend: { show: false },
        series,
        bands,
        scales: {
          x: { time: false, range: () => inView() },
          // A little room, so that a line at the top is not clipped.
          y: { range: () => [0, this.ticks()[this.ticks().length - 1] * 1.02] },
        },
        axes: [
          {
            ...common,
            size: 34,
            splits: (_u, _axis, min, max) =>
              state.log
                ? logTimeTicks(10 ** min, 10 ** max, room).map(Math.log10)
                : timeTicks(min, max, room),
            values: (_u, splits) => splits.map((u) => timeTick(Math.round(toSeconds(u) * 1e6) / 1e6)),
          },
          {
            ...common,
            size: axisWidth,
            splits: () => this.ticks(),
            values: (_u, splits) => splits.map((value) => number(value)),
          },
        ],
        cursor: {
          y: false,
          drag: { x: true, y: false, setScale: false, dist: 4 },
          sync: { key: "time" },
          points: { size: 7 },
          bind: { dblclick: () => () => zoomTo(null) },
        },
        hooks: {
          setSelect: [
            (u) => {
              if (u.select.width < 4) return;
              const from = u.posToVal(u.select.left, "x");
              const to = u.posToVal(u.select.left + u.select.width, "x");
              u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
              zoomTo([from, to]);
            },
          ],
          setCursor: [(u) => this.read(u)],
          draw: [
            (u) => {
              this.drawLinks(u);
              this.mark();
            },
          ],
        },
      },
      grid.data,
      this.plot,
    );
    this.chart.over.append(this.marker);
    this.chart.over.addEventListener("mouseenter", () => (Curve.active = this));
    this.chart.over.addEventListener("mouseleave", () => this.leave());
  }

  ticks() {
    const ticks = valueTicks(this.grid.top, 5);
    if (this.quantity.whole && this.grid.top > 0 && ticks[1] < 1) return [0, Math.ceil(this.grid.top)];
    return ticks;
  }

  /** After a zoom: the same curves on a finer grid. */
  refine() {
    this.grid = gridded(this.quantity, this.inner);
    this.chart.setData(this.grid.data);
  }

  drawLinks(u) {
    const { ctx } = u;
    const ratio = uPlot.pxRatio;
    ctx.save();
    ctx.strokeStyle = styled("--ink");
    ctx.fillStyle = styled("--ink");
    ctx.lineWidth = ratio;
    ctx.setLineDash([6 * ratio, 4 * ratio]);
    ctx.font = `${12 * ratio}px system-ui, sans-serif`;
    ctx.textAlign = "right";
    for (const link of this.grid.links) {
      const y = Math.round(u.valToPos(link, "y", true));
      ctx.beginPath();
      ctx.moveTo(u.bbox.left, y);
      ctx.lineTo(u.bbox.left + u.bbox.width, y);
      ctx.stroke();
      ctx.fillText(`link ${number(link)} ${page.rate[1]}`, u.bbox.left + u.bbox.width - 4 * ratio, y + 15 * ratio);
    }
    ctx.restore();
  }

  /** Moves the line to the time of the slider, once the chart is drawn. */
  mark() {
    const [from, to] = inView();
    const u = toU(state.time);
    const inside = u >= from && u <= to;
    this.marker.hidden = !inside;
    if (inside) this.marker.style.transform = `translateX(${this.chart.valToPos(u, "x")}px)`;
  }

  leave() {
    if (Curve.active === this) Curve.active = null;
    hideTip();
  }

  /** Shows the values under the cursor beside it. */
  read(u) {
    if (Curve.active !== this || u.cursor.left < 0 || u.cursor.idx === null || u.cursor.idx === undefined) return;
    const at = u.cursor.idx;
    const unit = this.quantity.id === "pulls" ? "" : ` ${this.quantity.unit.split(",")[0]}`;
    const rows = this.lines.map(({ place, at: series }) => {
      const variant = page.variants[place];
      let value = this.grid.data[series][at];
      if (value === null && this.quantity.stays) {
        value = variant.series.ready[variant.series.ready.length - 1] * this.quantity.scale(variant);
      }
      return { variant, value: value === null ? 0 : value };
    });
    rows.sort((a, b) => b.value - a.value);
    const most = 12;
    const list = make("table", {});
    for (const { variant, value } of rows.slice(0, most)) {
      list.append(
        make("tr", {}, make("td", {}, swatchOf(variant)), make("td", {}, variant.label), make("td", {}, this.quantity.text(value))),
      );
    }
    const parts = [make("strong", {}, `${time(toSeconds(this.grid.data[0][at]))}`), make("span", { class: "unit" }, unit), list];
    if (rows.length > most) parts.push(make("span", { class: "unit" }, `and ${rows.length - most} more`));
    const box = u.over.getBoundingClientRect();
    showTip(parts, box.left + u.cursor.left, box.top + Math.max(u.cursor.top, 0));
  }

  key(event) {
    const u = this.chart;
    const width = u.over.clientWidth;
    const left = u.cursor.left >= 0 ? u.cursor.left : width / 2;
    const step = (event.shiftKey ? 0.1 : 0.01) * width;
    const moves = { ArrowLeft: left - step, ArrowRight: left + step, Home: 0, End: width - 1 };
    const zooms = { "+": 0.5, "=": 0.5, "-": 2 };
    if (event.key in moves) {
      Curve.active = this;
      u.setCursor({ left: Math.min(Math.max(moves[event.key], 0), width - 1), top: 20 });
    } else if (event.key in zooms) {
      zoomBy(zooms[event.key], u.posToVal(left, "x"));
    } else if (event.key === "Escape") {
      zoomTo(null);
      this.leave();
    } else {
      return;
    }
    event.preventDefault();
  }
}

function zoomTo(zoom) {
  if (zoom && !(zoom[1] > zoom[0])) return;
  view.zoom = zoom;
  changed("zoom");
}

/** Shows a `part` of the view, around `middle`. */
function zoomBy(part, middle) {
  const [from, to] = inView();
  const [least, most] = view.full;
  const zoom = [Math.max(middle - (middle - from) * part, least), Math.min(middle + (to - middle) * part, most)];
  zoomTo(zoom[0] <= least && zoom[1] >= most ? null : zoom);
}

function showTip(parts, x, y) {
  const tip = byId("tip");
  tip.replaceChildren(...parts);
  tip.hidden = false;
  const { offsetWidth: width, offsetHeight: height } = tip;
  const right = x + 16 + width < innerWidth - 8;
  const left = right ? x + 16 : Math.max(x - 16 - width, 8);
  tip.style.transform = `translate(${left}px, ${Math.min(Math.max(y - 20, 8), innerHeight - height - 8)}px)`;
}

function hideTip() {
  byId("tip").hidden = true;
}

function setUpCurves() {
  charts.push(...quantities.map((quantity) => new Curve(quantity)));
  const drawAll = () => charts.forEach((chart) => chart.draw());
  const axes = () => {
    byId("axis-linear").setAttribute("aria-pressed", !state.log);
    byId("axis-log").setAttribute("aria-pressed", state.log);
    resetView();
    refreshZoom();
    drawAll();
  };
  for (const [id, log] of [["axis-linear", false], ["axis-log", true]]) {
    byId(id).addEventListener("click", () => {
      state.log = log;
      changed("axis");
    });
  }
  const refreshZoom = () => ["zoom-out", "zoom-reset"].forEach((id) => (byId(id).disabled = view.zoom === null));
  const atSlider = () => {
    const [from, to] = inView();
    return Math.min(Math.max(toU(state.time), from), to);
  };
  byId("zoom-in").addEventListener("click", () => zoomBy(0.5, atSlider()));
  byId("zoom-out").addEventListener("click", () => zoomBy(2, atSlider()));
  byId("zoom-reset").addEventListener("click", () => zoomTo(null));
  on("shown", axes);
  on("axis", axes);
  on("theme", drawAll);
  on("zoom", () => {
    refreshZoom();
    charts.forEach((chart) => chart.refine());
  });
  on("time", () => charts.forEach((chart) => chart.mark()));
  addEventListener("scroll", hideTip, { passive: true });
  let width = 0;
  new ResizeObserver(() => {
    if (byId("curves").clientWidth !== width && !document.documentElement.classList.contains("printing")) {
      width = byId("curves").clientWidth;
      drawAll();
    }
  }).observe(byId("curves"));
  axes();
  width = byId("curves").clientWidth;
}
