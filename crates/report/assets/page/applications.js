// Several applications: a square is one of them on a cluster, and a choice shows the squares of a single one.

state.application = "";
const ofDeployments = sameTargets ? "deployments" : "% of deployments";
Object.assign(
  quantities.find(({ id }) => id === "ready"),
  { title: "Deployments ready on the new revision", unit: ofDeployments },
);
const partsOf = new WeakMap();
const clustersOfAll = clustersOf;
const describedAlone = described;

/** The squares of the chosen application, or all of them. */
clustersOf = (place) => {
  const all = clustersOfAll(place);
  all.application ||= page.variants[place].fleet.applications.flatMap(([name, length]) => new Array(length).fill(name));
  if (!state.application) return all;
  if (!partsOf.has(all)) partsOf.set(all, {});
  return (partsOf.get(all)[state.application] ||= partOf(all, state.application));
};

function partOf(all, application) {
  const part = { ...all };
  for (const name of ["names", "instructed", "applied", "first", "last", "ready", "offline", "defective", "stage", "application"]) {
    part[name] = all[name].filter((_, at) => all.application[at] === application);
  }
  part.size = part.names.length;
  // Stages of other applications have no squares.
  const stages = [...new Set(part.stage)];
  part.stages = stages.map((stage) => all.stages[stage]);
  part.stage = part.stage.map((stage) => stages.indexOf(stage));
  return part;
}

described = (clusters, at) => {
  const words = describedAlone(clusters, at);
  return { ...words, name: `${clusters.application[at]} on ${words.name}` };
};

function setUpApplications() {
  const names = new Set(page.variants.flatMap(({ fleet }) => fleet.applications.map(([name]) => name)));
  const select = make("select", { id: "application" }, make("option", { value: "" }, "all applications"));
  for (const name of names) select.append(make("option", { value: name }, name));
  select.addEventListener("change", () => {
    state.application = select.value;
    changed("fleets");
  });
  byId("fleets").before(make("p", {}, make("label", {}, "Application: ", select)));
}
if (page.variants.length) setUpApplications();
