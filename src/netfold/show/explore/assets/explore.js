"use strict";

const LINKS = [["all", "all"], ["one", "of the selected node"], ["two", "two steps from it"], ["none", "none"]];

/** Everything that is looked at: one or two views, and what is selected, filtered and coloured in them. */
class Page {
  constructor(facts) {
    this.facts = facts;
    const sheets = facts.sheets.map((each) => new Sheet(each));
    this.views = sheets.map((sheet, i) => new View(sheet, i, sheets.length));
    this.active = this.views[0];
    this.name = null; // of the selected node, which one of the models may not know
    Object.assign(this, { k: STEP, unlinked: false, links: "none", sized: false, certain: 100, version: null });
    Object.assign(this, { part: "", measure: "", low: "", high: "", lasso: null, markedIn: null, markedRows: null });
    this.address = new Address(() => this.state());
    this.verdicts = new Verdicts(this);
    for (const view of this.views) Object.assign(view, { row: -1, near: { rows: [], scores: [], linked: null } });
  }

  /** A function whose errors are shown to the user, in an element or on top. */
  guarded(act, where = "missing") {
    return async (...given) => {
      byId("missing").hidden = true;
      try {
        await act(...given);
      } catch (error) {
        byId(where).hidden = false;
        byId(where).textContent = error.message;
      }
    };
  }

  /** Selects a node of a view, or none with -1, in the other too; says what is near it and, if asked, flies there. */
  async select(view, row, fly) {
    this.name = row < 0 ? null : view.sheet.names.at(row);
    this.active = view;
    this.k = STEP;
    for (const each of this.views) each.row = await view.twin(row, each);
    await this.refresh(fly);
  }

  /** The nearest, and the links, of the selected node. */
  async refresh(fly = false) {
    const asked = (this.asked = Symbol("question"));
    for (const view of this.views) view.map.select(view.row);
    const answers = await Promise.all(this.views.map((view) => this.near(view)));
    if (this.asked !== asked) return;
    this.views.forEach((view, i) => {
      view.near = answers[i];
      view.map.nearest = answers[i].rows.slice(0, 20);
    });
    await this.share();
    await this.drawLinks();
    for (const view of this.views) {
      if (view.row >= 0 && fly) view.map.flyTo(view.map.around(view.row, view.map.nearest));
      else view.map.render(false);
    }
    this.address.changed();
    await drawNode(this);
    document.documentElement.dataset.near = String(Math.round(performance.now()));
  }

  async near(view) {
    if (view.row < 0) return { rows: [], scores: [], linked: null };
    return ask("near", { sheet: view.index, row: view.row, k: this.k, unlinked: this.unlinked });
  }

  /** Who is near by both models. */
  async share() {
    if (this.views.length < 2) return;
    for (const [view, other] of [this.views, [...this.views].reverse()]) {
      const theirs = new Set(other.near.rows);
      view.shared = new Set();
      for (const row of view.near.rows) if (theirs.has(await view.twin(row, other))) view.shared.add(row);
    }
  }

  async drawLinks() {
    for (const view of this.views) {
      const own = view.row >= 0 && ["one", "two"].includes(this.links) && view.sheet.facts.edges;
      view.ownLinks = own ? await ask("links", { sheet: view.index, row: view.row, steps: this.links === "two" ? 2 : 1 }) : { ends: [], first: 0 };
      view.map.render(false);
    }
  }

  setUnlinked(on) {
    this.unlinked = on;
    this.refresh();
  }

  more() {
    this.k = Math.min(this.k + STEP, MOST);
    this.refresh();
  }

  /** Takes what is inside a line. */
  take(view, line) {
    this.active = view;
    this.lasso = [view.index, line];
    const rows = view.inside(line);
    if (!rows.length) this.lasso = null;
    return mark(this, view, rows.length ? rows : null);
  }

  async hover(view, row, x, y) {
    const { tip, map, sheet } = view;
    const seen = row >= 0 && (!sheet.weights || sheet.weights[2 * row]) ? row : -1;
    for (const each of this.views) {
      const twin = await view.twin(seen, each);
      if (each.map.hovered === twin) continue;
      each.map.hovered = twin;
      each.map.render(false);
    }
    await showTip(tip, map, seen, x, y);
  }

  /** Colours every map that has a column of this name. */
  colorBy(name) {
    for (const view of this.views) {
      const { columns } = view.sheet.facts;
      const own = columns.findIndex((column) => column.name === name);
      view.sheet.column = own < 0 && name !== "" ? Math.min(view.sheet.column, columns.length) : own < 0 ? columns.length : own;
      Object.assign(view.sheet, { first: 0, only: new Set() });
      view.map.recolor();
    }
    this.color = name;
    this.fillColumns();
    this.drawLegend();
    this.address.changed();
  }

  fillColumns() {
    const names = [...new Set(this.views.flatMap(({ sheet }) => sheet.facts.columns.map(({ name }) => name)))];
    const options = [...names.map((name) => [name, name]), ["", "nothing"]];
    byId("column").replaceChildren(...options.map(([value, word]) => element("option", { value, selected: value === this.color }, word)));
    const numbers = new Set(this.views.flatMap(({ sheet }) => sheet.facts.columns.filter(({ classes }) => !classes).map(({ name }) => name)));
    byId("range-field").hidden = !numbers.size;
    if (!this.measure) this.measure = [...numbers][0] ?? "";
    byId("measure").replaceChildren(...[...numbers].map((name) => element("option", { value: name, selected: name === this.measure }, name)));
  }

  /** The legend of the coloured column; where two views have the same classes it speaks for both. */
  drawLegend() {
    const has = ({ sheet }) => sheet.facts.columns[sheet.column]?.name === this.color;
    const view = this.views.find(has) ?? this.active;
    const { sheet } = view;
    const same = this.views.filter((each) => has(each)
      && String(each.sheet.facts.columns[each.sheet.column].classes) === String(sheet.facts.columns[sheet.column]?.classes));
    const all = (act) => () => same.forEach((each) => {
      Object.assign(each.sheet, { only: new Set(sheet.only), first: sheet.first });
      each.map[act]();
    });
    drawLegend(byId("legend"), sheet, { repaint: all("repaint"), recolor: all("recolor") });
  }

  /** What the address says. */
  state() {
    const cameras = this.views.map((view, i) => [`view${i + 1}`, cameraWords(view.map.camera)]);
    return {
      ...Object.fromEntries(cameras), node: this.name, unlinked: this.unlinked && "1", links: this.links === this.usual ? "" : this.links,
      color: this.color === this.views[0].sheet.facts.columns[0]?.name ? "" : this.color, part: this.part,
      measure: this.low || this.high ? this.measure : "", low: this.low, high: this.high, sized: this.sized && "1",
      certain: this.certain < 100 ? String(this.certain) : "", version: this.version === null ? "" : String(this.version),
      lasso: this.lasso ? `${this.lasso[0]}:${lineWords(this.lasso[1])}` : "",
    };
  }

  /** As the address says that it is to be. */
  async restore() {
    const { address } = this;
    const said = (name) => address.get(name) ?? "";
    for (const name of ["part", "low", "high"]) this[name] = byId(name).value = said(name);
    this.measure = said("measure") || this.measure;
    byId("measure").value = this.measure;
    this.unlinked = said("unlinked") === "1";
    this.sized = byId("sized").checked = said("sized") === "1";
    this.certain = between(Number(said("certain")) || 100, 1, 100);
    this.setLinks(LINKS.some(([name]) => name === said("links")) ? said("links") : this.usual);
    if (said("color")) this.colorBy(said("color"));
    this.showCertain();
    if (said("version") && !byId("versions").hidden) await showVersion(this, between(Number(said("version")) || 0, 0, Number(byId("version").max)));
    else await weigh(this);
    const [index, line] = said("lasso").split(":");
    if (line && this.views[Number(index)] && lineOfWords(line)) await this.take(this.views[Number(index)], lineOfWords(line));
    const view = this.views.find(({ sheet }) => said("node") && sheet.names.row(said("node")) >= 0);
    if (view) await this.select(view, view.sheet.names.row(said("node")), false);
    this.views.forEach((each, i) => lookAs(each.map, said(`view${i + 1}`)));
  }

  setLinks(how) {
    this.links = how;
    byId("links").value = how;
    for (const { sheet, map } of this.views) {
      const before = sheet.links;
      sheet.links = how === "all" && Boolean(sheet.facts.links);
      if (!map || sheet.links === before) continue;
      map.cost = Math.max(map.cost, sheet.links ? sheet.facts.edges / 100 : 0); // until it is measured
      map.render();
    }
  }

  showCertain() {
    byId("certain").value = this.certain;
    byId("certain-words").textContent = `${this.certain}%`;
  }
}

function describe(page) {
  const words = page.views.map(({ sheet: { facts } }) => `${facts.name}: ${plain(facts.nodes)} nodes as `
    + `${facts.gaussian ? "Gaussians" : "points"} in ${plain(facts.dim)} dimensions${facts.edges === undefined ? "" : `, ${plain(facts.edges)} links`}`);
  byId("summary").textContent = words.join(" · ");
  byId("method").textContent = [...new Set(page.views.map(({ sheet }) => sheet.facts.method))].join(" · ");
  const { ellipses } = page.views.find(({ sheet }) => sheet.facts.ellipses)?.sheet.facts ?? {};
  byId("ellipses-field").hidden = !ellipses;
  byId("uncertainty").hidden = !page.views.some(({ sheet }) => sheet.facts.columns.some(({ name }) => name === "uncertainty"));
  if (ellipses) {
    const part = ellipses.drawn === 1 ? "" : ` (drawn at ${ellipses.drawn} of their width)`;
    byId("ellipses-words").textContent = ellipses.exact ? `how far each Gaussian spreads${part}` : "discs by uncertainty";
    byId("ellipses").checked = page.views.some(({ sheet }) => sheet.ellipses);
  }
  const all = page.views.some(({ sheet }) => sheet.facts.links);
  const any = page.views.some(({ sheet }) => sheet.facts.edges);
  byId("links-field").hidden = !any;
  byId("links").replaceChildren(...LINKS.filter(([name]) => name !== "all" || all).map(([value, word]) => element("option", { value }, word)));
  const few = page.views.every(({ sheet }) => (sheet.facts.edges ?? 0) <= 1000);
  page.usual = !any ? "none" : all && few ? "all" : "one";
}

function listenToPage(page) {
  const first = page.views[0];
  searchBox(byId("search"), byId("found"), {
    rowsFor: (text, most) => first.sheet.names?.search(text, most) ?? [],
    nameOf: (row) => first.sheet.names.at(row),
    onchoose: (row) => page.select(first, row, true),
  });
  for (const view of page.views) {
    const lassoed = (line, whole) => {
      view.line = line && !whole ? line.map(([x, y]) => view.map.camera.toWorld(x, y)) : null;
      view.map.render(false);
      if (line && whole) page.take(view, line.map(([x, y]) => view.map.camera.toWorld(x, y)));
    };
    listen(view.map, view.names, {
      onselect: (row) => page.select(view, row >= 0 && view.sheet.weights && !view.sheet.weights[2 * row] ? -1 : row, false),
      onhover: (row, x, y) => page.hover(view, row, x, y),
      onlasso: lassoed,
    });
    view.names.addEventListener("focus", () => (page.active = view));
    view.names.addEventListener("keydown", ({ key }) => {
      if (key !== "Enter") return;
      const { camera } = view.map;
      const row = view.sheet.grid.nearest(camera.x, camera.y, Math.min(camera.width, camera.height) / 2 / camera.scale);
      if (row >= 0) page.select(view, row, false);
    });
    view.onview = () => page.address.changed();
  }
  byId("column").addEventListener("change", ({ target }) => page.colorBy(target.value));
  byId("links").addEventListener("change", page.guarded(async ({ target }) => {
    page.setLinks(target.value);
    await page.drawLinks();
    page.address.changed();
  }));
  byId("ellipses").addEventListener("change", ({ target }) => page.views.forEach(({ sheet, map }) => {
    sheet.ellipses = target.checked && Boolean(sheet.facts.ellipses);
    map.render();
  }));
  byId("sized").addEventListener("change", ({ target }) => {
    page.sized = target.checked;
    weigh(page);
  });
  byId("certain").addEventListener("input", ({ target }) => {
    page.certain = Number(target.value);
    page.showCertain();
    weigh(page);
  });
  byId("save-verdicts").addEventListener("click", page.guarded(() => page.verdicts.save()));
  byId("forget-verdicts").addEventListener("click", () => page.verdicts.forget());
  listenToKeys(byId("search"), () => page.active.names, () => page.select(page.active, -1, false));
  isDark.addEventListener("change", () => page.drawLegend());
}

function framesShown() {
  return new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
}

async function begin() {
  await openSession();
  const page = new Page(await allFacts());
  page.address.held = true;
  describe(page);
  page.setLinks(page.usual);
  byId("stages").classList.toggle("two", page.views.length > 1);
  byId("stages").replaceChildren(...page.views.map(({ stage }) => stage));
  const largest = Math.max(...page.views.map(({ sheet: { facts } }) => facts.nodes + 5 * (facts.links ? facts.edges : 0)));
  await Promise.all(page.views.map((view) => view.start(largest <= 100000)));
  await framesShown();
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
  for (const view of page.views) await view.sheet.words(); // after the first frame, which a large map's words would delay
  page.color = page.views[0].sheet.facts.columns[0]?.name ?? "";
  page.fillColumns();
  page.drawLegend();
  listenToPage(page);
  listenToSelection(page);
  listenToNewcomers(page);
  listenToGroups(page);
  listenToVersions(page);
  page.verdicts.draw();
  if (!byId("versions").hidden) await showVersion(page, Number(byId("version").max));
  await page.restore();
  await drawNode(page);
  for (const { map } of page.views) map.render(false); // with the names, which were not there before
  page.address.held = false;
}

try {
  await begin();
} catch (error) {
  byId("missing").hidden = false;
  byId("missing").textContent = `This cannot be shown: ${error.message}.`;
}
document.documentElement.dataset.complete = String(Math.round(performance.now()));
