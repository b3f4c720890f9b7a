"use strict";

const LISTED = 200;
const FAINT = 60;
const USUAL = 64;

/** Which nodes are seen, by name, by a number, by a version and by how certain they are; and how large, and how faint. */
async function weigh(page) {
  for (const view of page.views) {
    const hiding = await hiddenRows(page, view);
    const { nodes } = view.sheet.facts;
    const sizes = page.sized ? await uncertainties(view.sheet) : null;
    view.shownCount = hiding ? nodes - hiding.reduce((sum, x) => sum + x, 0) : nodes;
    if (!hiding && !view.marked && !sizes) {
      view.reweigh(null);
      continue;
    }
    const weights = new Uint8Array(2 * nodes);
    for (let i = 0; i < nodes; i++) {
      const faint = view.marked && !view.marked[i];
      weights[2 * i] = hiding?.[i] ? 0 : faint ? FAINT : 255;
      weights[2 * i + 1] = sizes ? Math.round(USUAL * (0.4 + (2.2 * sizes[i]) / 65535)) : USUAL;
    }
    view.reweigh(weights);
  }
  byId("filtered").textContent = page.views.some((view) => view.shownCount < view.sheet.facts.nodes)
    ? `${page.views.map((view) => `${plain(view.shownCount)} of ${plain(view.sheet.facts.nodes)}`).join(" and ")} nodes are shown` : "";
  page.address.changed();
}

/** A byte for each node that is not shown; null where all are. */
async function hiddenRows(page, view) {
  const { sheet } = view;
  const tests = [];
  if (page.part) {
    const holds = new Uint8Array(sheet.facts.nodes);
    for (const row of sheet.names.search(page.part, sheet.facts.nodes)) holds[row] = 1;
    tests.push((i) => holds[i]);
  }
  const measure = sheet.facts.columns.find(({ name, classes }) => name === page.measure && !classes);
  if (measure && (page.low !== "" || page.high !== "")) {
    const values = await sheet.values(measure);
    const edge = 0.5 / 65535; // numbers travel in so many steps
    const low = page.low === "" ? -Infinity : partOf(measure, Number(page.low)) - edge;
    const high = page.high === "" ? Infinity : partOf(measure, Number(page.high)) + edge;
    tests.push((i) => values[i] / 65535 >= low && values[i] / 65535 <= high);
  }
  const open = page.certain < 100 ? await uncertainties(sheet) : null;
  if (open) {
    const most = open.slice().sort()[Math.ceil((open.length * page.certain) / 100) - 1];
    tests.push((i) => open[i] <= most);
  }
  if (sheet.facts.versions && page.version !== null) {
    const born = await block(sheet.facts.born);
    tests.push((i) => born[i] <= page.version);
  }
  if (!tests.length) return null;
  return Uint8Array.from({ length: sheet.facts.nodes }, (_, i) => (tests.every((test) => test(i)) ? 0 : 1));
}

/** How open each node's place is, in 16 bits; null where the model does not say. */
async function uncertainties(sheet) {
  const column = sheet.facts.columns.find(({ name }) => name === "uncertainty");
  return column ? sheet.values(column) : null;
}

/** Selects rows of a view, in the other view too; null deselects. */
async function mark(page, view, rows) {
  for (const each of page.views) {
    each.marked = null;
    each.count = 0;
    if (!rows) continue;
    each.marked = new Uint8Array(each.sheet.facts.nodes);
    for (const row of rows) {
      const twin = each === view ? row : await view.twin(row, each);
      if (twin >= 0 && !each.marked[twin]) {
        each.marked[twin] = 1;
        each.count++;
      }
    }
  }
  page.markedIn = rows ? view : null;
  page.markedRows = rows;
  await weigh(page);
  await drawSelection(page);
}

/** The table of what is selected: its first nodes, with every column. */
async function drawSelection(page) {
  const { markedIn: view, markedRows: rows } = page;
  if (!rows) {
    byId("selection").hidden = true;
    return;
  }
  const { sheet } = view;
  const elsewhere = page.views.filter((each) => each !== view).map((each) => `${plain(each.count)} of them in ${each.sheet.facts.name}`);
  const cut = rows.length > LISTED ? `the first ${LISTED} are listed` : "";
  byId("selection-words").textContent = [`${plain(rows.length)} nodes of ${sheet.facts.name}`, ...elsewhere, cut].filter(Boolean).join("; ");
  const { columns } = sheet.facts;
  const body = [];
  for (const row of rows.slice(0, LISTED)) {
    const words = [];
    for (const column of columns) words.push(element("td", {}, await sheet.word(column, row)));
    const button = element("button", { type: "button", class: "name", onclick: () => page.select(view, row, true) }, sheet.names.at(row));
    body.push(element("tr", {}, element("th", { scope: "row" }, button), ...words));
  }
  const head = ["node", ...columns.map(({ name }) => name)].map((name) => element("th", { scope: "col" }, name));
  byId("selected-table").replaceChildren(element("table", {}, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...body)));
  byId("selection").hidden = false;
}

function listenToSelection(page) {
  const chosen = () => page.markedRows.slice(0, 100000);
  byId("save-selection").addEventListener("click", page.guarded(async () => {
    save("selection.csv", (await ask("table", { sheet: page.markedIn.index, rows: chosen() })).csv);
  }));
  byId("copy-selection").addEventListener("click", page.guarded(async () => {
    await navigator.clipboard.writeText(chosen().map((row) => page.markedIn.sheet.names.at(row)).join("\n"));
    byId("selection-words").textContent = `${plain(chosen().length)} names are copied`;
  }));
  byId("clear-selection").addEventListener("click", () => {
    page.lasso = null;
    mark(page, null, null);
    page.views[0].names.focus({ preventScroll: true });
  });
  byId("fly-selection").addEventListener("click", () => {
    for (const view of page.views) view.map.flyTo(view.map.camera.fitting(boxOf(view)));
    byId("explorer").scrollIntoView({ block: "start" });
  });
  byId("seen").addEventListener("click", () => {
    const view = page.active;
    const [left, bottom, right, top] = view.map.camera.seen();
    page.take(view, [[left, bottom], [right, bottom], [right, top], [left, top]]);
  });
  byId("lasso").addEventListener("click", ({ currentTarget }) => {
    const on = currentTarget.getAttribute("aria-pressed") !== "true";
    currentTarget.setAttribute("aria-pressed", String(on));
    for (const view of page.views) view.map.lassoing = on;
  });
  for (const name of ["part", "measure", "low", "high"]) {
    byId(name).addEventListener("input", ({ target }) => {
      page[name] = target.value;
      clearTimeout(page.typing);
      page.typing = setTimeout(() => weigh(page), 120);
    });
  }
  byId("unfilter").addEventListener("click", () => {
    for (const name of ["part", "low", "high"]) page[name] = byId(name).value = "";
    weigh(page);
  });
}

function boxOf(view) {
  const box = [1, 1, 0, 0];
  view.marked.forEach((on, row) => {
    if (!on) return;
    const [x, y] = view.sheet.place(row);
    box.splice(0, 4, Math.min(box[0], x), Math.min(box[1], y), Math.max(box[2], x), Math.max(box[3], y));
  });
  return box[0] > box[2] ? view.sheet.facts.home : box;
}
