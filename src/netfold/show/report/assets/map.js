"use strict";

const FLIGHT = 700;
const SMOOTH = 40;
const IDLE = 160;
const LONGEST = 1500;
const MOVING_LINKS = 2000;
const calm = window.matchMedia("(prefers-reduced-motion: reduce)");

/** The map: what is shown where, and a new frame whenever that changes. */
class MapView {
  constructor(points, names, smooth) {
    this.canvases = [points, names];
    this.painter = new Painter(points, smooth);
    points.addEventListener("webglcontextlost", (event) => event.preventDefault()); // as after a sleep
    points.addEventListener("webglcontextrestored", async () => {
      this.painter = new Painter(points, smooth);
      await this.load();
    });
    this.overlay = new Overlay(names);
    this.camera = new Camera();
    this.selected = -1;
    this.hovered = -1;
    this.nearest = [];
    this.waiting = false;
    this.stale = true;
    this.cost = 0;
    new ResizeObserver(() => this.resize()).observe(names.parentElement);
    isDark.addEventListener("change", () => this.recolor());
  }

  /** Another model; its map is there at once, its words a moment later. */
  async show(sheet) {
    await sheet.points();
    Object.assign(this, { sheet, selected: -1, hovered: -1, nearest: [] });
    this.resize();
    const home = this.camera.fitting(sheet.facts.home);
    this.camera.homeScale = home.scale;
    this.camera.look(home);
    // milliseconds of a frame without a graphics card, until one is measured
    this.cost = (sheet.facts.nodes + (sheet.links ? 40 * (sheet.facts.edges ?? 0) : 0)) / 4000;
    await this.load();
    this.move();
  }

  /** Gives the painter all that it draws. */
  async load() {
    const { xy, facts } = this.sheet;
    this.painter.load("at", xy);
    this.painter.load("ends", facts.links ? await block(facts.links) : null);
    this.painter.load("part", facts.ellipses ? await block(facts.ellipses.parts) : null);
    this.painter.load("weight", this.sheet.weights);
    await this.recolor();
  }

  /** After another column, another choice of classes, or another theme. */
  async recolor() {
    if (!this.sheet) return;
    const column = this.sheet.facts.columns[this.sheet.column];
    this.painter.load("slot", await this.sheet.slots(column));
    this.repaint();
  }

  repaint() {
    this.painter.loadPalette(paletteBytes(this.sheet.facts.columns[this.sheet.column], this.sheet.only));
    this.render();
  }

  /** Where the window has another size: what was in the middle stays there. */
  resize() {
    const { camera, canvases } = this;
    const { clientWidth: width, clientHeight: height } = canvases[0].parentElement;
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    if (!width || !height) return; // it is not shown, and no zoom would come back from nothing
    if (width === camera.width && height === camera.height && ratio === this.ratio) return;
    const zoom = camera.zoom;
    this.ratio = ratio;
    Object.assign(camera, { width, height });
    const size = { width: Math.round(width * ratio), height: Math.round(height * ratio) };
    for (const canvas of canvases) Object.assign(canvas, size);
    if (this.sheet) {
      camera.homeScale = camera.fitting(this.sheet.facts.home).scale;
      camera.scale = camera.homeScale * zoom;
    }
    this.render();
  }

  /** Asks for a frame; names and rings alone, unless points changed their places or colours. */
  render(points = true) {
    this.stale ||= points;
    if (this.waiting || !this.sheet) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.frame();
    });
  }

  frame() {
    const { camera, sheet, ratio } = this;
    if (this.flying) this.fly();
    const look = this.look();
    if (this.stale) this.paint({ ...look, size: look.size * ratio });
    this.overlay.draw(camera, ratio, sheet, { ...this, size: look.size });
    this.onframe?.();
  }

  /** All points, or some of them while the view moves, where all would make it stutter; then all a moment later. */
  paint(look) {
    const stride = this.moving ? between(Math.ceil(this.cost / SMOOTH), 1, 32) : 1;
    const links = look.links ? this.painter.counts.ends / 2 : 0;
    const linkStride = stride > 1 ? Math.max(stride, Math.ceil(links / MOVING_LINKS)) : 1;
    const start = performance.now();
    this.stale = false;
    const opacity = Math.min(look.opacity * Math.sqrt(stride), 0.95);
    this.painter.draw(this.camera, { ...look, stride, linkStride, opacity });
    if (stride === 1) this.painter.whenDrawn(() => (this.cost = performance.now() - start));
  }

  /** The view moves: by a finger, a key, a flight. */
  move() {
    const now = performance.now();
    // slow frames are no rest: a whole one amid them would be slower still
    const apart = this.moving ? now - this.moved : 0;
    this.moved = now;
    this.moving = true;
    clearTimeout(this.rest);
    this.rest = setTimeout(() => {
      const thinned = this.cost > SMOOTH;
      this.moving = false;
      if (thinned) this.render();
    }, between(3 * apart, IDLE, LONGEST));
    this.render();
  }

  /** Many points are small and faint, and grow as one comes nearer. */
  look() {
    const { camera, sheet } = this;
    const count = sheet.facts.nodes;
    const zoom = Math.max(camera.zoom, 1);
    const area = camera.width * camera.height;
    const size = Math.min(between(1.05 * Math.cbrt(area / count), 1.4, 9) * Math.pow(zoom, 0.35), 14);
    const layers = (count * size * size) / (0.35 * area * zoom * zoom);
    const opacity = between(1.2 * Math.pow(layers, -0.8), 0.15, 0.92);
    const ellipses = sheet.facts.ellipses;
    const faint = faintness(this.painter.counts.ends / 2, zoom);
    return {
      size, opacity, links: sheet.links, ellipses: sheet.ellipses,
      most: ellipses ? ellipses.most * ellipses.drawn : 0,
      tint: theme() === "dark" ? [0.75, 0.8, 0.88, 0.7 * faint] : [0.35, 0.4, 0.48, faint],
    };
  }

  /** Selects a row, or none with -1; `nearest` come a moment later. */
  select(row) {
    Object.assign(this, { selected: row, nearest: [] });
    this.render(false);
  }

  /** Flies to a view. */
  flyTo(end) {
    const { camera } = this;
    const start = { x: camera.x, y: camera.y, scale: camera.scale };
    this.flying = { start, end, since: performance.now() };
    this.move();
  }

  /** A node in the middle, so near that about half of its nearest are seen around it. */
  around(row, nearest) {
    const [x, y] = this.sheet.place(row);
    const far = nearest.map((other) => this.sheet.place(other)).map(([a, b]) => Math.hypot(a - x, b - y));
    const reach = far.sort((a, b) => a - b)[far.length >> 1] || 0.01;
    const { width, height, homeScale } = this.camera;
    return { x, y, scale: between((0.3 * Math.min(width, height)) / reach, homeScale, homeScale * 60) };
  }

  fly() {
    const { start, end, since } = this.flying;
    const part = calm.matches ? 1 : Math.min((performance.now() - since) / FLIGHT, 1);
    this.camera.look(part === 1 ? end : flight(start, end, part));
    this.stale = true;
    if (part === 1) this.flying = null;
    else this.move();
  }

  /** The row at a pixel, or -1. */
  rowAt(px, py) {
    if (!this.sheet?.grid) return -1;
    const reach = Math.max(this.look().size / 2 + 4, 8) / this.camera.scale;
    return this.sheet.grid.nearest(...this.camera.toWorld(px, py), reach);
  }
}

/** How opaque an edge is: where there are very many they must not hide the nodes, and less so as one comes nearer. */
function faintness(edges, zoom) {
  const each = 8.5 / Math.sqrt(edges || 1);
  return between(each * Math.min(Math.sqrt(5000 / (edges || 1)), 1) * Math.sqrt(zoom), 0.02, 0.3);
}

/** Classes that were not chosen are faint, where any were; those without a colour of their own do not cover others. */
function strength(column, only, slot) {
  if (!column?.classes) return 255;
  if (only.size) return only.has(slot) ? 255 : 16;
  return slot < CLASS_COLORS.light.length ? 255 : 130;
}

/** 256 colours for a column. */
function paletteBytes(column, only) {
  const bytes = new Uint8Array(1024);
  for (let i = 0; i < 256; i++) {
    const color = !column ? rgb(classColor(0)) : column.classes ? rgb(classColor(i)) : scaleColor(i / 255);
    bytes.set([...color, strength(column, only, i)], 4 * i);
  }
  return bytes;
}
