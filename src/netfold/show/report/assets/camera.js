"use strict";

const CLOSEST = 20000;

/** What part of the unit square is seen: its middle, and how many pixels a unit has. */
class Camera {
  constructor() {
    this.width = 1;
    this.height = 1;
    this.look({ x: 0.5, y: 0.5, scale: 1 });
    this.homeScale = 1;
  }

  look({ x, y, scale }) {
    this.x = x;
    this.y = y;
    this.scale = scale;
  }

  /** Where a box [left, bottom, right, top] fills the screen. */
  fitting([left, bottom, right, top]) {
    const room = 0.88;
    const across = (room * this.width) / Math.max(right - left, 1e-4);
    const up = (room * this.height) / Math.max(top - bottom, 1e-4);
    return { x: (left + right) / 2, y: (bottom + top) / 2, scale: Math.min(across, up) };
  }

  get zoom() {
    return this.scale / this.homeScale;
  }

  toScreen(x, y) {
    return [(x - this.x) * this.scale + this.width / 2, this.height / 2 - (y - this.y) * this.scale];
  }

  toWorld(px, py) {
    return [(px - this.width / 2) / this.scale + this.x, (this.height / 2 - py) / this.scale + this.y];
  }

  move(dx, dy) {
    this.x = between(this.x - dx / this.scale, -0.2, 1.2);
    this.y = between(this.y + dy / this.scale, -0.2, 1.2);
  }

  /** Nearer by a factor; what is under the pixel stays there. */
  zoomAt(factor, px, py) {
    const [x, y] = this.toWorld(px, py);
    this.scale = between(this.scale * factor, this.homeScale * 0.4, this.homeScale * CLOSEST);
    this.x = x - (px - this.width / 2) / this.scale;
    this.y = y + (py - this.height / 2) / this.scale;
  }

  /** Left, bottom, right, top. */
  seen() {
    const [left, top] = this.toWorld(0, 0);
    const [right, bottom] = this.toWorld(this.width, this.height);
    return [left, bottom, right, top];
  }
}

/** A step of a flight between two views; far ones rise on the way, so that one sees where one goes. */
function flight(from, to, part) {
  const eased = part < 0.5 ? 2 * part * part : 1 - 2 * (1 - part) * (1 - part);
  const far = Math.hypot(to.x - from.x, to.y - from.y) * Math.min(from.scale, to.scale);
  const rise = 1 + between(far / 600 - 0.5, 0, 3) * Math.sin(Math.PI * eased);
  const scale = from.scale * Math.pow(to.scale / from.scale, eased);
  return { x: from.x + (to.x - from.x) * eased, y: from.y + (to.y - from.y) * eased, scale: scale / rise };
}
