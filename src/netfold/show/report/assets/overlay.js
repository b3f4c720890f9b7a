"use strict";

const FONT = "12px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";
const REGION_FONT = `650 ${FONT.replace("12px", "14px")}`;
const REST_ZOOM = 2.2;

/** Names of nodes, and rings round those that were asked for, on a canvas above the points. */
class Overlay {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
  }

  /** `shown` has the selected row, its nearest, the row under the pointer, and the size of a point in pixels. */
  draw(camera, ratio, sheet, shown) {
    const { context } = this;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, camera.width, camera.height);
    if (!sheet.xy) return;
    const asked = shown.selected >= 0 ? [shown.selected, ...shown.nearest] : [];
    this.drawSpokes(camera, sheet, shown);
    for (const row of asked) this.ring(camera, sheet, row, shown.size, row === shown.selected);
    if (shown.hovered >= 0) this.ring(camera, sheet, shown.hovered, shown.size, false);
    shown.decorate?.(context, camera);
    if (sheet.names) this.drawNames(camera, sheet, asked, shown);
  }

  drawSpokes(camera, sheet, { selected, nearest }) {
    const { context } = this;
    context.strokeStyle = ink("accent");
    context.globalAlpha = 0.45;
    context.lineWidth = 1;
    for (const row of nearest) {
      context.beginPath();
      context.moveTo(...camera.toScreen(...sheet.place(selected)));
      context.lineTo(...camera.toScreen(...sheet.place(row)));
      context.stroke();
    }
    context.globalAlpha = 1;
  }

  ring(camera, sheet, row, size, strong) {
    const { context } = this;
    const [x, y] = camera.toScreen(...sheet.place(row));
    context.beginPath();
    context.arc(x, y, size / 2 + (strong ? 4 : 2.5), 0, 2 * Math.PI);
    context.lineWidth = strong ? 4.5 : 3.5;
    context.strokeStyle = ink("ground");
    context.stroke();
    context.lineWidth = strong ? 2.5 : 1.5;
    context.strokeStyle = ink(strong ? "accent" : "text");
    context.stroke();
  }

  /** The asked for, then the important, each where no other name is; the nearer one looks, the more. */
  drawNames(camera, sheet, asked, shown) {
    const { context } = this;
    const room = sheet.facts.nodes > 20000 && camera.zoom < 4 ? 60000 : 16000; // in a crowd a name says little
    const most = between(Math.round((camera.width * camera.height) / room), 8, 60);
    const taken = [];
    context.font = FONT;
    context.textBaseline = "middle";
    context.lineJoin = "round";
    let named = 0;
    for (const row of asked) if (this.name(camera, sheet, row, shown, taken, true)) named++;
    if (camera.zoom < REST_ZOOM) this.drawRegions(camera, sheet.facts.regions ?? [], taken);
    for (const row of this.candidates(camera, sheet, asked)) {
      if (named >= most + asked.length) break;
      if (!hidden(sheet, row) && this.name(camera, sheet, row, shown, taken, false)) named++;
    }
  }

  /** Names of whole regions, while one sees the whole. */
  drawRegions(camera, regions, taken) {
    const { context } = this;
    context.font = REGION_FONT;
    for (const { x, y, name } of regions) {
      const text = short(name);
      const width = context.measureText(text).width;
      const [middle, down] = camera.toScreen(x, y);
      const left = between(middle - width / 2, 4, Math.max(camera.width - width - 4, 4));
      const box = [left - 4, down - 10, left + width + 4, down + 10];
      if (down < 10 || down > camera.height - 10 || taken.some((other) => overlap(box, other))) continue;
      taken.push(box);
      this.write(text, left, down, "text");
    }
    context.font = FONT;
  }

  * candidates(camera, sheet, asked) {
    const named = new Set(asked);
    for (const row of sheet.named) {
      if (named.has(row)) continue;
      named.add(row);
      yield row;
    }
    for (const row of sheet.grid.within(camera.seen(), 400) ?? []) if (!named.has(row)) yield row;
  }

  name(camera, sheet, row, { size, selected }, taken, asked) {
    const { context } = this;
    const [x, y] = camera.toScreen(...sheet.place(row));
    if (x < 0 || y < 0 || x > camera.width || y > camera.height) return false;
    const text = short(sheet.names.at(row));
    context.font = row === selected ? `600 ${FONT}` : FONT;
    const width = context.measureText(text).width;
    const places = besides(x, y, width, size / 2 + 5)
      .map(([left, down]) => [left - 3, down - 8, left + width + 3, down + 8]);
    const box = places.find((each) => each[0] >= 0 && each[2] <= camera.width + 3
      && !taken.some((other) => overlap(each, other)));
    if (!box) return false;
    taken.push(box);
    this.write(text, box[0] + 3, box[1] + 8, asked ? "text" : "quiet");
    return true;
  }

  /** A text on a ground of its own, that is seen above points. */
  write(text, left, y, color) {
    const { context } = this;
    context.lineWidth = 3.5;
    context.strokeStyle = ink("ground");
    context.globalAlpha = 0.9;
    context.strokeText(text, left, y);
    context.globalAlpha = 1;
    context.fillStyle = ink(color);
    context.fillText(text, left, y);
  }
}

/** Where a name may begin, and its height: to the right of its point, to the left, above, below. */
function besides(x, y, width, away) {
  const middle = x - width / 2;
  return [[x + away, y], [x - away - width, y], [middle, y - away - 7], [middle, y + away + 7]];
}

const short = (name) => (name.length > 32 ? `${name.slice(0, 31)}…` : name);

/** Whether a node is not drawn at the moment, or but faintly. */
const hidden = (sheet, row) => Boolean(sheet.weights) && sheet.weights[2 * row] < 255;

function overlap(a, b) {
  return a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
}
