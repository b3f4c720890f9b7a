"use strict";

const LATER = 300;

/** The view in the address of the page, so that it can be sent: written a moment after it changes. */
class Address {
  constructor(state) {
    this.state = state;
    this.asked = framed ? new URLSearchParams() : new URLSearchParams(location.hash.slice(1));
  }

  /** A part of the address that the page was opened with. */
  get(name) {
    return this.asked.get(name);
  }

  changed() {
    if (framed || this.held) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.write(), LATER);
  }

  write() {
    const parts = new URLSearchParams(Object.entries(this.state()).filter(([, value]) => value));
    const next = `#${parts}`;
    if (next !== location.hash) history.replaceState(null, "", next);
  }
}

/** A camera as three numbers: where it looks, and how near. */
function cameraWords({ x, y, zoom }) {
  const home = Math.abs(zoom - 1) < 1e-3;
  return home ? "" : [x.toFixed(4), y.toFixed(4), zoom.toPrecision(4)].join(",");
}

function lookAs(map, words) {
  const { camera } = map;
  const [x, y, zoom] = (words ?? "").split(",").map(Number);
  if (![x, y, zoom].every(Number.isFinite) || !(zoom > 0)) return;
  camera.look({ x: between(x, -0.2, 1.2), y: between(y, -0.2, 1.2), scale: camera.homeScale * between(zoom, 0.4, CLOSEST) });
  map.move();
}

/** A line around nodes as numbers, thinned to what an address holds. */
function lineWords(line) {
  const every = Math.ceil(line.length / 60);
  return line.filter((_, i) => i % every === 0).map(([x, y]) => `${x.toFixed(4)},${y.toFixed(4)}`).join(";");
}

function lineOfWords(words) {
  const line = words.split(";").map((pair) => pair.split(",").map(Number));
  return line.length > 2 && line.every((pair) => pair.length === 2 && pair.every(Number.isFinite)) ? line : null;
}
