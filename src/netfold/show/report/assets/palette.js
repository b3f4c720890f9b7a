"use strict";

/** Okabe and Ito's colours, told apart by colour-blind readers; those too pale or too dark for the ground are moved. */
const CLASS_COLORS = {
  light: ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6D1F"],
  dark: ["#3B9BE0", "#F0782B", "#14B88C", "#DE93BC", "#F2B12E", "#8CD3FF", "#F0E442"],
};
const REST = { light: "#9A9A9A", dark: "#8A9099" };

/** Viridis, from the end that is nearest to the ground to the other: more is always what stands out more. */
const VIRIDIS = ["#440154", "#472D7B", "#3B528B", "#2C728E", "#21918C", "#28AE80", "#5EC962", "#ADDC30", "#FDE725"];
const SCALE_ENDS = { light: [0.88, 0], dark: [0.3, 1] };

const isDark = window.matchMedia("(prefers-color-scheme: dark)");
const theme = () => (isDark.matches ? "dark" : "light");

/** The colour of the class of this rank; those after the seventh share one. */
function classColor(rank) {
  const colors = CLASS_COLORS[theme()];
  return rank < colors.length ? colors[rank] : REST[theme()];
}

/** The colour at a part, 0 to 1, of a scale of numbers. */
function scaleColor(part) {
  const [from, to] = SCALE_ENDS[theme()];
  const at = (from + (to - from) * part) * (VIRIDIS.length - 1);
  const low = Math.min(Math.floor(at), VIRIDIS.length - 2);
  const [a, b] = [rgb(VIRIDIS[low]), rgb(VIRIDIS[low + 1])];
  return a.map((x, i) => Math.round(x + (b[i] - x) * (at - low)));
}

function rgb(hex) {
  return [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
}

const css = ([r, g, b]) => `rgb(${r} ${g} ${b})`;

/** What the page's own colours are at the moment. */
function ink(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
