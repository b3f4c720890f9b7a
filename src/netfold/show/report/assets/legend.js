"use strict";

/** The legend of a column: buttons for classes, which single them out, or a scale for numbers. */
function drawLegend(holder, sheet, map) {
  const column = sheet.facts.columns[sheet.column];
  if (!column) holder.replaceChildren();
  else if (column.classes) holder.replaceChildren(classLegend(holder, sheet, column, map));
  else holder.replaceChildren(scaleLegend(column));
}

/** Seven classes with colours, and a button for the next seven. */
function classLegend(holder, sheet, column, map) {
  const most = CLASS_COLORS.light.length;
  const { first } = sheet;
  const shown = column.classes.slice(first, first + most);
  const without = column.counts[column.classes.length];
  const items = shown.map((name, i) => classButton(sheet, name, column.counts[first + i], i, map));
  if (without) items.push(classButton(sheet, "without a class", without, most + 1, map));
  if (column.classes.length > most) {
    const next = first + most < column.classes.length ? first + most : 0;
    const others = `${plain(column.classes.length - shown.length)} others: colour the ${next ? "next" : "first"}`;
    items.push(element("button", { type: "button", id: "others", onclick: () => turn(holder, sheet, next, map) },
      dotOf(most), element("span", { class: "what" }, others), element("span", { class: "count" }, "›")));
  }
  return element("ul", { class: "classes" }, ...items.map((item) => element("li", {}, item)));
}

/** Gives the colours to other classes. */
function turn(holder, sheet, first, map) {
  sheet.first = first;
  sheet.only.clear();
  drawLegend(holder, sheet, map);
  byId("others").focus();
  map?.recolor();
}

function classButton(sheet, name, count, slot, map) {
  const toggle = (event) => {
    if (!sheet.only.delete(slot)) sheet.only.add(slot);
    event.currentTarget.setAttribute("aria-pressed", String(sheet.only.has(slot)));
    map?.repaint();
  };
  const pressed = String(sheet.only.has(slot));
  return element("button", { type: "button", "aria-pressed": pressed, title: name, onclick: toggle },
    dotOf(slot), element("span", { class: "what" }, name), element("span", { class: "count" }, plain(count)));
}

function dotOf(slot) {
  const dot = element("span", { class: "dot" });
  dot.style.background = classColor(slot);
  return dot;
}

function scaleLegend(column) {
  const bar = element("div", { class: "scale" });
  const stops = Array.from({ length: 17 }, (_, i) => css(scaleColor(i / 16)));
  bar.style.background = `linear-gradient(to right, ${stops.join(", ")})`;
  const ticks = element("div", { class: "ticks" });
  for (const part of [0, 0.5, 1]) {
    const number = numberAt(column, part);
    ticks.append(element("span", {}, plain(column.whole ? Math.round(number) : number)));
  }
  const words = `${column.name} from ${plain(column.low)} to ${plain(column.high)}`;
  return element("div", { role: "img", "aria-label": words }, bar, ticks);
}
