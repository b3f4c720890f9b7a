"use strict";

/** The element of this id. */
const byId = (id) => document.getElementById(id);

/** A new element; a string among its children becomes text, never markup. */
function element(tag, attributes = {}, ...children) {
  return dressed(document.createElement(tag), attributes, children);
}

/** The same for a drawing. */
function shape(tag, attributes = {}, ...children) {
  return dressed(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function dressed(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

/** A number for people: 12,345 or 0.0123. */
function plain(x, digits = 3) {
  if (x === null || x === undefined) return "–";
  if (Number.isInteger(x)) return x.toLocaleString("en");
  const size = Math.abs(x);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) return x.toExponential(1).replace("e+", "e");
  return size >= 1000 ? Math.round(x).toLocaleString("en") : String(Number(x.toPrecision(digits)));
}

const between = (x, low, high) => Math.min(Math.max(x, low), high);
