"use strict";

const FONT = "12px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";

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
    for (const row of this.candidates(camera, sheet, asked)) {
      if (named >= most + asked.length) break;
      if (this.name(camera, sheet, row, shown, taken, asked.includes(row))) named++;
    }
  }

  * candidates(camera, sheet, asked) {
    yield* asked;
    for (const row of sheet.named) if (!asked.includes(row)) yield row;
    for (const row of sheet.grid.within(camera.seen(), 400) ?? []) if (!asked.includes(row)) yield row;
  }

  name(camera, sheet, row, { size, selected }, taken, asked) {
    const { context } = this;
    const [x, y] = camera.toScreen(...sheet.place(row));
    if (x < 0 || y < 0 || x > camera.width || y > camera.height) return false;
    const whole = sheet.names.at(row);
    const text = whole.length > 32 ? `${whole.slice(0, 31)}…` : whole;
    context.font = row === selected ? `600 ${FONT}` : FONT;
    const width = context.measureText(text).width;
    const away = size / 2 + 5;
    const left = x + away + width > camera.width ? x - away - width : x + away;
    const box = [left - 3, y - 8, left + width + 3, y + 8];
    if (taken.some((other) => overlap(box, other))) return false; // so is a row that comes a second time
    taken.push(box);
    context.lineWidth = 3.5;
    context.strokeStyle = ink("ground");
    context.globalAlpha = 0.9;
    context.strokeText(text, left, y);
    context.globalAlpha = 1;
    context.fillStyle = ink(asked ? "text" : "quiet");
    context.fillText(text, left, y);
    return true;
  }
}

function overlap(a, b) {
  return a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
}
