"use strict";

const CHART = { width: 560, height: 260, left: 58, right: 14, top: 12, bottom: 34 };
const COMPACT = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });

/** A number beside an axis, where there is little room: 2.5M. */
const brief = (x) => (Math.abs(x) < 10000 ? plain(x) : COMPACT.format(x));

/** Loss terms by epoch as a drawing; logarithmic where they span more than two powers of ten. */
function lossChart({ epochs, terms }) {
  const values = Object.values(terms).flat().filter((x) => x !== null);
  if (!values.length) return element("p", { class: "hint" }, "No loss is a finite number.");
  const positive = values.filter((x) => x > 0);
  const log = positive.length === values.length && Math.max(...values) > 100 * Math.min(...values);
  const last = Math.max(epochs[epochs.length - 1], epochs[0] + 1);
  const x = axis([epochs[0], last], [CHART.left, CHART.width - CHART.right], false);
  const y = axis(padded(values, log), [CHART.height - CHART.bottom, CHART.top], log);
  const names = Object.keys(terms);
  const frame = { viewBox: `0 0 ${CHART.width} ${CHART.height}`, role: "img", "aria-label": inWords(epochs, terms) };
  const curves = names.map((name, i) => curve(epochs, terms[name], x, y, i));
  const picture = shape("svg", frame, ...ruled(x, y), ...curves);
  const key = names.map((name, i) => {
    const own = terms[name];
    return element("li", {}, dotOf(i), element("span", {}, name.replaceAll("_", " ")),
      element("span", { class: "count" }, `${plain(own[0])} → ${plain(own[own.length - 1])}`));
  });
  return element("figure", {}, picture, element("ul", { class: "key" }, ...key));
}

function padded(values, log) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  if (log) return [low / 1.2, high * 1.2];
  const room = (high - low) * 0.06 || Math.abs(high) * 0.1 || 1;
  return [low >= 0 ? Math.max(low - room, 0) : low - room, high + room];
}

/** A scale from numbers to pixels, with its ticks. */
function axis([low, high], [from, to], log) {
  const of = log ? Math.log10 : (v) => v;
  const at = (v) => from + ((of(v) - of(low)) / (of(high) - of(low))) * (to - from);
  return { at, ticks: log ? powers(low, high) : steps(low, high) };
}

function steps(low, high) {
  const rough = (high - low) / 4;
  const power = Math.pow(10, Math.floor(Math.log10(rough)));
  const step = [1, 2, 5, 10].find((x) => x * power >= rough) * power;
  const found = [];
  for (let k = Math.ceil(low / step); k * step <= high; k++) found.push(k * step);
  return found;
}

function powers(low, high) {
  const found = [];
  for (let e = Math.ceil(Math.log10(low)); e <= Math.log10(high); e++) found.push(Math.pow(10, e));
  const every = Math.ceil(found.length / 6);
  return found.filter((_, i) => i % every === 0);
}

function ruled(x, y) {
  const { left, right, width, height, bottom } = CHART;
  const across = y.ticks.flatMap((v) => [
    shape("line", { class: "rule", x1: left, x2: width - right, y1: y.at(v), y2: y.at(v) }),
    shape("text", { x: left - 8, y: y.at(v), "text-anchor": "end", "dominant-baseline": "middle" }, brief(v)),
  ]);
  const down = x.ticks.filter(Number.isInteger).map((v) =>
    shape("text", { x: x.at(v), y: height - bottom + 16, "text-anchor": "middle" }, plain(v)));
  const title = shape("text", { x: (left + width - right) / 2, y: height - 3, "text-anchor": "middle" }, "epoch");
  return [...across, ...down, title];
}

function curve(epochs, values, x, y, i) {
  const points = epochs.map((e, k) => [e, values[k]]).filter(([, v]) => v !== null);
  if (!points.length) return "";
  const line = points.map(([e, v]) => `${x.at(e).toFixed(1)},${y.at(v).toFixed(1)}`).join(" ");
  const drawn = points.length > 1
    ? shape("polyline", { points: line, class: "curve" })
    : shape("circle", { cx: x.at(points[0][0]), cy: y.at(points[0][1]), r: 4, class: "curve" });
  drawn.style.stroke = classColor(i);
  return drawn;
}

function inWords(epochs, terms) {
  const each = Object.entries(terms).map(
    ([name, own]) => `${name} from ${plain(own[0])} to ${plain(own[own.length - 1])}`);
  return `Loss over ${epochs[epochs.length - 1]} epochs: ${each.join(", ")}`;
}
