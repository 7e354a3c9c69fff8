// The comparison table: click a heading to sort; a checkbox shows or hides a variant in all curves. Every wide table
// shows that it has more columns.

function setUpTable() {
  const table = byId("comparison");
  if (!table) return;
  const headings = [...table.tHead.rows[0].cells];
  const body = table.tBodies[0];
  const valueOf = (row, column) => {
    const text = row.cells[column].dataset.sort;
    return text === undefined ? null : Number(text);
  };
  headings.forEach((heading, column) => {
    heading.querySelector("button").addEventListener("click", () => {
      const up = heading.getAttribute("aria-sort") !== "ascending";
      headings.forEach((other) => other.setAttribute("aria-sort", "none"));
      heading.setAttribute("aria-sort", up ? "ascending" : "descending");
      const rows = [...body.rows];
      rows.sort((a, b) => {
        const [left, right] = [valueOf(a, column), valueOf(b, column)];
        // Rows without a value stay at the end in both orders.
        if (left === null || right === null) return (left === null) - (right === null);
        const order = left - right || Number(a.dataset.variant) - Number(b.dataset.variant);
        return up ? order : -order;
      });
      body.append(...rows);
    });
  });
  for (const row of body.rows) {
    row.querySelector("input").addEventListener("change", (event) => {
      state.shown[Number(row.dataset.variant)] = event.target.checked;
      changed("shown");
    });
  }
  const refresh = () => {
    for (const row of body.rows) {
      const shown = state.shown[Number(row.dataset.variant)];
      row.querySelector("input").checked = shown;
      row.classList.toggle("off", !shown);
    }
  };
  on("shown", refresh);
  refresh();
}

/** A shadow and a line of text show that a table has more columns. */
function setUpWide() {
  for (const wide of document.querySelectorAll(".wide")) {
    const [box] = wide.children;
    const hint = wide.nextElementSibling;
    const beyond = () => {
      hint.hidden = box.scrollWidth <= box.clientWidth + 1;
      wide.classList.toggle("more", box.scrollLeft + box.clientWidth < box.scrollWidth - 1);
    };
    box.addEventListener("scroll", beyond, { passive: true });
    const sizes = new ResizeObserver(beyond);
    sizes.observe(box);
    sizes.observe(box.firstElementChild);
    beyond();
  }
}

/** Unfinished variants: opens all texts together, and on paper. */
function setUpHeld() {
  const held = [...document.querySelectorAll("details.held")];
  const button = byId("open-held");
  const relabel = () => (button.textContent = held.every((one) => one.open) ? "Close all" : "Open all");
  if (button) {
    button.addEventListener("click", () => {
      const open = !held.every((one) => one.open);
      held.forEach((one) => (one.open = open));
    });
    held.forEach((one) => one.addEventListener("toggle", relabel));
  }
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = held.filter((one) => !one.open);
    folded.forEach((one) => (one.open = true));
  });
  addEventListener("afterprint", () => folded.forEach((one) => (one.open = false)));
}
