// Selects the variants that the curves show: by setting, one by one, all or none.

function setUpVariants() {
  const filters = page.filters.map(([name, values]) => {
    const select = make("select", { id: `filter-${name}` }, make("option", { value: "" }, "all"));
    select.append(...values.map((value) => make("option", { value }, value)));
    select.addEventListener("change", choose);
    byId("filters").append(make("label", {}, `${name} `, select));
    return [name, select];
  });

  /** The variants that match every filter. */
  function matching() {
    const passes = (variant) =>
      filters.every(([name, select]) => {
        const own = variant.settings.find(([other]) => other === name);
        return !select.value || (own && own[1] === select.value);
      });
    return page.variants.flatMap((variant, at) => (passes(variant) ? [at] : []));
  }

  function choose() {
    show(matching());
  }

  // The filters show the initial selection where possible.
  for (const [name, select] of filters) {
    const values = new Set(page.shown.map((at) => (page.variants[at].settings.find(([other]) => other === name) || [])[1]));
    if (values.size === 1 && page.shown.length < page.variants.length) select.value = [...values][0] || "";
  }

  byId("show-all").addEventListener("click", () => {
    for (const [, select] of filters) select.value = "";
    show(page.variants.map((_, at) => at));
  });
  byId("show-none").addEventListener("click", () => show([]));

  const chips = page.variants.map((variant, at) => {
    const toggle = make("button", { type: "button", class: "toggle", title: variant.name });
    toggle.append(swatchOf(variant), make("span", {}, variant.label));
    toggle.addEventListener("click", () => {
      state.shown[at] = !state.shown[at];
      changed("shown");
    });
    const only = make("button", { type: "button", class: "only", "aria-label": `Only ${variant.label}` }, "only");
    only.addEventListener("click", () => show([at]));
    const chip = make("li", { "data-chip": at }, toggle, only);
    return { chip, toggle };
  });
  byId("chips").append(...chips.map(({ chip }) => chip));
  if (page.variants.length < 2) byId("controls").classList.add("single");

  const refresh = () => {
    const through = matching();
    chips.forEach(({ chip, toggle }, at) => {
      toggle.setAttribute("aria-pressed", state.shown[at]);
      chip.classList.toggle("off", !state.shown[at]);
      chip.hidden = !state.shown[at] && !through.includes(at);
    });
    const number = shownPlaces().length;
    byId("shown").textContent =
      number === page.variants.length ? "" : `${number} of ${page.variants.length} variants shown.`;
  };
  on("shown", refresh);
  refresh();
}
