"use strict";

const NOBODY = 0xFFFFFFFF;
const LANDING = 1400;

/** One model on the page: its map, and what is drawn on it beside the nodes. */
class View {
  constructor(sheet, index, count) {
    this.sheet = sheet;
    this.index = index;
    this.ownLinks = { ends: [], first: 0 };
    this.line = null; // of a lasso, in the world
    this.marked = null; // a byte for each node: whether it is selected
    this.count = 0;
    this.newcomers = [];
    this.points = element("canvas", { "aria-hidden": "true" });
    this.names = element("canvas", {
      class: "names", tabindex: 0, role: "application", "aria-describedby": "keys",
      "aria-label": `Map of ${plain(sheet.facts.nodes)} nodes, ${sheet.facts.name}`,
    });
    this.tip = element("div", { class: "tip", hidden: true });
    const button = (text, label, act) => element("button", { type: "button", "aria-label": label, title: label, onclick: act }, text);
    const zoom = element("div", { class: "zoom", role: "group", "aria-label": `Zoom ${sheet.facts.name}` },
      button("+", "Zoom in", () => this.zoomBy(1.5)), button("−", "Zoom out", () => this.zoomBy(1 / 1.5)),
      button("⤢", "Show all nodes", () => this.map.flyTo(this.map.camera.fitting(sheet.facts.home))));
    const badge = count > 1 ? element("p", { class: "badge" }, sheet.facts.name) : null;
    this.stage = element("div", { class: "stage" }, this.points, this.names, this.tip, zoom, badge);
  }

  /** Draws for the first time; where there is no WebGL2 it throws. */
  async start(smooth) {
    this.map = new MapView(this.points, this.names, smooth);
    this.map.decorate = (context, camera) => this.decorate(context, camera);
    await this.map.show(this.sheet);
  }

  zoomBy(factor) {
    this.map.camera.zoomAt(factor, this.map.camera.width / 2, this.map.camera.height / 2);
    this.map.move();
  }

  /** The row in another view of the node that is a row here, or -1. */
  async twin(row, other) {
    if (row < 0 || other === this) return row;
    if (!this.sheet.facts.twins) return row;
    const twin = (await block(this.sheet.facts.twins))[row];
    return twin === NOBODY ? -1 : twin;
  }

  /** Gives the map the weights of its nodes: null where all are as usual. */
  reweigh(weights) {
    if (!weights && !this.sheet.weights) return;
    this.sheet.weights = weights;
    this.map.painter.load("weight", weights);
    this.map.render();
  }

  /** The selected node's links, a lasso on its way, selected nodes where they are few, and new nodes. */
  decorate(context, camera) {
    this.onview?.();
    const { ends, first } = this.ownLinks;
    for (let i = ends.length - 2; i >= 0; i -= 2) {
      this.stroke(context, camera, [this.sheet.place(ends[i]), this.sheet.place(ends[i + 1])],
        i < 2 * first ? "text" : "quiet", i < 2 * first ? 0.55 : 0.28);
    }
    if (this.line) this.stroke(context, camera, this.line, "accent", 0.9, true);
    for (const row of this.ringed ?? []) this.map.overlay.ring(camera, this.sheet, row, this.map.look().size, false);
    for (const newcomer of this.newcomers) this.drawNewcomer(context, camera, newcomer);
  }

  stroke(context, camera, places, color, opacity, closed = false) {
    context.beginPath();
    places.forEach(([x, y], i) => context[i ? "lineTo" : "moveTo"](...camera.toScreen(x, y)));
    if (closed) context.closePath();
    context.strokeStyle = ink(color);
    context.globalAlpha = opacity;
    context.lineWidth = closed ? 2 : 1;
    context.stroke();
    if (closed) {
      context.globalAlpha = 0.08;
      context.fillStyle = ink(color);
      context.fill();
    }
    context.globalAlpha = 1;
  }

  /** A new node, on its way from the middle of its links to where it belongs, or there. */
  drawNewcomer(context, camera, { name, x, y, links, since }) {
    const part = calm.matches ? 1 : between((performance.now() - since) / LANDING, 0, 1);
    const eased = 1 - (1 - part) ** 3;
    const places = links.map((row) => this.sheet.place(row));
    const from = [0, 1].map((i) => places.reduce((sum, place) => sum + place[i], 0) / places.length);
    const at = [from[0] + (x - from[0]) * eased, from[1] + (y - from[1]) * eased];
    for (const place of places) this.stroke(context, camera, [at, place], "accent", 0.5);
    const [left, down] = camera.toScreen(...at);
    diamond(context, left, down, 7 + 10 * (1 - eased));
    context.font = `650 ${FONT}`;
    context.textBaseline = "middle";
    this.map.overlay.write(short(name), left + 13, down, "accent");
    if (part < 1) this.map.render(false);
  }

  /** The rows inside a line around them. */
  inside(line) {
    const across = line.map(([x]) => x);
    const up = line.map(([, y]) => y);
    const box = [Math.min(...across), Math.min(...up), Math.max(...across), Math.max(...up)];
    const rows = [];
    const { grid, weights } = this.sheet;
    grid.cells(box, (start, stop) => {
      for (let k = start; k < stop; k++) {
        const row = grid.rows[k];
        if ((!weights || weights[2 * row]) && encloses(line, ...this.sheet.place(row))) rows.push(row);
      }
    });
    return rows;
  }
}

function diamond(context, x, y, size) {
  context.beginPath();
  context.moveTo(x, y - size);
  context.lineTo(x + size, y);
  context.lineTo(x, y + size);
  context.lineTo(x - size, y);
  context.closePath();
  context.fillStyle = ink("accent");
  context.fill();
  context.lineWidth = 2;
  context.strokeStyle = ink("ground");
  context.stroke();
}

/** Whether a closed line goes around a place: a ray to the right crosses it an odd number of times. */
function encloses(line, x, y) {
  let inside = false;
  for (let i = 0, j = line.length - 1; i < line.length; j = i++) {
    const [[ax, ay], [bx, by]] = [line[i], line[j]];
    if ((ay > y) !== (by > y) && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) inside = !inside;
  }
  return inside;
}
