// Questions: the reader changes settings, an engine simulates, and every answer is drawn over the earlier ones.
//
// The page sends the engine `{id, page, before, after, set}`, and receives answers until it is done or gets another
// question. The engine is a server, or the simulator itself in a worker; the page does not know which.

const asked = JSON.parse(byId("controls-data").textContent);
const variantsByLabel = new Map(asked.variants.map((variant) => [variant.label, variant]));
const [{ label: firstLabel }] = asked.variants;
const values = new Map();
/** The variants of the page without an address: two that differ, if there are two. */
const opening = { before: firstLabel, after: asked.after || firstLabel };
const question = { id: 0, ...opening };

/** Draws an answer: `page` has the two variants and the unit of egress, `rows` the measures. */
function drawAnswer(data) {
  const { variants, names, each, log, rate } = data.page;
  // Another recommended axis is adopted; otherwise the reader's choice stays.
  if (log !== page.log) state.log = log;
  Object.assign(page, { variants, names, each, log, rate });
  decoded.clear();
  changed("shown");
  changed("fleets");
  drawRows(data.rows);
  if (data.applications) drawApplications(data.applications);
}

/** The section for the table of several applications, with an empty table. */
function sectionOfApplications() {
  const heading = make("h2", { id: "applications-title" }, "Applications");
  const note = make("p", { class: "note" }, "Medians of the runs so far, before and after. Completion counts from the application's own release.");
  const titles = ["application", "completion before", "after", "left behind before", "after", "peak pulls before", "after"];
  const head = make("thead", {}, make("tr", {}, ...titles.map((title) => make("th", { scope: "col" }, title))));
  const table = make("table", { id: "applications", class: "plain" }, head, make("tbody"));
  const scroll = make("div", { class: "scroll", tabindex: 0, role: "region", "aria-labelledby": "applications-title" }, table);
  return make("section", { "aria-labelledby": "applications-title" }, heading, note, make("div", { class: "wide" }, scroll));
}

function drawApplications(applications) {
  if (!byId("applications")) byId("difference").after(sectionOfApplications());
  const rows = applications.map(({ name, completion, left_behind, peak_pulls }) => {
    const cells = [completion, left_behind, peak_pulls].flat().map((text) => make("td", {}, text));
    return make("tr", {}, make("th", { scope: "row" }, name), ...cells);
  });
  byId("applications").tBodies[0].replaceChildren(...rows);
}

function drawRows(rows) {
  const cells = rows.map((row) => {
    const value = (at) => {
      const holds = row.holds && row.holds[at];
      const mark = row.holds ? (holds ? " ✓" : " ✗ exceeded") : "";
      return make("td", { class: row.holds ? (holds ? "ok" : "bad") : null }, row.values[at] + mark);
    };
    const sure = row.sign ? "sure" : null;
    const heading = make("th", { scope: "row", title: row.note }, row.heading);
    return make("tr", {}, heading, value(0), value(1), make("td", { class: sure }, row.difference), make("td", { class: sure }, row.interval));
  });
  byId("measures").tBodies[0].replaceChildren(...cells);
}

const setTexts = () => [...values].map(([path, value]) => `${path}=${value}`);

/** The engine behind a server: a line of JSON for each answer. */
function serverEngine(tell) {
  let stop = null;
  const id = Array.from(crypto.getRandomValues(new Uint32Array(2)), (part) => part.toString(36)).join("");
  return async (ask) => {
    if (stop) stop.abort();
    stop = new AbortController();
    const { signal } = stop;
    try {
      const answer = await fetch("ask", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ ...ask, page: id }),
        signal,
      });
      if (!answer.ok) throw new Error(`${answer.status} ${answer.statusText}`);
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let text = "";
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        text += value;
        const lines = text.split("\n");
        text = lines.pop();
        lines.filter(Boolean).forEach((line) => tell(JSON.parse(line)));
      }
    } catch (error) {
      if (!signal.aborted) tell({ id: ask.id, errors: [{ at: "", message: `no answer: ${error.message}`, fix: "is fleetsim explore still running?" }] });
    }
  };
}

/** The worker's program. It is written as a function, and runs in the worker alone. */
function workerMain() {
  let engine = null;
  let newest = 0;
  const call = (name, text) => {
    const bytes = new TextEncoder().encode(text);
    const at = engine.room(bytes.length);
    new Uint8Array(engine.memory.buffer, at, bytes.length).set(bytes);
    return engine[name](bytes.length);
  };
  const answer = () => new TextDecoder().decode(new Uint8Array(engine.memory.buffer, engine.answer_at(), engine.answer_length()));
  const work = (id) => {
    if (id !== newest) return;
    const now = engine.step();
    if (now !== 0) postMessage(JSON.parse(answer()));
    if (now !== 2) setTimeout(work, 0, id);
  };
  const open = async (data) => {
    const stream = new Blob([data.module]).stream().pipeThrough(new DecompressionStream("gzip"));
    const { instance } = await WebAssembly.instantiate(await new Response(stream).arrayBuffer(), {});
    engine = instance.exports;
    const is_open = call("open", data.files);
    postMessage(is_open ? { ready: true } : { id: 0, errors: [{ at: "", message: answer(), fix: "" }] });
  };
  const failed = (error) => postMessage({ id: 0, errors: [{ at: "", message: `the engine failed: ${error.message}`, fix: "reload the page" }] });
  onmessage = ({ data }) => {
    if (data.module) {
      open(data).catch(failed);
      return;
    }
    newest = data.id;
    if (call("ask", JSON.stringify(data))) setTimeout(work, 0, data.id);
    else postMessage(JSON.parse(answer()));
  };
}

/** The engine in a worker. A question that comes before it is ready waits. */
function workerEngine(tell) {
  const url = URL.createObjectURL(new Blob([`"use strict";(${workerMain})()`], { type: "text/javascript" }));
  const worker = new Worker(url);
  let waiting = null;
  let ready = false;
  worker.onmessage = ({ data }) => {
    if (!data.ready) return tell(data);
    ready = true;
    if (waiting) worker.postMessage(waiting);
  };
  worker.onerror = (event) => tell({ id: question.id, errors: [{ at: "", message: `the engine failed: ${event.message}`, fix: "reload the page" }] });
  const text = atob(byId("engine").textContent.trim());
  const module = Uint8Array.from(text, (character) => character.charCodeAt(0));
  worker.postMessage({ module, files: byId("files").textContent }, [module.buffer]);
  return (ask) => {
    if (ready) worker.postMessage(ask);
    else waiting = ask;
  };
}

function setUpExplore() {
  const controls = new Map();
  let drawn = 0;
  const tell = (answer) => {
    if (answer.id !== question.id && answer.id !== 0) return;
    troubled(answer.errors || []);
    if (answer.errors) return;
    byId("bound").textContent = answer.bound ? `What holds the rollout after the change back: ${answer.bound}.` : "";
    if (answer.bound) return;
    byId("difference").parentElement.classList.remove("stale");
    drawn = answer.runs;
    const isSame = question.before === question.after && values.size === 0;
    const hint = isSame ? " Both sides are the same: change a setting to see its effect." : "";
    byId("progress").textContent = `${drawn} of ${answer.of} pairs of runs${answer.done ? "" : ", more are simulated"}.${hint}`;
    drawAnswer(answer.data);
    paste(answer);
  };
  const ask = (byId("engine").textContent.trim() ? workerEngine : serverEngine)(tell);

  /** Asks anew, and keeps the state in the address. */
  function askNow(is_first = false) {
    question.id += 1;
    const state = new URLSearchParams();
    const isOpening = question.before === opening.before && question.after === opening.after && values.size === 0;
    if (question.before !== firstLabel) state.append("before", question.before);
    if (question.after !== firstLabel && !isOpening) state.append("after", question.after);
    // An empty address is that of the opening.
    if (!isOpening && question.after === firstLabel && values.size === 0) state.append("after", question.after);
    setTexts().forEach((text) => state.append("set", text));
    history.replaceState(null, "", state.size ? `#${state}` : location.pathname + location.search);
    if (!is_first) byId("difference").parentElement.classList.add("stale");
    byId("progress").textContent = "Simulating …";
    byId("reset").disabled = values.size === 0;
    const { id, before, after } = question;
    ask({ id, before, after, set: setTexts() });
  }
  let later = 0;
  const askSoon = () => {
    clearTimeout(later);
    later = setTimeout(askNow, 60);
  };

  function troubled(errors) {
    const rest = [];
    for (const { box, input, note } of controls.values()) {
      input.removeAttribute("aria-invalid");
      note.textContent = "";
      box.classList.toggle("set", values.has(input.dataset.path));
    }
    for (const { at, message, fix } of errors) {
      const text = fix ? `${message}: ${fix}` : message;
      const control = [...values.keys()].includes(at) && controls.get(at);
      if (control) {
        control.input.setAttribute("aria-invalid", "true");
        control.note.textContent = text;
      }
      rest.push(make("li", {}, at ? `${at}: ${text}` : text));
    }
    byId("troubles").replaceChildren(...rest);
    if (errors.length) byId("progress").textContent = "Not simulated.";
  }

  function paste({ yaml, snippet, csv }) {
    const parts = [];
    const part = (title, text) => {
      const pre = make("pre", { tabindex: 0 }, text);
      const copy = make("button", { type: "button" }, "Copy");
      copy.addEventListener("click", async () => {
        await navigator.clipboard.writeText(text);
        copy.textContent = "Copied";
      });
      parts.push(make("h3", {}, `${title} `, copy), pre);
    };
    if (yaml) part("The change, for experiment.yaml", yaml);
    if (snippet) part(snippet.place, snippet.text);
    const words = setTexts().map((text) => ` --set '${text.replaceAll("'", "'\\''")}'`).join("");
    part("The same as results", `fleetsim run EXPERIMENT${words}`);
    byId("pastes").replaceChildren(...parts);
    byId("csv").href = `data:text/csv;charset=utf-8,${encodeURIComponent(csv)}`;
  }

  /** Changes one setting; an empty value takes the change back. */
  function set(path, value) {
    if (value) values.set(path, value);
    else values.delete(path);
    const control = controls.get(path);
    if (control) control.show();
    askSoon();
  }

  function controlOf({ path, value, origin, values: choices, strategy }, at) {
    const id = `control-${at}`;
    const input = make("input", { id, autocomplete: "off", spellcheck: "false", "data-path": path, "aria-describedby": `${id}-note`, placeholder: value || "not set" });
    const note = make("p", { id: `${id}-note`, class: "trouble" });
    const undo = make("button", { type: "button", "aria-label": `Reset ${path}`, title: "Reset" }, "↺");
    const box = make("div", { class: "control", "data-strategy": strategy }, make("label", { for: id }, path.replace(/^strategies\.[^.]+\./, ""), " ", make("span", { class: "origin" }, origin)));
    let slider = null;
    if (choices.length > 1) {
      slider = make("input", { type: "range", min: 0, max: choices.length - 1, step: 1, "aria-label": `${path}, as a slider` });
      slider.addEventListener("input", () => set(path, choices[slider.value]));
      box.append(slider);
    }
    box.append(make("div", { class: "value" }, input, undo), note);
    input.addEventListener("change", () => set(path, input.value.trim()));
    undo.addEventListener("click", () => set(path, ""));
    const show = () => {
      const own = variantsByLabel.get(question.after).settings[path] || value;
      const now = values.get(path) || own;
      input.value = now;
      undo.disabled = !values.has(path);
      box.classList.toggle("set", values.has(path));
      if (!slider) return;
      const place = choices.indexOf(now);
      if (place >= 0) slider.value = place;
      slider.setAttribute("aria-valuetext", now);
    };
    controls.set(path, { box, input, note, show });
    return box;
  }

  for (const name of new Set(asked.controls.map(({ group }) => group))) {
    const boxes = asked.controls.flatMap((control, at) => (control.group === name ? [controlOf(control, at)] : []));
    const all = make("details", {}, make("summary", {}, `${name} `, make("span", { class: "unit" }, String(boxes.length))));
    all.open = byId("groups").childElementCount === 0;
    if (boxes.length > 20) {
      const filter = make("input", { type: "search", "aria-label": `Find in ${name}`, placeholder: "Find a setting" });
      filter.addEventListener("input", () => boxes.forEach((box) => (box.hidden = !box.textContent.includes(filter.value))));
      all.append(make("div", { class: "control value" }, filter));
    }
    all.append(...boxes);
    byId("groups").append(all);
  }
  byId("other").addEventListener("submit", (event) => {
    event.preventDefault();
    const [path, ...rest] = byId("typed").value.split("=");
    if (rest.length) set(path.trim(), rest.join("=").trim());
    byId("typed").value = "";
  });

  /** Shows the controls of the strategy, with the values in force. */
  function refresh() {
    const { strategy } = variantsByLabel.get(question.after);
    for (const { box, show } of controls.values()) {
      box.classList.toggle("unseen-strategy", Boolean(box.dataset.strategy) && box.dataset.strategy !== strategy);
      show();
    }
  }
  for (const side of ["before", "after"]) {
    byId(side).append(...asked.variants.map(({ label }) => make("option", {}, label)));
    byId(side).addEventListener("change", () => {
      question[side] = byId(side).value;
      refresh();
      askNow();
    });
  }
  byId("reset").addEventListener("click", () => {
    values.clear();
    refresh();
    askNow();
  });
  const fromAddress = () => {
    const state = new URLSearchParams(location.hash.slice(1));
    for (const side of ["before", "after"]) {
      const label = state.get(side);
      const otherwise = state.size ? firstLabel : opening[side];
      question[side] = variantsByLabel.has(label) ? label : otherwise;
      byId(side).value = question[side];
    }
    values.clear();
    for (const text of state.getAll("set")) {
      const [path, ...rest] = text.split("=");
      if (rest.length) values.set(path, rest.join("="));
    }
    refresh();
    askNow(values.size === 0);
  };
  addEventListener("hashchange", fromAddress);
  drawRows(JSON.parse(byId("rows").textContent));
  fromAddress();
}

setUpExplore();
